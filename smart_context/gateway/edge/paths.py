r"""The paths under /v1, and those that may reach a provider.

A provider, or a proxy before it, may decode a path once more or treat `\` as `/`, so a path that
could then lead to another part of the provider is refused.
"""

import re
from collections.abc import Mapping

from starlette.types import Scope

from smart_context.gateway.edge.errors import GatewayError
from smart_context.gateway.requests.outgoing import ApiKind

PATHS: Mapping[ApiKind, str] = {"chat": "/chat/completions", "responses": "/responses"}

_NOT_FOUND = 404
_STEPS = frozenset({".", ".."})
_OF_A_RESPONSE = re.compile(r"/responses(?:/[A-Za-z0-9._~-]+){1,2}")
_WITHOUT_ID = frozenset({"compact", "input_tokens"})
_MODEL = re.compile(r"(?!\.)[A-Za-z0-9._~:@+?#=,-]+(?:/(?!\.)[A-Za-z0-9._~:@+?#=,-]+)*")


def path_of(scope: Scope) -> str:
    """The path below `/v1`, decoded.

    Raises:
        GatewayError: If it has a `.` or `..`, or does not literally begin with `/v1`.
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
