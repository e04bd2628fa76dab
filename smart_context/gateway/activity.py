"""Which clients have sent requests since the server started, and with what result."""

from dataclasses import dataclass

from cachetools import LRUCache

from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject

MAX_CLIENTS = 256


@dataclass(slots=True, kw_only=True)
class ClientActivity:
    """The requests of one client with one key."""

    key: str  # the name of its key
    client: str  # the program, as far as its headers tell
    last_at: str = ""  # the time of its last request, ISO 8601 in UTC
    requests: int = 0  # the number of its requests
    error: str = ""  # why its last request failed; empty if it did not
    chat_id: str = ""  # the chat of its last request; empty if it had none

    def to_dict(self) -> JsonObject:
        """The JSON object for the page."""
        return {name: getattr(self, name) for name in self.__slots__}


class Activity:
    """The clients of a gateway."""

    def __init__(self) -> None:
        self._known: LRUCache[tuple[str, str], ClientActivity] = LRUCache(MAX_CLIENTS)

    def asked(self, key: str, client: str, chat_id: str) -> ClientActivity:
        """Count a request; the caller adds its outcome."""
        known = self._known.get((key, client)) or ClientActivity(key=key, client=client)
        known.last_at = utc_stamp()
        known.requests += 1
        known.error, known.chat_id = "", chat_id
        self._known[key, client] = known
        return known

    def all(self) -> list[JsonObject]:
        """All clients, the last active first."""
        known = sorted(self._known.values(), key=lambda client: client.last_at, reverse=True)
        return [client.to_dict() for client in known]
