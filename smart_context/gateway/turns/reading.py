"""Reads a client's request; if its list continues a known one, only the rest of it."""

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice

from smart_context.gateway.identity.given_ids import client_of, given_id
from smart_context.gateway.requests.body import Body, BodyRefused, ItemList, read_body
from smart_context.gateway.requests.outgoing import ApiKind
from smart_context.gateway.requests.units import ListUnit, chat_units, response_units, unit_of
from smart_context.gateway.turns.incoming import Incoming
from smart_context.llm.echoes import NO_KEYS, RepeatedKeys

LIST_NAMES: Mapping[ApiKind, str] = {"chat": "messages", "responses": "input"}

_KEPT_LISTS = 32
_KEPT_CHARACTERS = 64 << 20


class RecentLists:
    """Recently read lists; of a list that continues one, only the rest is read."""

    def __init__(self) -> None:
        self._lists: deque[tuple[str, ItemList, tuple[ListUnit, ...]]] = deque()

    def known(self, key: str) -> list[ItemList]:
        """The lists of a key."""
        return [listed for owner, listed, _ in self._lists if owner == key]

    def units_of(self, listed: ItemList, count: int) -> tuple[ListUnit, ...]:
        """The units of the known list that another list continues."""
        for _, known, units in self._lists:
            if len(known.items) == count and listed.text.startswith(known.text):
                return units
        return ()

    def remember(self, incoming: Incoming) -> None:
        """Remember a request's list instead of the one that it continues."""
        listed = incoming.body.listed
        if listed is None:
            return
        others = [kept for kept in self._lists if not listed.text.startswith(kept[1].text)]
        self._lists = deque([(incoming.key, listed, incoming.units), *others])
        size = 0
        for count, (_, kept, _) in enumerate(self._lists):
            size += len(kept.text)
            if count and (size > _KEPT_CHARACTERS or count >= _KEPT_LISTS):
                self._lists = deque(islice(self._lists, count))
                break


def read_incoming(
    kind: ApiKind,
    raw: bytes,
    headers: Mapping[str, str],
    key: str,
    recent: RecentLists,
    echoes: RepeatedKeys = NO_KEYS,
) -> Incoming:
    """Read a request.

    Args:
        headers: The headers by lower-case name.
        echoes: Our keys, which are removed from units if the client sends back an answer with one.

    Raises:
        BodyRefused: If it can't be read, or has no list.
    """
    body = read_body(raw, LIST_NAMES[kind], recent.known(key))
    known = recent.units_of(body.listed, body.known) if body.listed and body.known else ()
    return Incoming(
        kind=kind,
        key=key,
        client=client_of(headers, key),
        headers=headers,
        body=body,
        units=tuple(_units(kind, body, known, echoes)),
        given=given_id(headers, body),
    )


def with_model(incoming: Incoming, model: str) -> Incoming:
    """The request for another model, otherwise unchanged."""
    body, name = incoming.body, LIST_NAMES[incoming.kind]
    raw = body.spliced({"model": json.dumps(model)}).encode()
    known = [] if body.listed is None else [body.listed]
    return replace(incoming, body=read_body(raw, name, known))


def _units(
    kind: ApiKind, body: Body, known: Sequence[ListUnit], echoes: RepeatedKeys
) -> Sequence[ListUnit]:
    if body.listed is None:
        return _without_list(kind, body, echoes)
    settled = known[:-1] if kind == "responses" else known  # the last answer may go on in the rest
    first = settled[-1].first + settled[-1].size if settled else 0
    new = body.listed.items[first:]
    values = [item.value for item in new]
    if new and echoes.are_in(body.listed.text, new[0].start):
        values = echoes.value(values)
    read = chat_units if kind == "chat" else response_units
    return [*settled, *read(values, first=first)]


def _without_list(kind: ApiKind, body: Body, echoes: RepeatedKeys) -> Sequence[ListUnit]:
    name = LIST_NAMES[kind]
    given = body.get(name)
    if kind == "responses" and isinstance(given, str):
        return (unit_of("user", echoes.text(given), first=0),)
    if kind == "responses" and given is None:
        return ()
    raise BodyRefused(f"{name}: expected a list of messages.", name)
