"""The JSON results of the main plugin's commands, for plugin and page.

docs/wire.md says what each key means to clients.
"""

from typing import Any, NotRequired, TypedDict


class TopicResult(TypedDict):
    """A topic of a chat; a sticky one has standing instructions and lists them."""

    label: str
    count: int
    id: NotRequired[str]
    parent_id: NotRequired[str]
    sticky: NotRequired[bool]
    message_ids: NotRequired[list[str]]


class FilterResult(TypedDict):
    """The filter of a chat and what follows from it; also sent with `filter_changed`."""

    active_topics: list[str]
    message_ids: list[str]
    total_messages: int
    fell_back: bool
    status: str
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
    moved: list[dict[str, Any]]
    cost: NotRequired[dict[str, Any]]


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
