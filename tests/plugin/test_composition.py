"""The plugin's parts as the host gets them."""

import asyncio
import tomllib
from pathlib import Path

import pytest

from smart_context.base.values import OWNER, PersonId
from smart_context.plugin import composition
from smart_context.plugin.hooks import WARMED_MESSAGES
from smart_context.vault.index.cache import VaultChanges
from tests.patience import PATIENCE_S
from tests.scripted import ScriptedChatModel, ScriptedEmbedder

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]


def declared():
    return tomllib.loads((ROOT / "plugin.toml").read_text(encoding="utf-8"))


@pytest.fixture
def composed(monkeypatch):
    """The parts that the plugin has composed."""
    parts = []
    compose = composition.compose

    async def composing(context):
        parts.append(await compose(context))
        return parts[-1]

    monkeypatch.setattr("smart_context.plugin.composition.compose", composing)
    return parts


async def test_the_commands_are_those_that_plugin_toml_declares(served, composed):
    async with served() as running:
        (parts,) = composed
        names = {f"smart_context.{name}" for name in parts.of(OWNER).commands}
        assert sorted(names) == declared()["commands"], "run python -m tests.docs.pages"
        known = {command["name"] for command in (await running.call("system.commands"))["commands"]}
        assert names <= known


async def test_each_command_is_named_as_its_function(served, composed):
    async with served():
        (parts,) = composed
        commands = parts.of(OWNER).commands
        assert {name: command.__name__ for name, command in commands.items()} == {
            name: name for name in commands
        }


async def test_a_choice_can_be_undone_and_is_gone_with_its_chat(served, composed):
    async with served() as running:
        (parts,) = composed
        await running.call("chat.send", chat_id="c", message="Hello", stream=False)
        await running.call("pin", chat_id="c", message_ids=["m"])
        assert parts.of(OWNER).undo.undoable("c").count == 1
        await running.call("memory.delete_chat", chat_id="c")
        assert parts.of(OWNER).undo.undoable("c").count == 0


async def test_what_a_person_did_is_kept_when_their_parts_are_built_again(
    served, composed, monkeypatch
):
    monkeypatch.setattr(composition, "MOST_PEOPLE", 1)
    async with served() as running:
        (parts,) = composed
        await running.call("chat.send", chat_id="c", message="Hello", stream=False)
        await running.call("hide", chat_id="c", message_ids=["m"])
        before = parts.of(OWNER)
        assert parts.of(PersonId("ann")).undo.undoable("c").count == 0
        assert parts.of(OWNER) is not before
        assert (await running.call("undo", chat_id="c"))["left"] == 0
        assert (await parts.of(OWNER).sidecars.of("c")).state.hidden == ()
        assert len(await parts.of(OWNER).stored_receipts.all("c")) == 1


@pytest.mark.parametrize("embedded", [True, False], ids=["in this process", "at an endpoint"])
async def test_a_chat_that_is_opened_is_ready_for_its_first_pick_if_that_asks_nobody(
    served, embedded
):
    embedder = ScriptedEmbedder()
    said = [f"about cats {n}" for n in range(WARMED_MESSAGES + 2)]
    messages = [{"id": f"m{n}", "role": "user", "content": text} for n, text in enumerate(said)]
    for chat_id, count in (("short", 3), ("long", len(said))):
        async with served(
            embedder=embedder, embedded=embedded, fast=ScriptedChatModel([])
        ) as running:
            data = {"messages": messages[:count], "topics": [{"label": "cats", "count": 2}]}
            await running.call("memory.save_chat", chat_id=chat_id, data=data)
            embedder.asked.clear()
            await running.call("chat.open", chat_id=chat_id)
            async with asyncio.timeout(PATIENCE_S):
                while embedded and said[1] not in {t for texts in embedder.asked for t in texts}:
                    await asyncio.sleep(0.005)
        asked = {text for texts in embedder.asked for text in texts}
        assert ("cats" in asked) == embedded
        assert said[-1] not in asked
        assert (said[2] in asked) == embedded


async def test_changed_notes_make_a_preview_read_them_again(served, composed, notes):
    notes({"a.md": "First words."})
    async with served() as running:
        (parts,) = composed
        await running.call("add_notes", chat_id="c", paths=["a.md"])
        await running.call("preview", chat_id="c", brief=True)
        before = await running.call("preview", chat_id="c", brief=True)
        notes({"a.md": "Many more words than there were before. " * 20})
        parts.changes.notes_changed(VaultChanges(changed=("a.md",)))
        after = await running.call("preview", chat_id="c", brief=True)
    assert after["parts"]["contexts"] > before["parts"]["contexts"] + 50
