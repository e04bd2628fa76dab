import json

import pytest

from smart_context.importing.taking_in import Importer
from tests.importing.brought import PICTURE, only, parts, words
from tests.importing.samples import lines
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio

ABOUT = {"sessionId": "g1", "projectHash": "ff", "startTime": "2026-01-01T10:00:00Z"}


def said(key, kind, content, **fields):
    return {"id": key, "type": kind, "timestamp": "2026-01-01T10:00:01Z", "content": content,
            **fields}  # fmt: skip


async def read(tmp_path, *rows):
    """The session as lines, as versions of 2026 write them."""
    return await only(tmp_path / "session-1.jsonl", lines(ABOUT, *rows))


async def test_thoughts_calls_and_models_come_along(tmp_path):
    result = [{"functionResponse": {"id": "t", "response": {"output": "sails"}}}]
    tool = {"id": "t", "name": "read_file", "args": {"path": "a"}, "status": "success",
            "result": result}  # fmt: skip
    thoughts = [{"subject": "Look", "description": "in a"}]
    answer = said("2", "gemini", [{"text": "A sail"}, {"text": "."}], model="gemini-3-pro",
                  thoughts=thoughts, toolCalls=[tool])  # fmt: skip
    messages = [said("1", "user", [{"text": "Hello"}]), answer]
    path = tmp_path / "session-1.json"
    document = await only(path, {**ABOUT, "summary": "Boats", "messages": messages})
    assert (document["title"], document["messages"][1]["model"]) == ("Boats", "gemini-3-pro")
    assert [part.get("text") for part in parts(document, None)] == ["Look\nin a", "A sail.", None]
    (called,) = parts(document, "tool_call")
    assert (called["args"], called["result"]) == ({"path": "a"}, "sails")


async def test_a_message_that_grows_is_written_again(tmp_path):
    answer = said("2", "gemini", "Loo")
    document = await read(
        tmp_path, said("1", "user", "Hello"), answer, {**answer, "content": "Look"},
        {"$set": {"summary": "Boats", "lastUpdated": "2026-01-01T10:00:02Z"}},
    )  # fmt: skip
    assert (document["title"], words(document)) == ("Boats", ["Hello", "Look"])


@pytest.mark.parametrize("goes_on", [True, False])
async def test_what_was_taken_back_is_a_branch(tmp_path, goes_on):
    rows = [said("1", "user", "Hello"), said("2", "gemini", "Hi"), said("3", "user", "Bad"),
            {"$rewindTo": "3"}, said("4", "user", "Good")]  # fmt: skip
    document = await read(tmp_path, *rows[: None if goes_on else -1])
    assert words(document) == ["Hello", "Hi", *(["Good"] if goes_on else [])]
    assert words(document["branches"][0]) == ["Bad"]


async def test_what_was_compressed_stays_and_its_summary_is_one(tmp_path):
    first = said("1", "user", "Hello")
    summary = said("s", "user", "<state_snapshot>\nBoats\n</state_snapshot>")
    document = await read(tmp_path, first, {"$set": {"messages": [summary]}})
    assert [message.get("is_summary", False) for message in document["messages"]] == [False, True]


async def test_the_user_said_what_they_typed(tmp_path):
    rows = [
        said("0", "user", "<session_context>\nToday\n</session_context>"),
        said("1", "user", [{"text": "See @a"}, {"text": "--- Content ---"}],
             displayContent=[{"text": "See @a"}]),
        said("2", "warning", "A notice"),
        said("3", "user", [{"text": "Look"},
                           {"inlineData": {"mimeType": "image/png",
                                           "data": PICTURE.partition(",")[2]}}]),
    ]  # fmt: skip
    document = await read(tmp_path, *rows)
    assert words(document) == ["See @a", "Look"]
    assert document["messages"][1]["files"][0]["file_type"] == "image/png"


async def test_a_session_that_an_agent_began_for_itself_is_no_chat(tmp_path):
    rows = [{**ABOUT, "kind": "subagent"}, said("1", "user", "Look")]
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(*rows))
    account = (await Importer(memory_storage()).run([path])).row()
    assert (account["new"], account["unreadable"]) == (0, 1)


async def test_a_session_without_its_project_is_known_by_its_answers(tmp_path):
    rows = [said("1", "user", "Boats?"), said("2", "gemini", "Yes.", thoughts=[{"subject": "A"}])]
    document = await only(tmp_path / "s.json", {"sessionId": "g1", "messages": rows})
    assert document["source"]["client"] == "gemini-cli"
    assert [part["text"] for part in parts(document, "reasoning")] == ["A"]


async def test_the_log_of_what_was_asked_in_all_sessions_is_no_chat(tmp_path):
    row = {"messageId": 0, "type": "user", "message": "Boats?", "timestamp": "2026-01-01T10:00:00Z"}
    path = tmp_path / "logs.json"
    path.write_text(json.dumps([{"sessionId": name, **row} for name in "ab"]))
    account = await Importer(memory_storage()).run([path])
    assert (account.new, account.failed[0]["error"]) == (0, "holds no chats of a known program")
