import pytest

from tests.importing.brought import only, words
from tests.importing.samples import lines

pytestmark = pytest.mark.anyio

IDE = (
    "# Context from my IDE setup:\n\n## Active file: src/main.rs\n\n## Open tabs:\n"
    "- main.rs: src/main.rs\n\n## My request for Codex:\nRename it to Heron\n"
)
FILES = (
    "\n# Files mentioned by the user:\n\n## shot.png: /home/u/shot.png\n\n"
    "## My request for Codex:\nAnd the docs\n"
)


def asked(*texts):
    content = [{"type": "input_text", "text": text} for text in texts]
    return {"type": "response_item", "payload": {"type": "message", "role": "user",
                                                 "content": content}}  # fmt: skip


ABOUT = {"type": "session_meta", "payload": {"id": "x1", "timestamp": "2026-01-01T10:00:00Z"}}


async def test_the_context_of_an_editor_is_no_question(tmp_path):
    document = await only(tmp_path / "r.jsonl", lines(ABOUT, asked(IDE), asked(FILES)))
    assert words(document) == ["Rename it to Heron", "And the docs"]


async def test_a_question_beside_the_surroundings_is_kept(tmp_path):
    rules = "# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>"
    rows = [ABOUT, asked(rules, "<environment_context>\n</environment_context>", "Hello")]
    assert words(await only(tmp_path / "r.jsonl", lines(*rows))) == ["Hello"]


async def test_a_question_with_headings_stays_whole(tmp_path):
    text = "# Plan\n\n## Steps\n\nFirst."
    assert words(await only(tmp_path / "r.jsonl", lines(ABOUT, asked(text)))) == [text]


async def test_more_turns_than_there_are_can_be_taken_back(tmp_path):
    back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 9}}
    document = await only(tmp_path / "r.jsonl", lines(ABOUT, asked("One"), back, asked("Two")))
    assert words(document) == ["Two"]
    assert words(document["branches"][0]) == ["One"]


async def test_a_session_of_before_lines_is_one_object(tmp_path):
    items = [asked("Boats?")["payload"], {**asked("Yes.")["payload"], "role": "assistant"}]
    session = {"timestamp": "2025-05-01T10:00:00Z", "id": "x0", "instructions": "Be brief."}
    document = await only(tmp_path / "rollout.json", {"session": session, "items": items})
    assert words(document) == ["Boats?", "Yes."]
    assert (document["source"]["id"], document["created_at"]) == ("x0", session["timestamp"])
