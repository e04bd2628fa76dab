"""Git's wildcards as regular expressions that can't backtrack without bound.

Texts and globs are strings of bytes: one character, 0 to 255, for each byte. No text holds a NUL.
"""

import re
import string
from collections.abc import Iterable, Sequence
from itertools import pairwise, starmap

_PIECE = re.compile(r"(?P<star>\*\*?+)\**+|\\?+.", re.DOTALL)
_MEMBER = re.compile(r"\\?+(?P<first>.)(?:(?P<range>-)(?!\])\\?+(?P<last>.))?+", re.DOTALL)
_NAMED = {
    "alnum": string.digits + string.ascii_letters,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, range(32))) + "\x7f",
    "digit": string.digits,
    "graph": "".join(map(chr, range(33, 127))),
    "lower": string.ascii_lowercase,
    "print": "".join(map(chr, range(32, 127))),
    "punct": string.punctuation,
    "space": " \t\n\r",
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}
_NEVER_A_MEMBER = frozenset("/\0")
# The pattern for `**`, by the piece after it. The nearest match of that piece is enough.
_AT_ANY_DEPTH = {"/": r"(?:[^/\0]*/)*?", r"\/": r"(?:[^/\0]*/)+?", "": r"[^\0]*"}


def path_regex(glob: str) -> str:
    """The regular expression of a glob for paths: only `**` matches a slash.

    Raises:
        ValueError: The glob is invalid: in git it matches nothing.
    """
    pieces = _pieces(glob)
    slashes = [at for at, piece in enumerate(pieces) if piece in {"/", r"\/"}]
    parts = [""]  # each but the first begins with a `**`
    for start, end in pairwise([-1, *slashes, len(pieces)]):
        segment, slash = pieces[start + 1 : end], "".join(pieces[end : end + 1])
        if segment == ["**"]:
            parts.append(_AT_ANY_DEPTH[slash])
        else:
            parts[-1] += _segment(segment, r"[^/\0]*?") + slash
    return _each_nearest(parts)


def name_regex(glob: str) -> str:
    """The regular expression of a glob for names, which hold no slash.

    Raises:
        ValueError: As `path_regex`.
    """
    return _segment(_pieces(glob), r"[^\0]*?")


def _segment(pieces: Sequence[str], star: str) -> str:
    chunks = [""]  # each but the first comes after a `*`
    for piece in pieces:
        if piece in {"*", "**"}:
            chunks.append(star)
        else:
            chunks[-1] += piece
    return _each_nearest(chunks)


def _each_nearest(parts: Sequence[str]) -> str:
    """Join parts; each but the last keeps its nearest match, which is enough, for good."""
    first, *later = parts
    return first + "".join(f"(?>{part})" for part in later[:-1]) + "".join(later[-1:])


def _pieces(glob: str) -> list[str]:
    r"""`*`, `**`, `/` and `\/` as they are, the others as regular expressions of one byte."""
    pieces: list[str] = []
    position = 0
    while position < len(glob):
        if glob[position] == "[":
            piece, position = _class(glob, position + 1)
        elif (found := _PIECE.match(glob, position)) is None or found[0] == "\\":
            raise ValueError("nothing after a backslash")
        else:
            piece, position = _piece(found), found.end()
        pieces.append(piece)
    return pieces


def _piece(found: re.Match[str]) -> str:
    if found["star"] or found[0] in {"/", r"\/"}:
        return found["star"] or found[0]
    return r"[^/\0]" if found[0] == "?" else re.escape(found[0][-1])


def _class(glob: str, position: int) -> tuple[str, int]:
    """The regular expression of a class, whose `[` is before `position`, and its end."""
    is_negated = glob.startswith(("!", "^"), position)
    position = start = position + is_negated
    members: set[str] = set()
    while position == start or not glob.startswith("]", position):
        named_end = _end_of_named(glob, position)
        if named_end:
            members.update(_named(glob[position:named_end]))
            position = named_end
        elif found := _MEMBER.match(glob, position):
            members.update(_members(found))
            position = found.end()
        else:
            raise ValueError("a bracket that is never closed")
    # A negated class is written with its members, not with all others: so where case is ignored,
    # it also excludes the members' other case.
    chosen = members | _NEVER_A_MEMBER if is_negated else members - _NEVER_A_MEMBER
    return _one_of(map(ord, chosen), is_negated=is_negated), position + 1


def _end_of_named(glob: str, position: int) -> int:
    """The end of a `[:name:]` that begins there; 0 if none does."""
    if not glob.startswith("[:", position):
        return 0
    end = glob.find("]", position + 2)
    return end + 1 if end > position + 2 and glob[end - 1] == ":" else 0


def _named(name: str) -> str:
    if name[2:-2] not in _NAMED:
        raise ValueError(f"no class has the name {name}")
    return _NAMED[name[2:-2]]


def _members(found: re.Match[str]) -> Iterable[str]:
    """A single byte; for a range, its first byte and the range, which may be empty."""
    yield found["first"]
    if found["range"]:
        yield from map(chr, range(ord(found["first"]), ord(found["last"]) + 1))


def _one_of(codes: Iterable[int], *, is_negated: bool) -> str:
    ranges: list[tuple[int, int]] = []
    for code in sorted(codes):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = ranges[-1][0], code
        else:
            ranges.append((code, code))
    if not ranges:
        return "(?!)"
    return "[" + "^" * is_negated + "".join(starmap(r"\x{:02x}-\x{:02x}".format, ranges)) + "]"
