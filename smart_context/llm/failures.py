"""Failures of requests to endpoints, and their wording for the user.

An `EndpointFailure` needs no vendor's library, so retries and messages are functions of it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from smart_context.base.config import EndpointSettings
from smart_context.base.config.addresses import plain_address
from smart_context.base.errors import ModelFailed, TooLong
from smart_context.llm.redaction import redacted
from smart_context.llm.too_long import too_long

ModelKind = Literal["chat model", "embedding model"]
Trouble = Literal[
    "refused",
    "redirected",
    "unreachable",
    "slow",
    "stalled",
    "silent",
    "broken",
    "nonsense",
    "endless",
    "unusable key",
    "withheld",
]

_MOST_WORDS = 300
_MOST_READ = 10_000
_PLACES_OF_WORDS = ("error", "message", "detail")
_NUMBERS_BESIDE_WORDS = ("n_prompt_tokens", "n_ctx")
"""Fields of llama.cpp's error with the numbers that its message lacks."""

_REFUSES_LENGTH = frozenset({200, 400, 413, 422, 500})
_BODY_TOO_LARGE = 413
_OF_QUOTAS = frozenset({402, 429})
"""Statuses for which the provider's own sentence comes first, since it says best what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointFailure:
    """One failed request."""

    # `refused` comes with a status; `redirected` with a status and an address; `unreachable` means
    # no connection; `slow`, a timeout; `silent`, a connection that was lost before the answer
    # began, and `broken`, one that was lost later; `nonsense`, an answer that can't be parsed;
    # `endless`, one over the size limit; `withheld`, an endpoint that the user no longer trusts
    trouble: Trouble
    # the message of the vendor or the system, of any length; of a redirect, its target
    words: str = ""
    status: int | None = None  # the HTTP status, if any
    retry_after_s: float | None = None  # the wait that the endpoint asks for, if any
    waited_s: float | None = None  # the time waited, if other than `timeout_s`

    @property
    def too_long(self) -> TooLong | None:
        """The excess of the input over the model's limit; `None` if the failure is another one."""
        if self.status not in _REFUSES_LENGTH:
            return None
        found = too_long(self.words[:_MOST_READ])
        return found or (TooLong() if self.status == _BODY_TOO_LARGE else None)


class RequestFailed(Exception):
    """A request failed; `failure` says how."""

    def __init__(self, failure: EndpointFailure) -> None:
        self.failure = failure
        super().__init__(failure.words or failure.trouble)


class AnswerNotUnderstood(RequestFailed):
    """An answer that does not follow the API; the message quotes its beginning."""

    def __init__(self, words: str) -> None:
        super().__init__(EndpointFailure(trouble="nonsense", words=words))


def vendor_words(body: object, *, depth: int = 3) -> str:
    """The message in an error's JSON body, from the usual places; empty if none."""
    if isinstance(body, str):
        return body
    if not isinstance(body, Mapping) or depth == 0:
        return ""
    found = (vendor_words(body.get(key), depth=depth - 1) for key in _PLACES_OF_WORDS)
    words = next(filter(None, found), "")
    numbers = [f"{key}: {body[key]}" for key in _NUMBERS_BESIDE_WORDS if key in body]
    return f"{words} ({', '.join(numbers)})" if numbers else words


def shortened(words: str, *, secret: str | None = None) -> str:
    """One line of at most 300 characters, without control characters and the key."""
    words = words[:_MOST_READ]
    if secret:
        words = redacted(words, secret)
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    return line if len(line) <= _MOST_WORDS else f"{line[: _MOST_WORDS - 1]}…"


def shown_url(base_url: str) -> str:
    """The address with its host in ASCII; `its base_url` if it is invalid."""
    try:
        parts = urlsplit(base_url)
        return plain_address(urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])))
    except ValueError:
        return "its base_url"


def is_address(base_url: str) -> bool:
    """True if it is a valid web address."""
    try:
        parts = urlsplit(base_url)
        port_is_sound = parts.port is None or parts.port > 0
    except ValueError:
        return False
    host = parts.hostname or ""
    is_web = parts.scheme in {"http", "https"} and base_url.isprintable()
    return port_is_sound and is_web and bool(host) and " " not in host


def explained(failure: EndpointFailure, endpoint: EndpointSettings, kind: ModelKind) -> ModelFailed:
    """The error for the user: the model, its address, its message, and the next step."""
    words = shortened(failure.words, secret=endpoint.api_key)
    said = f": {words}" if words else ""
    who = f"{kind} {endpoint.model}" if endpoint.model else "server"
    what = f"The {who} at {shown_url(endpoint.base_url)}"
    happened = f"{what} {_happened(failure, endpoint)}{said}{'' if said.endswith('.') else '.'}"
    if words and failure.trouble == "refused" and failure.status in _OF_QUOTAS:
        end = "" if words[-1] in ".!?…" else "."
        happened = f"{words}{end} {what} {_happened(failure, endpoint)}."
    excess = failure.too_long if failure.trouble == "refused" else None
    if excess and kind == "chat model":
        return ModelFailed(
            f"{_how_long(excess)} {_SEND_LESS} {happened}",
            status=failure.status,
            too_long=excess,
        )
    return ModelFailed(
        f"{happened} {_next_step(failure, endpoint)}", status=failure.status, too_long=excess
    )


def _how_long(excess: TooLong) -> str:
    """The first sentence about a request that was too long."""
    what = "Too long for this model"
    if excess.asked and excess.window:
        return f"{what}: {excess.asked:,} of {excess.window:,} tokens."
    return f"{what}: it takes {excess.window:,} tokens." if excess.window else f"{what}."


def _happened(failure: EndpointFailure, endpoint: EndpointSettings) -> str:
    happenings: dict[Trouble, str] = {
        "refused": f"had a problem ({failure.status})"
        if (failure.status or 0) >= 500  # noqa: PLR2004 - HTTP statuses are their own names
        else f"refused the request with status {failure.status}",
        "redirected": f"redirects to another address (status {failure.status})",
        "unreachable": "can't be reached",
        "slow": f"did not answer within {failure.waited_s or endpoint.timeout_s:g} s",
        "stalled": "stopped in the middle of its answer",
        "silent": "gave no answer",
        "broken": "broke off in the middle of its answer",
        "nonsense": "gave an answer that does not follow the OpenAI API",
        "endless": "gave an answer that is over the size limit",
        "unusable key": "was not asked",
        "withheld": "was not asked",
    }
    return happenings[failure.trouble]


def _next_step(failure: EndpointFailure, endpoint: EndpointSettings) -> str:
    steps: dict[Trouble, str] = {
        "refused": _after_refusal(failure, endpoint),
        "redirected": "Nothing was sent there. If you trust that address, use it in place of"
        f" {_base_url(endpoint)}",
        "unreachable": f"Is the server running? Check {_base_url(endpoint)}",
        "slow": "Slow local models can need minutes for their first answer. Try again, or raise"
        f" {_timeout(endpoint)}",
        "stalled": "The text so far is kept. Try again.",
        "silent": "Try again. If that does not help, look at the server's log and check"
        f" {_base_url(endpoint)}",
        "broken": "The text so far is kept. Try again.",
        "nonsense": f"{_USUAL_END} Check {_base_url(endpoint)}",
        "endless": "The text so far of a streamed answer is kept. Ask for less at a time.",
        "unusable key": _check_key(endpoint),
        "withheld": "You took back this vault's trust: review it to trust it again.",
    }
    return steps[failure.trouble]


def _after_refusal(failure: EndpointFailure, endpoint: EndpointSettings) -> str:
    status = failure.status or 0
    if failure.too_long:
        return "Send less, or choose a model with a longer window."
    if status == 401:  # noqa: PLR2004 - HTTP statuses are their own names
        return _check_key(endpoint)
    if status == 429:  # noqa: PLR2004 - the same
        return _wait_a_while(failure.retry_after_s)
    check = f"Check {_model(endpoint)}, and {_base_url(endpoint)}"
    if status == 404:  # noqa: PLR2004 - the same
        return f"{_USUAL_END} {check}"
    return _BY_STATUS.get(status, _SERVER_TROUBLE if status >= 500 else check)  # noqa: PLR2004 - the same


def _base_url(endpoint: EndpointSettings) -> str:
    """The setting of an endpoint's address, to end a sentence."""
    if endpoint.connection:
        return f"the address under Settings{_OR_BY_COMMAND}"
    return "base_url in the [llm] table of .vault.toml."


def _timeout(endpoint: EndpointSettings) -> str:
    """The setting of an endpoint's time limit, to end a sentence."""
    if endpoint.connection:
        return "the longest wait under Settings."
    return "timeout_s in the [llm] table of .vault.toml."


def _model(endpoint: EndpointSettings) -> str:
    """The setting of an endpoint's model."""
    if endpoint.connection:
        return "the model's name"
    return "the model's name in the [llm.categories] table of .vault.toml"


_SEND_LESS = (
    "Pick a topic, or fewer topics and notes, so that less is sent; or choose a model with a longer"
    " window."
)
_SERVER_TROUBLE = "The server itself has a problem: try again later, or look at its log."
_OR_BY_COMMAND = " or with: smart-context models add"
_USUAL_END = "The address of an API usually ends with /v1."
_BY_STATUS: Mapping[int, str] = {
    403: "Check that the key may use this model.",
    408: "Try again.",
}


def _check_key(endpoint: EndpointSettings) -> str:
    if not endpoint.api_key_env and endpoint.api_key:
        return f"Check the key, and enter it again under Settings{_OR_BY_COMMAND}"
    if not endpoint.api_key_env and endpoint.connection:
        return f"Enter a key under Settings{_OR_BY_COMMAND}"
    if not endpoint.api_key_env:
        return (
            "Enter a key under Settings, or put it into an environment variable and name that"
            " variable as api_key_env in the [llm] table of .vault.toml."
        )
    if endpoint.api_key is None:
        return f"Set the environment variable {endpoint.api_key_env} to the key; it is not set."
    return f"Check the key in the environment variable {endpoint.api_key_env}."


def _wait_a_while(retry_after_s: float | None) -> str:
    when = f"{retry_after_s:.0f} s" if retry_after_s else "a while"
    return f"It gets too many requests, or its quota is used up. Wait {when}, then try again."


def system_words(error: BaseException) -> str:
    """The system's message at the root of chained exceptions: `Connection refused`."""
    words = str(error)
    waiting: list[BaseException | None] = [error]
    while waiting:
        found = waiting.pop()
        if isinstance(found, OSError) and found.errno:
            words = _system_words(found) or words
        if isinstance(found, BaseExceptionGroup):
            waiting += found.exceptions
        elif found is not None:
            waiting.append(found.__cause__ or found.__context__)
    return words


def _system_words(error: OSError) -> str | None:
    if (words := _CONNECTION_WORDS.get(type(error))) is not None:
        return words
    # Where Windows has a number of its own, `errno` is a poor translation of it.
    number = 0 if getattr(error, "winerror", None) else error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror


_CONNECTION_WORDS: Mapping[type[OSError], str] = {
    ConnectionRefusedError: "Connection refused",
    ConnectionResetError: "Connection reset by peer",
    ConnectionAbortedError: "Connection aborted",
}
"""Words for errors, the same on every system: Windows has sentences in the user's language."""


def parsed_error(body: Any) -> str:
    """The vendor's message in a parsed body, or else the body itself."""
    return vendor_words(body) or ("" if body is None else str(body))
