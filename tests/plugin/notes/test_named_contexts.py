"""Named contexts through the host: built, attached, in the prompt, detached."""

import asyncio
import json

import pytest

from smart_context.base.errors import CommandFailed, InvalidParams
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

NOTES = {
    "a.md": "Alpha links to [[b]].\n# Plan\nfirst\n",
    "sub/b.md": "Beta is about bread.",
    "sub/image.png": "no text",
}


def system_prompt(served):
    first = served.asked[0]
    return first["content"] if first["role"] == "system" else ""


async def test_nothing_is_written_or_looked_at_until_it_is_needed(notes, served):
    vault = notes(NOTES)
    before = sorted(vault.rglob("*"))
    async with served() as running:
        assert (await running.call("chat_contexts", chat_id="c"))["contexts"] == []
        await running.call("preview_context", items=["a.md"], options={"link_depth": 1})
    assert sorted(vault.rglob("*")) == before


async def test_an_attached_context_is_sent_with_its_links_and_survives_a_restart(notes, served):
    notes(NOTES)
    async with served() as running:
        await running.call(
            "save_context", key="My notes", items=["a.md"], options={"link_depth": 1}
        )
        shown = await running.call("attach_context", chat_id="c", key="My notes")
        assert [chip["key"] for chip in shown["contexts"]] == ["My notes"]
        assert shown["contexts"][0]["sent"] == ["a.md", "sub/b.md"]
        await running.call("chat.send", chat_id="c", message="hello", stream=False)
        prompt = system_prompt(running)
        assert "File: sub/b.md\n--begin-note--\nBeta is about bread.\n--end-note--" in prompt
    async with served() as running:
        assert len((await running.call("chat_contexts", chat_id="c"))["contexts"]) == 1
        await running.call("detach_context", chat_id="c", key="My notes")
        await running.call("chat.send", chat_id="c", message="hello", stream=False)
        assert system_prompt(running) == ""


async def test_the_preview_is_what_the_model_receives(notes, served):
    notes(NOTES)
    async with served() as running:
        await running.call("add_notes", chat_id="c", paths=["sub/b.md"])
        shown = await running.call("preview", chat_id="c", message="hello")
        await running.call("chat.send", chat_id="c", message="hello", stream=False)
        assert running.asked == shown["prompt"]
        assert shown["tokens"] > 60


async def test_the_context_of_a_chat_says_which_chat_it_is_of(notes, served):
    notes(NOTES)
    async with served() as running:
        await running.call("add_notes", chat_id="c", paths=["a.md"])
        await running.call("save_context", key="K", items=["a.md"])
        listed = (await running.call("list_contexts"))["contexts"]
        assert [(context["key"], context["chat_id"]) for context in listed] == [
            ("K", ""),
            ("Notes of chat c", "c"),
        ]


async def test_adding_notes_is_undone_note_by_note(notes, served):
    notes(NOTES)
    async with served() as running:
        first = await running.call("preview", chat_id="c", message="hello")
        await running.call("add_notes", chat_id="c", paths=["a.md"])
        second = await running.call("preview", chat_id="c", message="hello")
        await running.call("add_notes", chat_id="c", paths=["sub/b.md", "a.md"])
        await running.call("add_notes", chat_id="c", paths=["a.md"])
        undone = await running.call("undo", chat_id="c")
        assert (undone["undone"], undone["undone_words"]) == ("the notes", "sub/b.md added")
        assert await running.call("preview", chat_id="c", message="hello") == second
        undone = await running.call("undo", chat_id="c")
        assert (undone["undone_words"], undone["left"]) == ("a.md added", 0)
        assert await running.call("preview", chat_id="c", message="hello") == first
        assert (await running.call("list_contexts"))["contexts"] == []


async def test_notes_that_were_taken_off_come_back_by_undo_and_not_with_others(notes, served):
    notes(NOTES)
    async with served() as running:

        async def sent():
            chips = (await running.call("chat_contexts", chat_id="c"))["contexts"]
            return [path for chip in chips for path in chip["sent"]]

        await running.call("add_notes", chat_id="c", paths=["a.md"])
        await running.call("detach_context", chat_id="c", key="Notes of chat c")
        await running.call("add_notes", chat_id="c", paths=["sub/b.md"])
        assert await sent() == ["sub/b.md"]
        await running.call("undo", chat_id="c")
        assert await sent() == []
        await running.call("undo", chat_id="c")
        assert await sent() == ["a.md"]


async def test_a_note_is_read_again_for_each_message(notes, served):
    vault = notes(NOTES)
    async with served() as running:
        await running.call("add_notes", chat_id="c", paths=["sub/b.md"])
        (vault / "sub/b.md").write_text("Beta was rewritten.")
        await running.call("chat.send", chat_id="c", message="hello", stream=False)
        assert "Beta was rewritten." in system_prompt(running)
        (vault / "sub/b.md").unlink()
        shown = await running.call("chat_contexts", chat_id="c")
        assert shown["contexts"][0]["missing"] == ["sub/b.md"]


async def test_a_context_beyond_the_budget_says_what_it_leaves_out(vault, notes, served):
    notes({"small.md": "word", "large.md": "word " * 2_000})
    (vault / ".vault.toml").write_text("[plugins.smart_context]\ncontext_budget_tokens = 200\n")
    async with served() as running:
        await running.call("save_context", key="K", items=["small.md", "large.md"])
        shown = await running.call("attach_context", chat_id="c", key="K")
        assert shown["contexts"][0]["left_out"] == ["large.md"]
        assert shown["tokens"] <= shown["budget"] == 200
        assert (await running.call("preview_context", items=["large.md"]))["budget"] == 200


async def test_a_deleted_or_damaged_context_is_said_and_the_turn_goes_on(vault, notes, served):
    notes(NOTES)
    async with served() as running:
        for key in ("Gone", "Odd", "Good"):
            await running.call("save_context", key=key, items=["a.md"])
            await running.call("attach_context", chat_id="c", key=key)
        await running.call("delete_context", key="Gone")
        (vault / ".memory/contexts/Odd.json").write_text("{")
        chips = (await running.call("chat_contexts", chat_id="c"))["contexts"]
        assert "deleted" in chips[0]["problem"]
        assert "Odd.json" in chips[1]["problem"]
        assert chips[2]["problem"] == ""
        listed = (await running.call("list_contexts"))["contexts"]
        assert [(c["key"], bool(c["problem"])) for c in listed] == [("Good", False), ("Odd", True)]
        await running.call("chat.send", chat_id="c", message="hello", stream=False)
        assert "Alpha" in system_prompt(running)


async def test_the_tree_lists_and_finds_what_can_be_text(notes, served):
    notes(NOTES)
    async with served() as running:
        top = await running.call("list_notes")
        assert [entry["path"] for entry in top["entries"]] == ["sub/", "a.md"]
        assert top["entries"][0]["files"] == 1
        found = await running.call("list_notes", query="SUB b.md")
        assert [entry["path"] for entry in found["entries"]] == ["sub/b.md"]
        outline = await running.call("outline", path="a.md")
        assert [heading["key"] for heading in outline["headings"]] == ["a.md#Plan"]


async def test_what_is_missing_says_why(notes, served):
    vault = notes(NOTES | {"binary.md": "\0"})
    (vault / "latin.md").write_bytes("Größe".encode("latin-1"))
    (vault.parent / "secret.md").write_text("secret")
    (vault / "out.md").symlink_to(vault.parent / "secret.md")
    expected = {
        "binary.md": "Not a text file: binary file.",
        "latin": "Not a text file: not UTF-8 text (byte 2).",
        "out.md": "The path 'out.md' was refused: it leads out of the vault.",
        "gone.md": "No such file or folder.",
        "a.md#Nothing": "The note has no such heading.",
        "a.md#^nothing": "The note has no such block.",
    }
    async with served() as running:
        seen = await running.call("preview_context", items=[*expected])
        assert {one["name"]: one["why"] for one in seen["missing"]} == expected


@pytest.mark.parametrize("path", ["../secret.md", "/etc/passwd", "gone.md", ".vault.toml", "sub/"])
async def test_what_is_not_in_the_vault_has_no_outline(notes, served, path):
    (notes(NOTES).parent / "secret.md").write_text("# secret")
    async with served() as running:
        with pytest.raises(CommandFailed):
            await running.call("outline", path=path)
        seen = await running.call("preview_context", items=[path])
        if path != "sub/":
            assert "secret" not in json.dumps(seen["depths"])
            assert seen["missing"][0]["why"]


@pytest.mark.parametrize(
    "params",
    [
        pytest.param({"key": "  ", "items": []}, id="a blank name"),
        pytest.param({"key": "x" * 121, "items": []}, id="a long name"),
        pytest.param({"key": "a\u202eb", "items": []}, id="a name that turns its direction"),
        pytest.param({"key": "語" * 100, "items": []}, id="a name too long for a file"),
        pytest.param({"key": "k", "items": [], "options": {"depth": 1}}, id="an unknown option"),
        pytest.param({"key": "k", "items": [], "options": {"link_depth": -1}}, id="a bad option"),
        pytest.param({"key": "k", "items": ["x"] * 5_001}, id="too many items"),
    ],
)
async def test_what_can_not_be_a_context_is_refused_in_words(served, vault, params):
    async with served() as running:
        with pytest.raises(InvalidParams, match=r"key|options|items"):
            await running.call("save_context", **params)
    assert not (vault / ".memory").exists()


async def test_a_name_that_is_taken_is_replaced_only_if_asked(notes, served):
    notes(NOTES)
    async with served() as running:
        await running.call("save_context", key="K", items=["a.md"])
        with pytest.raises(CommandFailed, match="already"):
            await running.call("save_context", key="K", items=[], replace=False)
        assert (await running.call("get_context", key="K"))["items"] == ["a.md"]
        with pytest.raises(CommandFailed, match="no context 'L'"):
            await running.call("attach_context", chat_id="c", key="L")


async def test_clients_are_told_of_contexts_and_of_notes_that_change(notes, served):
    vault = notes(NOTES)
    async with served() as running:
        await running.call("save_context", key="K", items=["a.md"])
        await running.call("attach_context", chat_id="c", key="K")
        (vault / "new.md").write_text("fresh")
        wanted = {"notes_changed": True, "has_other_files": True}
        async with asyncio.timeout(PATIENCE_S):
            while wanted not in running.named("smart_context.contexts_changed"):
                await asyncio.sleep(0.02)
        told = running.named("smart_context.contexts_changed")
        assert {"key": "K"} in told
        assert {"chat_id": "c"} in told
        found = await running.call("list_notes")
        assert "new.md" in [entry["path"] for entry in found["entries"]]


async def test_a_preview_counts_the_notes_and_says_from_when_on_the_page_asks(notes, served):
    notes({"a.md": "word " * 400})
    async with served() as running:
        light = await running.call("preview", chat_id="c", message="hello", brief=True)
        await running.call("add_notes", chat_id="c", paths=["a.md"])
        heavy = await running.call("preview", chat_id="c", message="hello", brief=True)
        assert light["tokens"] - light["parts"]["tools"] < 10
        assert heavy["tokens"] == light["tokens"] + heavy["parts"]["contexts"]
        assert heavy["parts"]["contexts"] > 400
        assert heavy["ask_above"] == 32_000


async def test_a_preview_counts_what_tools_gave(vault, served):
    call = {"type": "tool_call", "state": "result", "tool_call_id": "t", "tool_name": "read_file"}
    asked = {"id": "q", "role": "user", "content": "What?"}
    parts = [{**call, "args": {}, "result": "word " * 25_000}, {"type": "text", "text": "This."}]
    answer = {"id": "a", "role": "assistant", "content": parts}
    async with served() as running:
        await running.call("memory.save_chat", chat_id="c", data={"messages": [asked, answer]})
        shown = await running.call("preview", chat_id="c", message="hello", brief=True)
        assert shown["parts"]["history"] > 25_000
        assert shown["tokens"] > shown["parts"]["history"]


async def test_a_whole_large_vault_is_bounded_for_the_wire(notes, served):
    notes({f"n{n:04}.md": "line of text\n" * 100 for n in range(2_000)})
    async with served() as running:
        await running.call("list_notes")
        seen = await running.call("preview_context", items=["."])
        assert seen["is_bounded"]
        assert seen["characters"] <= seen["limit"] == 2_000_000
        assert seen["depths"][0]["count"] + seen["skipped_count"] == 2_000
        assert seen["text_is_cut"]
        assert len(json.dumps(seen)) < 500_000
        whole = await running.call("compile_context", items=["."])
        assert len(whole["text"]) == seen["characters"]
