"""Topics follow the version of a chat that is shown, and nothing of them is lost."""

import json
from pathlib import Path

import pytest

import smart_context
from tests.serving import serving
from tests.vaults import read_chat, write_chat

DEMO = Path(smart_context.__file__).parent / "demo_vault" / "memory" / "year-of-projects.json"


@pytest.fixture
def client(vault):
    write_chat(vault, "c", json.loads(DEMO.read_text("utf-8"))["messages"])
    with serving(vault) as server, server.connect() as wire:
        wire.vault = vault
        wire.call("smart_context.refresh_topics", chat_id="c", wait=True)
        yield wire


def topics(client):
    return client.call("smart_context.get_topics", chat_id="c")["topics"]


def members(client):
    side_car = json.loads((client.vault / ".memory" / "c.topics.json").read_text())
    return {topic["id"]: topic["message_ids"] for topic in side_car["topics"]}


def show(client, message_id, version):
    client.call("chat.show_version", chat_id="c", message_id=message_id, version=version)
    client.wait_for("smart_context.topics_updated", chat_id="c")
    client.events.clear()


def test_a_version_that_is_shown_again_has_its_topics_with_ids_and_members(client):
    before, were = topics(client), members(client)
    early = [m for m in read_chat(client.vault, "c")["messages"] if m["role"] == "assistant"][8]
    client.call("chat.regenerate", chat_id="c", message_id=early["id"])
    client.call("smart_context.refresh_topics", chat_id="c", wait=True)
    shorter, of_shorter = topics(client), members(client)
    assert sum(topic["count"] for topic in shorter) < sum(topic["count"] for topic in before)
    assert {topic["label"] for topic in shorter} < {topic["label"] for topic in before}
    client.events.clear()

    show(client, early["id"], 1)
    assert sorted(topics(client), key=str) == sorted(before, key=str)
    assert members(client) == were

    show(client, early["id"], 2)
    assert members(client) == of_shorter
    show(client, early["id"], 1)
    assert members(client) == were
    client.call("smart_context.refresh_topics", chat_id="c", wait=True)
    assert members(client) == were
