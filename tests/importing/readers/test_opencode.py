import json
import zipfile

import pytest

from smart_context.importing import reading
from smart_context.importing.taking_in import Importer
from tests.importing.brought import PICTURE, brought, parts, words
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio


def kept(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=2))  # as opencode writes it


def say(storage, key, role, *parts, session="ses_1", is_older=False, **info):
    """Keep a message and its parts."""
    root = storage / "session" if is_older else storage
    said = {"id": key, "sessionID": session, "role": role, "time": {"created": 1767261600000}}
    kept(root / "message" / session / f"{key}.json", {**said, **info})
    folder = root / "part" / session if is_older else root / "part"
    for number, part in enumerate(parts):
        name = f"prt_{key}_{number}"
        row = {"id": name, "messageID": key, "sessionID": session, **part}
        kept(folder / key / f"{name}.json", row)


def begin(storage, project="p1", session="ses_1", **info):
    about = {"id": session, "projectID": project, "title": "Boats",
             "time": {"created": 1767261600000, "updated": 1767261700000}}  # fmt: skip
    kept(storage / "session" / project / f"{session}.json", {**about, **info})


def text(words, **fields):
    return {"type": "text", "text": words, **fields}


def conversation(storage, **info):
    begin(storage, **info)
    say(storage, "msg_1", "user", text("Hello"), text("<file>", synthetic=True))
    say(storage, "msg_2", "assistant", text("Second"), modelID="gpt-5")


@pytest.mark.parametrize("named", ["", "storage", "storage/session", "storage/session/p1"])
async def test_a_session_is_read_from_the_folder_its_storage_or_a_project(tmp_path, named):
    conversation(tmp_path / "storage")
    documents, account = await brought(tmp_path / named)
    assert (account["new"], account["unreadable"]) == (1, 0)
    assert words(documents["Boats"]) == ["Hello", "Second"]
    assert documents["Boats"]["created_at"].startswith("2026-01-01T10:00:00")
    assert documents["Boats"]["messages"][1]["model"] == "gpt-5"


@pytest.mark.parametrize("slash", ["/", "\\"])
@pytest.mark.parametrize("top", ["", "storage"])
async def test_a_session_in_a_zip_is_the_one_of_its_folder(tmp_path, slash, top):
    conversation(tmp_path / "storage")
    begin(tmp_path / "storage", session="ses_2", title="Other")
    say(tmp_path / "storage", "msg_3", "user", text("Of knots"), session="ses_2")
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        for path in sorted(path for path in (tmp_path / "storage").rglob("*") if path.is_file()):
            name = str(path.relative_to(tmp_path / top)).replace("/", slash)
            archive.writestr(name, path.read_bytes())
        archive.writestr("users.json", "[]")
    storage = memory_storage()
    documents, account = await brought(tmp_path / "packed.zip", storage=storage)
    assert (account["new"], account["messages"]) == (2, 3)
    assert words(documents["Boats"]) == ["Hello", "Second"]
    assert words(documents["Other"]) == ["Of knots"]
    _, again = await brought(tmp_path / "storage", storage=storage)
    assert (again["new"], again["unchanged"]) == (0, 2)


async def test_one_session_is_read_by_the_path_of_its_file(tmp_path):
    conversation(tmp_path / "storage")
    begin(tmp_path / "storage", session="ses_2", title="Other")
    documents, _ = await brought(tmp_path / "storage/session/p1/ses_1.json")
    assert words(documents["Boats"]) == ["Hello", "Second"]


async def test_older_versions_keep_messages_below_their_sessions(tmp_path):
    begin(tmp_path / "project/a/storage", project="info")
    for key, role, words_ in (("msg_1", "user", "Hello"), ("msg_2", "assistant", "Second")):
        say(tmp_path / "project/a/storage", key, role, text(words_), is_older=True)
    documents, _ = await brought(tmp_path)
    assert words(documents["Boats"]) == ["Hello", "Second"]


async def test_calls_thoughts_and_files_come_with_the_answer(tmp_path):
    begin(tmp_path)
    say(tmp_path, "msg_1", "user", text("Look"),
        {"type": "file", "mime": "image/png", "filename": "a.png", "url": PICTURE},
        text("Called the Read tool", ignored=True))  # fmt: skip
    done = {"status": "completed", "input": {"path": "a"}, "output": "sails",
            "attachments": [{"type": "file", "mime": "image/png", "url": PICTURE}]}  # fmt: skip
    say(tmp_path, "msg_2", "assistant", {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
        {"type": "tool", "tool": "read", "callID": "c1", "state": done},
        {"type": "tool", "tool": "bash", "callID": "c2",
         "state": {"status": "error", "input": {}, "error": "refused"}},
        {"type": "tool", "tool": "bash", "callID": "c3",
         "state": {"status": "running", "input": {}}},
        text("A sail."))  # fmt: skip
    (document,) = (await brought(tmp_path))[0].values()
    calls = parts(document, "tool_call")
    assert [(one["state"], one.get("result")) for one in calls] == [
        ("result", "sails"), ("result", "refused"), ("call", None)]  # fmt: skip
    assert parts(document, "reasoning")[0]["text"] == "hm"
    assert [len(message.get("files", ())) for message in document["messages"]] == [1, 1]
    assert words(document) == ["Look", "A sail."]


async def test_what_stands_for_earlier_messages_is_a_summary_and_commands_stay(tmp_path):
    begin(tmp_path, title="New session - 2026-01-01T10:00:00.000Z")
    say(tmp_path, "msg_1", "user", {"type": "subtask", "prompt": "Review it", "agent": "review"})
    say(tmp_path, "msg_2", "assistant", text("Fine."))
    say(tmp_path, "msg_3", "user", {"type": "compaction", "auto": True})
    say(tmp_path, "msg_4", "assistant", text("It is fine."), summary=True)
    say(tmp_path, "msg_5", "user", text("Continue", synthetic=True))
    (document,) = (await brought(tmp_path))[0].values()
    assert "title" not in document or not document["title"].startswith("New session")
    assert words(document)[:2] == ["Review it", "Fine."]
    assert len(document["messages"]) == 3


async def test_what_agents_began_for_themselves_is_left_out(tmp_path):
    conversation(tmp_path)
    begin(tmp_path, session="ses_2", parentID="ses_1", title="Look (@explore subagent)")
    say(tmp_path, "msg_9", "user", text("Explore"), session="ses_2")
    documents, account = await brought(tmp_path)
    assert ([*documents], account["new"]) == (["Boats"], 1)


@pytest.mark.parametrize(
    ("revert", "path"),
    [
        pytest.param({"messageID": "msg_3"}, ["Hello", "Second"], id="a message"),
        pytest.param(
            {"messageID": "msg_4", "partID": "prt_msg_4_1"},
            ["Hello", "Second", "Third", "Fourth"],
            id="a part of one",
        ),
    ],
)
async def test_what_was_taken_back_is_not_on_the_path(tmp_path, revert, path):
    conversation(tmp_path, revert=revert)
    say(tmp_path, "msg_3", "user", text("Third"))
    say(tmp_path, "msg_4", "assistant", text("Fourth"), text("back"))
    (document,) = (await brought(tmp_path))[0].values()
    assert words(document) == path
    said = json.dumps(document)
    assert ("Third" in said, "back" in said) == (True, "partID" not in revert)


async def test_a_damaged_part_and_a_link_stop_nothing(tmp_path):
    conversation(tmp_path / "storage")
    secret = tmp_path / "secret.json"
    kept(secret, {"id": "x", "messageID": "msg_2", **text("secret")})
    folder = tmp_path / "storage/part/msg_2"
    (folder / "prt_0.json").symlink_to(secret)
    (folder / "prt_1.json").write_text('{"type": "text", "te')
    documents, _ = await brought(tmp_path / "storage")
    assert words(documents["Boats"]) == ["Hello", "Second"]
    assert "secret" not in json.dumps(documents)


async def test_links_beside_a_project_are_not_followed(tmp_path):
    conversation(tmp_path / "other")
    begin(tmp_path / "storage")
    (tmp_path / "storage/message").symlink_to(tmp_path / "other/message")
    account = (await Importer(memory_storage()).run([tmp_path / "storage/session/p1"])).row()
    assert (account["new"], len(account["failed"])) == (0, 1)


async def test_too_many_files_beside_a_project_are_refused(tmp_path, monkeypatch):
    conversation(tmp_path)
    monkeypatch.setattr(reading, "MOST_FILES", 3)
    account = (await Importer(memory_storage()).run([tmp_path / "session/p1"])).row()
    assert "more than 3 files" in account["failed"][0]["error"]


async def test_a_session_is_the_same_in_the_folder_and_in_an_export(tmp_path):
    conversation(tmp_path / "storage")
    storage = memory_storage()
    await brought(tmp_path / "storage", storage=storage)
    asked = {"info": {"id": "msg_1", "role": "user"}, "parts": [text("Hello")]}
    export = {"info": {"id": "ses_1", "title": "Boats"}, "messages": [asked]}
    _, account = await brought(tmp_path / "export.json", export, storage=storage)
    assert (account["new"], account["unchanged"]) == (0, 1)
