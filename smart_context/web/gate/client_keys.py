"""The keys of the API's clients: digests, in the user's folder. The functions here block."""

import asyncio
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter
from starlette.responses import Response

from smart_context.base.disk.places import Place
from smart_context.base.disk.shared_file import SharedFile
from smart_context.base.errors import CommandFailed, InvalidParams, StoreFailed
from smart_context.base.shared import SharedValue
from smart_context.base.values import OWN_KEY, OWNER, PersonId, person_tag
from smart_context.web.gate.access import GateSecrets, random_digest
from smart_context.web.gate.request_facts import Refusal, RequestFacts

FILE_NAME = "client-keys.json"
KEY_BEGINNING = "sc-"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKey:
    """A key, without the key itself."""

    digest: str  # compared with the digest of a given key
    created_at: int  # in seconds since 1970
    person: str = OWNER  # the person who made it, as whom its requests are made


class KeyHolder(NamedTuple):
    """The owner of a key."""

    name: str  # the key's full name
    person: PersonId  # the person as whom its requests are made


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientKeys:
    """All keys, by `full_name`."""

    keys: Mapping[str, ClientKey] = field(default_factory=dict)

    def of(self, person: PersonId) -> Mapping[str, ClientKey]:
        """A person's keys, by the names that they gave them."""
        return {short_name(name): key for name, key in self.keys.items() if key.person == person}

    def holder_of(self, key: str) -> "KeyHolder | None":
        """The owner of a key; `None` for an unknown key."""
        digest = random_digest(key)
        for name, known in self.keys.items():
            if known.digest == digest:
                return KeyHolder(name, PersonId(known.person))
        return None


RECORD_OF_KEYS = TypeAdapter(ClientKeys)


class KeyFile:
    """Reads and changes the keys, which several servers and commands share.

    Args:
        folder: The user's folder for settings; made when something is first written.
        shared: The place where the servers of a team keep the keys, instead of that folder.
    """

    def __init__(self, folder: Path, *, shared: SharedValue[ClientKeys] | None = None) -> None:
        place = Place(folder, (FILE_NAME,))
        own = SharedFile(place=place, adapter=RECORD_OF_KEYS, empty=ClientKeys())
        self._file: SharedValue[ClientKeys] = shared or own

    def read(self) -> ClientKeys:
        """The keys; none when there is no file, or when it is damaged.

        Raises:
            StoreFailed: If it can't be read.
        """
        return self._file.read()[1]

    def new(self, name: str, person: PersonId = OWNER) -> str:
        """Make a key of a person; it is given out this once.

        Raises:
            CommandFailed: If the name is taken.
            InvalidParams: If the name is invalid.
            StoreFailed: If it can't be written.
        """
        if not _NAME.fullmatch(name) or name == OWN_KEY:
            raise InvalidParams(
                f"{name!r} can't be a key's name. Use up to 64 letters, digits, '-' and '_', and "
                f"not {OWN_KEY!r}."
            )
        key = KEY_BEGINNING + secrets.token_urlsafe(32)
        made = ClientKey(digest=random_digest(key), created_at=int(time.time()), person=person)
        kept_as = full_name(name, person)

        def change(record: ClientKeys) -> ClientKeys:
            if kept_as in record.keys:
                raise CommandFailed(
                    f"There is a key {name!r} already. Choose another name, or run: "
                    f"smart-context keys revoke {name}"
                )
            return replace(record, keys={**record.keys, kept_as: made})

        self._file.update(change)
        return key

    def revoke(self, name: str, person: PersonId = OWNER) -> None:
        """Remove a key.

        Raises:
            CommandFailed: If there is no such key.
            StoreFailed: If it can't be written.
        """
        kept_as = full_name(name, person)

        def change(record: ClientKeys) -> ClientKeys:
            if kept_as not in record.keys:
                raise CommandFailed(f"There is no key {name!r}; see: smart-context keys list")
            return replace(record, keys={k: v for k, v in record.keys.items() if k != kept_as})

        self._file.update(change)


def full_name(name: str, person: PersonId) -> str:
    """The name under which a person's key is stored: two people may use the same name."""
    tag = person_tag(person)
    return f"{name}@{tag}" if tag else name


def short_name(name: str) -> str:
    """The name that a key's person gave it, from its full name."""
    return name.partition("@")[0]


def is_of(name: str, person: PersonId) -> bool:
    """True if a key of this full name is a person's."""
    return name.partition("@")[2] == person_tag(person)


LOOK_AGAIN_S = 1.0
"""The longest time for which a revoked key may still work."""

_ROOTS = ("/v1", "/mcp")
_EXPOSED = "X-Smart-Context-Chat, X-Smart-Context-Receipt, X-Smart-Context-In, X-Smart-Context-Out"

NO_CLIENT_KEY = Refusal(
    status=401,
    title="The key is missing or wrong",
    advice="Send `Authorization: Bearer KEY`. For a key, run: smart-context keys new NAME",
)


MISPLACED = Refusal(
    status=404,
    title="There is nothing of the API at this address",
    advice="The base URL ends in /v1, once, as in http://localhost:8000/v1; clients add the rest.",
)

_MISPLACED = re.compile(
    r"(?:/+(?:v\d\w*|api|openai|llm|inference|ollama|proxy|gateway|deployments/[^/]+))*"
    r"/+(?:chat/completions|completions|responses|embeddings|models)/*"
)


def misplaced(facts: RequestFacts) -> Refusal | None:
    """The refusal of a client whose base URL does not end in `/v1`; `None` for others."""
    is_client = facts.method == "POST" or facts.header("authorization")
    if not is_client or is_for_clients(facts.path):
        return None
    return MISPLACED if _MISPLACED.fullmatch(facts.path) else None


def is_for_clients(path: str) -> bool:
    """True for a path of the API, which needs a key; cookies don't open it."""
    return any(path == root or path.startswith(f"{root}/") for root in _ROOTS)


@dataclass(eq=False)
class KeyRing:
    """Finds the owners of keys."""

    access: GateSecrets | None  # the server's own secret; `None`: it has none that opens the API
    file: KeyFile | None  # the keys of clients; `None`: there are none
    _keys: ClientKeys = field(default_factory=ClientKeys, init=False)
    _read_at: float = field(default_factory=lambda: float("-inf"), init=False)

    async def holder_of(self, authorization: str) -> KeyHolder | None:
        """The owner of the key in an `Authorization` header; `None` if it opens nothing."""
        scheme, _, key = authorization.partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            return None
        if self.access and self.access.accepts_bearer(authorization.encode("latin-1")):
            return KeyHolder(OWN_KEY, OWNER)
        holder = self._keys.holder_of(key.strip())
        # A new key is looked up at once; a revoked one works a little longer.
        if self.file is not None and (holder is None or self._is_stale()):
            self._read_at = time.monotonic()
            self._keys = await asyncio.to_thread(_read, self.file)
            holder = self._keys.holder_of(key.strip())
        return holder

    def _is_stale(self) -> bool:
        return time.monotonic() - self._read_at >= LOOK_AGAIN_S


def _read(file: KeyFile) -> ClientKeys:
    try:
        return file.read()
    except StoreFailed:
        return ClientKeys()


def preflight(facts: RequestFacts) -> Response | None:
    """The answer to a browser that asks what it may send; `None` for other requests.

    Any page may ask, since each request needs a key, which only the user can give to the page.
    """
    if facts.method != "OPTIONS" or not is_for_clients(facts.path):
        return None
    headers = {
        "Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS",
        "Access-Control-Allow-Headers": facts.header("access-control-request-headers")
        or "Authorization, Content-Type",
        "Access-Control-Max-Age": "600",
        "Vary": "Access-Control-Request-Headers",
    }
    if facts.header("access-control-request-private-network") == "true":
        headers["Access-Control-Allow-Private-Network"] = "true"
    return Response(status_code=204, headers=headers)


def client_headers(path: str) -> Mapping[str, str]:
    """The headers that let a page of another site read an answer of the API."""
    if not is_for_clients(path):
        return {}
    return {
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Expose-Headers": _EXPOSED,
        "Cross-Origin-Resource-Policy": "cross-origin",
    }
