import json
import os

import pytest

from smart_context.base.values import OWNER
from smart_context.storage.files.chats import FileChats
from smart_context.storage.files.listing import INDEX_NAME
from tests.chat.made_documents import appending, message, names_in, on_disk, put, said

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "chats"


@pytest.fixture
def store(folder):
    return FileChats(folder)


async def only(store):
    (summary,) = await store.listing.rows(OWNER)
    return summary


@pytest.mark.parametrize(
    ("document", "title"),
    [
        pytest.param(said("First\nsecond"), "First", id="the first line of the first question"),
        pytest.param({**said("x"), "title": " Mine "}, "Mine", id="the title that was given"),
        pytest.param({**said("x"), "title": "  "}, "x", id="a blank title is none"),
        pytest.param({**said("x"), "title": 7}, "x", id="a title that is no text is none"),
        pytest.param({**said("x"), "title": "a\nb\0c"}, "a b c", id="on one line"),
        pytest.param(said("y" * 61), "y" * 59 + "…", id="cut to 60 characters"),
        pytest.param(said("y" * 60), "y" * 60, id="60 characters are not cut"),
        pytest.param(said("\n  \n x "), "x", id="white space before it"),
        pytest.param(said(), "New chat", id="no message"),
        pytest.param(
            {"messages": [message("hi", role="assistant"), message("q")]}, "q", id="a question"
        ),
        pytest.param(
            {"messages": [message("a", content=[{"type": "image"}]), message("q")]},
            "q",
            id="a question that is only an image is passed over",
        ),
        pytest.param({"messages": ["text", message("q")]}, "q", id="what is no message is passed"),
    ],
)
async def test_a_chat_is_listed_under_its_title(store, folder, document, title):
    put(folder / "c.json", document)
    assert (await only(store)).title == title


@pytest.mark.parametrize(
    ("document", "preview"),
    [
        pytest.param(said("one", "two\n words"), "two words", id="the last message"),
        pytest.param(said("one", ""), "one", id="an empty one is passed over"),
        pytest.param(said("y" * 500), "y" * 119 + "…", id="cut"),
        pytest.param(said(), "", id="none"),
        pytest.param(
            said(
                "## Plan\n\n- [ ] **Buy** *fine* `flour`, see [[Bread]] [here](https://a.b/c_d)"
                "\n```py\nx = a_b * 2 > 1\n```"
            ),
            "Plan Buy fine flour, see Bread here x = a_b * 2 > 1",
            id="without Markdown's marks",
        ),
        pytest.param(said("> "), ">", id="of marks alone"),
    ],
)
async def test_the_preview_is_the_beginning_of_the_last_message(store, folder, document, preview):
    put(folder / "c.json", document)
    assert (await only(store)).preview == preview


async def test_messages_are_counted_and_other_entries_are_not(store, folder):
    put(folder / "c.json", {"messages": [message("a"), "odd", message("b")]})
    assert (await only(store)).message_count == 2


@pytest.mark.parametrize(
    ("written", "updated"),
    [
        pytest.param("2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z", id="UTC"),
        pytest.param("2026-03-01T12:00:00.5+02:00", "2026-03-01T10:00:00Z", id="another zone"),
        pytest.param("2026-03-01T12:00:00", "2026-03-01T12:00:00Z", id="no zone: taken as UTC"),
        pytest.param("yesterday", "1970-01-01T00:16:40Z", id="nonsense: the file's time"),
        pytest.param(None, "1970-01-01T00:16:40Z", id="none: the file's time"),
        pytest.param("0001-01-01T00:00:00+14:00", "1970-01-01T00:16:40Z", id="out of range"),
    ],
)
async def test_a_chat_is_as_new_as_its_last_message(store, folder, written, updated):
    more = {} if written is None else {"created_at": written}
    path = put(folder / "c.json", {"messages": [message("a", **more)]})
    os.utime(path, (1000, 1000))
    assert (await only(store)).updated_at == updated


async def test_chats_are_listed_newest_first(store, folder):
    put(folder / "old.json", said("a"), age_s=300)
    put(folder / "new.json", said("a"), age_s=100)
    put(folder / "middle.json", said("a"), age_s=200)
    assert [chat.id for chat in await store.listing.rows(OWNER)] == ["new", "middle", "old"]
    await store.update("old", appending("b"))
    assert [chat.id for chat in await store.listing.rows(OWNER)] == ["old", "new", "middle"]


async def test_of_chats_of_one_time_the_file_written_last_comes_first(store, folder):
    document = {"messages": [message("a", created_at="2026-03-01T12:00:00Z")]}
    for age, chat in enumerate(["newest", "middle", "oldest"]):
        put(folder / f"{chat}.json", document, age_s=age * 10)
    assert [chat.id for chat in await store.listing.rows(OWNER)] == ["newest", "middle", "oldest"]


async def test_only_chats_are_listed(store, folder):
    put(folder / "c.json", said("a"))
    for name in (
        "c.embeddings.json",
        ".c.json.0000.tmp",
        "c.damaged-20260301T120000Z.json",
        "readme.md",
        "trash/x/d.json",
        "é.json",
        "con.json",
    ):
        put(folder / name, said("no"))
    assert [chat.id for chat in await store.listing.rows(OWNER)] == ["c"]


async def test_the_list_follows_what_is_saved_deleted_and_changed_by_others(store, folder):
    await store.save("a", said("one"))
    assert (await only(store)).title == "one"
    await store.rename("a", "two")
    assert (await only(store)).title == "two"
    put(folder / "a.json", said("three"))
    assert (await only(store)).title == "three"
    await store.delete("a")
    assert await store.listing.rows(OWNER) == []
    await store.restore("a")
    assert (await only(store)).title == "three"
    (folder / "a.json").unlink()
    assert await store.listing.rows(OWNER) == []
    assert not store.listing._known


async def test_files_that_did_not_change_are_not_read_again(store, folder):
    path = put(folder / "c.json", said("a"))
    before = await store.listing.rows(OWNER)
    found = path.stat()
    with path.open("r+b") as file:
        file.write(b"#")
    os.utime(path, ns=(found.st_mtime_ns, found.st_mtime_ns))
    assert await store.listing.rows(OWNER) == before


async def test_what_was_saved_is_listed_without_being_read(store):
    await store.save("c", said("a"))
    await store.listing.rows(OWNER)
    assert store.listing._bytes_read == 0


async def test_small_chats_need_no_index(store, folder):
    put(folder / "c.json", said("a"))
    await store.listing.rows(OWNER)
    await store.close()
    assert names_in(folder) == ["c.json"]


@pytest.fixture
def large(folder):
    return put(folder / "large.json", said("a", "b" * 600_000))


async def test_summaries_of_large_chats_are_kept_for_the_next_start(store, folder, large):
    before = await store.listing.rows(OWNER)
    index = folder / INDEX_NAME
    row = on_disk(index)["chats"]["large"]
    assert row[3:5] == ["a", 2]
    index.write_text(index.read_text().replace('"a",2', '"from the index",2'))
    after = await FileChats(folder).listing.rows(OWNER)
    assert [chat.title for chat in after] == ["from the index"]
    assert before[0].message_count == after[0].message_count
    put(large, said("changed"))
    assert [chat.title for chat in await FileChats(folder).listing.rows(OWNER)] == ["changed"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"version": 7}',
        b'{"version": 7, "chats": []}',
        b'{"version": 7, "chats": {"large": [1]}}',
        b'{"version": 7, "chats": {"../x": [1, 2, 3, "t", 1, "u", "p"]}}',
        b'{"version": 7, "chats": {"large": [1, 2, 3, 4, 5, 6, 7]}}',
        b'{"version": 7, "chats": {}}',
        b"\xff",
        b"[" * 100_000,
    ],
)
async def test_a_damaged_index_is_made_again(store, folder, large, content):
    put(folder / INDEX_NAME, content)
    assert (await only(store)).message_count == 2
    assert on_disk(folder / INDEX_NAME)["version"] == 7


async def test_an_index_of_an_older_version_is_made_again(store, folder, large):
    await store.listing.rows(OWNER)
    index = folder / INDEX_NAME
    older = index.read_text().replace('"version":7', '"version":6')
    index.write_text(older.replace('"bb', '"**bb'))
    assert (await only(FileChats(folder))).preview.startswith("bb")


async def test_an_index_that_can_not_be_written_is_no_error(store, folder, large):
    (folder / INDEX_NAME).mkdir()
    assert (await only(store)).message_count == 2


HAYSTACK = {
    "plain": "The quick brown fox",
    "german": "Die STRASSE nach Köln",
    "decomposed": "Cafe\u0301 au lait",
    "wide": "Ｆｕｌｌ　ｗｉｄｔｈ ﬁle",
    "chinese": "我们今天学习向量检索",
    "quoted": 'say "hi\\there" / now',
}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param("quick", {"plain"}, id="a word"),
        pytest.param("QUICK", {"plain"}, id="in another case"),
        pytest.param("fox quick", {"plain"}, id="two words in any order"),
        pytest.param("quick Köln", set(), id="two words of two messages"),
        pytest.param("uic", {"plain"}, id="a part of a word"),
        pytest.param("straße", {"german"}, id="sharp s"),
        pytest.param("Ko\u0308ln", {"german"}, id="composed differently"),
        pytest.param("café", {"decomposed"}, id="composed differently, the other way"),
        pytest.param("full width", {"wide"}, id="in another width"),
        pytest.param("file", {"wide"}, id="a ligature"),
        pytest.param("向量", {"chinese"}, id="Chinese"),
        pytest.param('"hi\\there"', {"quoted"}, id="characters that JSON escapes"),
        pytest.param(" / ", {"quoted"}, id="a slash"),
        pytest.param("assistant", set(), id="a word of the file that is no text"),
        pytest.param("", set(), id="nothing"),
        pytest.param("  ", set(), id="white space"),
    ],
)
@pytest.mark.parametrize("ascii_only", [False, True])
async def test_messages_are_found_by_their_words(store, folder, query, found, ascii_only):
    document = {
        "messages": [
            message(name, role="assistant", content=text) for name, text in HAYSTACK.items()
        ]
    }
    put(folder / "c.json", json.dumps(document, ensure_ascii=ascii_only))
    hits = await store.listing.search(OWNER, query)
    assert {hit.message_id for hit in hits} == found
    assert all(hit.chat_id == "c" and hit.snippet for hit in hits)


async def test_a_given_title_is_found_too(store):
    await store.save("c", {**said("x"), "title": "Holiday plans"})
    (hit,) = await store.listing.search(OWNER, "holiday")
    assert (hit.message_id, hit.title, hit.snippet) == ("", "Holiday plans", "Holiday plans")


@pytest.mark.parametrize(
    ("text", "query", "snippet"),
    [
        pytest.param("short text", "text", "short text", id="the whole of a short text"),
        pytest.param("a " * 200 + "needle" + " b" * 200, "needle", None, id="in the middle"),
        pytest.param("ﬁ" * 200 + " needle", "needle", None, id="after what folds to more"),
        pytest.param("e\u0301" * 200 + " needle", "needle", None, id="after what folds to less"),
        pytest.param("- **1.** `a` b", "b", "1. a b", id="without Markdown's marks"),
        pytest.param("one\n\n  two", "two", "one two", id="on one line"),
    ],
)
async def test_a_snippet_shows_the_place(store, text, query, snippet):
    await store.save("c", {"messages": [message("m", content=text)]})
    (hit,) = await store.listing.search(OWNER, query)
    assert query in hit.snippet
    assert len(hit.snippet) <= 182
    assert snippet is None or hit.snippet == snippet


async def test_hits_are_limited_in_all_and_in_each_chat_and_the_newest_come_first(store, folder):
    put(folder / "old.json", said(*(f"word {n}" for n in range(30))), age_s=100)
    put(folder / "new.json", said(*(f"word {n}" for n in range(30))), age_s=10)
    hits = await store.listing.search(OWNER, "word")
    assert [(hit.chat_id, hit.message_id) for hit in hits[:2]] == [
        ("new", "word 29"),
        ("new", "word 28"),
    ]
    assert [hit.chat_id for hit in hits] == ["new"] * 20 + ["old"] * 20
    assert len(await store.listing.search(OWNER, "word", limit=3)) == 3
    assert await store.listing.search(OWNER, "word", limit=0) == []
