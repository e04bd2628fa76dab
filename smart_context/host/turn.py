"""One turn: a user's message on its way to a saved answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from smart_context.base.values import JsonObject, PersonId
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.host.request.request import AddedTexts, Request
from smart_context.host.request.tools import Tool
from smart_context.host.request.window import Window
from smart_context.llm.models import PromptMessage, Usage

ReceiptKind = Literal["turn", "aside", "held by the provider"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """A request that came in through the gateway."""

    client: str  # the program; empty if unknown
    endpoint: str  # the address that is asked; empty if we answer ourselves
    # `turn`: the filter applies; `aside`: a task of the program's own, such as a title; `held by
    # the provider`: the provider has the history, so nothing can be left out
    kind: ReceiptKind
    model: str  # the model that is asked
    # the messages after the question, such as an agent's tool calls and their results so far; all
    # of them are sent
    following: tuple[Message, ...] = ()


T = TypeVar("T")


class Turn:
    """A turn as plugins see and may change it: request, response and metadata.

    `message`, `history`, `system_prompt` and `tools` are views of the frozen `request`. Assigning
    something of a wrong type raises `TypeError` in the plugin that does it.

    Args:
        question: The user's message as it is stored.
        streaming: True if clients get the answer piece by piece.

    Attributes:
        window: The model's window; `None` if it is unknown, or the model was not asked.
        sent: The messages of the last request as the model received it; empty before that.
        bodies: The whole body of each request so far, oldest first.
        added: The texts that tools added to the last request.
        usage: The tokens of the last request as the endpoint counted them.
        usages: The usage of each of `bodies`; `None` where the endpoint did not count.
        left_out: The chosen messages that did not fit into the window.
        lacks_optional_prompt: True if the optional part of the system prompt did not fit either.
        was_cut: True if a plugin or the host cut the history to fit into the window.
        sends_what_fits: True if the user wants a request that was too long to be shortened until
            the model takes it.
        refused_above: The window that the model named when it refused a longer request, or else a
            guess.
        is_cut_off: True if the answer ended at its maximum tokens.
        is_filtered: True if the provider's filter ended the answer.
        abort_reason: The reason why a handler aborted the turn; empty if none did.
        is_extracted: True if the answer quotes passages, since no chat model is configured.
        stored_answer: The chat's prepared answer, used if no model is configured; may be empty.
        error: The reason why the turn failed, for the user; empty if it did not.
        error_code: The endpoint's HTTP status, if there was one.
        client: The client program's request behind this turn; `None` for a turn of the page.
    """

    def __init__(
        self,
        *,
        id: str,  # noqa: A002 - the contract's name
        chat_id: ChatId,
        person: PersonId,
        question: Message,
        answer_id: MessageId,
        request: Request,
        streaming: bool = True,
    ) -> None:
        self.id = id
        self.chat_id = chat_id
        self.person = person
        self.question = question
        self.answer_id = answer_id
        self.streaming = streaming
        self.window: Window | None = None
        self.sent: tuple[PromptMessage, ...] = ()
        self.bodies: tuple[JsonObject, ...] = ()
        self.added = AddedTexts()
        self.usage: Usage | None = None
        self.usages: tuple[Usage | None, ...] = ()
        self.left_out: frozenset[MessageId] = frozenset()
        self.lacks_optional_prompt = False
        self.was_cut = False
        self.refused_above: int | None = None
        self.abort_reason = ""
        self.stopped = self.sends_what_fits = False
        self.is_cut_off = self.is_filtered = False
        self.is_extracted = False
        self.error = self.stored_answer = ""
        self.error_code = 0
        self.client: ClientRequest | None = None
        self._request = request
        self._response: str | None = None
        self._metadata: dict[str, Any] = {}
        self._history: list[Message] | None = None
        self._tools: list[Tool] | None = None

    @property
    def request(self) -> Request:
        """The request to the model, with the handlers' changes of `history` and `tools`.

        Raises:
            TypeError: If a handler put anything but messages or tools into these lists.
        """
        if self._history is not None and tuple(self._history) != self._request.history:
            self._history[:] = _as_messages(self._history)
            self._request = replace(self._request, history=tuple(self._history))
        if self._tools is not None and tuple(self._tools) != self._request.tools:
            tools = tuple(_checked(tool, Tool, "turn.tools") for tool in self._tools)
            self._request = replace(self._request, tools=tools)
        return self._request

    @request.setter
    def request(self, request: Request) -> None:
        self._request = request
        self.undo_changes_in_place()

    def undo_changes_in_place(self) -> None:
        """Undo changes that were made in place in the lists `history` and `tools`."""
        self._history = self._tools = None

    def shorten_to(self, less: Request) -> None:
        """Shorten the request; the parts that are left out are noted for the receipt."""
        chosen = self.request
        gone = {message.id for message in chosen.history} - {m.id for m in less.history}
        self.was_cut = self.was_cut or bool(gone)
        self.left_out |= gone
        self.lacks_optional_prompt |= less.optional_prompt != chosen.optional_prompt
        self.request = less

    @property
    def original_message(self) -> str:
        """The text that the user wrote."""
        return self.question.text

    @property
    def message(self) -> str:
        """The message for the model; at first, the text that the user wrote."""
        return self._request.message

    @message.setter
    def message(self, message: str) -> None:
        text = _checked(message, str, "turn.message")
        self._request = replace(self._request, message=text)

    @property
    def system_prompt(self) -> str:
        """The system prompt; blank for none."""
        return self._request.system_prompt

    @system_prompt.setter
    def system_prompt(self, text: str) -> None:
        prompt = _checked(text, str, "turn.system_prompt")
        self._request = replace(self._request, system_prompt=prompt)

    @property
    def history(self) -> list[Message]:
        """The messages before this one that the model receives, oldest first.

        The list may be changed in place. Plain objects (`{"role", "content", …}`) may be added, and
        become `Message`s.
        """
        if self._history is None:
            self._history = list(self._request.history)
        return self._history

    @history.setter
    def history(self, entries: Iterable[Message | Mapping[str, Any]]) -> None:
        self._history = _as_messages(entries)

    @property
    def tools(self) -> list[Tool]:
        """The tools that the model may call; plugins add theirs at `pipeline.prompt`."""
        if self._tools is None:
            self._tools = list(self._request.tools)
        return self._tools

    @tools.setter
    def tools(self, tools: Iterable[Tool]) -> None:
        self._tools = [_checked(tool, Tool, "turn.tools") for tool in tools]

    @property
    def response(self) -> str | None:
        """The answer; `None` until there is one."""
        return self._response

    @response.setter
    def response(self, text: str | None) -> None:
        self._response = None if text is None else _checked(text, str, "turn.response")

    @property
    def metadata(self) -> dict[str, Any]:
        """Values that plugins pass from one phase to the next."""
        return self._metadata

    @metadata.setter
    def metadata(self, values: dict[str, Any]) -> None:
        self._metadata = _checked(values, dict, "turn.metadata")

    @property
    def aborted(self) -> bool:
        """True once a handler has called `abort`."""
        return bool(self.abort_reason)

    def abort(self, reason: str = "") -> None:
        """End the turn without asking the model; the reason is shown in the chat."""
        self.abort_reason = reason or "A plugin ended this turn."


def _as_messages(entries: Iterable[object]) -> list[Message]:
    given: list[Any] = list(entries)
    if set(map(type, given)) <= {Message}:  # fast even for ten thousand
        return given
    return [_as_message(entry, position) for position, entry in enumerate(given)]


def _as_message(entry: object, position: int) -> Message:
    if isinstance(entry, Mapping):
        return Message.from_dict(entry, position=position)
    return _checked(entry, Message, "turn.history")


def _checked(value: object, kind: type[T], name: str) -> T:
    if not isinstance(value, kind):
        raise TypeError(f"{name}: expected {kind.__name__}, found {type(value).__name__}")
    return value
