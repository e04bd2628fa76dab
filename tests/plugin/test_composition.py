"""The plugin's parts as the host gets them."""

import tomllib
from pathlib import Path

import pytest

from smart_context.plugin import composition
from smart_context.vault.index.cache import VaultChanges

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

    monkeypatch.setattr("smart_context.plugin.entry.compose", composing)
    return parts


async def test_the_commands_are_those_that_plugin_toml_declares(served, composed):
    async with served() as running:
        (parts,) = composed
        names = {f"smart_context.{name}" for name in parts.commands}
        assert names == set(declared()["commands"])
        known = {command["name"] for command in (await running.call("system.commands"))["commands"]}
        assert names <= known


async def test_each_command_is_named_as_its_function(served, composed):
    async with served():
        (parts,) = composed
        assert {name: command.__name__ for name, command in parts.commands.items()} == {
            name: name for name in parts.commands
        }


async def test_a_choice_can_be_undone_and_is_gone_with_its_chat(served, composed):
    async with served() as running:
        (parts,) = composed
        await running.call("chat.send", chat_id="c", message="Hello", stream=False)
        await running.call("pin", chat_id="c", message_ids=["m"])
        assert parts.hooks.undo.undoable("c").count == 1
        await running.call("memory.delete_chat", chat_id="c")
        assert parts.hooks.undo.undoable("c").count == 0


async def test_changed_notes_make_a_preview_read_them_again(served, composed, notes):
    notes({"a.md": "First words."})
    async with served() as running:
        (parts,) = composed
        await running.call("add_notes", chat_id="c", paths=["a.md"])
        await running.call("preview", chat_id="c", brief=True)
        before = await running.call("preview", chat_id="c", brief=True)
        notes({"a.md": "Many more words than there were before. " * 20})
        parts.hooks.context_changes.notes_changed(VaultChanges(changed=("a.md",)))
        after = await running.call("preview", chat_id="c", brief=True)
    assert after["parts"]["contexts"] > before["parts"]["contexts"] + 50
