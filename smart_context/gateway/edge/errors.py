"""Errors in the form that clients of the API expect."""

import json
import re
from collections.abc import Mapping

from starlette.responses import Response

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
    """A provider's error with a hint after its message; an error without a message gets one."""
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
    """The text of an answer that has no error message, on one line."""
    words = vendor_words(answer) or (json.dumps(answer) if answer else "")
    line = shortened(_TAG.sub(" ", words))
    return f"The provider answered: {line}" if line else "The provider has nothing at this address."
