import pytest

from tests.importing.brought import only, parts, words
from tests.importing.samples import lines

pytestmark = pytest.mark.anyio


def row(key, parent, kind, *told, **fields):
    role = "model" if kind == "assistant" else "user"
    message = {"message": {"role": role, "parts": [*told]}} if told else {}
    return {"uuid": key, "parentUuid": parent, "sessionId": "q1", "type": kind,
            "timestamp": "2026-01-01T10:00:00Z", **message, **fields}  # fmt: skip


async def read(tmp_path, *rows):
    return await only(tmp_path / "q1.jsonl", lines(*rows))


async def test_thoughts_calls_results_and_a_title_come_along(tmp_path):
    asked = {"functionCall": {"id": "t", "name": "read_file", "args": {"path": "a"}}}
    given = {"functionResponse": {"id": "t", "response": {"output": "sails"}}}
    document = await read(
        tmp_path,
        row("1", None, "user", {"text": "Hello"}),
        row("2", "1", "assistant", {"text": "hm", "thought": True}, asked, model="coder-model"),
        row("3", "2", "tool_result", given, toolCallResult={"callId": "t", "status": "success"}),
        row("4", "3", "assistant", {"text": "A sail."}),
        row("5", "4", "system", subtype="custom_title", systemPayload={"customTitle": "Boats"}),
    )
    assert (document["title"], document["source"]) == (
        "Boats", {"client": "qwen-code", "id": "q1"},
    )  # fmt: skip
    assert words(document) == ["Hello", "A sail."]
    assert parts(document, "reasoning")[0]["text"] == "hm"
    (called,) = parts(document, "tool_call")
    assert (called["args"], called["result"]) == ({"path": "a"}, "sails")


async def test_only_what_was_typed_are_the_users_words(tmp_path):
    document = await read(
        tmp_path,
        row("1", None, "user", {"text": "See @a\n--- Content ---"},
            systemPayload={"displayText": "See @a", "hookContext": ""}),
        row("2", "1", "user", {"text": "A task ended"}, subtype="notification"),
        row("3", "2", "user", {"text": "Go on with the goal"}, provenance="goal_control"),
        row("4", "3", "user", {"text": "Faster"}, subtype="mid_turn_user_message"),
        row("5", "4", "user", {"text": "aside"}, isSidechain=True),
    )  # fmt: skip
    assert words(document) == ["See @a", "Faster"]


async def test_what_goes_on_from_earlier_makes_a_branch(tmp_path):
    document = await read(
        tmp_path,
        row("1", None, "user", {"text": "Hello"}),
        row("2", "1", "assistant", {"text": "First"}),
        row("3", "1", "system", subtype="rewind", systemPayload={"truncatedCount": 1}),
        row("4", "3", "assistant", {"text": "Second"}),
    )
    assert words(document) == ["Hello", "Second"]
    assert words(document["branches"][0]) == ["First"]


async def test_what_was_compressed_has_a_summary(tmp_path):
    history = [{"role": "user", "parts": [{"text": "<state_snapshot>boats</state_snapshot>"}]}]
    document = await read(
        tmp_path,
        row("1", None, "user", {"text": "Hello"}),
        row("2", "1", "system", subtype="chat_compression",
            systemPayload={"info": {}, "compressedHistory": history}),
        row("3", "2", "user", {"text": "And?"}),
    )  # fmt: skip
    assert [message.get("is_summary", False) for message in document["messages"]] == [
        *(False, True, False),
    ]
