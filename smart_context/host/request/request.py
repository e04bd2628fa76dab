"""A request to a model, in its parts; turns, previews and replays all send this."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from smart_context.chat.messages import Message, MessageId, Part
from smart_context.host.request.fenced_tools import in_plain_text, with_instructions
from smart_context.host.request.prompt import prompt_messages, with_system
from smart_context.host.request.tools import Tool
from smart_context.llm.models import PromptMessage


@dataclass(frozen=True, kw_only=True)  # without slots, for `_messages`
class Request:
    """What a model is asked."""

    message: str  # the user's message
    system_prompt: str = ""  # blank: no system message is sent
    history: tuple[Message, ...] = ()  # the messages before this one, oldest first
    files: tuple[Mapping[str, Any], ...] = ()  # the files attached to the message
    # the attached images that the model is shown, as data URIs by storage key
    images: Mapping[str, str] = field(default_factory=dict)
    # what the model said and did in this turn so far: texts, and tool calls with results
    steps: tuple[Part, ...] = ()
    newest_step: int = 0  # index of the newest round of tool calls in `steps`
    tools: tuple[Tool, ...] = ()  # what the model may ask for
    # describe the tools in the system prompt, and give calls and results as text
    as_text: bool = False
    protected: frozenset[MessageId] = frozenset()  # messages of the history that are left out last
    optional_prompt: str = ""  # a part of the system prompt, word for word, that may be left out
    attached_text: str = ""  # a part of the message, word for word: the attached texts
    # it is the request of another program, whose own system message comes first
    is_of_client: bool = False

    def messages(self) -> tuple[PromptMessage, ...]:
        """The messages to send, in plain text for a model that takes no tools; not to be changed.

        They are built once: of a long chat that takes milliseconds.
        """
        return self._messages

    @cached_property
    def _messages(self) -> tuple[PromptMessage, ...]:
        if self.is_of_client:
            return with_system(prompt_messages("", self.history, self.message), self.system_prompt)
        system = self.system_prompt
        prompt = prompt_messages(
            with_instructions(system, self.tools) if self.as_text else system,
            self.history,
            self.message,
            files=self.files,
            images=self.images,
            steps=self.steps,
        )
        return in_plain_text(prompt) if self.as_text else prompt

    def offered(self) -> tuple[dict[str, object], ...]:
        """The schemas of the tools to send; none with `as_text`."""
        return () if self.as_text else tuple(tool.schema() for tool in self.tools)


def attached_to(sent: Message, written: str) -> str:
    """The attached texts that follow what the user wrote; empty if there are none."""
    return sent.text.removeprefix(written).strip() if sent.text.startswith(written) else ""
