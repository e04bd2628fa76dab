"""The search by meaning over all chats of a person, by pgvector, against comparing each vector."""

from importlib.resources import files

import numpy as np
import psycopg
import pytest

from smart_context.chat.documents.ownership import OWNED_BY, Ownership
from smart_context.storage.postgres import vectors as meanings

pytestmark = pytest.mark.anyio

WIDTH, EACH = 16, 20
PEOPLE = ("owner", "alice", "bob")


def cloud(seed, count):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(count, WIDTH)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


async def fill(storage, chats):
    """Chats of three people in turn, of which the last has one in fifty; all their vectors."""
    every = {}
    for number in range(chats):
        person = PEOPLE[2] if number % 50 == 0 else PEOPLE[number % 2]
        chat, rows = f"c{number}", cloud(number, EACH)
        owned = Ownership(person).value()
        await storage.chats.update(chat, lambda document: document.update({OWNED_BY: owned}))  # noqa: B023
        keys = [f"m{row}:{number}" for row in range(EACH)]
        storage.vectors.of(chat, "model").replace(keys, rows)
        for key, row in zip(keys, rows, strict=True):
            every[chat, key] = person, row
    return every


def nearest_of_all(every, person, query, limit):
    """By comparing each, as a set: halves may exchange neighbours that are equally far."""
    own = {name: row @ query for name, (whose, row) in every.items() if whose == person}
    return sorted(own, key=own.get, reverse=True)[:limit]


async def found(storage, person, query, limit=10, without=""):
    near = await storage.chats.listing.nearest(person, "model", query, limit, without)
    return [(each.chat_id, each.key) for each in near]


@pytest.fixture(autouse=True)
def _searched_from_the_first_message_on(monkeypatch):
    monkeypatch.setattr(meanings, "FEW", -1)


async def test_a_persons_filter_loses_no_neighbours(opened, monkeypatch):
    storage = opened()
    every = await fill(storage, 100)
    for scanned in (meanings.SCANNED, -1):  # each of few is compared, and many by the index
        monkeypatch.setattr(meanings, "SCANNED", scanned)
        for person in PEOPLE:
            for query in cloud(1_000, 5):
                near = await found(storage, person, query)
                wanted = nearest_of_all(every, person, query, 10)
                assert len(near) == 10
                assert len({*near} & {*wanted}) >= 9, "halves may exchange the last two"
    assert await found(storage, "nobody", query) == []


async def test_what_is_not_to_be_found_is_not(opened):
    storage = opened()
    every = await fill(storage, 6)
    (query,) = cloud(3, 1)
    chats, vectors = storage.chats, storage.vectors
    assert (await found(storage, "alice", query))[0][0] == "c3"
    assert {chat for chat, _ in await found(storage, "alice", query, without="c3")} == {"c1", "c5"}
    await chats.update("c5", lambda document: document.update(private=True))
    await chats.delete("c1")
    assert {chat for chat, _ in await found(storage, "alice", query, 100)} == {"c3"}
    await chats.restore("c1")
    vectors.of("c3", "another model").replace(["m0"], cloud(3, 1))
    assert {chat for chat, _ in await found(storage, "alice", query, 100)} == {"c1"}
    kept = vectors.of("c1", "model")
    kept.replace(["m1:1", "new"], np.stack([every["c1", "m1:1"][1], query]))
    kept.append(["more"], cloud(3, 1))
    assert {key for _, key in await found(storage, "alice", query)} == {"m1:1", "new", "more"}


async def test_without_pgvector_all_else_goes_on_and_it_is_filled_in_later(url, opened):
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE meaning; DROP EXTENSION vector")
        connection.execute("DROP ROLE IF EXISTS plain; CREATE ROLE plain LOGIN")
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO plain")
        connection.execute("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO plain")
    storage = opened(url.replace("//smart@", "//plain@"))
    every = await fill(storage, 3)
    (query,) = cloud(7, 1)
    assert await storage.chats.listing.nearest("owner", "model", query, 5, "") is None
    storage.close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP OWNED BY plain; DROP ROLE plain")
    again = opened()
    again.clear_up(0.0)
    near = await found(again, "alice", query, 5)
    assert near == nearest_of_all(every, "alice", query, 5)


def test_the_script_is_part_of_the_package():
    assert files("smart_context.storage.postgres").joinpath("meanings.sql").is_file()
