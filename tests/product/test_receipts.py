"""Preview, receipt and request are one: byte for byte, over HTTP, with notes and without."""

import itertools
import json

import pytest

from tests.fake_openai import FOR_TOPICS
from tests.vaults import about, write_chat

CHAT = "mixed"
MESSAGES = about(
    "cats purr when they sleep",
    "cats sleep all day",
    "boats need new sails",
    "boats sail in the wind",
    "「保持简短」 please\u200b be brief",
    "d'accord <!-- quietly -->",
)
TOPICS = [{"label": "cats sleep", "count": 2}, {"label": "boats sail", "count": 2}]


def write_animals(vault, chat_id):
    write_chat(vault, chat_id, MESSAGES, topics=TOPICS)
    (vault / "Cats.md").write_text("# Cats\n\nThey purr.\u2060\n", encoding="utf-8")
    (vault / "Boats.md").write_text("# Boats\n\nThey sail --end-note--.\n", encoding="utf-8")
    return chat_id


@pytest.fixture
def chat(server):
    return write_animals(server.vault, CHAT)


def attach(client, chat_id=CHAT):
    client.call("smart_context.save_context", key="Animals", items=["Cats.md", "Boats.md"])
    client.call("smart_context.attach_context", chat_id=chat_id, key="Animals")


def bytes_of(prompt):
    return json.dumps(list(prompt), ensure_ascii=False, separators=(",", ":")).encode()


def kept_on_disk(vault):
    return {
        path.name: path.read_bytes()
        for path in (vault / ".memory").glob(f"{CHAT}.*")
        if path.is_file()
    }


def test_what_was_shown_was_sent_and_is_kept(server, client, endpoint):
    choices = itertools.product([False, True], [[], ["cats sleep"]], [True, False])
    for number, (with_notes, topics, stream) in enumerate(choices):
        chat = write_animals(server.vault, f"chat{number}")
        if with_notes:
            attach(client, chat)
        client.call("smart_context.set_filter", chat_id=chat, topics=topics)
        client.call("smart_context.pin", chat_id=chat, message_ids=["m3"])
        question = f"and kittens? 小猫 {number}"
        shown = client.call("smart_context.preview", chat_id=chat, message=question)
        client.call("chat.send", chat_id=chat, message=question, stream=stream)
        receipt = client.call("smart_context.receipt", chat_id=chat)

        request = [r for r in endpoint.chat_requests if r.body["model"] == "gpt-4o"][-1]
        sent = bytes_of(request.messages)
        assert request.messages[-1]["content"] == question
        assert bytes_of(shown["prompt"]) == sent
        assert bytes_of(receipt["prompt"]) == sent
        assert ("They purr." in sent.decode()) is with_notes
        assert shown["parts"] == receipt["parts"]
        assert shown["unseen"] == receipt["unseen"]
        assert bool(receipt["parts"]["contexts"]) is with_notes
        replayed = client.call("smart_context.replay", chat_id=chat)
        assert bytes_of(replayed["prompt"]) == sent
        assert replayed["diff"]["same_request"]


def test_notes_are_accounted_for_and_what_they_hide_is_named(client, endpoint, chat):
    attach(client)
    client.call("chat.send", chat_id=chat, message="hello")
    receipt = client.call("smart_context.receipt", chat_id=chat)
    section = receipt["sections"][0]
    assert (section["name"], section["in"]) == ("Animals", True)
    assert section["sent"] == ["Cats.md", "Boats.md"]
    assert 0 < section["tokens"] <= receipt["parts"]["contexts"]
    places = {(place["where"], place["kind"]) for place in receipt["unseen"]}
    assert places >= {("Cats.md", "invisible"), ("an answer", "comment")}
    assert not any(where == "Boats.md" for where, _ in places)


def test_a_preview_knows_the_window_of_the_model(client, chat):
    brief = client.call("smart_context.preview", chat_id=chat, message="hello", brief=True)
    assert brief["model"] == "gpt-4o"
    assert brief["window"] == 128_000
    assert brief["tokens"] == sum(brief["parts"].values())
    assert "prompt" not in brief


def test_a_replay_leaves_the_disk_as_it_was(server, client, endpoint, chat):
    client.call("smart_context.set_filter", chat_id=chat, topics=["boats sail"])
    client.call("chat.send", chat_id=chat, message="hello")
    client.wait_for("smart_context.extraction", state="failed")
    client.call("smart_context.refresh_topics", chat_id=chat, wait=True)
    client.call("smart_context.get_topics", chat_id=chat)  # embeds what the turn has added
    before, asked = kept_on_disk(server.vault), len(endpoint.chat_requests)
    turn = client.call("smart_context.receipts", chat_id=chat)["receipts"][0]["turn"]
    client.call("smart_context.replay", chat_id=chat, topics=["cats sleep"], threshold=0.2)
    path = f"/chats/{chat}/turns/{turn}"
    status, page = server.request("GET", f"{path}?replay=1&topics=cats+sleep&threshold=0.3")
    assert status == 200
    assert "would have sent" in page
    assert server.request("GET", f"{path}?replay=1&threshold=nonsense&recent_messages=-1")[0] == 404
    assert server.request("GET", f"/chats/{chat}/turns/none")[0] == 404
    assert kept_on_disk(server.vault) == before
    assert len(endpoint.chat_requests) == asked


def test_topics_by_hand_outlive_an_extraction(server, client, endpoint, chat):
    found = json.dumps(
        {
            "topics": [
                {"label": "Cats Sleep", "count": 2, "message_ids": ["m0", "m1"]},
                {"label": "Boats Sail", "count": 2, "message_ids": ["m2", "m3"]},
                {"label": "Brevity", "count": 1, "message_ids": ["m4"]},
            ],
            "sticky_message_ids": [],
        }
    )
    endpoint.reply_with(found, path=FOR_TOPICS)
    client.call("smart_context.refresh_topics", chat_id=chat, wait=True)
    client.call("smart_context.set_filter", chat_id=chat, topics=["Cats Sleep"])
    named = client.call("smart_context.get_topics", chat_id=chat)
    client.call("smart_context.rename_topic", chat_id=chat, label="Cats Sleep", new_label="Felines")
    client.call("smart_context.delete_topic", chat_id=chat, label="Brevity")
    state = client.call("smart_context.add_topic", chat_id=chat, label="Weather")
    assert [t["label"] for t in state["topics"]] == ["Felines", "Boats Sail", "Weather"]
    assert state["active_topics"] == ["Felines"]
    ids = [t["id"] for t in state["topics"]]
    assert ids[0] == named["topics"][0]["id"]
    endpoint.reply_with(found, path=FOR_TOPICS)
    again = client.call("smart_context.refresh_topics", chat_id=chat, wait=True)
    assert [t["label"] for t in again["topics"]] == ["Felines", "Boats Sail", "Weather"]
    assert [t["id"] for t in again["topics"]] == ids
    merged = client.call(
        "smart_context.merge_topics", chat_id=chat, labels=["Felines", "Boats Sail"]
    )
    assert (merged["topics"][0]["label"], merged["topics"][0]["count"]) == ("Felines", 4)
    undone = client.call("smart_context.undo", chat_id=chat)
    assert undone["undone"] == "the topics"
    assert [t["label"] for t in undone["topics"]] == ["Felines", "Boats Sail", "Weather"]


def test_a_preview_compares_with_what_is_sent_without_a_filter(client, chat):
    everything = client.call("smart_context.preview", chat_id=chat)
    assert everything["unfiltered"] == everything["tokens"]
    shown = client.call("smart_context.preview", chat_id=chat, topics=["cats sleep"])
    assert shown["tokens"] < shown["unfiltered"] == everything["tokens"]
    assert 0 < shown["by_topic"]["cats sleep"] <= shown["parts"]["history"]


def test_topics_and_what_is_attached_to_their_messages_sum_up_to_what_is_sent(server, client):
    (server.vault / "Long.md").write_text("All about cats. " * 40, encoding="utf-8")
    stored = client.call("chat.attach_vault_file", path="Long.md")
    carrying = [MESSAGES[0] | {"files": [stored]}, *MESSAGES[1:]]
    write_chat(server.vault, "carrying", carrying, topics=TOPICS)
    shown = client.call("smart_context.preview", chat_id="carrying", topics=["cats sleep"])
    assert shown["parts"]["attachments"] > shown["parts"]["history"] > 0
    assert 0 < shown["by_topic"]["cats sleep"] <= shown["parts"]["history"]
    assert shown["tokens"] == sum(shown["parts"].values())


def test_a_topic_is_described_by_its_messages(client, chat):
    card = client.call("smart_context.describe_topic", chat_id=chat, label="cats sleep")
    shown = client.call("smart_context.preview", chat_id=chat, topics=["cats sleep"])
    assert card["tokens"] == shown["by_topic"]["cats sleep"]
    assert [sample["id"] for sample in card["samples"]] == ["m0", "m1"]
    nothing = client.call("smart_context.describe_topic", chat_id=chat, label="quantum physics")
    assert (nothing["messages"], nothing["samples"]) == (0, [])
