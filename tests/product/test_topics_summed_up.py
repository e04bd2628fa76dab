"""Topics of a chat are summed up, and what the endpoint gets from then on."""

import json

import pytest

from tests.serving import serving
from tests.vaults import KEY, about, read_chat, write_chat

BREAD = "bread with rye flour and water, baked at 240 degrees"
BOATS = "boats with two sails, seen in Kiel on 3 March 2026"
SAID = [
    BREAD,
    BREAD,
    BOATS,
    BOATS,
    f"{BREAD} again",
    BREAD,
    "both bread and boats",
    "Newest",
    "Last",
]
NOTES = json.dumps({"overview": "Rye bread is baked at 240 degrees."})
SUMMARY = "Rye bread is baked at 250 degrees, as Priya says."


def topics_of(vault, chat_id, **ids):
    topics = [
        {"label": label, "id": f"t-{label}", "count": len(names), "message_ids": names}
        for label, names in ids.items()
    ]
    public = [{key: topic[key] for key in ("label", "id", "count")} for topic in topics]
    path = vault / ".memory" / f"{chat_id}.topics.json"
    path.write_text(json.dumps({"version": 1, "seen": "m8", "topics": topics}), encoding="utf-8")
    return public


def sum_up(client, topic, text, **more):
    params = {"chat_id": "c", "topics": [topic], "summary": text, **more}
    return client.call("smart_context.compact_topics", **params)


@pytest.fixture
def chat(server):
    write_chat(server.vault, "c", about(*SAID))
    ids = {"Bread": ["m0", "m1", "m4", "m5", "m6"], "Boats": ["m2", "m3", "m6"]}
    write_chat(server.vault, "c", about(*SAID), topics=topics_of(server.vault, "c", **ids))
    return server.vault


def asked(client, endpoint, message, chat_id="c"):
    client.call("chat.send", chat_id=chat_id, message=message)
    found = [r for r in endpoint.chat_requests if r.messages[-1]["content"] == message]
    return [entry["content"] for entry in found[-1].messages]


def stored_ids(vault):
    return [entry["id"] for entry in read_chat(vault, "c")["messages"]]


def test_without_apply_the_change_is_only_shown(chat, client, endpoint):
    endpoint.reply_with(NOTES)
    client.call("smart_context.pin", chat_id="c", message_ids=["m5"])
    shown = client.call("smart_context.compact_topics", chat_id="c", topics=["Bread"])
    assert "Rye bread is baked at 240 degrees." in shown["summary"]
    assert endpoint.chat_requests[-1].body["model"] == "gpt-4o-mini"
    assert shown["summed_up"] == ["m0", "m1", "m4"]
    assert shown["kept"] == [
        {"message_id": "m5", "why": "pinned by you"},
        {"message_id": "m6", "why": "also about Boats"},
    ]
    assert shown["tokens_after"] < shown["tokens_before"]
    assert shown["unsupported"] == []
    assert stored_ids(chat) == [f"m{n}" for n in range(9)]


def test_what_no_message_says_is_named(chat, client):
    shown = sum_up(client, "Bread", SUMMARY)
    assert shown["unsupported"] == ["250", "Priya"]


def test_a_summary_stands_for_its_messages_until_it_is_undone(chat, client, endpoint):
    made = sum_up(client, "Bread", SUMMARY, apply=True)
    stored = read_chat(chat, "c")["messages"]
    summary = next(entry for entry in stored if entry.get("is_summary"))
    assert (
        [entry["id"] for entry in stored][5:7]
        == ["m5", summary["id"]]
        == ["m5", made["message_id"]]
    )
    assert summary["summarizes"] == ["m0", "m1", "m4", "m5"]
    assert asked(client, endpoint, "Where?") == [BOATS, BOATS, SUMMARY, *SAID[6:], "Where?"]
    shown = client.call("smart_context.get_topics", chat_id="c")
    assert shown["status"].endswith(" · 4 summed up")
    reasons = client.call("smart_context.reasons", chat_id="c", message_ids=["m0"])["reasons"]
    assert reasons["m0"]["reason"] == "out: behind a summary"
    client.call("chat.undo_compaction", chat_id="c")
    assert SUMMARY not in asked(client, endpoint, "And now?")
    assert asked(client, endpoint, "Now?")[:6] == SAID[:6]


def test_the_summary_counts_as_of_its_topic_for_the_filter(chat, client):
    made = sum_up(client, "Bread", SUMMARY, apply=True)
    kept = client.call("smart_context.set_filter", chat_id="c", topics=["Bread"])["message_ids"]
    assert made["message_id"] in kept
    assert "m2" not in kept
    kept = client.call("smart_context.set_filter", chat_id="c", topics=["Boats"])["message_ids"]
    assert made["message_id"] not in kept
    assert "m6" in kept


def test_summaries_of_topics_stand_side_by_side_and_are_undone_one_by_one(chat, client, endpoint):
    first, second = (
        sum_up(client, topic, text, apply=True)["message_id"]
        for topic, text in (("Bread", "Of bread."), ("Boats", "Of boats."))
    )
    assert asked(client, endpoint, "And?")[:3] == ["Of boats.", "Of bread.", SAID[6]]
    again = client.call("smart_context.compact_topics", chat_id="c", topics=["Bread"])
    assert again["summed_up"] == []
    assert client.call("smart_context.undo", chat_id="c")["undone_words"] == "Boats summed up"
    assert second not in stored_ids(chat)
    assert client.call("smart_context.undo", chat_id="c")["undone_words"] == "Bread summed up"
    assert first not in stored_ids(chat)


def test_a_summary_of_the_whole_chat_takes_in_those_of_topics(chat, client, endpoint):
    client.call(
        "smart_context.compact_topics",
        chat_id="c",
        topics=["Bread"],
        summary="Of bread.",
        apply=True,
    )
    endpoint.reply_with(NOTES)
    client.call("chat.compact", chat_id="c")
    given = endpoint.chat_requests[-1].messages[-1]["content"]
    assert "Of bread." in given
    assert f'"{BREAD}"' not in given


@pytest.mark.parametrize(
    ("params", "words"),
    [
        pytest.param({"topics": ["Bread"], "summary": " \n"}, "found an empty one", id="no text"),
        pytest.param({"topics": []}, "at least one topic", id="no topic"),
        pytest.param({"topics": ["Cars"]}, "its topics: Bread, Boats", id="unknown topic"),
    ],
)
def test_what_can_t_be_summed_up_is_refused(chat, client, params, words):
    assert words in client.fail("smart_context.compact_topics", chat_id="c", **params)["message"]


def test_a_model_that_fails_writes_no_summary(chat, client, endpoint):
    endpoint.reply_with("")
    said = client.fail("smart_context.compact_topics", chat_id="c", topics=["Bread"])
    assert "gave no summary" in said["message"]


def test_half_a_tool_call_stays(server, client):
    call = {"type": "tool_call", "state": "call", "tool_call_id": "1", "tool_name": "read"}
    messages = [
        {"id": "m0", "role": "user", "content": "Bread?"},
        {"id": "m1", "role": "assistant", "content": [call]},
        {"id": "m2", "role": "tool", "content": "Rye", "tool_call_id": "1"},
        {"id": "m3", "role": "assistant", "content": [{**call, "tool_call_id": "2"}]},
        {"id": "m4", "role": "user", "content": "Go on"},
    ]
    write_chat(server.vault, "c", messages)
    public = topics_of(server.vault, "c", Bread=["m0", "m1", "m3", "m4"])
    write_chat(server.vault, "c", messages, topics=public)
    client.call("smart_context.pin", chat_id="c", message_ids=["m4"])
    shown = sum_up(client, "Bread", "Short.")
    assert shown["summed_up"] == ["m0", "m1", "m2"]
    assert shown["kept"][0] == {"message_id": "m3", "why": "a tool call without its result"}
    client.call("smart_context.pin", chat_id="c", message_ids=["m2"])
    shown = sum_up(client, "Bread", "Short.")
    assert shown["summed_up"] == ["m0"]
    assert shown["kept"][0] == {"message_id": "m1", "why": "part of a tool call that stays"}


def test_a_chat_with_a_pick_is_summed_up_as_far_as_it_is_sent(chat, client, endpoint):
    client.call("smart_context.set_filter", chat_id="c", topics=["Bread"])
    before = client.call("smart_context.preview", chat_id="c")["tokens"]
    endpoint.reply_with(NOTES)
    made = client.call("chat.compact", chat_id="c")
    after = client.call("smart_context.preview", chat_id="c")["tokens"]
    assert (made["tokens_before"], made["tokens_after"]) == (before, after)
    assert after < before
    stored = {entry["id"]: entry for entry in read_chat(chat, "c")["messages"]}
    assert stored[made["message_id"]]["summarizes"] == ["m0", "m1", "m4", "m5"]


def test_a_summary_with_which_more_would_be_sent_is_refused_with_both_numbers(
    chat, client, endpoint
):
    client.call("smart_context.set_filter", chat_id="c", topics=["Boats"])
    before = client.call("smart_context.preview", chat_id="c")["tokens"]
    endpoint.reply_with(json.dumps({"overview": "Boats are seen. " * 40}))
    refused = client.fail("chat.compact", chat_id="c")["message"]
    assert refused.startswith("Nothing to gain")
    assert refused.endswith(f"tokens, now {before:,}.")
    assert stored_ids(chat) == [f"m{n}" for n in range(9)]


def test_the_connected_model_writes_the_summary_where_there_is_no_fast_one(configured, endpoint):
    vault = configured()
    settings = vault / ".vault.toml"
    settings.write_text(settings.read_text().replace('fast = "gpt-4o-mini"', 'fast = "embedded"'))
    write_chat(vault, "c", about(*SAID))
    public = topics_of(vault, "c", Bread=["m0", "m1", "m4", "m5"])
    write_chat(vault, "c", about(*SAID), topics=public)
    endpoint.reply_with(NOTES)
    with serving(vault, env=KEY) as server, server.connect() as client:
        shown = client.call("smart_context.compact_topics", chat_id="c", topics=["Bread"])
        assert "Rye bread is baked at 240 degrees." in shown["summary"]
        assert "problem" not in shown
        assert endpoint.chat_requests[-1].body["model"] == "gpt-4o"


def test_without_a_model_sentences_are_quoted_and_the_result_says_so(vault):
    (vault / ".vault.toml").write_text("[plugins.smart_context]\nrecent_messages = 0\n")
    write_chat(vault, "c", about(*SAID))
    public = topics_of(vault, "c", Bread=["m0", "m1", "m4", "m5"])
    write_chat(vault, "c", about(*SAID), topics=public)
    with serving(vault, env=KEY) as server, server.connect() as client:
        shown = client.call("smart_context.compact_topics", chat_id="c", topics=["Bread"])
        assert "no model used" in shown["summary"]
        assert "No model is connected" in shown["problem"]
        assert shown["unsupported"] == []
