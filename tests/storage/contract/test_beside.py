"""What every storage promises of what stands beside chats, and of the vault as a whole."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smart_context.base.errors import CommandFailed
from smart_context.chat.messages import Arrived
from smart_context.storage.ports import KEPT_S, AnswerClaimed, Conflict, Limits
from tests.chat.made_documents import said

pytestmark = pytest.mark.anyio

COMMON = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ALL = Limits(lines=1000, slack=0, bytes=1 << 20)


async def test_a_document_that_is_not_there_is_empty(one):
    (document,) = await one.documents.read("c", "filter")
    assert (document.value, document.revision) == ({}, None)


@COMMON
@given(value=st.dictionaries(st.text(), JSON, max_size=4))
async def test_every_object_comes_back_as_it_was(new, value):
    opened = new()
    stored = await opened().documents.replace("c", "filter", value, expected=None)
    (again,) = await opened().documents.read("c", "filter")
    assert again.value == stored.value == value
    assert again.revision == stored.revision


async def test_an_object_is_replaced_only_while_its_revision_is_the_expected_one(one, other):
    first = await one.documents.replace("c", "filter", {"n": 1}, expected=None)
    with pytest.raises(Conflict):
        await other.documents.replace("c", "filter", {"n": 2}, expected=None)
    second = await other.documents.replace("c", "filter", {"n": 2}, expected=first.revision)
    with pytest.raises(Conflict):
        await one.documents.replace("c", "filter", {"n": 3}, expected=first.revision)
    assert (await one.documents.read("c", "filter"))[0].value == {"n": 2}
    assert second.revision != first.revision


async def test_of_changes_at_the_same_time_none_is_lost(opened):
    async def add(storage, number):
        while True:
            (document,) = await storage.documents.read("c", "list")
            value = {"all": [*document.value.get("all", ()), number]}
            try:
                await storage.documents.replace("c", "list", value, expected=document.revision)
            except Conflict:
                continue
            return

    storages = [opened() for _ in range(3)]
    await asyncio.gather(*(add(storages[n % 3], n) for n in range(12)))
    (document,) = await opened().documents.read("c", "list")
    assert sorted(document.value["all"]) == list(range(12))


async def test_an_object_that_has_not_changed_is_returned_as_it_is(one, other):
    await one.documents.replace("c", "a", {"n": 1}, expected=None)
    known = await one.documents.read("c", "a", "b")
    again = await one.documents.read("c", "a", "b", known=known)
    assert all(was is now for was, now in zip(known, again, strict=True))
    await other.documents.replace("c", "b", {"n": 2}, expected=None)
    a, b = await one.documents.read("c", "a", "b", known=known)
    assert a is known[0]
    assert b.value == {"n": 2}


@pytest.mark.parametrize("name", ["", "../x", "a/b", "Ä", "a b", ".x"])
async def test_a_bad_name_is_refused(one, name):
    with pytest.raises(ValueError, match="side-car"):
        await one.documents.read("c", name)
    with pytest.raises(ValueError, match="side-car"):
        await one.documents.replace("c", name, {}, expected=None)


KEYS = st.text(min_size=1, max_size=20)


@COMMON
@given(key=KEYS, others=st.lists(KEYS, max_size=3), value=st.dictionaries(st.text(), JSON))
async def test_documents_of_the_vault_are_kept_by_any_key(new, key, others, value):
    keys = {k.encode("utf-8", "replace").decode() for k in (key, *others)}
    documents = new()().vault_documents
    for each in keys:
        documents.write("contexts", each, {"of": each, **value})
    assert documents.keys("contexts") == sorted(keys)
    for each in keys:
        assert documents.read("contexts", each) == {"of": each, **value}
        assert documents.read("others", each) is None
    for each in keys:
        assert documents.delete("contexts", each)
        assert not documents.delete("contexts", each)
    assert documents.keys("contexts") == []


def test_a_vault_has_one_document_of_a_kind_that_has_no_name(one, other):
    assert one.vault_documents.read("", "calibration") is None
    assert one.vault_documents.write("", "calibration", {"n": 1})
    one.vault_documents.write("", "calibration", {"n": 2})
    assert other.vault_documents.read("", "calibration") == {"n": 2}


def test_of_those_who_add_a_document_of_the_vault_one_does(opened):
    documents = [opened().vault_documents for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        added = [*threads.map(lambda n: documents[n].add("", "one", {"n": n}), range(4))]
    assert opened().vault_documents.read("", "one") == {"n": added.index(True)}
    assert added.count(True) == 1


def test_a_key_that_is_too_long_names_nothing(one):
    with pytest.raises(ValueError, match="shorter"):
        one.vault_documents.write("contexts", "k" * 300, {})
    assert one.vault_documents.read("contexts", "k" * 300) is None
    assert not one.vault_documents.delete("contexts", "k" * 300)


async def test_lines_are_kept_in_their_order(one, other):
    log = one.logs.beside("c", "receipts", ALL)
    assert await log.revision() is None
    assert await log.lines() == []
    await log.append(b"a", b"b")
    await other.logs.beside("c", "receipts", ALL).append(b"\xff\0")
    assert await log.lines() == [b"a", b"b", b"\xff\0"]
    assert await other.logs.beside("d", "receipts", ALL).lines() == []


async def test_a_log_says_whether_it_has_changed(one, other):
    ours, theirs = (s.logs.beside("c", "receipts", ALL) for s in (one, other))
    before = await ours.append(b"a")
    assert await theirs.revision() == await ours.revision() == before is not None
    assert await ours.append() == before
    await theirs.append(b"b")
    assert await ours.revision() != before


async def test_a_log_is_read_on_from_a_place(one, other):
    ours, theirs = (s.logs.of_vault("clients", "key") for s in (one, other))
    assert await ours.since(0) == ([], 0)
    await theirs.append(b"a", b"b")
    lines, place = await ours.since(0)
    assert lines == [b"a", b"b"]
    assert await ours.since(place) == ([], place)
    await asyncio.gather(*(each.append(b"c%d" % n) for n, each in enumerate((ours, theirs) * 5)))
    lines, _ = await ours.since(place)
    assert sorted(lines) == [b"c%d" % n for n in range(10)]


async def test_a_log_with_limits_keeps_its_newest_lines(one):
    log = one.logs.beside("c", "receipts", Limits(lines=3, slack=2, bytes=1 << 20))
    long = b"x" * 400
    for number in range(20):
        await log.append(b"%02d" % number + long)
        lines = await log.lines()
        assert lines[-1][:2] == b"%02d" % number
        assert min(number + 1, 3) <= len(lines) <= 5


async def test_a_log_that_is_too_large_frees_a_quarter(one):
    log = one.logs.beside("c", "receipts", Limits(lines=100, slack=0, bytes=1000))
    for number in range(30):
        await log.append(b"%02d" % number + b"x" * 98)
        lines = await log.lines()
        assert sum(len(line) + 1 for line in lines) <= 1000
    assert len(lines) >= 7
    assert [line[:2] for line in lines] == [b"%02d" % n for n in range(30)][-len(lines) :]


async def test_a_log_goes_with_its_chat(one):
    await one.chats.save("c", said("a"))
    await one.logs.beside("c", "receipts", ALL).append(b"a")
    await one.chats.delete("c")
    assert await one.logs.beside("c", "receipts", ALL).lines() == []
    await one.chats.restore("c")
    assert await one.logs.beside("c", "receipts", ALL).lines() == [b"a"]


def rows(*values):
    return np.array(values, dtype=np.float32)


def same(stored, keys, values):
    assert stored[0] == keys
    np.testing.assert_array_equal(stored[1], rows(*values))


def test_vectors_are_read_as_they_were_given(one, other):
    kept = one.vectors.of("c", "model")
    assert kept.read()[0] == []
    kept.replace(["a", "b:\ud800"], rows([1, 0], [0, 2.5]))
    assert not kept.has_additions
    same(other.vectors.of("c", "model").read(), ["a", "b:\ud800"], ([1, 0], [0, 2.5]))


def test_added_vectors_follow_and_are_made_whole(one, other):
    kept = one.vectors.of("c", "model")
    kept.append(["a"], rows([1, 0]))
    kept.append(["b"], rows([0, 1]))
    again = other.vectors.of("c", "model")
    same(again.read(), ["a", "b"], ([1, 0], [0, 1]))
    assert again.has_additions
    again.replace(["b"], rows([0, 1]))
    assert not again.has_additions
    same(one.vectors.of("c", "model").read(), ["b"], ([0, 1],))


def test_vectors_of_another_model_are_not_used_and_replaced(one):
    one.vectors.of("c", "old").replace(["a"], rows([1, 0]))
    kept = one.vectors.of("c", "new")
    assert kept.read()[0] == []
    kept.replace(["a"], rows([1, 0, 0]))
    same(kept.read(), ["a"], ([1, 0, 0],))
    assert one.vectors.of("c", "old").read()[0] == []


def test_vectors_of_another_width_take_the_place_of_the_others(one):
    kept = one.vectors.of("c", "model")
    kept.replace(["a"], rows([1, 0]))
    kept.append(["b"], rows([1, 0, 0]))
    same(one.vectors.of("c", "model").read(), ["b"], ([1, 0, 0],))


async def test_an_attached_file_is_kept_once_with_its_name_and_text(one, other):
    text = "Grüße aus dem Süden"
    first = await one.blobs.put("a/ö.txt", text.encode("utf-16"))
    assert await one.blobs.put("ö.txt", text.encode("utf-16")) == first
    assert (first.name, first.size) == ("ö.txt", len(text.encode("utf-16")))
    key = first.storage_key
    assert await other.blobs.info(key) == first
    assert (await other.blobs.read(key)).strip("\ufeff") == text
    assert await other.blobs.content(key) == text.encode("utf-16")
    assert await other.blobs.data_uri(key) is None


@pytest.mark.parametrize("key", ["", "x", "../c.json", "0" * 64])
async def test_a_file_that_is_gone_is_never_an_error(one, key):
    await one.blobs.keep(key)
    found = [await get(key) for get in (one.blobs.info, one.blobs.read, one.blobs.content)]
    assert found == [None, None, None]


async def test_a_file_without_text_is_refused(one):
    for content in (b"", b"\0\1\2" * 50):
        with pytest.raises(CommandFailed):
            await one.blobs.put("x.bin", content)


async def test_files_that_nothing_names_are_removed_after_a_week(one):
    named, in_trash, unused = [
        (await one.blobs.put("a.txt", text)).storage_key for text in (b"one", b"two", b"three")
    ]
    entry = {"id": "a", "role": "user", "content": "", "files": [{"storage_key": named}]}
    await one.chats.save("c", {"messages": [entry]})
    await one.chats.save("d", {"messages": [], "about": in_trash})
    await one.chats.delete("d")
    assert list(one.clear_up(time.time())) == []
    assert list(one.clear_up(time.time() + KEPT_S + 60)) == [unused]
    assert await one.blobs.content(named) == b"one"
    assert await one.blobs.content(in_trash) == b"two"
    assert await one.blobs.info(unused) is None


def test_one_process_at_a_time_writes_an_answer(one, other):
    journal = one.answers.journal("c", "m")
    assert journal.claim() is None
    with pytest.raises(AnswerClaimed):
        other.answers.journal("c", "n").claim()
    assert other.answers.take_over("c") is None
    assert list(other.answers.interrupted()) == []
    assert other.answers.journal("d", "n").claim() is None
    journal.finish()
    assert other.answers.journal("c", "n").claim() is None


def test_what_had_arrived_of_an_interrupted_answer_is_found(one, other):
    journal = one.answers.journal("c", "m")
    journal.claim()
    journal.reserve()
    for piece in ("What had ", "", "arrived \ud800\0"):
        journal.append(piece)
    assert journal.problem == ""
    journal.close()
    journal.append("too late")
    assert list(other.answers.interrupted()) == ["c"]
    taken = other.answers.take_over("c")
    assert taken.arrived == Arrived("m", "What had arrived \ud800\0")
    assert one.answers.take_over("c") is None
    taken.release()
    again = one.answers.take_over("c")
    assert again.arrived == taken.arrived
    again.remove()
    again.release()
    assert list(one.answers.interrupted()) == []


def test_steps_take_the_place_of_the_pieces_before_them(one):
    journal = one.answers.journal("c", "m")
    journal.claim()
    journal.append("I look it up.")
    journal.step([{"type": "text", "text": "I look it up."}])
    journal.append("Here ")
    journal.step([{"type": "tool_call", "state": "call"}])
    journal.append("it is")
    journal.close()
    arrived = one.answers.take_over("c").arrived
    assert arrived.text == "it is"
    assert [part["type"] for part in arrived.steps] == ["text", "tool_call"]


def test_the_next_answer_is_given_what_the_last_left_and_then_replaces_it(one, other):
    first = one.answers.journal("c", "m")
    first.claim()
    first.append("half")
    first.close()
    second = other.answers.journal("c", "n")
    assert second.claim() == Arrived("m", "half")
    second.reserve()
    second.append("whole")
    second.close()
    assert one.answers.take_over("c").arrived == Arrived("n", "whole")


def test_an_answer_of_which_nothing_arrived_leaves_nothing(one):
    journal = one.answers.journal("c", "m")
    journal.claim()
    journal.close()
    taken = one.answers.take_over("d")
    assert taken.arrived is None
    taken.release()
    assert list(one.answers.interrupted()) == []


def test_caches_keep_files_and_databases_by_name(one):
    caches = one.caches
    assert not caches.has("words")
    with pytest.raises(FileNotFoundError):
        caches.read("words")
    caches.write("words", b"a")
    caches.write("words", b"b")
    assert caches.can_keep()
    assert (caches.has("words"), caches.read("words")) == (True, b"b")
    with closing(caches.database("db", timeout_s=1)) as database, database:
        database.execute("CREATE TABLE t (n)")
        database.execute("INSERT INTO t VALUES (7)")
    with closing(caches.database("db", timeout_s=1)) as database:
        assert database.execute("SELECT n FROM t").fetchall() == [(7,)]
    caches.remove_database("db")
    with closing(caches.database("db", timeout_s=1)) as database:
        assert database.execute("SELECT * FROM sqlite_master").fetchall() == []
