"""Renders messages for pages within a time limit, so no message keeps a page from opening.

Short messages are rendered here, until those of a page have taken half a second. The others, and
those with code, go to a process that is killed when it takes too long; the message is then shown
without highlighting, or else as plain text with a note.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache

from smart_context.base.processes.child import Child, ChildFailed
from smart_context.base.processes.needed import needs
from smart_context.web.pages.markup.markdown import (
    MAX_MARKDOWN_CHARS,
    TOO_LONG,
    Markdown,
    clean,
    plain,
    uncoloured,
    visible,
)

Render = Callable[[str], str]
"""Markdown to safe HTML."""

PAGE_S = 5.0
"""Time to render the messages of a page; the rest is plain text until asked again."""

_NEEDED = (
    *("bisect", "pygments.lexers", "pygments.formatters.html", "pygments.*"),
    "latex2mathml.converter",
)

QUICK_CHARS = 20_000
"""Longest message rendered here: 0.25 s for the slowest Markdown, 25 ms for usual text.

`enable_bounded_tables` limits the cells that are not in the text; the rest is in proportion to the
characters.
"""

HERE_S = 0.5
"""Processor time for the messages of a page that are rendered here; others go to the child."""

_FENCES = ("```", "~~~")
_LEAST_S = 0.5
_CHARS_PER_S = 100_000
_COLOURED_CHARS_PER_S = 400_000
"""Processor time for a message: half a second, and more for a longer one."""

_BATCH_CHARS = 100_000
"""Most characters sent to the child at once."""

_COLOURS_TURN_S = 0.2
"""Longest wait for highlighting while other messages are highlighted."""

_LASTING = frozenset({"slow", "memory", "crashed"})
_MAX_TOO_COSTLY = 2
"""The most messages of a page that fail to be highlighted; then no more are tried."""

_REMEMBERED_CHARS = 32 << 20


class MessageHtml:
    """The HTML of messages, cached, since pages are requested again and again.

    Args:
        child: A process for rendering that may take long; `None` renders everything here.
        page_s: Time to render the messages of a page.
    """

    def __init__(self, child: Child | None, *, page_s: float = PAGE_S) -> None:
        self.child = child
        self.page_s = page_s
        self._known: OrderedDict[str, str] = OrderedDict()
        self._characters = 0
        self._changing = threading.Lock()

    def expect(self, texts: Iterable[str]) -> None:
        """Highlight the messages of a page together, which is faster than one by one.

        Messages that fail together are tried one by one later.
        """
        if self.child is None:
            return
        wanted = [text for text in texts if _has_code(text) and self.known(text) is None]
        with suppress(ChildFailed):
            for batch in _batches(wanted):
                made = self.child.run(
                    unsafe_htmls,
                    [visible(text) for text in batch],
                    deadline_s=_LEAST_S + _BATCH_CHARS / _COLOURED_CHARS_PER_S,
                    wait_s=_COLOURS_TURN_S,
                )
                for text, unsafe in zip(batch, made, strict=True):
                    self.remember(text, clean(str(unsafe)))

    def for_page(self) -> Render:
        """A renderer for the messages of one page, in one thread."""
        return _Page(self).render

    def known(self, text: str) -> str | None:
        """The cached HTML of a message."""
        with self._changing:
            made = self._known.get(text)
            if made is not None:
                self._known.move_to_end(text)
            return made

    def remember(self, text: str, made: str) -> None:
        """Cache the HTML of a message, and drop the least recently used."""
        with self._changing:
            if self._known.setdefault(text, made) is not made:
                return
            self._characters += len(text) + len(made)
            while self._characters > _REMEMBERED_CHARS:
                oldest = self._known.popitem(last=False)
                self._characters -= sum(map(len, oldest))


class _Page:
    """Renders the messages of a page until its time is up."""

    def __init__(self, messages: MessageHtml) -> None:
        self._messages = messages
        self._end = time.monotonic() + messages.page_s
        self._too_costly = 0
        self._here_s = 0.0

    def render(self, text: str) -> str:
        if (known := self._messages.known(text)) is not None:
            return known
        made, is_lasting = self._made(visible(text))
        if is_lasting:
            self._messages.remember(text, made)
        return made

    def _made(self, text: str) -> tuple[str, bool]:
        """Safe HTML, and True if trying again would not improve it."""
        if len(text) > MAX_MARKDOWN_CHARS:
            return plain(text, TOO_LONG), True
        if self._left <= 0:
            return plain(text, TOO_LONG), False
        if _has_code(text):
            return self._coloured(text)
        return self._uncoloured(text)

    def _coloured(self, text: str) -> tuple[str, bool]:
        is_lasting = False
        if self._too_costly < _MAX_TOO_COSTLY:
            try:
                return self._in_child(text, is_coloured=True), True
            except ChildFailed as failure:
                is_lasting = failure.reason in _LASTING
                self._too_costly += is_lasting
        made, is_best = self._uncoloured(text)
        return made, is_best and is_lasting

    def _uncoloured(self, text: str) -> tuple[str, bool]:
        if len(text) <= QUICK_CHARS and self._here_s < HERE_S:
            began = time.thread_time()
            made = uncoloured_markdown().render(text)
            self._here_s += time.thread_time() - began
            return made, True
        try:
            return self._in_child(text, is_coloured=False), True
        except ChildFailed as failure:
            return plain(text, TOO_LONG), failure.reason in _LASTING and self._left > 0

    @property
    def _left(self) -> float:
        return self._end - time.monotonic()

    def _in_child(self, text: str, *, is_coloured: bool) -> str:
        child, left = self._messages.child, max(self._left, 0)
        if child is None:
            return clean(unsafe_html(text, is_coloured))
        most_s = _LEAST_S + len(text) / (_COLOURED_CHARS_PER_S if is_coloured else _CHARS_PER_S)
        unsafe = child.run(
            unsafe_html,
            text,
            is_coloured,
            deadline_s=min(most_s, left),
            wait_s=min(_COLOURS_TURN_S, left) if is_coloured else left,
        )
        return clean(str(unsafe))


def _has_code(text: str) -> bool:
    return any(fence in text for fence in _FENCES)


@needs(*_NEEDED)
def unsafe_html(text: str, is_coloured: bool) -> str:
    """In the child: HTML of a message, which the parent must clean."""
    return (_coloured_markdown() if is_coloured else uncoloured_markdown()).unsafe(text)


@needs(*_NEEDED)
def unsafe_htmls(texts: Sequence[str]) -> list[str]:
    """In the child: HTML of some messages, with highlighted code."""
    return [unsafe_html(text, is_coloured=True) for text in texts]


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts in groups of limited length; longer texts are left out."""
    batch: list[str] = []
    length = 0
    for text in texts:
        if len(text) > _BATCH_CHARS:
            continue
        if length + len(text) > _BATCH_CHARS:
            yield batch
            batch, length = [], 0
        batch.append(text)
        length += len(text)
    if batch:
        yield batch


@cache
def uncoloured_markdown() -> Markdown:
    """Renders without highlighting; one for all, since building the parser takes milliseconds."""
    return Markdown(uncoloured)


@cache
def markdown_of_parts() -> Markdown:
    """Renders parts of an answer that grows."""
    return Markdown(uncoloured, in_part=True)


@cache
def _coloured_markdown() -> Markdown:
    return Markdown()
