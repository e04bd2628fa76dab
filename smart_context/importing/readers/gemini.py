"""Gemini's part of a Google Takeout: single activities, not grouped by chat."""

import re
from collections.abc import Mapping
from typing import Any

from smart_context.base.text.html_markdown import markdown_of
from smart_context.importing.found import (
    FoundChat,
    NotReadable,
    moment,
    objects,
    text_of,
    title_of,
)
from smart_context.importing.program import Form, Program

_PROMPTED = re.compile(
    r"^(?:Prompted with:|Asked (?:Gemini|Bard):|Prompted|Said|Asked|Branched|Answered"
    r"|Eingegebener Prompt:|送信したメッセージ:)\s+",  # German, Japanese
    re.IGNORECASE,
)
_NOT_ASKED = re.compile(
    r"(?:Created|Used|Added|Gave|Selected|Shared|Deleted|Viewed|Visited|Edited|Pinned|Renamed"
    r"|Exported|Updated)\s"
)
_CANVAS = re.compile(r"Gemini[ -]Canvas(?:\s+titled)?", re.IGNORECASE)
_ATTACHED = re.compile(r"\sAttached (\d{1,4}) files?\.?$")
_DRAWN = re.compile(r"(\d{1,4}) generated images?", re.IGNORECASE)
_GEMINI = re.compile(r"gemini|bard", re.IGNORECASE)
_SHOWN = re.compile(r"<img\s[^<>]*\bsrc\s*=\s*[\"']?([^\"'<>\s]+)", re.IGNORECASE)
_PAGE, _APPS = "mdl-", ("Gemini", "Bard")
"""Signs of an activity's web page; "Apps" is not one, since Google translates it."""


def gemini(activity: Mapping[str, Any]) -> FoundChat | None:
    """One activity of Gemini's `My Activity` file: a question with its answer, or a Canvas.

    `None` for activities of other products, and for ones without a question, such as feedback.

    Raises:
        NotReadable: If it has no title.
    """
    title = text_of(activity.get("title"))
    if not title:
        raise NotReadable("expected title, found none")
    products = activity.get("products")
    shown = f"{activity.get('header') or ''} {products or ''}".strip()
    if shown and not _GEMINI.search(shown):
        return None
    sources = [text_of(item.get("html")) for item in objects(activity.get("safeHtmlItem"))]
    said = "\n\n".join(filter(None, map(markdown_of, sources)))
    if (canvas := _CANVAS.search(title)) and not _PROMPTED.match(title):
        return _canvas(activity, title[canvas.end() :].strip() or title, said)
    if not (_PROMPTED.match(title) or (said and not _NOT_ASKED.match(title))):
        return None
    asked = _ATTACHED.sub("", _PROMPTED.sub("", title))
    chat = _chat(activity, asked, said)
    given, drawn = _files(activity, title, sources)
    question = chat.add("q", "user", asked, at=activity.get("time"))
    question.assets = [(name, name) for name in given]
    if said or drawn:
        answer = chat.add("a", "assistant", said, at=activity.get("time"))
        answer.assets = [(name, name) for name in drawn]
    return chat


def _chat(activity: Mapping[str, Any], title: str, said: str) -> FoundChat:
    at = activity.get("time")
    name = text_of(at) or f"{title}\n{said}"
    return FoundChat(client="gemini", id=name, title=title_of(title), created_at=moment(at))


def _canvas(activity: Mapping[str, Any], title: str, said: str) -> FoundChat:
    """A document that Gemini wrote next to its answers; its text is in the subtitles."""
    written = (text_of(one.get("name")) for one in objects(activity.get("subtitles")))
    text = "\n\n".join(filter(None, (*written, said)))
    chat = _chat(activity, title, text)
    chat.add("a", "assistant", text, at=activity.get("time"))
    return chat


def _files(
    activity: Mapping[str, Any], title: str, sources: list[str]
) -> tuple[list[str], list[str]]:
    """The files attached by the user and the pictures drawn by Gemini, which share one list."""
    listed = activity.get("attachedFiles")
    names = (activity.get("imageFile"), *(listed if isinstance(listed, list) else ()))
    files = [*dict.fromkeys(filter(None, map(text_of, names)))]
    shown = {name for source in sources for name in _SHOWN.findall(source)}
    if shown.isdisjoint(files) and any(
        _DRAWN.search(text_of(one.get("name"))) for one in objects(activity.get("subtitles"))
    ):
        given = int(found[1]) if (found := _ATTACHED.search(title)) else 0
        shown = {*files[given:]}
    return [name for name in files if name not in shown], [name for name in files if name in shown]


def _is_activity(item: Mapping[str, Any]) -> bool:
    return "safeHtmlItem" in item or "Gemini" in text_of(item.get("header"))


def _of_page(begun: str) -> str:
    is_page = _PAGE in begun and any(name in begun for name in _APPS)
    return "is Gemini's activity as a web page; ask Google Takeout for JSON" if is_page else ""


GEMINI = Program(
    name="gemini",
    title="Gemini",
    signs=(b'"safeHtmlItem"',),
    conversation=Form(fits=_is_activity, read=gemini),
    page=_of_page,
)
