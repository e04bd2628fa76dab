"""A request in its parts: what turns, previews and replays make, and what a model receives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from smart_context.chat.messages import Message, MessageId, Part
from smart_context.host.request.fenced_tools import in_plain_text, with_instructions
from smart_context.host.request.prompt import prompt_messages
from smart_context.host.request.tools import Tool
from smart_context.llm.models import PromptMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a model is asked.

    Attributes:
        message: What it is asked now.
        system_prompt: Left out when it is blank.
        history: Oldest first.
        files: What is attached to the message.
        images: Attached images that the model is shown, as data URIs by storage key.
        steps: What it has said and done since.
        newest_step: Where in `steps` the newest round of tool calls begins.
        tools: What it may ask for.
        as_text: Say in the system prompt how, and give calls and results as text.
        protected: Messages of the history that stay as long as anything else can go.
        spare: A part of the system prompt, word for word, that may go; empty if none may.
        attached: A part of the message, word for word, that holds the attached texts.
    """

    message: str
    system_prompt: str = ""
    history: tuple[Message, ...] = ()
    files: tuple[Mapping[str, Any], ...] = ()
    images: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Part, ...] = ()
    newest_step: int = 0
    tools: tuple[Tool, ...] = ()
    as_text: bool = False
    protected: frozenset[MessageId] = frozenset()
    spare: str = ""
    attached: str = ""

    def messages(self) -> tuple[PromptMessage, ...]:
        """As `prompt_messages`, in plain text for a model that takes no tools."""
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
        """The tools as they go with the messages; in plain text none do."""
        return () if self.as_text else tuple(tool.schema() for tool in self.tools)


def attached_to(sent: Message, written: str) -> str:
    """What the history's builder put behind the text that a user wrote; empty if nothing."""
    return sent.text.removeprefix(written).strip() if sent.text.startswith(written) else ""
