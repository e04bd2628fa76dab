"""Errors as clients of the API expect them."""

import json
from collections.abc import Mapping

from starlette.responses import Response

_KINDS: Mapping[int, str] = {
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "server_error",
    502: "server_error",
    504: "server_error",
}


class GatewayError(Exception):
    """A request that is refused, or failed.

    Attributes:
        status: The HTTP status.
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


def with_hint(body: bytes, hint: str) -> bytes:
    """A provider's error with a hint added to its message; other bodies unchanged."""
    try:
        answer = json.loads(body)
        error = answer["error"]
        if isinstance(error, str):
            answer["error"] = f"{error} {hint}"
        else:
            error["message"] = f"{error.get('message') or ''} {hint}".strip()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return GatewayError(404, f"The provider has nothing at this address. {hint}").body()
    return json.dumps(answer).encode()
