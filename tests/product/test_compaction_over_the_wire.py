"""A chat is compacted, goes on, and is put back: as the endpoint sees it."""

import json

import pytest

from tests.serving import serving
from tests.vaults import KEY, about, read_chat, write_chat

SAID = ["Cats are calm", "So are dogs", "And boats?", "Those too"]  # no preference is among it
NOTES = json.dumps({"overview": "About cats and boats.", "decisions": ["Sail on Sunday."]})


def asked(endpoint, message):
    found = [r for r in endpoint.chat_requests if r.messages[-1]["content"] == message]
    return [entry["content"] for entry in found[-1].messages]


def test_a_summary_by_the_fast_model_stands_for_the_chat_until_it_is_undone(
    server, client, endpoint
):
    vault = server.vault
    said = [f"{text}, as I have said more than once this week" for text in SAID]
    write_chat(vault, "c1", about(*said))
    endpoint.reply_with(NOTES)
    made = client.call("chat.compact", chat_id="c1")
    request = endpoint.chat_requests[-1]
    assert request.body["model"] == "gpt-4o-mini"
    assert "Cats are calm" in request.messages[-1]["content"]

    stored = read_chat(vault, "c1")["messages"]
    assert [entry["id"] for entry in stored] == ["m0", "m1", "m2", "m3", made["message_id"]]
    assert stored[-1]["is_summary"] is True
    client.call("chat.send", chat_id="c1", message="Where were we?")
    summary, question = asked(endpoint, "Where were we?")
    assert "### Decisions\n\n- Sail on Sunday." in summary
    assert question == "Where were we?"

    client.call("chat.undo_compaction", chat_id="c1")
    client.call("chat.send", chat_id="c1", message="And now?")
    assert asked(endpoint, "And now?")[:4] == said


def test_one_undo_takes_back_summaries_and_choices_in_their_order(server, client, endpoint):
    write_chat(server.vault, "c1", about(*(f"{text}, and more of it" * 9 for text in SAID)))
    client.call("smart_context.pin", chat_id="c1", message_ids=["m0"])
    endpoint.reply_with(NOTES)
    client.call("chat.compact", chat_id="c1")
    client.call("smart_context.pin", chat_id="c1", message_ids=["m1"])
    client.call("chat.clear_context", chat_id="c1")
    done = [client.call("smart_context.undo", chat_id="c1")["undone_words"] for _ in range(5)]
    pinned = "1 message pinned"
    assert done == ["Context cleared", pinned, "4 messages summed up", pinned, ""]
    assert [m["id"] for m in read_chat(server.vault, "c1")["messages"]] == ["m0", "m1", "m2", "m3"]


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


@pytest.fixture
def small(configured):
    """A server whose chat model takes 2,000 tokens."""
    vault = configured()
    path = vault / ".vault.toml"
    config = path.read_text(encoding="utf-8")
    config = config.replace("max_retries = 2", "max_retries = 2\ncontext_window = 2000")
    path.write_text(config, encoding="utf-8")
    with serving(vault, env=KEY) as server:
        yield server


@pytest.fixture
def caller(small):
    with small.connect() as client:
        yield client


def long_chat(server, count=40):
    write_chat(server.vault, "c1", about(*[f"number {n} " + "word " * 100 for n in range(count)]))


def test_the_window_is_never_exceeded_and_the_reason_is_told(small, caller, endpoint):
    long_chat(small)
    preview = caller.call("smart_context.preview", chat_id="c1", message="And now?")
    caller.call("chat.send", chat_id="c1", message="And now?")
    sent = asked(endpoint, "And now?")
    assert 10 < len(sent) < 20
    assert sent[-2].startswith("number 39 ")
    assert [entry["content"] for entry in preview["prompt"]] == sent
    assert preview["window"] == 2000
    reasons = {row["id"]: row["reason"] for row in preview["messages"]}
    assert reasons["m0"] == "out: over budget"
    assert reasons["m39"].startswith("in")


def test_what_a_long_message_drives_out_is_over_budget_in_preview_and_receipt(
    small, caller, endpoint
):
    long_chat(small)
    caller.call("smart_context.pin", chat_id="c1", message_ids=["m0"])
    question = "And now? " + "why " * 900
    preview = caller.call("smart_context.preview", chat_id="c1", message=question)
    caller.call("chat.send", chat_id="c1", message=question)
    caller.wait_for("smart_context.receipt_kept")
    sent = asked(endpoint, question)
    assert sent[0].startswith("number 0 ")
    assert 2 < len(sent) < 12
    assert [entry["content"] for entry in preview["prompt"]] == sent

    receipt = caller.call("smart_context.receipt", chat_id="c1")
    told = {row["id"]: row["reason"] for row in receipt["messages"]}
    assert told == {row["id"]: row["reason"] for row in preview["messages"]}
    assert told["m0"].startswith("in")
    assert told["m30"] == "out: over budget"
    assert sum(reason.startswith("in") for reason in told.values()) == len(sent) - 1
    assert receipt["parts"]["history"] == preview["parts"]["history"]
    assert receipt["tokens"] <= 1_800
    replayed = caller.call("smart_context.replay", chat_id="c1")
    assert replayed["sent"]["digest"] == receipt["sent"]["digest"]


def test_what_never_fits_is_refused_before_it_is_sent_and_the_preview_says_so(
    small, caller, endpoint
):
    question = "why " * 2_500
    preview = caller.call("smart_context.preview", chat_id="c1", message=question)
    error = caller.fail("chat.send", chat_id="c1", message=question)
    assert error["code"] == -32603
    assert error["message"] == preview["problem"]
    assert (
        "takes 2,000, of which 200 are kept for the answer. Nothing was sent." in error["message"]
    )
    assert not endpoint.chat_requests


def test_files_and_links_of_a_message_count_before_it_is_sent(small, caller, endpoint):
    _, stored = small.request(
        "POST", "/api/files", b"Sail on Sunday. " * 1_000, {"X-File-Name": "plan.md"}
    )
    links = [{"url": "https://example.org/club", "title": "The club"}]
    given = {"chat_id": "c1", "message": "When?", "files": [stored], "links": links}
    preview = caller.call("smart_context.preview", **given)
    known = {path.name for path in (small.vault / ".memory" / "files").iterdir()}
    assert len(known) == 2
    caller.call("chat.send", **given)
    (request,) = [r for r in endpoint.chat_requests if r.messages[-1]["content"] != "When?"][:1]
    assert preview["prompt"] == request.messages
    text = request.messages[-1]["content"]
    assert "<FILE_NAME>The club</FILE_NAME>" in text
    assert "Content truncated. Showing first " in text
    assert preview["parts"]["attachments"] == pytest.approx(1_200, abs=150)
    assert preview["parts"]["message"] < 5
    brief = caller.call("smart_context.preview", **given, brief=True)
    assert brief["tokens"] == preview["tokens"]
    receipt = caller.call("smart_context.receipt", chat_id="c1")
    assert receipt["parts"]["attachments"] == preview["parts"]["attachments"]
