"""Gemini's part of a Google Takeout."""

import html
import re
from collections.abc import Mapping
from typing import Any

from smart_context.importing.found import (
    FoundChat,
    NotReadable,
    moment,
    objects,
    text_of,
    title_of,
)
from smart_context.importing.program import Form, Program

_BLOCK_END = re.compile(r"<(?:br|/p|/div|/ul|/ol|/h[1-6]|/tr)[^<>]*>", re.IGNORECASE)
_ITEM = re.compile(r"<li[^<>]*>", re.IGNORECASE)
_CODE = re.compile(r"</?pre[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_PROMPTED = re.compile(
    r"^(?:Prompted with:|Asked (?:Gemini|Bard):|Prompted|Said|Asked|Branched|Answered)\s+",
    re.IGNORECASE,
)
_NOT_ASKED = re.compile(
    r"(?:Created|Used|Added|Gave|Selected|Shared|Deleted|Viewed|Visited|Edited|Pinned|Renamed"
    r"|Exported|Updated)\s"
)
_ATTACHED = re.compile(r"\sAttached \d+ files?\.?$")
_GEMINI = re.compile(r"gemini|bard", re.IGNORECASE)
_MANY_BREAKS = re.compile(r"\n{3,}")
_MOST_HTML = 2_000_000


def gemini(activity: Mapping[str, Any]) -> FoundChat | None:
    """One activity of Gemini's `My Activity` file: a question with its answer.

    `None` for activities of other products, and for what is no question, such as feedback.

    Raises:
        NotReadable: If it has no title.
    """
    title = text_of(activity.get("title"))
    if not title:
        raise NotReadable("expected title, found none")
    products = activity.get("products")
    shown = f"{activity.get('header') or ''} {products or ''}".strip()
    texts = [_plain(text_of(item.get("html"))) for item in objects(activity.get("safeHtmlItem"))]
    is_asked = _PROMPTED.match(title) or (any(texts) and not _NOT_ASKED.match(title))
    if not is_asked or (shown and not _GEMINI.search(shown)):
        return None
    asked = _ATTACHED.sub("", _PROMPTED.sub("", title))
    at = activity.get("time")
    chat = FoundChat(
        client="gemini",
        id=text_of(at) or "\n".join((title, *texts)),
        title=title_of(asked),
        created_at=moment(at),
    )
    question = chat.add("q", "user", asked, at=at)
    attached = activity.get("attachedFiles")
    names = (activity.get("imageFile"), *(attached if isinstance(attached, list) else ()))
    question.assets = [(name, name) for name in map(text_of, names) if name]
    if said := "\n\n".join(filter(None, texts)):
        chat.add("a", "assistant", said, at=at)
    return chat


def _plain(source: str) -> str:
    """The text of an HTML fragment, a line for each block."""
    lined = _CODE.sub("\n```\n", _ITEM.sub("\n- ", _BLOCK_END.sub("\n", source[:_MOST_HTML])))
    lines = (line.rstrip() for line in html.unescape(_TAG.sub("", lined)).split("\n"))
    return _MANY_BREAKS.sub("\n\n", "\n".join(lines)).strip()


def _is_activity(item: Mapping[str, Any]) -> bool:
    return "safeHtmlItem" in item or "Gemini" in text_of(item.get("header"))


GEMINI = Program(
    name="gemini",
    title="Gemini",
    signs=(b'"safeHtmlItem"',),
    conversation=Form(fits=_is_activity, read=gemini),
)
