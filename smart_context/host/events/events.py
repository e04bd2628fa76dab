"""Every event of the host, with its payload.

Events of the pipeline go to plugins, with the turn. The others go to clients, with a JSON object,
and then to the plugins that subscribed to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NotRequired, Protocol, TypedDict, TypeVar

from smart_context.host.access import Audience
from smart_context.host.turn import Turn

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Event(Generic[P]):
    """A name, tied to the type of its payload."""

    name: str
    # each server of a team finds it out by itself, so its own clients are told only
    each_finds: bool = False


class Emit(Protocol):
    """Sends an event to clients."""

    def __call__(
        self, event: Event[Any], payload: Mapping[str, Any], audience: Audience | None = None, /
    ) -> None:
        """Send it to those who may see the chat that the payload names, or to another audience."""


PIPELINE_START: Event[Turn] = Event("pipeline.start")
"""A turn begins; its question is saved, its history is built."""
PIPELINE_INPUT: Event[Turn] = Event("pipeline.input")
"""The place to change the message, or to abort."""
PIPELINE_CONTEXT: Event[Turn] = Event("pipeline.context")
"""The place to change the history; what is left in it is what the model receives."""
PIPELINE_PROMPT: Event[Turn] = Event("pipeline.prompt")
"""The place to change the system prompt, and to offer tools."""
PIPELINE_LLM: Event[Turn] = Event("pipeline.llm")
"""The model is about to be asked; setting the response replaces it."""
PIPELINE_POST_PROCESS: Event[Turn] = Event("pipeline.post_process")
"""The answer is there, not yet saved: the place to change it."""
PIPELINE_OUTPUT: Event[Turn] = Event("pipeline.output")
"""The answer is saved; also for stopped and aborted turns, not for failed ones."""
PIPELINE_END: Event[Turn] = Event("pipeline.end")
"""The turn is over, however it ended."""
PIPELINE_ERROR: Event[Turn] = Event("pipeline.error")
"""A phase of the host or the model failed; `turn.error` says why."""


class ChatChanged(TypedDict):
    """The chat of that id has changed."""

    chat_id: str


class ChatSummed(TypedDict):
    """A summary came into a chat, or went out of it."""

    chat_id: str
    message_id: str
    words: str


class ChatCopied(TypedDict):
    """A chat was made of the messages of another one, `source`; `topics` are to be picked."""

    chat_id: str
    source: str
    topics: list[str]


class ChatStarted(TypedDict):
    """The answer of that id has begun."""

    chat_id: str
    message_id: str


class ChatToken(TypedDict):
    """The next piece of an answer; `offset` counts the characters before it."""

    chat_id: str
    message_id: str
    offset: int
    text: str


class ChatThought(TypedDict):
    """The next piece of what a model thinks before it answers."""

    chat_id: str
    message_id: str
    text: str


class ChatWaiting(TypedDict):
    """The model is busy, and is asked again after some seconds."""

    chat_id: str
    message_id: str
    seconds: float


class ChatTool(TypedDict):
    """A tool was called for an answer; `call` is the message's part with the result."""

    chat_id: str
    message_id: str
    call: dict[str, Any]


class ChatUnsaved(TypedDict):
    """What the disk refused of a chat's last answer; `problem` is empty once it is there."""

    chat_id: str
    problem: str


class ChatFinished(TypedDict):
    """A turn is over; the ids are those of its question and answer."""

    chat_id: str
    message_ids: list[str]


class ChatFailed(TypedDict):
    """A turn failed; `error` is for the user."""

    chat_id: str
    error: str


class ChatShared(TypedDict):
    """A chat's person shares it with all, or no longer."""

    chat_id: str
    shared: bool
    person: str


class TrashChanged(TypedDict):
    """Nothing; `memory.list_trash` gives what is left."""


class Panel(TypedDict):
    """A plugin's panel and the address of its page."""

    id: str
    title: str
    icon: str
    position: str
    url: str


class PanelGone(TypedDict):
    """The panel of that id is gone."""

    id: str


class PluginsChanged(TypedDict):
    """The state of every plugin, as `system.plugins` gives it."""

    plugins: list[dict[str, Any]]


class ConfigRead(TypedDict):
    """The settings file has changed; with `faults` the previous settings go on."""

    faults: NotRequired[list[str]]


class TrustChanged(TypedDict):
    """What the vault asks for and what of it is off, as `system.trust` gives it."""

    vault: str
    digest: str
    summary: str
    parts: list[dict[str, Any]]


CHAT_OPENED: Event[ChatChanged] = Event("chat.opened")
"""A client opened a chat; goes to plugins only."""
CHAT_VERSION_SHOWN: Event[ChatChanged] = Event("chat.version_shown")
"""Another version of a chat became current; goes to plugins only."""
CHAT_SUMMED: Event[ChatSummed] = Event("chat.summed")
"""Messages were summed up or cleared, or are sent again (no `words`); goes to plugins only."""
CHAT_COPIED: Event[ChatCopied] = Event("chat.copied")
"""A chat was copied, or goes on in another one; goes to plugins only."""
CHAT_STARTED: Event[ChatStarted] = Event("chat.started")
"""The question is saved and the answer begins."""
CHAT_TOKEN: Event[ChatToken] = Event("chat.token")
"""A piece of an answer."""
CHAT_THOUGHT: Event[ChatThought] = Event("chat.thought")
CHAT_WAITING: Event[ChatWaiting] = Event("chat.waiting")
CHAT_TOOL: Event[ChatTool] = Event("chat.tool")
"""The model called a tool and got the result or an error."""
CHAT_UNSAVED: Event[ChatUnsaved] = Event("chat.unsaved")
"""The disk refuses an answer that is shown, or has taken it now."""
CHAT_FINISHED: Event[ChatFinished] = Event("chat.finished")
"""A turn ended well, or was stopped or aborted; all is saved."""
CHAT_FAILED: Event[ChatFailed] = Event("chat.failed")
"""A turn failed; what had arrived is saved."""
CHAT_CHANGED: Event[ChatChanged] = Event("memory.chat_changed", each_finds=True)
"""A chat was stored, deleted or restored, by this server or another program."""
CHAT_DELETED: Event[ChatChanged] = Event("memory.chat_deleted")
"""A client moved a chat to the trash."""
CHAT_SHARED: Event[ChatShared] = Event("memory.chat_shared")
"""A chat was shared with all people of the vault, or taken back."""
TRASH_CHANGED: Event[TrashChanged] = Event("memory.trash_changed")
"""Deleted chats were removed for ever."""
SIDECAR_CHANGED: Event[ChatChanged] = Event("memory.sidecar_changed")
"""A file next to a chat may have changed; goes to plugins only."""
PANEL_REGISTERED: Event[Panel] = Event("ui.register_panel", each_finds=True)
"""A panel was registered."""
PANEL_REMOVED: Event[PanelGone] = Event("ui.remove_panel", each_finds=True)
"""A panel was removed."""
PLUGINS_CHANGED: Event[PluginsChanged] = Event("system.plugins_changed", each_finds=True)
"""A plugin started, failed or stopped."""
CONFIG_READ: Event[ConfigRead] = Event("system.config_read", each_finds=True)
"""The settings file was read again."""
TRUST_CHANGED: Event[TrustChanged] = Event("system.trust_changed", each_finds=True)
"""The user granted or revoked something, or a part of the vault changed."""
