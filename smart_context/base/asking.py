"""The person who asks: set where a request comes in, and kept by all work that it starts.

Storage that is shared by several people goes by it (`storage/guarded`). Work of the program itself,
such as repairs after a crash, is nobody's and reaches everything.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from typing import Any

from smart_context.base.values import OWNER, PersonId

_person: ContextVar[PersonId | None] = ContextVar("person_asking", default=None)
_found: ContextVar[dict[str, tuple[float, Any]] | None] = ContextVar("found", default=None)
_is_waited_for: ContextVar[bool] = ContextVar("is_waited_for", default=False)

FOUND_FOR_S = 1.0
"""How long a request, and work that it started, goes by what it found."""


def person_asking() -> PersonId | None:
    """The person for whom this task works; `None` for work of the program itself."""
    return _person.get()


def whoever_asks() -> PersonId:
    """The person for whom this task works; the owner for work of the program itself."""
    person = _person.get()
    return OWNER if person is None else person


def ask_as(person: PersonId | None) -> None:
    """Work for a person from now on, in a program that serves one person."""
    _person.set(person)


_SECRET = secrets.token_bytes(16)
_STAND_IN = "nobodys-"


def stand_in_for(chat_id: str) -> str:
    """An id that no chat has, for one that the person asking may not know to exist.

    The same each time for a person, in this process.
    """
    named = f"{_person.get()}\0{chat_id}".encode("utf-8", "surrogatepass")
    return _STAND_IN + hmac.new(_SECRET, named, hashlib.sha256).hexdigest()[:40]


def is_stand_in(chat_id: str) -> bool:
    """True for an id that no chat can get."""
    return chat_id.startswith(_STAND_IN)


@contextmanager
def asking(person: PersonId | None) -> Iterator[None]:
    """Work for a person within a block, and in the tasks and threads that it starts."""
    token = _person.set(person)
    try:
        yield
    finally:
        _person.reset(token)


@contextmanager
def one_request() -> Iterator[None]:
    """Look things up once within a block, and in the tasks and threads that it starts.

    What was so when a request came in holds for all of it, but not for the next one.
    """
    token = _found.set({})
    try:
        yield
    finally:
        _found.reset(token)


def is_waited_for() -> bool:
    """True if a client waits for this, so that it goes before what is done in the background."""
    return _is_waited_for.get()


@contextmanager
def waited_for() -> Iterator[None]:
    """Work for a client that waits, within a block; not in the tasks that an owner runs for it."""
    token = _is_waited_for.set(True)
    try:
        yield
    finally:
        _is_waited_for.reset(token)


def in_background() -> Context:
    """A context like this one, but for work that nobody waits for."""
    context = copy_context()
    context.run(_is_waited_for.set, False)
    return context


def found(what: str) -> Any:
    """What this request found out shortly before; `None` if it didn't."""
    known = _found.get()
    at, value = known.get(what, (0.0, None)) if known else (0.0, None)
    return value if time.monotonic() < at + FOUND_FOR_S else None


def keep_found(what: str, value: Any) -> None:
    """Remember for the rest of this request what was found out, if there is one."""
    known = _found.get()
    if known is not None:
        known[what] = time.monotonic(), value


def person_tag(person: PersonId) -> str:
    """A person in names of files and documents: lower-case letters and digits, none the owner's."""
    if person == OWNER:
        return ""
    return hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:32]
