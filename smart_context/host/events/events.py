"""Every event of the host, with its payload.

Events of the pipeline go to plugins, with the turn. The others go to clients, with a JSON object,
and then to the plugins that subscribed to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypedDict, TypeVar

from smart_context.base.values import JsonObject, PersonId
from smart_context.host.access import Audience
from smart_context.host.turn import Turn

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Event(Generic[P]):
    """A name, tied to the type of its payload."""

    name: str
    # True if each server of a team finds it out by itself, so each tells only its own clients
    each_finds: bool = False


class Emit(Protocol):
    """Sends an event to clients."""

    def __call__(
        self, event: Event[Any], payload: Mapping[str, Any], audience: Audience | None = None, /
    ) -> None:
        """Send the event to all who may see the payload's chat, or to another audience."""


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
"""The answer is complete but not yet saved: the place to change it."""
PIPELINE_OUTPUT: Event[Turn] = Event("pipeline.output")
"""The answer is saved; also for stopped and aborted turns, not for failed ones."""
PIPELINE_END: Event[Turn] = Event("pipeline.end")
"""The turn is over, however it ended."""
PIPELINE_ERROR: Event[Turn] = Event("pipeline.error")
"""A phase of the host or the model failed; `turn.error` says why."""


class ChatChanged(TypedDict):
    """The id of a chat that has changed."""

    chat_id: str


class ChatShown(TypedDict):
    """A person opened a chat, or made another version of it current."""

    chat_id: str
    person: PersonId


class ChatSummed(TypedDict):
    """A summary was added to a chat or removed from it."""

    chat_id: str
    person: PersonId  # the person for whom it was
    message_id: str
    words: str


class Compacting(TypedDict):
    """A client wants a chat summed up; a plugin that sends only a part of it does that instead."""

    chat_id: str
    person: PersonId  # the person who wants it
    done: JsonObject | None  # the plugin's result; `None` if no plugin did it
    refused: str  # why a plugin refused, for people; empty if none did


class ChatCopied(TypedDict):
    """A chat was made from messages of another one, `source`; `topics` are to be picked there."""

    chat_id: str
    person: PersonId  # the person who made it
    source: str
    topics: list[str]


class Panel(TypedDict):
    """A plugin's panel and the address of its page."""

    id: str
    title: str
    icon: str
    position: str
    url: str


CHAT_OPENED: Event[ChatShown] = Event("chat.opened")
"""A client opened a chat; goes to plugins only."""
CHAT_VERSION_SHOWN: Event[ChatShown] = Event("chat.version_shown")
"""Another version of a chat became current; goes to plugins only."""
CHAT_SUMMED: Event[ChatSummed] = Event("chat.summed")
"""Messages were summed up, cleared, or are sent again (empty `words`); goes to plugins only."""
CHAT_COMPACTING: Event[Compacting] = Event("chat.compacting")
"""A chat is to be summed up; goes to plugins only, which may do it instead."""
CHAT_COPIED: Event[ChatCopied] = Event("chat.copied")
"""A chat was copied or continued in a new one; goes to plugins only."""
CHAT_STARTED: Event[JsonObject] = Event("chat.started")
"""The question is saved and the answer `message_id` of `chat_id` begins."""
CHAT_TOKEN: Event[JsonObject] = Event("chat.token")
"""The next piece of the answer, `text`; `offset` counts the characters before it."""
CHAT_THOUGHT: Event[JsonObject] = Event("chat.thought")
"""The next piece, `text`, of the model's thoughts before its answer."""
CHAT_WAS_THOUGHT: Event[JsonObject] = Event("chat.was_thought")
"""The answer from character `since` to `until` was a thought, and is no part of the answer."""
CHAT_WAITING: Event[JsonObject] = Event("chat.waiting")
"""The model is busy, and is asked again after `seconds`."""
CHAT_READING: Event[JsonObject] = Event("chat.reading")
"""The model has read `tokens` for `seconds`; `percent` of them, if its server says so."""
CHAT_TOOL: Event[JsonObject] = Event("chat.tool")
"""The model called a tool; `call` is the answer's part with the result, or an error."""
CHAT_UNSAVED: Event[JsonObject] = Event("chat.unsaved")
"""The disk refuses an answer that is shown; `problem` is empty once it has taken it."""
CHAT_FINISHED: Event[JsonObject] = Event("chat.finished")
"""A turn ended well, or was stopped or aborted; `message_ids` of question and answer are saved."""
CHAT_FAILED: Event[JsonObject] = Event("chat.failed")
"""A turn failed; `error` says why, for the user; the text that had arrived is saved."""
CHAT_CHANGED: Event[ChatChanged] = Event("memory.chat_changed", each_finds=True)
"""A chat was stored, deleted or restored, by this server or another program."""
CHAT_DELETED: Event[ChatChanged] = Event("memory.chat_deleted")
"""A client moved a chat to the trash."""
CHAT_SHARED: Event[JsonObject] = Event("memory.chat_shared")
"""A `person` shared a chat with all people of the vault, or ended that; see `shared`."""
TRASH_CHANGED: Event[JsonObject] = Event("memory.trash_changed")
"""Deleted chats were removed for ever; `memory.list_trash` lists the others."""
SIDECAR_CHANGED: Event[ChatChanged] = Event("memory.sidecar_changed")
"""A file next to a chat may have changed; goes to plugins only."""
PANEL_REGISTERED: Event[Panel] = Event("ui.register_panel", each_finds=True)
"""A panel was registered."""
PANEL_REMOVED: Event[JsonObject] = Event("ui.remove_panel", each_finds=True)
"""The panel `id` was removed."""
PLUGINS_CHANGED: Event[JsonObject] = Event("system.plugins_changed", each_finds=True)
"""A plugin started, failed or stopped; `plugins` as `system.plugins` gives them."""
CONFIG_READ: Event[JsonObject] = Event("system.config_read", each_finds=True)
"""The settings file was read again; if it has `faults`, the previous settings stay in use."""
TRUST_CHANGED: Event[JsonObject] = Event("system.trust_changed", each_finds=True)
"""The vault's requests for trust, or its parts that are off, have changed; see `system.trust`."""
