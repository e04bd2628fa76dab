"""A chat is compacted, goes on, and is put back: as the endpoint sees it."""

import json

from tests.serving import serving
from tests.vaults import KEY, about, read_chat, write_chat

NOTES = json.dumps({"overview": "About cats and boats.", "decisions": ["Sail on Sunday."]})


def asked(endpoint, message):
    found = [r for r in endpoint.chat_requests if r.messages[-1]["content"] == message]
    return [entry["content"] for entry in found[-1].messages]


def test_a_summary_by_the_fast_model_stands_for_the_chat_until_it_is_undone(
    server, client, endpoint
):
    vault = server.vault
    write_chat(vault, "c1", about("I like cats", "So do I", "And boats?", "Those too"))
    endpoint.reply_with(NOTES)
    made = client.call("chat.compact", chat_id="c1")
    request = endpoint.chat_requests[-1]
    assert request.body["model"] == "gpt-4o-mini"
    assert "I like cats" in request.messages[-1]["content"]

    stored = read_chat(vault, "c1")["messages"]
    assert [entry["id"] for entry in stored] == ["m0", "m1", "m2", "m3", made["message_id"]]
    assert stored[-1]["is_summary"] is True
    client.call("chat.send", chat_id="c1", message="Where were we?")
    summary, question = asked(endpoint, "Where were we?")
    assert "### Decisions\n\n- Sail on Sunday." in summary
    assert question == "Where were we?"

    client.call("chat.undo_compaction", chat_id="c1")
    client.call("chat.send", chat_id="c1", message="And now?")
    assert asked(endpoint, "And now?")[:4] == ["I like cats", "So do I", "And boats?", "Those too"]


def test_pins_and_standing_instructions_survive_a_summary(server, client, endpoint):
    topics = [{"label": "Instructions & Preferences", "sticky": True, "message_ids": ["m0"]}]
    write_chat(
        server.vault, "c1", about("Answer in verse", "Gladly", "Cats", "Purr"), topics=topics
    )
    client.call("smart_context.pin", chat_id="c1", message_ids=["m3"])
    client.call("chat.clear_context", chat_id="c1")
    preview = client.call("smart_context.preview", chat_id="c1", message="And now?")
    client.call("chat.send", chat_id="c1", message="And now?")
    sent = asked(endpoint, "And now?")
    assert sent[0] == "Answer in verse"
    assert sent[1] == "Purr"
    assert "no longer part of the context" in sent[2]
    assert [entry["content"] for entry in preview["prompt"]] == sent


def test_the_window_is_never_exceeded_and_the_reason_is_told(configured, endpoint):
    vault = configured()
    config = (vault / ".vault.toml").read_text(encoding="utf-8")
    config = config.replace("max_retries = 2", "max_retries = 2\ncontext_window = 2000")
    (vault / ".vault.toml").write_text(config, encoding="utf-8")
    write_chat(vault, "c1", about(*[f"number {n} " + "word " * 100 for n in range(40)]))
    with (
        serving(vault, env=KEY) as server,
        server.connect() as client,
    ):
        preview = client.call("smart_context.preview", chat_id="c1", message="And now?")
        client.call("chat.send", chat_id="c1", message="And now?")
    sent = asked(endpoint, "And now?")
    assert 10 < len(sent) < 20
    assert sent[-2].startswith("number 39 ")
    assert [entry["content"] for entry in preview["prompt"]] == sent
    reasons = {row["id"]: row["reason"] for row in preview["messages"]}
    assert reasons["m0"] == "out: over budget"
    assert reasons["m39"].startswith("in")
