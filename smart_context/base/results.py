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
"""Messages that an extraction moved from one topic to another; an empty name means no topic."""


class PriceResult(TypedDict):
    """The price of a request, and of one with all messages, in money."""

    now: float
    everything: float
    currency: str


class CostResult(TypedDict):
    """The cost of a request in tokens; without `price` if the model's prices are unknown."""

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
    """The places of a topic's messages among all messages of a chat, from 0."""

    id: str
    label: str
    places: list[int]


class TopicMapResult(TypedDict):
    """The ids of a chat's messages, and the places of each topic."""

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
    """A part of a vault that needs the user's trust."""

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
    """The parts of a vault that need the user's trust, each with its state."""

    vault: str
    digest: str
    summary: str
    parts: list[TrustPartResult]
