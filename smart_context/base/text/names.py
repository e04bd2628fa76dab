"""Escapes untrusted names and texts, and fences texts, so that they can't act or deceive.

Terminals obey control characters, and readers trust what they see. Dangerous characters become
escapes as in Python; words of all languages and emoji stay as they are.
"""

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

MAX_NAME = 240
"""Most characters of a name that are shown."""

_MOST_MARKS = 4
"""Most marks on one letter that are shown (UTS 39, 5.4: no language has letters with more)."""

DIRECTION = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of a text: the property Bidi_Control."""

_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\xb9\xb2\xb3])\s*(?:[.:].*)?",
    re.IGNORECASE | re.DOTALL,
)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]|\r(?!\n)")
_JSON_UNSAFE = re.compile(
    "[\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)


def shown(name: object, *, limit: int | None = MAX_NAME) -> str:
    """A name on one line with the spaces at its ends, cut in the middle if long.

    Args:
        name: The name of a file, a chat, a role and so on; or a path.
        limit: The maximum length; `None` for no limit, where the result serves as the name.
    """
    whole = str(name)
    bare = whole.strip()
    position = whole.find(bare)
    ends = (whole[:position], whole[position + len(bare) :])
    before, after = ("".join(map(_escape, end)) for end in ends)
    return _cut(before + one_line(bare) + after, limit)


def names_device(name: str) -> bool:
    """True for a name that Windows opens as a device, whatever the case and the extension."""
    return _DEVICE.fullmatch(name) is not None


def one_line(text: str) -> str:
    """A text on one line that can be encoded."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(text))


def without_unseen(text: str) -> str:
    """A text without invisible characters and direction marks, even where they have a use.

    Line ends and other control characters become spaces.
    """
    if text.isascii() and text.isprintable():
        return text
    from smart_context.base.text.unicode_tables import UNSEEN  # noqa: PLC0415  5 ms, not for ASCII

    return "".join(map(_seen, re.sub(f"[{UNSEEN}]", "", text)))


def _seen(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Cc", "Zl", "Zp"}:
        return " "
    return "" if category == "Cf" or _is_dangerous(character, category) else character


def lines_shown(text: str) -> str:
    """A text of several lines that can be encoded; line ends and tabs stay."""
    return _with_hidden_shown(_CONTROLS.sub(lambda found: _escape(found[0]), text))


def json_shown(document: str) -> str:
    """The JSON document with control and hidden characters in strings escaped."""
    return _JSON_UNSAFE.sub(lambda found: _json_escape(found[0]), document)


def encodable(path: str) -> str:
    """A path for JSON; bytes that are not UTF-8 become escapes."""
    return path.encode(errors="backslashreplace").decode()


def storable(text: str) -> str:
    """A text with lone surrogates, which UTF-8 can't hold, replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def storable_value(value: Any) -> Any:
    """The same JSON value with every text storable; `None` for numbers that JSON doesn't have."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): storable_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [storable_value(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _visible(text: str) -> Iterator[str]:
    from smart_context.base.text.hidden import hidden_spans  # noqa: PLC0415  5 ms, not for ASCII

    marks = _MOST_MARKS  # one that has no letter before it is shown as an escape
    hidden = hidden_spans(text)
    start, end = next(hidden, (len(text), 0))
    for position, character in enumerate(text):
        if position >= end > start:
            start, end = next(hidden, (len(text), 0))
        category = unicodedata.category(character)
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        is_dangerous = (
            position >= start or marks > _MOST_MARKS or _is_dangerous(character, category)
        )
        yield _escape(character) if is_dangerous else character


def _is_dangerous(character: str, category: str) -> bool:
    if category == "Cn":  # a character of a newer Unicode version
        return ord(character) & 0xFFFE == 0xFFFE or "\ufdd0" <= character <= "\ufdef"  # noqa: PLR2004
    return category in {"Cc", "Cs", "Co", "Zl", "Zp"} or character in DIRECTION


def _with_hidden_shown(text: str) -> str:
    if text.isascii():
        return text
    from smart_context.base.text.hidden import hidden_spans  # noqa: PLC0415  5 ms, not for ASCII

    parts: list[str] = []
    rest = 0
    for start, end in hidden_spans(text):
        parts += [text[rest:start], "".join(map(_escape, text[start:end]))]
        rest = end
    return "".join((*parts, text[rest:]))


def _cut(text: str, limit: int | None) -> str:
    if limit is None or len(text) <= limit:
        return text
    end = limit // 3
    return f"{text[: limit - end - 1]}…{text[-end:]}"


def _escape(character: str) -> str:
    if character == " ":
        return "\\x20"
    return character.encode("unicode_escape").decode()


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


_BACKTICKS = re.compile("`{3,}")


def fence_for(text: str) -> str:
    """A run of backticks longer than any in the text, of at least three."""
    if "```" not in text:
        return "```"
    return "`" * (max(len(run) for run in _BACKTICKS.findall(text)) + 1)
