"""Which clients have asked, and how it went, since the server started."""

from dataclasses import dataclass
from datetime import UTC, datetime

from cachetools import LRUCache

from smart_context.base.values import JsonObject

MAX_CLIENTS = 256


@dataclass(slots=True, kw_only=True)
class ClientActivity:
    """What one client of one key has done.

    Attributes:
        key: The name of its key.
        client: The program, as far as it can be told.
        last_at: When it last asked, ISO 8601 in UTC.
        requests: How often it asked.
        error: What went wrong with its last request; empty if nothing did.
        chat_id: The chat of its last request; empty if it had none.
    """

    key: str
    client: str
    last_at: str = ""
    requests: int = 0
    error: str = ""
    chat_id: str = ""

    def to_dict(self) -> JsonObject:
        """As clients of the page get it."""
        return {name: getattr(self, name) for name in self.__slots__}


class Activity:
    """The clients of a gateway."""

    def __init__(self) -> None:
        self._known: LRUCache[tuple[str, str], ClientActivity] = LRUCache(MAX_CLIENTS)

    def asked(self, key: str, client: str, chat_id: str) -> ClientActivity:
        """Note a request; its outcome is to be set."""
        known = self._known.get((key, client)) or ClientActivity(key=key, client=client)
        known.last_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        known.requests += 1
        known.error, known.chat_id = "", chat_id
        self._known[key, client] = known
        return known

    def all(self) -> list[JsonObject]:
        """All of them, the one that asked last first."""
        known = sorted(self._known.values(), key=lambda client: client.last_at, reverse=True)
        return [client.to_dict() for client in known]
