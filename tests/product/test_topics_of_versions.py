"""Topics follow the version of a chat that is shown, and nothing of them is lost."""

import json
from pathlib import Path

import pytest

import smart_context
from smart_context.cli.server.serve import demo_vault
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


def topics(client, chat_id="c"):
    return client.call("smart_context.get_topics", chat_id=chat_id)["topics"]


def members(client, chat_id="c"):
    side_car = json.loads((client.vault / ".memory" / f"{chat_id}.topics.json").read_text())
    return {topic["id"]: topic["message_ids"] for topic in side_car["topics"]}


def show(client, message_id, version):
    client.call("chat.show_version", chat_id="c", message_id=message_id, version=version)
    # an event of an earlier extraction may still be on its way
    shown = len(read_chat(client.vault, "c")["messages"])
    client.wait_for("smart_context.topics_updated", chat_id="c", total_messages=shown)
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


def test_the_first_questions_of_a_visitor_leave_the_topics_of_the_demonstration_as_they_are():
    name = "year-of-projects"
    with demo_vault() as root, serving(root) as server, server.connect() as wire:
        wire.vault = root
        shipped, labels = members(wire, name), labels_of(wire, name)
        for question in ("How many panels fit?", "How warm should the kitchen be?", "And now?"):
            wire.call("chat.send", chat_id=name, message=question)
            wire.call("smart_context.refresh_topics", chat_id=name, wait=True)
        now = members(wire, name)
        assert labels_of(wire, name) == labels
        assert all(set(ids) <= set(now[topic]) for topic, ids in shipped.items())
        assert sum(map(len, now.values())) == sum(map(len, shipped.values())) + 3


def labels_of(client, chat_id):
    return {topic["id"]: topic["label"] for topic in topics(client, chat_id)[:-1]}
