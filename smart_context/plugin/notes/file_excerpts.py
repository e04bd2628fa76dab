"""Parts of a text file, with notes that tell a model how to read on."""

from collections.abc import Iterator
from dataclasses import dataclass

from smart_context.base.errors import CommandFailed

_LONGEST_MATCH = 300
_BEFORE_A_MATCH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """Some lines of a text."""

    text: str  # the lines; the first and the last may be incomplete
    note: str  # the numbers of the lines, and how to get the next; empty for a whole text


def excerpt(
    text: str, *, from_line: int, from_character: int, most_lines: int, most_characters: int
) -> Excerpt:
    """The text from a line and a character in it; both count from 1.

    Raises:
        CommandFailed: If there is no such line, or no such character in it.
    """
    lines = text.split("\n")
    if from_line > len(lines):
        raise CommandFailed(f"The file has {len(lines):,} lines.")
    line = lines[from_line - 1]
    if from_character > max(1, len(line)):
        raise CommandFailed(f"Line {from_line} has {len(line):,} characters.")
    taken = "\n".join(lines[from_line - 1 : from_line - 1 + most_lines])[from_character - 1 :]
    shown = taken[:most_characters]
    if len(shown) < len(taken):
        shown = shown.removesuffix("\n")
    if shown == text:
        return Excerpt(text=shown, note="")
    last_line = from_line + shown.count("\n")
    began = f" from character {from_character}" if from_character > 1 else ""
    note = f"Lines {from_line}{began} to {last_line} of {len(lines)}."
    if taken[len(shown) :].startswith("\n") or (shown == taken and last_line < len(lines)):
        note += f" For more, call read_file with from_line={last_line + 1}."
    elif len(shown) < len(taken):
        begins = from_character if last_line == from_line else 1
        next_character = begins + len(shown) - (shown.rfind("\n") + 1)
        note += (
            f" Line {last_line} is cut: it has {len(lines[last_line - 1])} characters. For more,"
            f" call read_file with from_line={last_line} and from_character={next_character}."
        )
    return Excerpt(text=shown, note=note)


def matches(text: str, sought: str) -> Iterator[str]:
    """Each line that contains a text, ignoring case, with its number; long lines are cut."""
    folded = sought.casefold()
    for number, line in enumerate(text.split("\n"), start=1):
        place = line.casefold().find(folded)
        if place < 0:
            continue
        if len(line.strip()) <= _LONGEST_MATCH:
            yield f"{number}: {line.strip()}"
        else:
            start = max(0, min(place - _BEFORE_A_MATCH, len(line) - _LONGEST_MATCH))
            yield f"{number}, from character {start + 1}: {line[start : start + _LONGEST_MATCH]}"
