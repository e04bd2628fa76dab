"""What clients of the API may reach with their key."""

import asyncio
import time
from collections.abc import Callable, Mapping

from starlette.responses import Response

from smart_context.base.errors import StoreFailed
from smart_context.base.values import OWN_KEY, PersonId
from smart_context.web.gate.access import Access
from smart_context.web.gate.client_keys import ClientKeys, KeyFile
from smart_context.web.gate.request_facts import RequestFacts
from smart_context.web.gate.security import Refusal
from smart_context.web.wire.frames import render_json

LOOK_AGAIN_S = 1.0
"""How long a key that was revoked may still open."""

_ROOTS = ("/v1", "/mcp")
_EXPOSED = "X-Smart-Context-Chat, X-Smart-Context-Receipt, X-Smart-Context-In, X-Smart-Context-Out"
_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}

NO_CLIENT_KEY = Refusal(
    status=401,
    title="The key is missing or wrong",
    advice="Send `Authorization: Bearer KEY`. For a key, run: smart-context keys new NAME",
)


def is_for_clients(path: str) -> bool:
    """True if a path is the API's, which keys open and cookies do not."""
    return any(path == root or path.startswith(f"{root}/") for root in _ROOTS)


class KeyRing:
    """Knows whose key is whose.

    Args:
        access: The server's own secret; `None`: it has none that opens the API.
        file: Where the keys of clients are kept; `None`: there are none.
        clock: Monotonic, in seconds.
    """

    def __init__(
        self,
        access: Access | None,
        file: KeyFile | None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._access = access
        self._file = file
        self._clock = clock
        self._keys = ClientKeys()
        self._read_at = float("-inf")

    def person_of(self, name: str) -> PersonId:
        """The person of a key, by its name."""
        return self._keys.person_of(name)

    async def owner_of(self, authorization: str) -> str:
        """The name of the key in an `Authorization` header; empty if it opens nothing."""
        scheme, _, key = authorization.partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            return ""
        if self._access and self._access.accepts_bearer(authorization.encode("latin-1")):
            return OWN_KEY
        owner = self._keys.name_of(key.strip())
        # One that was just made is looked for at once; one that was revoked works a little longer.
        if self._file is not None and (not owner or self._is_stale()):
            self._read_at = self._clock()
            self._keys = await asyncio.to_thread(_read, self._file)
            owner = self._keys.name_of(key.strip())
        return owner

    def _is_stale(self) -> bool:
        return self._clock() - self._read_at >= LOOK_AGAIN_S


def _read(file: KeyFile) -> ClientKeys:
    try:
        return file.read()
    except StoreFailed:
        return ClientKeys()


def preflight(facts: RequestFacts) -> Response | None:
    """The answer to a browser that asks what it may send; `None` for other requests.

    Any page may ask, since each request must carry a key that only the user can have given it.
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
    """What lets a page of another site read an answer of the API."""
    if not is_for_clients(path):
        return {}
    return {
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Expose-Headers": _EXPOSED,
        "Cross-Origin-Resource-Policy": "cross-origin",
    }


def refused_client(refusal: Refusal) -> Response:
    """A refusal in the shape that the API's errors have."""
    error = {
        "message": f"{refusal.title}. {refusal.advice}",
        "type": _KINDS.get(refusal.status, "invalid_request_error"),
        "param": None,
        "code": "invalid_api_key" if refusal.status == 401 else None,  # noqa: PLR2004 - Unauthorized
    }
    headers = {"Cache-Control": "no-store"}
    if refusal.status == 401:  # noqa: PLR2004 - the same
        headers["WWW-Authenticate"] = 'Bearer realm="Smart Context"'
    if refusal.retry_after_s:
        headers["Retry-After"] = str(refusal.retry_after_s)
    return Response(render_json({"error": error}), refusal.status, headers, "application/json")
