"""A model that gives one answer: the demonstration's, to the question of its guide."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from smart_context.llm.models import AnswerPiece, PromptMessage
from smart_context.llm.offline.responder import OfflineModel

GUIDE = "guide"
"""The key of the guide in a chat's document: its `question`, and the `answer`."""

MARK = "*A stored answer of the demonstration; no model wrote it.*"


def guide_in(document: Mapping[str, Any]) -> Mapping[str, str]:
    """The guide of a chat: its question and the answer; empty without one."""
    found = document.get(GUIDE)
    names = ("question", "answer")
    if not isinstance(found, Mapping) or not all(isinstance(found.get(n), str) for n in names):
        return {}
    return {name: found[name] for name in names}


def stored_answer(document: Mapping[str, Any], question: str) -> str:
    """The answer that a chat brings to this question; empty if there is none."""
    guide = guide_in(document)
    return guide["answer"] if guide and guide["question"] == question.strip() else ""


@dataclass(frozen=True, slots=True)
class StoredAnswer(OfflineModel):
    """Gives a stored answer, marked as such, under the name of the model that quotes."""

    text: str

    @override
    async def stream(
        self, messages: Sequence[PromptMessage], *, tools: Sequence[dict[str, Any]] = ()
    ) -> AsyncGenerator[AnswerPiece]:
        """The mark, then the answer."""
        del messages, tools
        yield AnswerPiece(text=f"{MARK}\n\n")
        yield AnswerPiece(text=self.text)
