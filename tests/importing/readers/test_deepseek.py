import pytest

from tests.importing.brought import only, parts, words

pytestmark = pytest.mark.anyio


def conversation(*said):
    """Messages that follow each other, from the first on."""
    nodes = {"root": {"id": "root", "parent": None, "children": ["1"], "message": None}}
    for place, message in enumerate(said, start=1):
        parent = str(place - 1) if place > 1 else "root"
        nodes[str(place)] = {"id": str(place), "parent": parent, "message": message}
    return {"id": "d1", "title": "Boats", "inserted_at": "2026-01-01T18:00:00+08:00",
            "mapping": nodes}  # fmt: skip


def fragments(*told, **fields):
    listed = [{"type": kind, "content": text} for kind, text in told]
    return {"files": [], "model": "deepseek-reasoner", "fragments": listed, **fields}


async def test_fragments_are_questions_thoughts_searches_and_answers(tmp_path):
    answer = fragments(("THINK", "hm"), ("RESPONSE", "A sail."))
    found = [{"url": "https://x.org", "title": "Sails"}]
    answer["fragments"].insert(1, {"type": "SEARCH", "content": None, "results": found})
    document = await only(
        tmp_path / "conversations.json", [conversation(fragments(("REQUEST", "Hello")), answer)]
    )
    assert document["source"] == {"client": "deepseek", "id": "d1"}
    assert (document["title"], document["created_at"]) == ("Boats", "2026-01-01T10:00:00Z")
    assert words(document) == ["Hello", "A sail."]
    assert [message["role"] for message in document["messages"]] == ["user", "assistant"]
    assert [part["type"] for part in parts(document, None)] == ["reasoning", "tool_call", "text"]
    assert parts(document, "tool_call")[0]["result"] == found


async def test_without_fragments_questions_and_answers_take_turns(tmp_path):
    said = [{"content": text, "reasoning_content": words, "model": "deepseek-chat"}
            for text, words in (("Hello", None), ("Hi", "hm"), ("And?", None))]  # fmt: skip
    document = await only(tmp_path / "conversations.json", [conversation(*said)])
    assert [message["role"] for message in document["messages"]] == ["user", "assistant", "user"]
    assert words(document) == ["Hello", "Hi", "And?"]
    assert parts(document, "reasoning")[0]["text"] == "hm"


async def test_another_answer_is_a_branch_and_files_are_named(tmp_path):
    asked = fragments(("REQUEST", "Hello"), files=[{"id": "f1", "file_name": "sails.pdf"}])
    export = conversation(asked, fragments(("RESPONSE", "First")))
    export["mapping"]["3"] = {"id": "3", "parent": "1", "message": fragments(("RESPONSE", "2nd"))}
    document = await only(tmp_path / "conversations.json", [export])
    assert [part["text"] for part in document["messages"][0]["content"]] == [
        "Hello", "[sails.pdf, not in the import]",
    ]  # fmt: skip
    assert document["messages"][1]["content"] == "2nd"
    assert words(document["branches"][0]) == ["First"]
