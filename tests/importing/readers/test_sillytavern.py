import pytest

from smart_context.base.values import OWNER
from smart_context.chat.documents.choices import choices_name
from tests.importing.brought import brought, only, parts, words
from tests.importing.samples import lines
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio

ABOUT = {"user_name": "Ada", "character_name": "unused", "chat_metadata": {"integrity": "i-1"}}


def row(name, text, **fields):
    return {"name": name, "is_user": name == "Ada", "is_system": False, "mes": text, **fields}


async def read_with_hidden(path, *rows):
    storage = memory_storage()
    documents, _ = await brought(path, lines(ABOUT, *rows), storage)
    (document,) = documents.values()
    (listed,) = await storage.chats.listing.rows(OWNER)
    (choices,) = await storage.documents.read(listed.id, choices_name(OWNER))
    hidden = set(choices.value.get("hidden", ()))
    told = {message["id"]: text for message, text in
            zip(document["messages"], words(document), strict=True)}  # fmt: skip
    return [*told.values()], [text for key, text in told.items() if key in hidden]


async def test_messages_that_the_user_hid_come_in_hidden(tmp_path):
    rows = [
        row("Bo", "Hello."),
        row("Ada", "Where is the inn?", is_system=True),
        row("Cy", "North."),
        row("Bo", "Not north.", is_system=True),
    ]
    said, hidden = await read_with_hidden(tmp_path / "chat.jsonl", *rows)
    assert said == [
        *("**Bo:** Hello.", "Where is the inn?", "**Cy:** North.", "**Bo:** Not north."),
    ]
    assert hidden == ["Where is the inn?", "**Bo:** Not north."]


async def test_a_note_of_the_user_is_hidden_and_theirs(tmp_path):
    note = row("Note", "Ask about the inn", is_system=True, extra={"type": "comment"})
    said, hidden = await read_with_hidden(tmp_path / "Bo.jsonl", row("Bo", "Hello."), note)
    assert (said, hidden) == (["Hello.", "Ask about the inn"], ["Ask about the inn"])


async def test_what_the_program_itself_says_is_left_out(tmp_path):
    rows = [
        row("Bo", "Hello."),
        row("SillyTavern System", "Welcome!", is_system=True),
        row("System", "Commands: …", is_system=True, extra={"type": "help"}),
        row("Bo", "Tool calls: Roll", is_system=True, extra={"tool_invocations": []}),
    ]
    assert words(await only(tmp_path / "Bo.jsonl", lines(ABOUT, *rows))) == ["Hello."]


async def test_swipes_are_versions_also_in_a_group(tmp_path):
    rows = [row("Bo", "Hello."), row("Ada", "Where?"),
            row("Cy", "North.", swipes=["South.", "North.", "East."], swipe_id=1)]  # fmt: skip
    document = await only(tmp_path / "chat.jsonl", lines(ABOUT, *rows))
    assert words(document)[-1] == "**Cy:** North."
    assert [words(branch) for branch in document["branches"]] == [
        *(["**Cy:** East."], ["**Cy:** South."]),
    ]


async def test_a_thought_in_a_group_is_told_from_what_was_said(tmp_path):
    rows = [row("Bo", "<think>hm</think>Hello."), row("Cy", "Hi.")]
    document = await only(tmp_path / "chat.jsonl", lines(ABOUT, *rows))
    assert [part["text"] for part in parts(document, None)][:2] == ["hm", "**Bo:** Hello."]
