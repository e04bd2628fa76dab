"""The links of canvases (JSON Canvas 1.0)."""

import json
from collections.abc import Iterator
from typing import Any

from smart_context.vault.markdown.front_matter import whole_characters
from smart_context.vault.markdown.notes import Link, Outline, outline_of


def canvas_outline(text: str) -> Outline:
    """The outline of a `.canvas` file: its file cards, and the links and tags of its text cards.

    A link's position is that of its card's text in the file. An invalid canvas has no links.
    """
    links: list[Link] = []
    tags: dict[str, None] = {}
    for card in _cards(text):
        if card.get("type") == "file" and isinstance(card.get("file"), str) and card["file"]:
            subpath = card.get("subpath")
            target = card["file"] + (subpath if isinstance(subpath, str) else "")
            links.append(Link(*_place(text, card["file"]), whole_characters(target)))
        elif card.get("type") == "text" and isinstance(card.get("text"), str):
            place = _place(text, card["text"])
            inner = outline_of(whole_characters(card["text"]))
            links += (Link(*place, link.target) for link in inner.links)
            tags |= dict.fromkeys(inner.tags)
    return Outline(len(text), tuple(links), tags=tuple(tags))


def _cards(text: str) -> Iterator[dict[str, Any]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return
    cards = document.get("nodes") if isinstance(document, dict) else None
    for card in cards if isinstance(cards, list) else ():
        if isinstance(card, dict):
            yield card


def _place(text: str, value: str) -> tuple[int, int]:
    for written in (json.dumps(value, ensure_ascii=False), json.dumps(value)):
        start = text.find(written)
        if start >= 0:
            return start, start + len(written)
    return 0, 0
