"""Chats of other programs: read whole, known again, never twice, and never in the way of others."""

import json
import random
import subprocess
import sys
import zipfile
from time import process_time

import hypothesis
import pytest

from smart_context.base.disk.places import place_of
from smart_context.base.values import OWNER
from smart_context.chat.exported import exported, file_name
from smart_context.chat.listed.rows import MOST_LISTED
from smart_context.chat.messages import ChatId
from smart_context.importing.programs import FORMATS
from smart_context.importing.taking_in import Importer, ImportOptions
from smart_context.storage.files.storage import file_storage
from tests.importing.mutations import mutations
from tests.importing.samples import CHATGPT, MAPPING, SAMPLES, listed, llm_log, opencode_log
from tests.patience import PATIENCE_S
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio

MUTATED = 2
"""Mutated files of each program, for each example of the Hypothesis profile."""
OWN = {
    "title": "T",
    "topics": [],
    "branches": [{"id": "b", "after": "m1", "messages": [{"role": "user", "content": "Other"}]}],
    "messages": [{"id": "m1", "role": "user", "content": "Hello"}, {"role": "user"}],
}


@pytest.fixture
def storage():
    return memory_storage()


def put(folder, client):
    if client == "llm":
        return llm_log(folder / "logs.db")
    name, content = SAMPLES.get(client) or ("T-abc.json", json.dumps(OWN).encode())
    path = folder / name
    path.write_bytes(content)
    return path


async def taken(storage, *paths, **wishes):
    return (await Importer(storage, ImportOptions(**wishes)).run(paths)).row()


async def only_chat(storage):
    (row,) = await storage.chats.listing.rows(OWNER)
    return row.id, await storage.chats.load(row.id)


def texts(document):
    found = []
    for message in document["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [part["text"] for part in parts if part["type"] == "text"]
    return found


@pytest.mark.parametrize("client", [*SAMPLES, "llm"])
async def test_a_chat_of_each_program_is_recognised_and_read(storage, tmp_path, client):
    path = put(tmp_path, client)
    account = await taken(storage, path)
    assert (account["new"], account["failed"]) == (1, [])
    _, document = await only_chat(storage)
    assert document["source"]["client"] == client
    said = texts(document)
    assert said[0] == "Hello"
    assert said[-1].startswith("Second")

    again = await taken(storage, path)
    assert (again["new"], again["grown"], again["unchanged"]) == (0, 0, 1)


def test_every_format_that_can_be_named_has_a_sample():
    assert {*SAMPLES, "llm", "smart-context"} == set(FORMATS)


async def test_branches_thoughts_calls_and_models_survive(storage, tmp_path):
    await taken(storage, put(tmp_path, "chatgpt"))
    _, document = await only_chat(storage)
    assert [branch["messages"][0]["content"] for branch in document["branches"]] == ["First"]
    parts = [
        p for m in document["messages"] if isinstance(m["content"], list) for p in m["content"]
    ]
    assert {"type": "reasoning", "text": "Let me look"} in parts
    (called,) = [part for part in parts if part["type"] == "tool_call"]
    assert (called["tool_name"], called["state"], called["result"]) == (
        "web.search",
        "result",
        "ferries",
    )
    assert document["messages"][-1]["model"] == "gpt-4o"


@pytest.mark.parametrize("client", sorted({*SAMPLES} - {"gemini"}))  # whose answers are HTML
@pytest.mark.parametrize(
    "thinking", ["<think>\nhm\n</think>\n\n", "hm\n</think>\n\n", "[THINK]hm[/THINK]"]
)
async def test_thoughts_in_an_answer_are_told_from_it(storage, tmp_path, client, thinking):
    name, content = SAMPLES[client]
    written = thinking if client == "aider" else json.dumps(thinking)[1:-1]
    path = tmp_path / name
    path.write_bytes(content.replace(b"Second", f"{written}Second".encode()))
    await taken(storage, path)
    _, document = await only_chat(storage)
    assert texts(document)[-1] == "Second"
    thought = document["messages"][-1]["content"][-2]
    assert (thought["type"], thought["text"]) == ("reasoning", "hm")


async def test_a_chat_is_called_by_what_was_typed(storage, tmp_path):
    reminded = "<system-reminder>\nBe brief.\n</system-reminder>\n\nHello"
    path = tmp_path / "asked.json"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": reminded}]}))
    await taken(storage, path)
    (row,) = await storage.chats.listing.rows(OWNER)
    assert row.title == "Hello"


async def test_an_archive_brings_its_files_and_passes_over_the_rest(storage, tmp_path):
    path = tmp_path / "export.zip"
    picture = b"\x89PNG\r\n\x1a\n" + b"0" * 40
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", SAMPLES["chatgpt"][1])
        archive.writestr("file_abc-sail.txt", "The sail is red.")
        archive.writestr("users.json", "[]")
        archive.writestr("chat.html", "<html>")
        archive.writestr("photo.png", picture)
    account = await taken(storage, path, folder="Old")
    assert (account["new"], account["files"], account["failed"]) == (1, 1, [])
    _, document = await only_chat(storage)
    assert document["folder"] == "Old"
    (file,) = document["messages"][0]["files"]
    assert await storage.blobs.read(file["storage_key"]) == "The sail is red."
    again = await taken(storage, path)
    assert (again["unchanged"], again["messages"], again["files"]) == (1, 0, 0)


async def test_only_what_is_new_is_added_and_what_was_changed_here_stays(storage, tmp_path):
    path = put(tmp_path, "chatgpt")
    await taken(storage, path)
    chat, document = await only_chat(storage)
    gone = document["messages"][1]["id"]

    def edit(changed):
        changed["messages"][0]["content"] = "Changed here"
        del changed["messages"][1]

    await storage.chats.update(chat, edit)
    more = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["And now?"]}}
    longer = {**MAPPING, "e": {"parent": "d", "message": more}}
    path.write_bytes(listed({**CHATGPT, "current_node": "e", "mapping": longer}))
    account = await taken(storage, path)
    assert (account["new"], account["grown"], account["messages"]) == (0, 1, 1)
    _, document = await only_chat(storage)
    assert document["messages"][0]["content"] == "Changed here"
    assert document["messages"][-1]["content"] == "And now?"
    assert gone not in {message["id"] for message in document["messages"]}

    await storage.chats.delete(chat)
    assert (await taken(storage, path))["new"] == 0
    assert await storage.chats.listing.rows(OWNER) == []


async def test_one_broken_conversation_stops_no_other_and_is_named(storage, tmp_path):
    path = tmp_path / "conversations.json"
    whole = {**CHATGPT, "mapping": MAPPING}
    path.write_bytes(listed(whole, {"title": "Odd", "id": ""}, {**whole, "conversation_id": "g2"}))
    account = await taken(storage, path)
    assert account["new"] == 2
    (failed,) = account["failed"]
    assert (failed["title"], failed["file"]) == ("Odd", str(path))


@pytest.mark.parametrize(
    ("odd", "told"),
    [
        ({"mapping": ["a"]}, "mapping: expected an object, found list"),
        ({"mapping": {"a": 7}}, "mapping.a: expected an object, found int"),
        ({"mapping": {"a": {"message": "b"}}}, "mapping.a.message: expected an object, found str"),
    ],
)
async def test_a_conversation_of_another_form_is_told_with_its_field(storage, tmp_path, odd, told):
    path = tmp_path / "conversations.json"
    path.write_bytes(listed({**CHATGPT, "mapping": MAPPING}, {"id": "odd", **odd}))
    account = await taken(storage, path)
    (failed,) = account["failed"]
    assert (account["new"], account["unchanged"]) == (1, 0)
    assert (failed["id"], failed["error"]) == ("odd", told)


@pytest.mark.parametrize("client", ["aider", "openai", "sillytavern"])
async def test_a_file_of_another_name_brings_nothing_twice(storage, tmp_path, client):
    await taken(storage, first := put(tmp_path, client))
    second = first.with_name(f"copy of {first.name}")
    second.write_bytes(first.read_bytes())
    account = await taken(storage, second)
    assert (account["new"], account["grown"], account["failed"]) == (0, 0, [])
    assert account["unchanged"]


async def test_lists_of_messages_of_one_name_are_different_chats_and_grow(storage, tmp_path):
    def said(name, *texts):
        folder = tmp_path / name
        folder.mkdir()
        roles = ("user", "assistant") * len(texts)
        rows = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)]
        (folder / "chat.json").write_text(json.dumps({"messages": rows}))
        return folder / "chat.json"

    account = await taken(storage, said("one", "Hi", "Hello"), said("two", "Bread", "Flour"))
    assert (account["new"], account["messages"]) == (2, 4)
    account = await taken(storage, said("later", "Hi", "Hello", "And?", "More"))
    assert (account["grown"], account["messages"]) == (1, 2)


async def test_a_trial_changes_nothing(storage, tmp_path):
    account = await taken(storage, put(tmp_path, "claude"), is_dry=True)
    assert (account["new"], account["messages"]) == (1, 2)
    assert await storage.chats.listing.rows(OWNER) == []


async def test_what_was_exported_as_json_comes_back_the_same(storage, tmp_path):
    await taken(storage, put(tmp_path, "chatgpt"))
    chat, document = await only_chat(storage)
    path = tmp_path / file_name(chat, document, "json")
    path.write_text(exported(chat, document, "json"), encoding="utf-8")
    other = memory_storage()
    assert (await taken(other, path))["new"] == 1
    assert await only_chat(other) == (chat, document)


@pytest.mark.parametrize(
    ("name", "title", "chat"),
    [
        ("Short story-short-story", "Short story", "short-story"),
        ("short-story", "Short story", "short-story"),
        ("short-story", None, "short-story"),
        ("My own story-abc", "Short story", "abc"),
        ("a b-c-d", "a/b", "c-d"),
    ],
)
async def test_the_name_of_an_exported_file_tells_its_id(storage, tmp_path, name, title, chat):
    titled = {"title": title} if title else {}
    document = {**titled, "branches": {}, "messages": [{"id": "m", "role": "user", "content": "x"}]}
    path = tmp_path / f"{name}.json"
    path.write_text(json.dumps(document))
    assert (await taken(storage, path))["new"] == 1
    assert (await only_chat(storage))[0] == chat


@pytest.mark.parametrize("form", ["markdown", "openai", "html"])
async def test_other_forms_hold_what_was_said_and_nothing_that_runs(storage, tmp_path, form):
    path = tmp_path / "asked.json"
    hostile = "<script>alert(1)</script>\n---\n> [!x]"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": hostile}]}))
    await taken(storage, path)
    chat, document = await only_chat(storage)
    text = exported(chat, document, form)
    assert "alert(1)" in text
    if form == "html":
        assert "<script>" not in text
    if form == "markdown":
        assert all(line.startswith(">") for line in text.splitlines() if "alert" in line)


async def test_a_session_of_opencode_is_read_from_its_database_while_that_is_in_use(
    storage, tmp_path
):
    in_use = opencode_log(tmp_path / "opencode.db")
    assert (tmp_path / "opencode.db-wal").stat().st_size
    account = await taken(storage, tmp_path / "opencode.db")
    in_use.close()
    assert (account["new"], account["failed"]) == (1, [])
    _, document = await only_chat(storage)
    assert texts(document) == ["Hello", "Second"]
    thought, called, _ = document["messages"][1]["content"]
    assert thought["text"] == "Let me look"
    assert (called["tool_name"], called["args"], called["result"]) == (
        "read",
        {"path": "a"},
        "sails",
    )
    exported_one = await taken(storage, put(tmp_path, "opencode"))
    assert (exported_one["new"], exported_one["unchanged"]) == (0, 1)


@pytest.mark.parametrize("client", [*SAMPLES, "llm", "smart-context"])
async def test_mutated_files_of_each_program_give_an_account(storage, tmp_path, client):
    path = put(tmp_path, client)
    mutate = mutations(path.read_bytes(), random.Random(client))
    paths = []
    count = MUTATED * hypothesis.settings().max_examples
    if client == "llm":
        count //= 10  # each database has a child of its own
    for number in range(count):
        paths.append(tmp_path / str(number) / path.name)
        paths[-1].parent.mkdir()
        paths[-1].write_bytes(next(mutate))
    account = await taken(storage, *paths, is_dry=client != "smart-context")
    assert all(failed["error"] for failed in account["failed"])
    failed = {failed["file"] for failed in account["failed"]}
    told = sum(account[name] for name in ("new", "grown", "unchanged"))
    assert told >= count - len(failed)
    json.dumps(account)


def test_an_import_that_is_killed_at_twenty_places_goes_on_to_the_same_chats(tmp_path):
    told = subprocess.run(
        [sys.executable, "-m", "tests.importing.killed", tmp_path],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S * 4,
    )
    assert told.stderr == ""
    account = json.loads(told.stdout)
    assert account["killed"] == 20
    assert account["others"] == []


async def test_archives_that_are_bombs_or_damaged_are_refused_in_words(storage, tmp_path):
    bomb, damaged, odd = (tmp_path / f"{name}.zip" for name in ("bomb", "damaged", "odd"))
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b" " * (80 << 20))
    damaged.write_bytes(bomb.read_bytes()[:-30])
    at = bomb.read_bytes().index(b"PK\x01\x02") + 6  # the version that is needed to unpack it
    odd.write_bytes(bomb.read_bytes()[:at] + b"\xff" + bomb.read_bytes()[at + 1 :])
    account = await taken(storage, bomb, damaged, odd)
    assert [failed["file"] for failed in account["failed"]] == [str(bomb), str(damaged), str(odd)]
    assert "unpack to" in account["failed"][0]["error"]
    assert all("damaged" in failed["error"] for failed in account["failed"][1:])


async def test_an_answer_of_thirty_thousand_calls_is_one_message(storage, tmp_path):
    calls = [
        {"role": "assistant", "content": [{"type": "tool_call", "tool_call_id": str(n)}]}
        for n in range(30_000)
    ]
    results = [{"role": "tool", "tool_call_id": "none", "content": "x"}] * 20_000
    path = tmp_path / "asked.json"
    path.write_bytes(json.dumps({"messages": [*calls, *results]}).encode())
    account = await taken(storage, path)
    assert (account["new"], account["messages"]) == (1, 1)


async def test_results_without_a_call_cost_no_more_than_they_are_many(storage, tmp_path):
    def account_of(count):
        nodes = {
            f"t{number}": {"parent": f"t{number - 1}", "message": {"author": {"role": "tool"}}}
            for number in range(count)
        }
        path = tmp_path / f"{count}.json"
        path.write_bytes(listed({**CHATGPT, "mapping": nodes}))
        return path

    seconds = []
    for count in (4_000, 16_000):
        path, began = account_of(count), process_time()
        await taken(storage, path)
        seconds.append(process_time() - began)
    assert seconds[1] < 8 * seconds[0]


async def test_a_file_that_is_cut_within_an_archive_is_named_and_what_came_before_it_is_read(
    storage, tmp_path
):
    path = tmp_path / "export.zip"
    whole = [
        {**CHATGPT, "conversation_id": f"g{number}", "mapping": MAPPING} for number in range(3)
    ]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("users.json", '[{"name": "Ann"}]')
        archive.writestr("settings.json", "{damaged")
        archive.writestr("conversations.json", listed(*whole)[:-400])
    account = await taken(storage, path)
    assert account["new"] == 2
    (failed,) = account["failed"]
    assert (failed["file"], "damaged" in failed["error"]) == ("conversations.json", True)


async def test_a_list_that_nests_without_end_is_refused_in_words(storage, tmp_path):
    whole = listed({**CHATGPT, "mapping": MAPPING, "note": '\\"[{' * 5_000})
    (tmp_path / "deep.json").write_bytes(whole[:-1] + b"," + b"[1," * 100_000)
    account = await taken(storage, tmp_path / "deep.json")
    assert "levels deep" in account["failed"][0]["error"]
    (tmp_path / "whole.json").write_bytes(b"\xef\xbb\xbf" + whole)
    assert (await taken(storage, tmp_path / "whole.json"))["failed"] == []
    assert len(await storage.chats.listing.rows(OWNER)) == 1


async def test_what_is_odd_is_told_wherever_it_stands(storage, tmp_path):
    path = tmp_path / "conversations.json"
    path.write_bytes(listed(5, {"title": "Odd"}, {**CHATGPT, "mapping": MAPPING}))
    account = await taken(storage, path)
    assert (account["new"], len(account["failed"])) == (1, 2)
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"messages": [{"role": "user", "content": "Hi"}]}\n{"messages": [{"ro\n')
    account = await taken(storage, lines)
    assert account["new"] == 1
    assert "line 2" in account["failed"][0]["error"]


@pytest.mark.parametrize("client", sorted({*SAMPLES} - {"aider"}))  # which writes no JSON
async def test_half_a_character_is_replaced_and_all_else_comes_in(storage, tmp_path, client):
    name, content = SAMPLES[client]
    for word in (b"Hello", b"Second", b"Boats"):
        content = content.replace(word, word + rb"\ud800")
    (tmp_path / name).write_bytes(content)
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr(name, content)
    account = await taken(storage, tmp_path / name, tmp_path / "packed.zip")
    assert (account["new"], account["unchanged"], account["failed"]) == (1, 1, [])
    told = json.dumps(await only_chat(storage), ensure_ascii=False)
    assert "Hello\ufffd" in told
    assert told.encode()  # nothing that can't be written


async def test_half_a_character_in_a_chat_exported_from_here_is_replaced(storage, tmp_path):
    half, marked = "\ud800", {"export": 1, "chat_id": "c1"}
    parts = [{"type": "text", "text": f"Hello{half}", f"more{half}": [half]}]
    said = [{"id": f"m1{half}", "role": "user", "content": parts, "model": half}]
    document = {"title": f"Boats{half}", "messages": said, "smart_context": marked}
    written = json.dumps(document, ensure_ascii=False).encode("utf-8", "surrogatepass")
    for name, content in (("a.json", json.dumps(document).encode()), ("b.json", written)):
        (tmp_path / name).write_bytes(content)
    account = await taken(storage, tmp_path / "a.json", tmp_path / "b.json")
    assert (account["new"], account["unchanged"], account["failed"]) == (1, 1, [])
    _, found = await only_chat(storage)
    assert (found["title"], texts(found)) == ("Boats\ufffd", ["Hello\ufffd"])
    assert json.dumps(found, ensure_ascii=False).encode()


async def test_circles_and_missing_parents_end(storage, tmp_path):
    asked = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hello"]}}
    nodes = {
        "a": {"parent": "b", "message": asked},
        "b": {"parent": "a", "message": asked},
        "c": {"parent": "nowhere", "message": asked},
    }
    path = tmp_path / "conversations.json"
    path.write_bytes(listed({**CHATGPT, "current_node": "a", "mapping": nodes}))
    account = await taken(storage, path)
    assert (account["new"], account["messages"]) == (1, 3)


async def test_entries_of_an_archive_with_one_name_are_both_read(storage, tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", SAMPLES["chatgpt"][1])
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("conversations.json", SAMPLES["claude"][1])
    account = await taken(storage, path)
    assert (account["new"], account["failed"]) == (2, [])


async def test_a_damaged_attachment_stops_no_chat(storage, tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", SAMPLES["chatgpt"][1])
        archive.writestr("file_abc-sail.txt", "The sail is red. " * 99)
        entry = archive.getinfo("file_abc-sail.txt")
    content = bytearray(path.read_bytes())
    start = entry.header_offset + 30 + len(entry.filename)
    content[start : start + 8] = b"\xff" * 8
    path.write_bytes(content)
    account = await taken(storage, path)
    assert (account["new"], account["files"]) == (1, 0)


@pytest.mark.parametrize(
    "make",
    [lambda _: memory_storage(), lambda folder: file_storage(place_of(folder / "kept"))],
    ids=["memory", "files"],
)
async def test_a_chat_deep_in_the_trash_does_not_come_back(tmp_path, make):
    storage = make(tmp_path)
    path = put(tmp_path, "chatgpt")
    await taken(storage, path)
    chat_id, _ = await only_chat(storage)
    await storage.chats.delete(chat_id)
    for number in range(MOST_LISTED):
        later = ChatId(f"later{number}")
        await storage.chats.update(later, lambda document: document.update(title="Later"))
        await storage.chats.delete(later)
    account = await taken(storage, path)
    assert (account["new"], account["deleted"]) == (0, 1)
