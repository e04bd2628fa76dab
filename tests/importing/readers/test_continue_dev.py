import pytest

from tests.importing.brought import PICTURE, only, parts, words

pytestmark = pytest.mark.anyio


def entry(role, content, **fields):
    message = {"role": role, "content": content, **fields.pop("message", {})}
    return {"message": message, "contextItems": [], **fields}


async def read(tmp_path, *history, **fields):
    session = {"sessionId": "c1", "title": "New Session", "workspaceDirectory": "file:///p",
               "history": [*history], **fields}  # fmt: skip
    return await only(tmp_path / "c1.json", session)


async def test_a_session_brings_context_thoughts_and_calls(tmp_path):
    asked = {"id": "t", "type": "function", "function": {"name": "read_file", "arguments": "{}"}}
    state = {"toolCallId": "t", "toolCall": asked, "status": "done", "parsedArgs": {"path": "a"},
             "output": [{"name": "a", "content": "sails"}]}  # fmt: skip
    document = await read(
        tmp_path,
        entry("system", "Be brief."),
        entry("user", [{"type": "text", "text": "Hello"},
                       {"type": "imageUrl", "imageUrl": {"url": PICTURE}}],
              contextItems=[{"name": "a.py", "content": "x = 1"}]),
        entry("thinking", "hm"),
        entry("assistant", "", message={"toolCalls": [asked]}, toolCallStates=[state]),
        entry("tool", "sails", message={"toolCallId": "t"}),
        entry("assistant", "A sail.", reasoning={"text": "so"}),
        chatModelTitle="llama",
    )  # fmt: skip
    question, answer = document["messages"]
    assert [part["text"] for part in question["content"]] == ["Hello", "a.py:\n\nx = 1"]
    assert question["files"][0]["file_type"] == "image/png"
    assert document["instructions"] == "Be brief."
    assert answer["model"] == "llama"
    assert [part.get("text") for part in answer["content"]] == ["hm", None, "so", "A sail."]
    (called,) = parts(document, "tool_call")
    assert (called["args"], called["result"]) == ({"path": "a"}, "sails")
    assert "title" not in document


async def test_results_of_before_there_were_states_go_to_their_calls(tmp_path):
    asked = {"id": "t", "function": {"name": "read_file", "arguments": '{"path": "a"}'}}
    document = await read(
        tmp_path,
        entry("user", "Hello"),
        entry("assistant", "Look", message={"toolCalls": [asked]}),
        entry("tool", "sails", message={"toolCallId": "t"}),
    )
    (called,) = parts(document, "tool_call")
    assert (called["args"], called["result"]) == ({"path": "a"}, "sails")


async def test_a_summary_stands_for_what_comes_before(tmp_path):
    document = await read(tmp_path, entry("user", "Hello", conversationSummary="Boats."))
    assert words(document) == ["Hello", "Boats."]
    assert document["messages"][1]["is_summary"] is True
