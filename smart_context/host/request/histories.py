"""Who makes histories, as the host asks for them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from smart_context.chat.messages import Message

NOTHING: Mapping[str, str] = MappingProxyType({})


class HistoryBuilder(Protocol):
    """Builds what is sent from stored messages (contract E)."""

    async def __call__(
        self, messages: Sequence[Message], /, *, unstored: Mapping[str, str] = NOTHING
    ) -> list[Message]:
        """The messages to send.

        Args:
            messages: Oldest first, the current one last.
            unstored: Texts of attachments that are not stored yet, by storage key.
        """
