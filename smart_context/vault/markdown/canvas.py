"""The links of canvases (JSON Canvas 1.0)."""

import json
import re
from collections.abc import Mapping
from typing import Any

from smart_context.vault.markdown.front_matter import whole_characters
from smart_context.vault.markdown.notes import Link, Outline, outline_of

_STRING = re.compile(r'"(?:[^"\\]++|\\.?)*+"?', re.DOTALL)


def canvas_outline(text: str) -> Outline:
    """The outline of a `.canvas` file: file cards, and links and tags of text cards.

    A link's position is that of its card's text in the file. An invalid canvas has no links.
    """
    links: list[Link] = []
    tags: dict[str, None] = {}
    cards = _cards(text)
    places = _places(text) if cards else {}
    for card in cards:
        if card.get("type") == "file" and isinstance(card.get("file"), str) and card["file"]:
            subpath = card.get("subpath")
            target = card["file"] + (subpath if isinstance(subpath, str) else "")
            links.append(Link(*_place(places, card["file"]), whole_characters(target)))
        elif card.get("type") == "text" and isinstance(card.get("text"), str):
            place = _place(places, card["text"])
            inner = outline_of(whole_characters(card["text"]))
            links += (Link(*place, link.target) for link in inner.links)
            tags |= dict.fromkeys(inner.tags)
    return Outline(len(text), tuple(links), tags=tuple(tags))


def _cards(text: str) -> list[dict[str, Any]]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return []
    cards = document.get("nodes") if isinstance(document, dict) else None
    return [card for card in cards if isinstance(card, dict)] if isinstance(cards, list) else []


def _places(text: str) -> dict[str, int]:
    """Where each JSON string is first written, found in one pass for all cards."""
    places: dict[str, int] = {}
    for found in _STRING.finditer(text):
        places.setdefault(found[0], found.start())
    return places


def _place(places: Mapping[str, int], value: str) -> tuple[int, int]:
    for written in (json.dumps(value, ensure_ascii=False), json.dumps(value)):
        if written in places:
            return places[written], places[written] + len(written)
    return 0, 0
