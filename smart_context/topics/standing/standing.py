"""Finds standing instructions without a model: said once, meant for the whole chat."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from smart_context.base.text.word_lists import lines_of
from smart_context.chat.messages import Message, MessageId


def phrases_in(name: str) -> Mapping[str, tuple[str, ...]]:
    """The phrases below each `[section]` of a file, and each of its parts under its name.

    In a phrase or a later part, `<name>` stands for a part, a line of the section `[parts]`.
    """
    found: dict[str, tuple[str, ...]] = {}
    parts: dict[str, str] = {}
    section = ""
    for line in lines_of(Path(__file__).with_name(name)):
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            part, _, text = line.partition(" = ") if section == "parts" else ("", "", line)
            for mark, said in parts.items():
                text = text.replace(mark, said)
            if part:
                parts[f"<{part}>"] = text
            key = part or section
            found[key] = (*found.get(key, ()), text)
    return found


_FOUND = phrases_in("standing_phrases.txt")
_BEGIN = _FOUND["begin"][0]
"""Matches where a clause may begin."""

_ASIAN = _FOUND["east_asian"]
_LANGUAGES = ("english", "german", "french", "spanish", "others", "east_asian")
_PHRASES = [phrase for language in _LANGUAGES for phrase in _FOUND[language]]
_LONGEST, _BEGINNING = 600, 300
_WORD = r"\b"
_LONG_SPACE = re.compile(r"\s{3,}+")


def _pattern(phrases: Iterable[str], before: str = "") -> re.Pattern[str]:
    """A pattern for any of the phrases in lower-cased text; their common prefix is tried once."""
    choices = "|".join(f"(?:{phrase.removeprefix(before)})" for phrase in phrases)
    pattern = f"{before}(?:{choices})".replace(" ?", r"(?:\s{1,2})?").replace(" ", r"\s{1,2}")
    return re.compile(pattern)


# One pattern per prefix: in a single one, all phrases would be tried at every character.
_AT_WORDS = _pattern((p for p in _PHRASES if p.startswith(_WORD)), _WORD)
_AT_CLAUSES = _pattern((p for p in _PHRASES if p.startswith(_BEGIN)), _BEGIN)
_EAST_ASIAN = _pattern(_ASIAN)
_OTHERS = _pattern(p for p in _PHRASES if not p.startswith((_WORD, _BEGIN)) and p not in _ASIAN)


def standing_instructions(messages: Sequence[Message]) -> tuple[MessageId, ...]:
    """The user's messages with an instruction for the whole chat, chronological."""
    return tuple(
        message.id for message in messages if message.role == "user" and is_standing(message.text)
    )


def is_standing(text: str) -> bool:
    """True if a user's text holds an instruction for the whole chat.

    Only the beginning of a long text counts, because a pasted document may demand anything.
    """
    shown = text[:_BEGINNING] if len(text) > _LONGEST else text
    lowered = _LONG_SPACE.sub(_short_space, shown).lower()
    return bool(
        _AT_WORDS.search(lowered)
        or _AT_CLAUSES.search(lowered)
        or _OTHERS.search(lowered)
        or (not lowered.isascii() and _EAST_ASIAN.search(lowered))
    )


def _short_space(space: re.Match[str]) -> str:
    """Two characters of white space, the first a line end if there was one."""
    return "\n " if "\n" in space[0] else "  "
