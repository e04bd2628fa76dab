r"""Errors as clients of the API expect them, and the paths under /v1 that may reach a provider.

A provider, or a proxy before it, may decode a path once more or take `\` for `/`, so nothing is
sent on that could then lead to another part of it.
"""

import json
import re
from collections.abc import Mapping

from starlette.responses import Response
from starlette.types import Scope

from smart_context.gateway.requests.body import read_value
from smart_context.llm.failures import shortened, vendor_words

_KINDS: Mapping[int, str] = {
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "server_error",
    502: "server_error",
    504: "server_error",
}

_TAG = re.compile(r"<[^<>]{1,1000}>")


class GatewayError(Exception):
    """A request that is refused, or failed.

    Attributes:
        param: The field at fault; `None` if there is none.
        code: A name for programs; `None` if there is none.
    """

    def __init__(
        self, status: int, message: str, *, param: str | None = None, code: str | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.param = param
        self.code = code

    def body(self) -> bytes:
        """The error as JSON."""
        error = {
            "message": str(self),
            "type": _KINDS.get(self.status, "invalid_request_error"),
            "param": self.param,
            "code": self.code,
        }
        return json.dumps({"error": error}).encode()

    def response(self) -> Response:
        """The error as a response."""
        return Response(self.body(), self.status, media_type="application/json")

    def event(self) -> bytes:
        """The error as an event of a stream."""
        return b"data: " + self.body() + b"\n\n"


def refused_by_plugin(reason: Exception) -> GatewayError:
    """The error for a turn that a plugin has stopped."""
    return GatewayError(422, str(reason), code="aborted_by_plugin")


def with_hint(body: bytes, hint: str) -> bytes:
    """A provider's error with a hint after its message; one without a message gets one."""
    try:
        answer = read_value(body)
    except (ValueError, RecursionError):
        answer = body.decode("utf-8", "replace")
    fields = answer if isinstance(answer, dict) else {}
    error = fields.get("error")
    if error and isinstance(error, str):
        error = f"{error} {hint}"
    elif error and isinstance(error, dict):
        error = {**error, "message": f"{error.get('message') or ''} {hint}".strip()}
    else:
        own = GatewayError(404, f"{_said(answer)} {hint}").body()
        error = json.loads(own)["error"]
    return json.dumps({**fields, "error": error}).encode()


def _said(answer: object) -> str:
    """What an answer without an error says, on one line."""
    words = vendor_words(answer) or (json.dumps(answer) if answer else "")
    line = shortened(_TAG.sub(" ", words))
    return f"The provider answered: {line}" if line else "The provider has nothing at this address."


_NOT_FOUND = 404
_STEPS = frozenset({".", ".."})
_OF_A_RESPONSE = re.compile(r"/responses(?:/[A-Za-z0-9._~-]+){1,2}")
_WITHOUT_ID = frozenset({"compact", "input_tokens"})
_MODEL = re.compile(r"(?!\.)[A-Za-z0-9._~:@+?#=,-]+(?:/(?!\.)[A-Za-z0-9._~:@+?#=,-]+)*")


def path_of(scope: Scope) -> str:
    """The path below `/v1`, decoded.

    Raises:
        GatewayError: If it climbs, or `/v1` is not written as such.
    """
    path: str = scope["path"].removeprefix("/v1").rstrip("/")
    if not _STEPS.isdisjoint(path.split("/")):
        raise _no_such(f"A path can't hold '.' or '..': /v1{path}.")
    if not (scope.get("raw_path", b"/v1") + b"/").startswith(b"/v1/"):
        raise _no_such("The path of the API begins with /v1.")
    return path


def of_a_response(path: str) -> bool:
    """True for `/responses/{id}` and its parts, such as `/input_items`."""
    return _OF_A_RESPONSE.fullmatch(path) is not None


def response_in(path: str) -> str:
    """The response that a path below `/responses` names; empty for `/responses/compact`."""
    name = path.split("/")[2]
    return "" if name in _WITHOUT_ID else name


def is_model_path(name: str) -> bool:
    """True if a model's name may be part of a path: `org/name:free`."""
    return _MODEL.fullmatch(name) is not None


def _no_such(message: str) -> GatewayError:
    return GatewayError(_NOT_FOUND, message, code="unknown_url")
