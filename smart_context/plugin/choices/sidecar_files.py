"""The side-car files of chats on disk; blocking, so used in threads."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from smart_context.base.disk.files import Signature, read_file, replace_unless_changed, signature_of
from smart_context.base.disk.json_file import encoded, parsed
from smart_context.base.disk.places import Place
from smart_context.chat.messages import ChatId
from smart_context.plugin.choices.state import FilterState
from smart_context.topics.stored import from_assignments, seen_in
from smart_context.topics.values import Topic

FILTER_SUFFIX = "filter.json"
MEMBERS_SUFFIX = "topics.json"
MAX_BYTES = 32 * 1024 * 1024

PathOf = Callable[[ChatId, str], Path | Place]
"""Gives the place of a chat's side-car file, by its suffix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatSidecar:
    """The state and the topics that are stored next to one chat.

    Attributes:
        state: The user's choices.
        topics: The topics with their messages: the current ones, and those that extraction no
            longer finds but the user still has selected or deleted.
        seen: The last message that was read for them; empty if unknown.
    """

    state: FilterState = field(default_factory=FilterState)
    topics: tuple[Topic, ...] = ()
    seen: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class StoredSidecar:
    """The content of the files when last read or written, and their signatures then."""

    sidecar: ChatSidecar
    filter: Signature | None
    members: Signature | None


class SidecarFiles:
    """Reads and writes side-car files.

    Args:
        path_of: Gives their places.
        logger: For warnings.
    """

    def __init__(self, path_of: PathOf, logger: logging.Logger) -> None:
        self._path_of = path_of
        self._logger = logger

    def load(self, chat_id: ChatId, last: StoredSidecar | None) -> StoredSidecar:
        """The content of the files; the same object as last time if they have not changed.

        Raises:
            StoreFailed: If the disk refuses.
        """
        paths = [self._path_of(chat_id, suffix) for suffix in (FILTER_SUFFIX, MEMBERS_SUFFIX)]
        signatures = [signature_of(path) for path in paths]
        if last is not None and signatures == [last.filter, last.members]:
            return last
        (filter_, state), (members, topics) = map(self._document, paths)
        sidecar = ChatSidecar(
            state=FilterState.from_dict(state),
            topics=from_assignments(topics),
            seen=seen_in(topics),
        )
        return StoredSidecar(sidecar, filter_, members)

    def put(
        self,
        chat_id: ChatId,
        suffix: str,
        document: Mapping[str, Any],
        expected: Signature | None,
    ) -> Signature:
        """Replace a file, if it is still the expected one.

        Raises:
            Conflict: If another process has changed it.
            StoreFailed: If the disk refuses.
        """
        return replace_unless_changed(self._path_of(chat_id, suffix), encoded(document), expected)

    def _document(self, path: Path | Place) -> tuple[Signature | None, Mapping[str, Any]]:
        found = read_file(path, max_bytes=MAX_BYTES)
        if found is None:
            return None, {}
        signature, content = found
        document = parsed(content)
        if document is None:
            self._logger.warning("%s can't be read as a JSON object; it is treated as empty.", path)
        return signature, document or {}
