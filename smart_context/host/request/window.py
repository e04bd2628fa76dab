"""A model's window and its shares: every limit on a request is one of them."""

from collections.abc import Callable
from dataclasses import dataclass

from smart_context.base.config import EndpointSettings
from smart_context.base.values import CountTokens
from smart_context.llm.providers import context_window
from smart_context.llm.tokens import count_tokens

REQUEST_SHARE = 0.9
"""The request's share of the window; the rest is for the answer."""

HISTORY_SHARE = 0.8
"""The window's share for history, contexts and role; the rest is for message and answer."""

LEAST_HISTORY_SHARE = 0.2
"""The history's minimum share of the window, even if contexts and role are large."""

CONTEXTS_SHARE = 0.4
"""The largest share of the window for attached contexts."""

ROLE_SHARE = 0.3
"""The largest share of the window for the chat's role with its files."""

ATTACHED_SHARE = 0.5
"""The largest share of the request for attached texts, the newest message's first."""

RESULTS_SHARE = 0.25
"""The largest share of the request for tool results of earlier turns, the newest first."""

NEWEST_RESULTS_SHARE = 0.5
"""The share of the request for the newest round's tool results, when not all fits."""

COMPACTION_SHARE = 0.75
"""A chat whose turn fills more of the window is compacted."""

KEPT_SHARE = 0.3
"""The window's share for the newest messages, which a compaction keeps word for word."""

DIGEST_PART_SHARE = 0.4
"""The share of the summarizing model's window for one part of a chat."""

SUMMARY_SHARE = 0.15
"""The largest share of the window for a summary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The maximum tokens of a model at once."""

    tokens: int  # the tokens of a request with its answer
    model: str
    count: CountTokens  # counts the tokens of a text for it
    is_guess: bool = False  # the model has refused a longer request, and did not say what it takes

    @property
    def room(self) -> int:
        """The maximum tokens of a request."""
        return self.share(REQUEST_SHARE)

    def share(self, share: float) -> int:
        """The tokens of a share of the window."""
        return int(self.tokens * share)

    def share_of_room(self, share: float) -> int:
        """The tokens of a share of the request."""
        return int(self.room * share)

    def for_contexts(self, budget: int) -> int:
        """The maximum tokens of attached contexts; a budget of 0 is no limit of its own."""
        most = self.share(CONTEXTS_SHARE)
        return min(budget, most) if budget else most

    def for_role(self, budget: int) -> int:
        """The maximum tokens of a role: its budget, capped by the window."""
        return min(budget, self.share(ROLE_SHARE))

    def for_history(self, *, contexts: int = 0, has_role: bool = False) -> int:
        """The maximum tokens of the history, with contexts of this size and with a role."""
        role = self.share(ROLE_SHARE) if has_role else 0
        left = self.share(HISTORY_SHARE) - contexts - role
        return max(left, self.share(LEAST_HISTORY_SHARE))


def stated_window(endpoint: EndpointSettings) -> int | None:
    """The tokens of a model's window, from the settings or else a table; `None` if unknown."""
    return endpoint.context_window or context_window(endpoint.model)


def window_of(
    endpoint: EndpointSettings | None,
    count: CountTokens | None = None,
    known: Callable[[EndpointSettings], int | None] = stated_window,
) -> Window | None:
    """A model's window; `None` if unknown.

    Args:
        count: Counts its tokens; `count_tokens` by default.
        known: Gives the tokens of its window.
    """
    tokens = endpoint and known(endpoint)
    if endpoint is None or not tokens:
        return None
    model = endpoint.model
    return Window(
        tokens=tokens, model=model, count=count or (lambda text: count_tokens(text, model))
    )
