"""Which of a provider's headers its client gets. All others stay here.

The client reads the answer from our address, where a header can do more than describe it: set
cookies, clear what a browser keeps, redirect, relax a policy, or pass for one of ours.
"""

from collections.abc import Iterable

from smart_context.llm.redaction import redacted

PASSED = frozenset(
    (
        *("content-type", "content-encoding"),
        *("retry-after", "retry-after-ms", "x-should-retry"),
        *("x-request-id", "request-id"),
    )
)
PASSED_BEGINNINGS = ("openai-", "x-ratelimit-", "ratelimit-", "anthropic-ratelimit-")

_Header = tuple[bytes, bytes]


def passed_headers(headers: Iterable[_Header], key: str | None) -> list[_Header]:
    """The headers to pass on, with names in lower case; none that holds the key."""
    lower = ((name.lower(), value) for name, value in headers)
    return [(name, value) for name, value in lower if _is_passed(name) and _is_clean(value, key)]


def _is_passed(name: bytes) -> bool:
    text = name.decode("latin-1")
    return text in PASSED or text.startswith(PASSED_BEGINNINGS)


def _is_clean(value: bytes, key: str | None) -> bool:
    text = value.decode("latin-1")
    return not key or redacted(text, key) == text
