"""Recognises the program of a file by its content, and reads its chats one by one."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from smart_context.base.values import parsed
from smart_context.importing.found import (
    FoundChat,
    NotKnown,
    NotReadable,
    OtherForm,
    OwnChat,
    mapping,
    tell_thoughts,
    text_of,
)
from smart_context.importing.json_lists import NOT_UTF8, values_in
from smart_context.importing.own_export import is_marked, is_older_export, own_chat
from smart_context.importing.program import Form, Program, Session
from smart_context.importing.programs import OWN, PROGRAMS
from smart_context.importing.readers.openai_lists import OPENAI, is_chat, is_message
from smart_context.importing.sources import Source
from smart_context.importing.tables import tables_of

_SQLITE = b"SQLite format 3\0"
_MOST_WHOLE = 512 << 20
"""The largest file that is one JSON object or one text, since it is read whole."""

_LONGEST_LINE = 256 << 20
_PEEKED = 64 << 10
_PEEKED_OF_PAGES = 1 << 20
_MOST_UNKNOWN = 1_000
_MARK = b"\xef\xbb\xbf"
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"7z\xbc\xaf\x27\x1c", b"Rar!")
"""The first bytes of files compressed by gzip, Zstandard, 7-Zip and RAR."""

_SIGNS = tuple(sign for program in PROGRAMS for sign in program.signs)
"""Bytes near the beginning of a known program's file, which even a damaged one has."""

_CHAT_KEYS = frozenset(("chat", "messages", "mapping", "chat_messages", "conversations"))
"""The keys of a line that is a whole chat, not a line of a chat."""

_LISTS = ("conversations", "chats", "threads", "sessions")
"""The keys under which an object has its chats, in big-AGI, TypingMind and most scripts."""

_FAULTS = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError)
"""The errors that readers raise on values of types that no known version of a program writes."""

Found = FoundChat | OwnChat
K = TypeVar("K")


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableChat:
    """A conversation that can't be read; the others are read."""

    id: str  # its id, if it has one
    title: str  # its title, if it has one
    error: str  # the reason


def chats_in(source: Source, wanted: str = "") -> Iterator[Found | UnreadableChat]:
    """The chats of a file, one by one; nothing if it holds none.

    Args:
        wanted: One of `FORMATS`: the format of a file that the user named. In a folder or archive,
            only chats that are recognised as that format are read. If empty, it is recognised.

    Raises:
        NotReadable: If the file as a whole can't be read.
    """
    with source.opened() as stream:
        start = stream.read(_PEEKED)
    if start.removeprefix(_MARK).lstrip().startswith(b"<"):
        _refuse_page(source, wanted)
    try:
        for found in _chats(source, start, wanted):
            if isinstance(found, FoundChat):
                found.id = found.id or found.beginning
            yield found
    except NotReadable as error:
        if (wanted and source.is_alone) or any(sign in start for sign in _SIGNS):
            raise
        raise NotKnown(str(error)) from error


def _chats(source: Source, start: bytes, wanted: str) -> Iterator[Found | UnreadableChat]:
    if start.startswith(_SQLITE):
        if source.database is not None:
            with tables_of(source.database) as tables:
                yield from _in_form([program.database for program in _wanted(wanted)], tables)
        return
    begun = start.decode("utf-8-sig", "replace")
    texts = [form for program in PROGRAMS if (form := program.text) and form.fits(begun)]
    if source.name.lower().endswith(".md") or texts:
        wished = [form for program in _wanted(wanted) if (form := program.text) in texts]
        if wished:
            yield from _in_form(wished, _bytes(source).decode("utf-8-sig", "replace"))
        return
    first = start.removeprefix(_MARK).lstrip()[:1]
    if first == b"[":
        yield from _listed(source, wanted)
    elif first == b"{" and _is_lines(start, source):
        yield from _lined(source, wanted)
    elif first == b"{":
        yield from _of_object(_whole(source), source, wanted)
    else:
        raise NotReadable(_other_form(start))


def _other_form(start: bytes) -> str:
    """The error message for a file with an unknown beginning."""
    if start.startswith(_PACKED):
        return "is packed; unpack it, then import what is in it"
    known = "expected a form in which a known program keeps chats, found another"
    return known if start.strip() else "is empty"


def _refuse_page(source: Source, wanted: str) -> None:
    """Refuse a web page of a known program, with advice on the format to ask for.

    Raises:
        OtherForm: If it is a page of a known program.
    """
    with source.opened() as stream:  # the page begins with styles
        begun = stream.read(_PEEKED_OF_PAGES).decode("utf-8", "replace")
    if words := next(filter(None, (program.page(begun) for program in _wanted(wanted))), ""):
        raise OtherForm(words)


def _wanted(wanted: str) -> Iterator[Program]:
    """The programs to read: one, or all."""
    return (program for program in PROGRAMS if wanted in {"", program.name})


def _in_form(forms: Iterable[Form[K] | None], kept: K) -> Iterator[FoundChat]:
    """The chats in the first format that fits; nothing if none does."""
    if form := next((form for form in forms if form and form.fits(kept)), None):
        yield from _of_form(form, kept)


def _of_form(form: Form[K], kept: K) -> Iterator[FoundChat]:
    found = form.read(kept)
    if isinstance(found, FoundChat):
        yield tell_thoughts(found)
    elif found:
        yield from map(tell_thoughts, found)


def _is_lines(start: bytes, source: Source) -> bool:
    """True for JSON lines, by the file's ending or by a whole object in the first line."""
    if source.name.lower().endswith(".jsonl"):
        return True
    line, newline, rest = start.partition(b"\n")
    if not newline or not rest.strip():
        return False
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _listed(source: Source, wanted: str) -> Iterator[Found | UnreadableChat]:
    """The chats of a file that is one list, without reading it whole."""
    with source.opened() as stream:
        items = values_in(stream)
        first = next(items, None)
        if first is None:
            return
        if isinstance(first, Mapping) and is_message(first):
            rows = [first, *islice(items, 1_000_000)]
            forms = [program.session for program in _wanted(OPENAI.name)]
            session = Session(rows=rows, name=source.stem)
            yield from _guarded(lambda: _in_form(forms, session), source)
            return
        client = ""
        unknown: list[Any] = []  # the entries before the first one of a known program
        for number, item in enumerate(_chained(first, items)):
            client = _client_of(item, source, wanted) or client  # otherwise as the entry before
            if client:
                for place, early in enumerate(unknown):
                    yield from _read(early, source, client, place)
                unknown.clear()
                yield from _read(item, source, client, number)
            elif number < _MOST_UNKNOWN:
                unknown.append(item)


def _chained(first: Any, rest: Iterator[Any]) -> Iterator[Any]:
    yield first
    yield from rest


def _lined(source: Source, wanted: str) -> Iterator[Found | UnreadableChat]:
    rows: list[Mapping[str, Any]] = []
    damaged = 0
    is_any = False
    with source.opened() as stream:
        for number, line in enumerate(iter(lambda: stream.readline(_LONGEST_LINE), b"")):
            if not line.strip():
                continue
            row = parsed(line)
            if row is None:
                damaged = damaged or number + 1
            elif not _CHAT_KEYS.isdisjoint(row):
                is_any = True
                yield from _read(row, source, _client_of(row, source, wanted), number)
            else:
                rows.append(row)
    if rows:
        forms = [program.session for program in _wanted(wanted)]
        session = Session(rows=rows, name=source.stem)
        yield from _guarded(lambda: _in_form(forms, session), source)
    elif damaged and is_any:
        error = f"line {damaged}: expected a JSON object, found something else"
        yield UnreadableChat(id="", title="", error=error)
    elif damaged:
        raise NotReadable("none of its lines is a JSON object of a known program")


def _of_object(document: object, source: Source, wanted: str) -> Iterator[Found | UnreadableChat]:
    data = mapping(document)
    forms = [program.export for program in _wanted(wanted)]
    if any(form and form.fits(data) for form in forms):
        yield from _guarded(lambda: _in_form(forms, data), source)
    elif not is_chat(data) and (listed := _chats_of(data)):
        for number, item in enumerate(listed):
            yield from _read(item, source, _client_of(item, source, wanted), number)
    else:
        client = _client_of(data, source, wanted, is_all=True)
        yield from _read(data, source, client, 0)


def _chats_of(data: Mapping[str, Any]) -> list[Any]:
    """An object's list of chats; empty if it has none."""
    found = (holder.get(key) for holder in (data, mapping(data.get("data"))) for key in _LISTS)
    return next((listed for listed in found if isinstance(listed, list)), [])


def _guarded(
    read: Callable[[], Iterator[FoundChat]], source: Source
) -> Iterator[Found | UnreadableChat]:
    try:
        with source.conversation():
            yield from read()
    except _FAULTS as error:
        yield UnreadableChat(id="", title=source.stem, error=_short(error))


def _client_of(item: object, source: Source, wanted: str, *, is_all: bool = False) -> str:
    """The program of an object; empty if it is unknown or not wanted.

    Args:
        is_all: True if the file contains nothing else.
    """
    if wanted and source.is_alone:
        return wanted
    told = item if isinstance(item, Mapping) else {}
    known = ((program.name, program.conversation) for program in PROGRAMS)
    client = next((name for name, form in known if form and form.fits(told)), "")
    is_older = is_all and client == OPENAI.name and is_older_export(told, source.stem)
    if is_older or is_marked(told):
        client = OWN
    return client if wanted in {"", client} else ""


def _read(
    item: object, source: Source, client: str, number: int
) -> Iterator[Found | UnreadableChat]:
    """The chat of one object; nothing if it is not of a known program."""
    if not isinstance(item, Mapping):
        if client:
            error = f"entry {number}: expected an object, found {type(item).__name__}"
            yield UnreadableChat(id="", title="", error=error)
        return
    try:
        with source.conversation():
            yield from _as(client, item, source)
    except NotKnown as error:  # its list is not one of messages
        if source.is_alone:
            yield _broken(item, error)
    except _FAULTS as error:
        yield _broken(item, error)


def _broken(item: Mapping[str, Any], error: BaseException) -> UnreadableChat:
    return UnreadableChat(
        id=text_of(item.get("id")) or text_of(item.get("uuid")),
        title=text_of(item.get("title")) or text_of(item.get("name")),
        error=_short(error),
    )


def _as(client: str, item: Mapping[str, Any], source: Source) -> Iterator[Found]:
    if client == OWN:
        yield own_chat(item, source.stem)
        return
    forms = (program.conversation for program in PROGRAMS if program.name == client)
    if form := next(forms, None):
        yield from _of_form(form, item)


def _whole(source: Source) -> object:
    if source.size > _MOST_WHOLE:
        raise NotReadable(
            f"is one object of {source.size:,} bytes; at most {_MOST_WHOLE:,} are read"
        )
    try:
        return json.loads(_bytes(source).decode("utf-8-sig", "surrogatepass"))
    except UnicodeDecodeError as error:
        raise NotReadable(NOT_UTF8) from error
    except (ValueError, RecursionError) as error:
        raise NotReadable(f"expected JSON, found something else: {_short(error)}") from error


def _bytes(source: Source) -> bytes:
    with source.opened() as stream:
        return stream.read(min(_MOST_WHOLE, 2 * source.size + 4))  # reading allocates that much


def _short(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
