"""The person asking, and if a client waits: context variables that a request's work inherits.

They are set where a request comes in. Storage shared by several people checks the person
(`storage/guarded`). Work of the program itself, such as repairs after a crash, has no person and
reaches everything.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context

from smart_context.base.values import OWNER, PersonId

_person: ContextVar[PersonId | None] = ContextVar("person_asking", default=None)
_is_waited_for: ContextVar[bool] = ContextVar("is_waited_for", default=False)


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
_PLACEHOLDER = "nobodys-"


def placeholder_for(chat_id: str) -> str:
    """An id that no chat has, in place of the id of a chat that the person asking may not see.

    The same person gets the same id each time, within this process.
    """
    named = f"{_person.get()}\0{chat_id}".encode("utf-8", "surrogatepass")
    return _PLACEHOLDER + hmac.new(_SECRET, named, hashlib.sha256).hexdigest()[:40]


def is_placeholder(chat_id: str) -> bool:
    """True for an id that no chat can get."""
    return chat_id.startswith(_PLACEHOLDER)


@contextmanager
def asking(person: PersonId | None) -> Iterator[None]:
    """Work for a person within a block, and in the tasks and threads that it starts."""
    token = _person.set(person)
    try:
        yield
    finally:
        _person.reset(token)


def is_waited_for() -> bool:
    """True if a client waits for the current work; such work goes before background work."""
    return _is_waited_for.get()


@contextmanager
def waited_for() -> Iterator[None]:
    """Mark the work within a block as waited for by a client; background tasks are not."""
    token = _is_waited_for.set(True)
    try:
        yield
    finally:
        _is_waited_for.reset(token)


def in_background() -> Context:
    """A copy of this context for background work, which no client waits for."""
    context = copy_context()
    context.run(_is_waited_for.set, False)
    return context


def person_tag(person: PersonId) -> str:
    """A person's part of file and document names: hex digits in lower case; empty for the owner."""
    if person == OWNER:
        return ""
    return hashlib.sha256(person.encode("utf-8", "surrogatepass")).hexdigest()[:32]
