"""The JSON results of commands that the page's scripts read, for plugin and page.

docs/wire.md says what each key means. `tests/js/results.d.ts` tells it to the scripts.
"""

from typing import Literal, NotRequired, TypedDict


class TopicResult(TypedDict):
    """A topic of a chat; a sticky one has standing instructions and lists them."""

    label: str
    count: int
    id: NotRequired[str]
    parent_id: NotRequired[str]
    sticky: NotRequired[bool]
    message_ids: NotRequired[list[str]]


MoveResult = TypedDict("MoveResult", {"message_ids": list[str], "from": str, "to": str, "why": str})
"""Messages that an extraction took from one topic to another; an empty name: to none."""


class PriceResult(TypedDict):
    """What a request costs in money, and what one with all messages would."""

    now: float
    everything: float
    currency: str


class CostResult(TypedDict):
    """What a request costs, in tokens; without a price, that is not known."""

    sent: int
    unchanged: int
    reread: int
    saved: int
    price: NotRequired[PriceResult]


class FilterResult(TypedDict):
    """The filter of a chat and what follows from it; also sent with `filter_changed`."""

    active_topics: list[str]
    message_ids: list[str]
    total_messages: int
    fell_back: bool
    status: str
    short_status: str
    problem: str
    threshold: float | None
    cut: float | None
    threshold_is_own: bool
    pinned: list[str]
    hidden: list[str]
    sticky: list[str]
    kept_by: dict[str, list[str]]
    summed_up: dict[str, int]
    silent: dict[str, str]
    role: str
    undo_steps: int
    undo_words: str
    moved: list[MoveResult]
    cost: NotRequired[CostResult]


class PanelResult(FilterResult):
    """The topics of a chat with its filter."""

    topics: list[TopicResult]
    embedding_search: bool


class ContextResult(TypedDict):
    """A named context in the list of all."""

    key: str
    chat_id: str
    items: int
    problem: str
    shared: NotRequired[bool]
    person: NotRequired[str]


class PlacesResult(TypedDict):
    """Where a topic is in a chat: the places of its messages among all, from 0."""

    id: str
    label: str
    places: list[int]


class TopicMapResult(TypedDict):
    """The ids of a chat's messages, and where each topic is."""

    chat_id: str
    message_ids: list[str]
    topics: list[PlacesResult]


class TrustFilesResult(TypedDict):
    """The files of one part of a vault that has no name, or of one plugin."""

    name: str
    is_on: bool
    files: list[str]


TrustState = Literal["trusted", "off", "changed", "partly", "refused"]


class TrustPartResult(TypedDict):
    """A part of a vault that takes the user's trust."""

    id: str
    kind: str
    state: TrustState
    title: str
    warnings: list[str]
    does: str
    groups: list[TrustFilesResult]
    refused: list[str]
    base_url: NotRequired[str]
    api_key_env: NotRequired[str]
    used_for: NotRequired[list[str]]
    models: NotRequired[dict[str, str]]


class TrustResult(TypedDict):
    """What a vault asks for, and what of it is trusted."""

    vault: str
    digest: str
    summary: str
    parts: list[TrustPartResult]
