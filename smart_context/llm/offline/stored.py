"""A model that gives one answer: the demonstration's, to the question of its guide."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from smart_context.llm.models import Completion, JsonReply, Piece, PromptMessage
from smart_context.llm.offline.responder import NAME

GUIDE = "guide"
"""The key of the guide in a chat's document: its `question`, and the `answer` to that."""

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
class StoredAnswer:
    """Gives a stored answer, marked as such; satisfies `ChatModel`."""

    text: str

    @property
    def name(self) -> str:
        """As that of the model that quotes: nothing is sent to either."""
        return NAME

    def parameters(self, tools: Sequence[dict[str, Any]] = (), *, streamed: bool) -> dict[str, Any]:
        """The name alone."""
        del tools, streamed
        return {"model": self.name}

    async def stream(
        self, messages: Sequence[PromptMessage], *, tools: Sequence[dict[str, Any]] = ()
    ) -> AsyncGenerator[Piece]:
        """The mark, then the answer."""
        del messages, tools
        yield Piece(text=f"{MARK}\n\n")
        yield Piece(text=self.text)

    async def complete(
        self,
        messages: Sequence[PromptMessage],
        *,
        tools: Sequence[dict[str, Any]] = (),
        json_reply: JsonReply = False,
        most_characters: int | None = None,
    ) -> Completion:
        """The answer at once."""
        del json_reply, most_characters
        pieces = [piece.text async for piece in self.stream(messages, tools=tools)]
        return Completion(text="".join(pieces))
