"""One trip through the pipeline (contract A4)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.host.request.tools import Tool
from smart_context.host.request.window import Window
from smart_context.llm.models import PromptMessage, Usage
from smart_context.values import JsonObject


@dataclass(slots=True, kw_only=True)
class Turn:
    """What handlers see and may change: history, message, response, system prompt, metadata.

    Attributes:
        id: Names the turn in the log.
        chat_id: The chat it belongs to.
        question: The user's message as it is stored.
        answer_id: The id that the answer has, or will have.
        message: What the model is asked now; begins as what the user wrote.
        original_message: What the user wrote; stays.
        history: The messages before this one that the model receives, oldest first. Message
            objects (`{"role", "content", …}`) may be put in; they are made into `Message`s
            once the phase is over.
        system_prompt: Empty: no system message is sent.
        response: The answer; `None` until there is one.
        metadata: For plugins, to pass values from one phase to another.
        tools: What the model may ask for while it answers; plugins add theirs at
            `pipeline.prompt`.
        tools_as_text: Ask and answer in plain text: for endpoints that take no tools.
        steps: What was said and done before the answer: text parts, and tool calls with their
            results, as they are stored.
        images: Attached images that the model is shown, as data URIs by storage key.
        attached: A part of the message, word for word, that holds the attached texts.
        window: What the model takes at once; `None` when that is not known.
        protected: Messages of the history that stay as long as anything else can go when it is
            too much for the window.
        spare: A part of the system prompt, word for word, that may go then.
        left_out: Messages of the history that had to go.
        lacks_spare: The spare part had to go.
        is_too_long: Messages had to be left out to keep within the model's window.
        streaming: Whether clients get the answer piece by piece.
        sent: The request as the model received it, the last one if there were several; empty
            until then.
        usage: Tokens that the endpoint counted, where it says so.
        abort_reason: Why a handler aborted the turn; empty if none did.
        stopped: The user stopped it.
        error: Why it failed, for people; empty if it did not.
        error_code: The endpoint's HTTP status, where there was one.
    """

    id: str
    chat_id: ChatId
    question: Message
    answer_id: MessageId
    message: str
    original_message: str
    history: list[Message] = field(default_factory=list)
    system_prompt: str = ""
    response: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    tools: list[Tool] = field(default_factory=list)
    tools_as_text: bool = False
    steps: list[JsonObject] = field(default_factory=list)
    images: Mapping[str, str] = field(default_factory=dict)
    attached: str = ""
    window: Window | None = None
    protected: frozenset[MessageId] = frozenset()
    spare: str = ""
    left_out: frozenset[MessageId] = frozenset()
    lacks_spare: bool = False
    is_too_long: bool = False
    streaming: bool = True
    sent: tuple[PromptMessage, ...] = ()
    usage: Usage | None = None
    abort_reason: str = ""
    stopped: bool = False
    error: str = ""
    error_code: int = 0

    @property
    def aborted(self) -> bool:
        """Whether a handler called `abort`."""
        return bool(self.abort_reason)

    def abort(self, reason: str = "") -> None:
        """End the turn without asking the model; the reason is shown in the chat."""
        self.abort_reason = reason or "A plugin ended this turn."


def as_messages(entries: Iterable[Any]) -> list[Message]:
    """A history that a handler left: objects are made into messages.

    Raises:
        TypeError: If an entry is neither a message nor a message's object.
    """
    history = list(entries)
    if set(map(type, history)) <= {Message}:
        return history  # as nearly always, and after each phase
    return [_as_message(entry, position) for position, entry in enumerate(history)]


def _as_message(entry: object, position: int) -> Message:
    if isinstance(entry, Message):
        return entry
    if isinstance(entry, Mapping):
        return Message.from_dict(entry, position=position)
    raise TypeError(f"expected a message in turn.history, found {type(entry).__name__}")
