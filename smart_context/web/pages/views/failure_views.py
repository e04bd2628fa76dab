"""Why an answer failed, as the page shows it: one sentence, and the rest on demand."""

import re
from dataclasses import dataclass

_ADDRESS = re.compile(r" at https?://\S+(?= )")
_SENTENCE = re.compile(r"(.+?)(?:[.!?]\s|:\s|[.!?:]?$)", re.DOTALL)
_WAIT = re.compile(r"Wait (\d{1,4}) s, then try again")


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureView:
    """A failure.

    Attributes:
        headline: What happened, in one sentence without addresses.
        details: The whole text; empty if the headline says all.
        wait_s: Seconds after which to try again; 0 if that is not known.
    """

    headline: str
    details: str
    wait_s: int


def failure_view(error: str) -> FailureView:
    """A failure from its text."""
    text = error.strip()
    found = _SENTENCE.match(_ADDRESS.sub("", text, count=1))
    headline = f"{found.group(1).strip()}." if found else "This answer failed."
    wait = _WAIT.search(text)
    details = "" if text.rstrip(".") == headline.rstrip(".") else text
    return FailureView(headline=headline, details=details, wait_s=int(wait.group(1)) if wait else 0)
