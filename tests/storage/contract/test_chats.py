"""What every storage promises of chats."""

import asyncio
import contextlib
from contextvars import Context

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smart_context.base.errors import ChatIdInvalid, CommandFailed, InvalidParams
from smart_context.base.lookups import one_request
from smart_context.base.values import OWNER, PersonId
from smart_context.chat.documents.document import since_message
from tests.chat.made_documents import appending, ids, json_documents, message, said
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

COMMON = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


async def titles(storage):
    return [row.title for row in await storage.chats.listing.rows(OWNER)]


async def test_a_chat_that_does_not_exist_is_empty(one):
    assert await one.chats.load("c") == {"messages": []}
    assert await one.chats.messages("c") == ()
    assert await one.chats.snapshot("c") == ((), {})
    assert await one.chats.value("c", "model") is None
    assert not await one.chats.exists("c")
    assert await one.chats.listing.rows(OWNER) == []


@pytest.mark.parametrize("bad", ["", "a/b", "..", "ä", "a" * 129, "con", 7])
async def test_a_bad_id_is_refused_everywhere(one, bad):
    for call in (
        one.chats.load(bad),
        one.chats.messages(bad),
        one.chats.snapshot(bad),
        one.chats.value(bad, "model"),
        one.chats.exists(bad),
        one.chats.save(bad, said("a")),
        one.chats.update(bad, lambda _: None),
        one.chats.rename(bad, "x"),
        one.chats.delete(bad),
        one.chats.restore(bad),
        one.documents.read(bad, "filter"),
        one.documents.replace(bad, "filter", {}, expected=None),
    ):
        with pytest.raises(ChatIdInvalid):
            await call
    for beside in (one.vectors.of, one.answers.journal):
        with pytest.raises(ChatIdInvalid):
            beside(bad, "m")


async def test_a_request_looks_once_for_what_others_change(one, other, monkeypatch):
    monkeypatch.setattr("smart_context.base.lookups.KEPT_FOR_S", 600.0)  # on a busy machine, too
    first, second = {**said("a"), "model": "first"}, {**said("a", "b"), "model": "second"}
    await one.chats.save("c", first)

    async def seen():
        messages, others = await one.chats.snapshot("c", "model")
        assert others == {"model": await one.chats.value("c", "model")}
        assert messages == await one.chats.messages("c")
        return len(messages), others["model"]

    with one_request():
        assert await seen() == (1, "first")
        await other.chats.save("c", second)
        assert await seen() == (1, "first")
        await one.chats.update("c", appending("x"))  # starts from what is stored
        assert await seen() == (3, "second")
        await other.chats.delete("c")
        assert await one.chats.exists("c")
    with one_request():
        assert not await one.chats.exists("c")


async def test_a_request_knows_at_once_what_this_process_changes(one):
    await one.chats.save("c", said("a"))
    with one_request():
        assert len(await one.chats.messages("c")) == 1
        await asyncio.create_task(one.chats.save("c", said("a", "b")), context=Context())
        assert len(await one.chats.messages("c")) == 2
        await asyncio.create_task(one.chats.delete("c"), context=Context())
        assert not await one.chats.exists("c")
        assert await one.chats.messages("c") == ()


async def test_another_process_reads_what_was_saved(one, other):
    await one.chats.save("c", said("a", "b"))
    assert ids(await other.chats.load("c")) == ["a", "b"]
    assert [m.id for m in await other.chats.messages("c")] == ["a", "b"]
    assert await other.chats.exists("c")


@COMMON
@given(document=json_documents)
async def test_every_document_of_json_comes_back_as_it_was(new, document):
    opened = new()
    stored = await opened().chats.save("c", document)
    again = await opened().chats.load("c")
    assert again == stored
    assert again == {"messages": [], **document}


@pytest.mark.parametrize("text", ["\0", "\ud800", "😀 \udfff", "\u2028", '"\\', "中文"])
async def test_odd_characters_and_unknown_keys_survive(one, other, text):
    kept = {"id": "a", "role": "user", "content": text, text: [text], "nested": {text: None}}
    await one.chats.save("c", {"messages": [kept], text: {"deep": [text]}, "z": 1, "a": 2})
    await other.chats.update("c", appending("b"))
    document = await one.chats.load("c")
    assert document["messages"][0] == kept
    assert document[text] == {"deep": [text]}
    assert [key for key in document if key in ("z", "a")] == ["z", "a"]


@pytest.mark.parametrize(
    "document", [{"messages": 7}, {"x": float("nan")}, {"x": object()}, {"messages": [{1, 2}]}]
)
async def test_what_is_not_json_is_refused_and_nothing_is_stored(one, document):
    with pytest.raises(InvalidParams):
        await one.chats.save("c", document)
    assert not await one.chats.exists("c")


async def test_what_is_handed_out_is_a_copy(one):
    given = said("a")
    await one.chats.save("c", given)
    given["messages"].append(message("mine"))
    (await one.chats.load("c"))["messages"].clear()
    _, others = await one.chats.snapshot("c")
    others["new"] = 1
    assert await one.chats.load("c") == said("a")


async def test_a_snapshot_has_only_the_keys_that_were_named(one):
    await one.chats.save("c", {**said("a"), "model": "small", "branches": [], "tags": ["x"]})
    messages, others = await one.chats.snapshot("c", "tags", "topics")
    assert ([m.id for m in messages], others) == (["a"], {"tags": ["x"]})
    others["tags"].append("mine")
    _, others = await one.chats.snapshot("c")
    assert others["tags"] == ["x"]
    assert others["model"] == "small"


async def test_one_value_is_read_from_the_newest_version_and_is_a_copy(one, other):
    await one.chats.save("c", {**said("a"), "model": "small", "tags": ["x"]})
    assert await other.chats.value("c", "model") == "small"
    assert await one.chats.value("c", "messages") is None
    (await one.chats.value("c", "tags")).append("mine")
    assert await one.chats.value("c", "tags") == ["x"]
    await other.chats.update("c", lambda document: document.update(model="large"))
    assert await one.chats.value("c", "model") == "large"


async def test_changes_at_the_same_time_all_take_effect(opened):
    storages = [opened() for _ in range(3)]
    await storages[0].chats.save("c", said())
    names = [f"m{number}" for number in range(30)]
    await asyncio.gather(
        *(storages[n % 3].chats.update("c", appending(name)) for n, name in enumerate(names))
    )
    assert sorted(ids(await opened().chats.load("c"))) == sorted(names)


async def test_a_save_keeps_what_arrived_since_its_client_loaded(one, other):
    await one.chats.save("c", said("a", "b"))
    document = await one.chats.load("c", reader="page")
    await other.chats.update("c", appending("arrived"))
    await other.chats.update("c", lambda d: d.update(topics=[{"label": "Cats"}]))
    document["messages"] = [m for m in document["messages"] if m["id"] != "a"]
    document["title"] = "Mine"
    stored = await one.chats.save("c", document, reader="page")
    assert stored == await other.chats.load("c")
    assert ids(stored) == ["b", "arrived"]
    assert (stored["title"], stored["topics"]) == ("Mine", [{"label": "Cats"}])


async def test_a_save_without_messages_leaves_them_alone(one):
    await one.chats.save("c", said("a"))
    await one.chats.save("c", {"title": "Only that"})
    assert ids(await one.chats.load("c")) == ["a"]


async def test_a_change_that_changes_nothing_makes_no_chat_and_no_report(one):
    heard = []
    one.chats.changes.on_change(heard.append)
    assert await one.chats.update("c", lambda _: None) == {"messages": []}
    assert not await one.chats.exists("c")
    await one.chats.save("c", said("a"))
    await one.chats.update("c", lambda _: None)
    await one.chats.save("c", said("a"))
    assert heard == ["c"]


async def test_a_change_that_raises_stores_nothing(one):
    await one.chats.save("c", said("a"))

    def broken(document):
        document["messages"].clear()
        raise LookupError

    with pytest.raises(LookupError):
        await one.chats.update("c", broken)
    assert ids(await one.chats.load("c")) == ["a"]


async def test_a_chat_that_is_gone_is_not_made_again_by_who_only_changes_it(one):
    with pytest.raises(CommandFailed):
        await one.chats.update("c", appending("a"), creates=False)
    with pytest.raises(CommandFailed):
        await one.chats.rename("c", "x")
    assert not await one.chats.exists("c")


async def test_a_change_at_the_end_sees_the_end_only(one):
    names = [f"m{number}" for number in range(20)]
    await one.chats.save("c", said(*names))
    seen = []

    def change(document):
        seen.extend(ids(document))
        document["messages"].append(message("new"))

    rest = await one.chats.update("c", change, since=since_message("m18"))
    assert seen == ["m18", "m19"]
    assert ids(rest) == ["m18", "m19", "new"]
    assert ids(await one.chats.load("c")) == [*names, "new"]


async def test_ten_thousand_messages_are_kept_and_those_that_stay_are_not_made_again(one, other):
    names = [f"m{number}" for number in range(10_000)]
    await one.chats.save("c", said(*names))
    before = await one.chats.messages("c")
    await one.chats.update("c", appending("new"), since=since_message(names[-1]))
    after = await one.chats.messages("c")
    assert [m.id for m in after] == [*names, "new"]
    assert all(was is now for was, now in zip(before, after, strict=False))
    assert len(await other.chats.messages("c")) == 10_001
    (row,) = await other.chats.listing.rows(OWNER)
    assert row.message_count == 10_001


async def test_a_title_is_stored_with_single_spaces(one, other):
    await one.chats.save("c", said("a"))
    assert await one.chats.rename("c", "  My \n title ") == "My title"
    assert await titles(other) == ["My title"]
    for bad in ("", " \n", "x" * 201):
        with pytest.raises(InvalidParams):
            await one.chats.rename("c", bad)
    assert (await one.chats.load("c"))["title"] == "My title"


async def test_a_deleted_chat_comes_back_with_all_that_stood_beside_it(one, other):
    await one.chats.save("c", said("a"))
    await one.chats.save("c2", said("b"))
    await one.documents.replace("c", "filter", {"on": True}, expected=None)
    await one.documents.replace("c2", "filter", {"on": False}, expected=None)
    await one.chats.delete("c")
    assert not await other.chats.exists("c")
    assert (await other.documents.read("c", "filter"))[0].value == {}
    assert [row.id for row in await other.chats.listing.rows(OWNER)] == ["c2"]
    found, total = await other.chats.trash.listed(OWNER)
    assert ([deleted.id for deleted in found], total) == (["c"], 1)
    await other.chats.restore("c")
    assert ids(await one.chats.load("c")) == ["a"]
    assert (await one.documents.read("c", "filter"))[0].value == {"on": True}
    assert await one.chats.trash.listed(OWNER) == ([], 0)


async def test_an_id_that_is_deleted_twice_loses_neither_chat(one):
    for name in ("first", "second"):
        await one.chats.save("c", said(name))
        await one.chats.delete("c")
    (newest, oldest), total = await one.chats.trash.listed(OWNER)
    assert total == 2
    await one.chats.restore("c", oldest.deletion)
    assert ids(await one.chats.load("c")) == ["first"]
    with pytest.raises(CommandFailed):
        await one.chats.restore("c", newest.deletion)
    await one.chats.delete("c")
    await one.chats.restore("c", newest.deletion)
    assert ids(await one.chats.load("c")) == ["second"]


async def test_what_is_not_there_can_not_be_deleted_restored_or_purged(one):
    for call in (
        one.chats.delete("c"),
        one.chats.restore("c"),
        one.chats.trash.purge("c"),
    ):
        with pytest.raises(CommandFailed):
            await call


async def test_a_purged_chat_is_gone_for_ever(one):
    for name in ("a", "b", "c"):
        await one.chats.save(name, said(name))
        await one.chats.delete(name)
    assert await one.chats.trash.purge("a") == 1
    with pytest.raises(CommandFailed):
        await one.chats.restore("a")
    assert await one.chats.trash.empty(OWNER, until="2000-01-01T00:00:00Z") == 0
    assert await one.chats.trash.empty(OWNER) == 2
    assert await one.chats.trash.listed(OWNER) == ([], 0)


async def test_the_list_has_the_newest_first(one):
    for name, day in (("old", 1), ("new", 3), ("middle", 2)):
        entry = {**message(name), "created_at": f"2026-03-0{day}T12:00:00Z"}
        await one.chats.save(name, {"messages": [entry], "title": name})
    assert await titles(one) == ["new", "middle", "old"]


async def test_all_words_are_searched_in_any_case_and_width(one):
    await one.chats.save("c", {"messages": [message("a", content="Straße nach ＲＯＭ")]})
    await one.chats.save("d", {"messages": [message("b", content="nothing")], "title": "Rom"})
    hits = await one.chats.listing.search(OWNER, "rom STRASSE")
    assert [(hit.chat_id, hit.message_id) for hit in hits] == [("c", "a")]
    assert {hit.chat_id for hit in await one.chats.listing.search(OWNER, "rom")} == {"c", "d"}
    assert await one.chats.listing.search(OWNER, "") == []
    assert len(await one.chats.listing.search(OWNER, "rom", limit=1)) == 1


async def test_the_list_says_where_a_chat_is_put(one, other):
    placed = {"folder": "Home", "pinned": True, "archived": True}
    await one.chats.save("c1", {"messages": [], **placed})
    await one.chats.save("c2", {"messages": [], "folder": 3, "pinned": "yes", "archived": None})
    rows = {row.id: row.document() for row in await other.chats.listing.rows(OWNER)}
    assert placed.items() <= rows["c1"].items()
    assert placed.keys().isdisjoint(rows["c2"])


async def test_lists_searches_and_the_trash_hold_what_is_the_persons(one):
    stranger = PersonId("stranger")
    for name in ("kept", "deleted"):
        await one.chats.save(name, said("words"))
    await one.chats.delete("deleted")
    assert await one.chats.listing.rows(stranger) == []
    assert await one.chats.listing.revisions(stranger) == {}
    assert await one.chats.listing.search(stranger, "words") == []
    assert await one.chats.trash.listed(stranger) == ([], 0)
    assert await one.chats.trash.empty(stranger) == 0
    assert [row.id for row in await one.chats.listing.rows(OWNER)] == ["kept"]
    assert (await one.chats.trash.listed(OWNER))[1] == 1


ALICE, BOB = PersonId("alice"), PersonId("bob")


async def alice_has(storage, chat_id, *, shared=False):
    owned = {"person": ALICE} | ({"shared": True} if shared else {})
    await storage.chats.update(chat_id, lambda d: d.update(said("words"), owned_by=owned))


async def test_a_chat_is_listed_to_its_person_and_if_it_is_shared_to_all(one, other):
    await alice_has(one, "own")
    await alice_has(one, "shared", shared=True)
    for person, seen in ((ALICE, {"own", "shared"}), (BOB, {"shared"}), (OWNER, {"shared"})):
        assert {row.id for row in await other.chats.listing.rows(person)} == seen
        hits = await other.chats.listing.search(person, "words")
        assert {hit.chat_id for hit in hits} == seen
    (row,) = await one.chats.listing.rows(BOB)
    assert (row.person, row.shared) == (ALICE, True)


async def test_no_save_changes_whose_a_chat_is(one, other):
    await alice_has(one, "c")
    for said_so in ({"person": BOB}, {"person": ALICE, "shared": True}, 7, None):
        await other.chats.save("c", said("words", "more") | {"owned_by": said_so})
    await other.chats.save("c", said("words"))
    assert await one.chats.value("c", "owned_by") == {"person": ALICE}
    for _ in range(2):
        await one.chats.save("unowned", said("words") | {"owned_by": {"person": BOB}})
        assert await one.chats.value("unowned", "owned_by") is None


async def test_a_deleted_chat_is_in_the_trash_of_its_person(one, other):
    await alice_has(one, "c", shared=True)
    await one.chats.delete("c")
    assert await other.chats.trash.person_of("c") == ALICE
    assert await other.chats.trash.person_of("other") is None
    assert await other.chats.trash.ids(ALICE) == {"c"}
    assert (await other.chats.trash.listed(ALICE))[1] == 1
    for person in (BOB, OWNER):
        assert await other.chats.trash.ids(person) == frozenset()
        assert await other.chats.trash.listed(person) == ([], 0)
        assert await other.chats.trash.empty(person) == 0
    assert await other.chats.trash.empty(ALICE) == 1


async def test_a_revision_tells_which_chats_have_changed_since_it_was_read(one, other):
    for name in ("same", "grown", "deleted"):
        await one.chats.save(name, said("words"))
    before = await one.chats.listing.revisions(OWNER)
    assert await other.chats.listing.revisions(OWNER) == before
    await other.chats.update("grown", appending("more"))
    await other.chats.delete("deleted")
    now = await one.chats.listing.revisions(OWNER)
    assert [name for name in before if now.get(name) == before[name]] == ["same"]
    assert now.keys() == {"same", "grown"}


async def test_a_revision_counts_changes_of_the_documents_that_are_named(one, other):
    await one.chats.save("c", said("words"))
    before = await one.chats.listing.revisions(OWNER, "filter")
    first = await other.documents.replace("c", "filter", {"a": 1}, expected=None)
    made = await one.chats.listing.revisions(OWNER, "filter")
    await other.documents.replace("c", "filter", {"a": "two"}, expected=first.revision)
    changed = await one.chats.listing.revisions(OWNER, "filter")
    await other.documents.replace("c", "other", {"a": 1}, expected=None)
    assert len({before["c"], made["c"], changed["c"]}) == 3
    assert await one.chats.listing.revisions(OWNER, "filter") == changed


async def test_each_change_is_reported_once_whoever_made_it(one, other):
    heard, all_heard = [], asyncio.Event()

    def hear(chat):
        if chat != "probe":
            heard.append(chat)
        if len(heard) == 4:
            all_heard.set()

    await one.chats.save("before", said("a"))
    one.chats.changes.on_change(hear)
    watching = asyncio.create_task(one.chats.changes.watch())
    try:
        await one.chats.save("mine", said("a"))
        await _watched(one, other)
        await other.chats.save("theirs", said("a"))
        await one.chats.delete("mine")
        await other.chats.update("before", appending("b"))
        async with asyncio.timeout(PATIENCE_S):
            await all_heard.wait()
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    assert sorted(heard) == ["before", "mine", "mine", "theirs"]


async def _watched(one, other):
    """Wait until the watch reports what others do."""
    seen = asyncio.Event()
    end = one.chats.changes.on_change(lambda chat: seen.set() if chat == "probe" else None)
    async with asyncio.timeout(PATIENCE_S):
        number = 0
        while not seen.is_set():
            number += 1
            await other.chats.update("probe", appending(f"p{number}"))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(seen.wait(), 0.1)
    end()


async def test_who_no_longer_listens_hears_nothing(one):
    heard, also = [], []
    end = one.chats.changes.on_change(heard.append)
    one.chats.changes.on_change(also.append)
    await one.chats.save("c", said("a"))
    end()
    end()
    await one.chats.save("c", said("a", "b"))
    await one.chats.close()
    await one.chats.save("c", said("a", "b", "d"))
    assert (heard, also) == (["c"], ["c", "c"])


async def test_a_listener_that_fails_stops_neither_the_others_nor_the_change(one):
    heard = []
    one.chats.changes.on_change(lambda _: 1 / 0)
    one.chats.changes.on_change(heard.append)
    await one.chats.save("c", said("a"))
    assert heard == ["c"]
    assert ids(await one.chats.load("c")) == ["a"]


STEPS = st.lists(
    st.tuples(
        st.integers(0, 1),
        st.sampled_from(["add", "drop", "edit", "title", "save", "delete", "restore"]),
        st.integers(0, 5),
    ),
    max_size=12,
)


@COMMON
@given(steps=STEPS)
async def test_two_processes_never_disagree_about_a_chat(new, steps):
    opened = new()
    pair = [opened(), opened()]
    for number, (who, what, which) in enumerate(steps):
        chats = pair[who].chats
        with contextlib.suppress(CommandFailed):
            await _step(chats, what, which, number)
        assert await pair[0].chats.load("c") == await pair[1].chats.load("c")
        assert await pair[0].chats.exists("c") == await pair[1].chats.exists("c")


async def _step(chats, what, which, number):
    def edit(document):
        entries = document["messages"]
        if entries:
            entries[which % len(entries)]["content"] = f"edited {number}"

    def drop(document):
        if document["messages"]:
            del document["messages"][which % len(document["messages"])]

    if what == "save":
        document = await chats.load("c", reader="r")
        edit(document)
        await chats.save("c", document, reader="r")
    elif what in ("delete", "restore"):
        await getattr(chats, what)("c")
    else:
        changes = {
            "add": appending(f"n{number}"),
            "drop": drop,
            "edit": edit,
            "title": lambda document: document.update(title=f"t{number}"),
        }
        await chats.update("c", changes[what])
