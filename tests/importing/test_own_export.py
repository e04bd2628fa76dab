"""What was exported from here comes back as it was; what was not is never mixed into it."""

import json
from dataclasses import replace

import pytest

from smart_context.base.errors import CommandFailed
from smart_context.base.values import OWNER, PersonId
from smart_context.chat.exported import exported, file_name
from smart_context.importing.taking_in import Importer
from smart_context.plugin.choices.state import FilterState
from smart_context.storage.chosen import choices_of
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio

OWN = {
    "title": "Bread",
    "created_at": "2026-01-01T10:00:00Z",
    "messages": [
        {"id": "a1b2c3d4e5f6", "role": "user", "content": "How long to proof?"},
        {"id": "b1b2c3d4e5f6", "role": "assistant", "content": "Two hours."},
    ],
}


@pytest.fixture
def storage():
    return memory_storage()


async def taken(storage, path, document, name=""):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(document), encoding="utf-8")
    return (await Importer(storage).run([path], {path: name})).row()


async def chats(storage):
    rows = await storage.chats.listing.rows(OWNER)
    return {row.id: await storage.chats.load(row.id) for row in rows}


async def kept(storage, chat_id, document):
    await storage.chats.update(chat_id, lambda made: made.update(document))


def list_of(*texts, ids="12"):
    roles = ("user", "assistant") * len(texts)
    told = zip(ids, roles, texts, strict=False)
    return [{"id": key, "role": role, "content": text} for key, role, text in told]


async def test_an_export_gives_the_same_chat_whatever_its_file_is_called(storage, tmp_path):
    await kept(storage, "abc", OWN)
    marked = json.loads(exported("abc", await storage.chats.load("abc"), "json"))
    for name in ("upload-93.json", "Bread-abc (2).json", "x-y.json"):
        account = await taken(storage, tmp_path / name, marked)
        assert (account["new"], account["unchanged"]) == (0, 1)
    other = memory_storage()
    await taken(other, tmp_path / "93.json", marked)
    assert await chats(other) == await chats(storage)
    assert "smart_context" not in (await chats(other))["abc"]


async def test_an_older_export_without_a_mark_gives_the_same_chat(storage, tmp_path):
    await kept(storage, "abc", OWN)
    name = file_name("abc", OWN, "json")
    account = await taken(storage, tmp_path / "upload.json", OWN, name)
    assert (account["new"], account["unchanged"]) == (0, 1)


@pytest.mark.parametrize("folders", [("a", "b"), ("b", "a")])
async def test_chats_of_another_program_in_files_of_one_name_are_not_mixed_into_ones_own(
    storage, tmp_path, folders
):
    await kept(storage, "chat", {"messages": list_of("Mine", "Yes", ids="xy")})
    said = {"a": list_of("Otters?", "Swim.", ids="xy"), "b": list_of("Knots?", "Bowline.")}
    for folder in folders:
        await taken(storage, tmp_path / folder / "chat.json", {"messages": said[folder]})
    found = await chats(storage)
    assert len(found) == 3
    assert [m["content"] for m in found["chat"]["messages"]] == ["Mine", "Yes"]


async def test_a_chat_that_only_has_the_id_of_one_here_is_a_chat_of_its_own(storage, tmp_path):
    await kept(storage, "abc", OWN)
    for text in ("Boats?", "Birds?"):
        marked = json.loads(
            exported("abc", {"messages": list_of(text, ids=["a1b2c3d4e5f6"])}, "json")
        )
        for _ in range(2):
            await taken(storage, tmp_path / "x.json", marked)
    found = await chats(storage)
    assert sorted(c["messages"][0]["content"] for c in found.values()) == [
        "Birds?",
        "Boats?",
        "How long to proof?",
    ]
    assert len(found["abc"]["messages"]) == 2


async def test_a_second_chat_of_an_id_that_was_deleted_here_stays_in_the_trash(storage, tmp_path):
    await kept(storage, "abc", OWN)
    marked = json.loads(exported("abc", {"messages": list_of("Boats?")}, "json"))
    await taken(storage, tmp_path / "x.json", marked)
    (made,) = set(await chats(storage)) - {"abc"}
    await storage.chats.delete(made)
    account = await taken(storage, tmp_path / "x.json", marked)
    assert (account["new"], account["deleted"]) == (0, 1)


@pytest.mark.parametrize(
    "other",
    [
        {"id": "k1"},
        {"model": "gpt-4o"},
        {"messages": [{"id": "1", "role": "narrator", "content": "Once"}, *list_of("A", "B")]},
        {"messages": [{"id": "1", "sender": "user", "text": "A"}]},
    ],
)
async def test_a_document_as_ours_never_was_is_another_programs(storage, tmp_path, other):
    await kept(storage, "abc", OWN)
    await taken(storage, tmp_path / "Bread-abc.json", {**OWN, **other})
    assert await storage.chats.load("abc") == OWN


async def test_what_a_person_of_a_team_exported_comes_back_to_another_as_a_copy(storage, tmp_path):
    marked = json.loads(exported("abc", OWN, "json"))
    await taken(replace(storage, person=PersonId("ada")), tmp_path / "x.json", marked)
    assert "abc" in await chats(storage)


async def test_an_export_without_messages_is_told(storage, tmp_path):
    account = await taken(
        storage, tmp_path / "x.json", {**OWN, "smart_context": {"export": 1}, "messages": []}
    )
    assert (account["new"], account["unreadable"]) == (0, 1)
    assert "holds no messages" in account["failed"][0]["error"]


async def test_what_is_hidden_and_pinned_comes_back_so_once_and_what_is_released_stays(
    storage, tmp_path
):
    first, second = (row["id"] for row in OWN["messages"])
    text = exported("abc", OWN, "json", choices={"hidden": [first], "pinned": [second]})
    await taken(storage, tmp_path / "a.json", json.loads(text))
    chosen = await choices_of(storage, "abc")
    assert (chosen["hidden"], chosen["pinned"]) == ([first], [second])
    (before,) = await storage.documents.read("abc", "filter")
    released = {**chosen, "hidden": []}
    await storage.documents.replace("abc", "filter", released, expected=before.revision)
    assert (await taken(storage, tmp_path / "a.json", json.loads(text)))["unchanged"] == 1
    assert await choices_of(storage, "abc") == released


async def test_what_is_hidden_is_so_before_the_chat_is_there(storage, tmp_path):
    text = exported("abc", OWN, "json", choices={"hidden": ["a1b2c3d4e5f6"]})

    async def refused(*_arguments, **_options):
        raise CommandFailed("the disk is full")

    storage.chats.update = refused
    assert (await taken(storage, tmp_path / "a.json", json.loads(text)))["failed"]
    assert "a1b2c3d4e5f6" in str((await choices_of(storage, "abc"))["hidden"])


@pytest.mark.parametrize("hidden", ["all", [1], {}, None])
async def test_a_mark_whose_hidden_messages_can_not_be_read_is_refused(storage, tmp_path, hidden):
    marked = {"smart_context": {"export": 1, "chat_id": "abc", "hidden": hidden}, **OWN}
    account = await taken(storage, tmp_path / "a.json", marked)
    assert account["new"] == 0
    assert 'a list of ids of messages as "hidden"' in account["failed"][0]["error"]


async def test_a_message_that_is_both_hidden_and_pinned_in_a_mark_is_hidden(storage, tmp_path):
    both = ["a1b2c3d4e5f6"]
    mark = {"export": 1, "chat_id": "abc", "hidden": both, "pinned": both}
    await taken(storage, tmp_path / "a.json", {"smart_context": mark, **OWN})
    chosen = await choices_of(storage, "abc")
    assert FilterState.from_dict(chosen).hidden == tuple(both)
