"""A turn from end to end: what is saved, told and asked on good days and bad ones."""

import itertools
import json
import signal
import threading

import pytest

from tests.fake_openai import CHAT, Reply, cut, failure, held, nonsense
from tests.serving import serving
from tests.vaults import KEY, about, read_chat, write_chat


def events_of(client, *names):
    return [(name, params) for name, params in client.events if name in names]


def test_an_answer_is_streamed_piece_by_piece_and_saved(server, client, endpoint):
    endpoint.reply_with("one two three")
    result = client.call("chat.send", chat_id="new", message="count")
    client.wait_for("chat.finished", chat_id="new", message_ids=result["message_ids"])
    pieces = [p for _, p in events_of(client, "chat.token")]
    assert "".join(piece["text"] for piece in pieces) == "one two three"
    starts = list(itertools.accumulate([len(p["text"]) for p in pieces], initial=0))
    assert [piece["offset"] for piece in pieces] == starts[:-1]
    question, answer = read_chat(server.vault, "new")["messages"]
    assert (question["role"], question["content"]) == ("user", "count")
    assert (answer["role"], answer["content"]) == ("assistant", "one two three")
    assert [question["id"], answer["id"]] == result["message_ids"]
    assert "generating" not in answer


def test_without_streaming_the_answer_comes_at_once(client, endpoint):
    endpoint.reply_with("all at once")
    client.call("chat.send", chat_id="new", message="go", stream=False)
    assert not endpoint.chat_requests[0].body.get("stream")


@pytest.mark.parametrize("stream", [True, False])
def test_an_answer_that_the_providers_filter_ended_says_so(server, client, endpoint, stream):
    endpoint.reply_with(Reply(pieces=("First make a",), finish_reason="content_filter"))
    client.call("chat.send", chat_id="new", message="go", stream=stream)
    answer = read_chat(server.vault, "new")["messages"][1]
    assert answer["filtered"] is True
    page = server.request("GET", "/chats/new", headers={"Accept": "text/html"})[1]
    assert "a content filter of the provider ended the answer" in page
    endpoint.reply_with("Better now.")
    client.call("chat.regenerate", chat_id="new", message_id=answer["id"], stream=False)
    assert "filtered" not in read_chat(server.vault, "new")["messages"][1]


def test_an_answer_that_the_providers_filter_withheld_says_so(server, client, endpoint):
    endpoint.reply_with(Reply(pieces=(), finish_reason="content_filter"))
    refused = client.fail("chat.send", chat_id="new", message="go")
    assert "content filter of the provider withheld the answer" in refused["message"]
    assert "content filter" in read_chat(server.vault, "new")["messages"][1]["error"]


def test_without_a_chat_a_new_one_begins_and_is_open_from_then_on(client):
    first = client.call("chat.send", message="hello")
    second = client.call("chat.send", message="again")
    assert first["chat_id"] == second["chat_id"]
    assert (
        client.call("memory.load_chat", chat_id=first["chat_id"])["messages"][0]["content"]
        == "hello"
    )


def test_the_request_has_only_keys_that_the_api_knows(server, client, endpoint):
    messages = about("hi", "hello")
    messages[0]["created_at"] = "2026-01-01T00:00:00Z"
    messages[1]["mood"] = "cheerful"
    write_chat(server.vault, "odd", messages)
    client.call("chat.send", chat_id="odd", message="go")
    for message in endpoint.chat_requests[0].messages:
        assert set(message) == {"role", "content"}


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_a_refusal_is_asked_once_and_the_question_stays(server, client, endpoint, status):
    endpoint.reply_with(failure(status, "no such thing"))
    error = client.fail("chat.send", chat_id="c", message="hello")
    assert error["code"] == -32603
    assert "Traceback" not in error["message"]
    assert len([r for r in endpoint.chat_requests if r.body["model"] == "gpt-4o"]) == 1
    failed = client.wait_for("chat.failed", chat_id="c")
    assert failed["error"]
    question, answer = read_chat(server.vault, "c")["messages"]
    assert question["content"] == "hello"
    assert answer["error"]
    client.call("chat.send", chat_id="c", message="once more")
    assert [m["content"] for m in endpoint.chat_requests[1].messages] == ["hello", "once more"]


def test_a_busy_endpoint_is_asked_three_times_at_most(client, endpoint):
    endpoint.reply_with(*[failure(429, retry_after="0")] * 3)
    client.fail("chat.send", chat_id="c", message="hello")
    assert len(endpoint.chat_requests) == 3


def test_a_passing_failure_is_not_even_noticed(client, endpoint):
    endpoint.reply_with(failure(503, retry_after="0"), "here you are")
    client.call("chat.send", chat_id="c", message="hello")
    assert not events_of(client, "chat.failed")


def test_an_answer_that_breaks_off_is_kept_and_marked(server, client, endpoint):
    endpoint.reply_with(cut("half of an answer", after=2))
    client.fail("chat.send", chat_id="c", message="hello")
    answer = read_chat(server.vault, "c")["messages"][1]
    assert answer["content"] == "half of"
    assert answer["error"]
    assert not answer.get("generating")


@pytest.mark.parametrize("stream", [True, False])
def test_nonsense_is_an_error_in_words(client, endpoint, stream):
    endpoint.reply_with(nonsense())
    error = client.fail("chat.send", chat_id="c", message="hello", stream=stream)
    assert "Traceback" not in error["message"]
    client.wait_for("chat.failed", chat_id="c")


def test_the_key_is_sent_to_the_endpoint_and_told_to_nobody(server, client, endpoint):
    endpoint.reply_with(failure(401, "bad key secret-key-123"))
    error = client.fail("chat.send", chat_id="c", message="hello")
    assert endpoint.chat_requests[0].key == "secret-key-123"
    assert "secret-key-123" not in json.dumps(error) + json.dumps(client.events)
    assert "secret-key-123" not in json.dumps(read_chat(server.vault, "c"))
    server.stop()
    assert "secret-key-123" not in "".join(server.errors)


def test_stop_keeps_what_has_arrived_and_is_not_held_up_by_the_answer(server, client, endpoint):
    gate = threading.Event()
    endpoint.reply_with(held("one two three", gate, after=2))
    waiting = client.start("chat.send", chat_id="c", message="count")
    client.wait_for_words("two")
    client.call("chat.stop", chat_id="c")
    assert "result" in waiting()
    endpoint.wait_for_hang_up()
    gate.set()
    client.wait_for("chat.finished")
    answer = read_chat(server.vault, "c")["messages"][1]
    assert answer["content"] == "one two"
    assert not answer.get("generating")
    ends = events_of(client, "chat.finished", "chat.failed")
    assert [name for name, _ in ends] == ["chat.finished"]
    client.wait_for("smart_context.extraction", state="running")


def test_the_question_is_saved_before_the_model_is_asked(server, client, endpoint):
    gate = threading.Event()
    endpoint.reply_with(held("slow", gate))
    client.start("chat.send", chat_id="c", message="are you there?")
    endpoint.wait_for_requests(1, path=CHAT)
    assert read_chat(server.vault, "c")["messages"][0]["content"] == "are you there?"
    gate.set()
    client.wait_for("chat.finished")


def test_sigterm_in_mid_answer_keeps_the_part(configured, endpoint):
    gate = threading.Event()
    endpoint.reply_with(held("one two three", gate, after=2))
    with serving(configured(), env=KEY) as server, server.connect() as client:
        client.start("chat.send", chat_id="c", message="count")
        client.wait_for_words("two")
        assert server.stop(signal.SIGTERM) == 0
        answer = read_chat(server.vault, "c")["messages"][1]
    gate.set()
    assert answer["content"] == "one two"
    assert not answer.get("generating")


def test_kill_9_in_mid_answer_loses_neither_the_question_nor_the_next_turn(configured, endpoint):
    gate = threading.Event()
    endpoint.reply_with(held("one two three", gate, after=2))
    vault = configured()
    with serving(vault, env=KEY) as server, server.connect() as client:
        client.start("chat.send", chat_id="c", message="count")
        client.wait_for_words("two")
        server.stop(signal.SIGKILL)
    gate.set()
    assert read_chat(vault, "c")["messages"][0]["content"] == "count"
    with serving(vault, env=KEY) as server, server.connect() as client:
        client.call("chat.open", chat_id="c")
        messages = client.call("memory.load_chat", chat_id="c")["messages"]
        assert not any(message.get("generating") for message in messages)
        client.call("chat.send", chat_id="c", message="go on")
    assert not any(m.get("generating") for m in read_chat(vault, "c")["messages"])


def test_regenerate_replaces_an_answer(server, client, endpoint):
    endpoint.reply_with("first try")
    sent = client.call("chat.send", chat_id="c", message="hello")
    client.wait_for("smart_context.extraction", state="done")
    endpoint.reply_with("second try")
    client.call("chat.regenerate", chat_id="c", message_id=sent["message_ids"][1])
    contents = [m["content"] for m in read_chat(server.vault, "c")["messages"]]
    assert contents == ["hello", "second try"]


def test_a_version_is_shown_to_all_and_is_what_the_next_turn_sends(server, client, endpoint):
    write_chat(server.vault, "c", about("one", "first", "two", "second"))
    client.call("chat.open", chat_id="c")
    client.call("chat.regenerate", chat_id="c", message_id="m1")
    former = read_chat(server.vault, "c")["branches"][0]
    assert [m["id"] for m in former["messages"]] == ["m1", "m2", "m3"]
    (listed,) = client.call("chat.list_versions", chat_id="c")["versions"]
    assert (listed["version"], listed["versions"]) == (2, 2)
    with server.connect() as other:
        other.call("chat.open", chat_id="c")
        newer = listed["message_id"]
        shown = client.call("chat.show_version", chat_id="c", message_id=newer, version=1)
        assert shown == {"chat_id": "c", "message_id": "m1", "version": 1, "versions": 2}
        other.wait_for("memory.chat_changed", chat_id="c")
        assert other.call("smart_context.get_topics", chat_id="c")["total_messages"] == 4
    client.call("chat.send", chat_id="c", message="three")
    chats = [r for r in endpoint.chat_requests if r.body["model"] == "gpt-4o"]
    assert [m["content"] for m in chats[-1].messages] == ["one", "first", "two", "second", "three"]


def test_messages_of_other_versions_are_not_listed_nor_found(server, client):
    write_chat(server.vault, "c", about("one", "an aardvark", "two"))
    client.call("chat.regenerate", chat_id="c", message_id="m1")
    (row,) = [row for row in client.call("memory.list_chats")["chats"] if row["id"] == "c"]
    assert row["message_count"] == 2
    assert client.call("memory.search", query="aardvark")["results"] == []
    client.call("smart_context.pin", chat_id="c", message_ids=["m0"])
    assert client.call("smart_context.get_topics", chat_id="c")["total_messages"] == 2


def test_an_edited_message_is_what_the_next_turn_sends(client, endpoint):
    sent = client.call("chat.send", chat_id="c", message="helo")
    client.call("chat.edit", chat_id="c", message_id=sent["message_ids"][0], text="hello")
    client.call("chat.send", chat_id="c", message="and?")
    chats = [r for r in endpoint.chat_requests if r.body["model"] == "gpt-4o"]
    assert chats[-1].messages[0]["content"] == "hello"


def test_a_chat_that_another_program_extends_is_followed(server, client):
    write_chat(server.vault, "shared", about("one"))
    client.wait_for("memory.chat_changed", chat_id="shared")
    seen = len(client.events)
    write_chat(server.vault, "shared", about("one", "two"))
    client.wait_for("memory.chat_changed", after=seen, chat_id="shared")
    assert client.call("smart_context.get_topics", chat_id="shared")["total_messages"] == 2


def test_a_chat_id_that_is_none_is_refused_everywhere(server, client):
    for chat_id in ("../x", "a/b", "", "x" * 129, "ä", "a.b", "..", "a\0b"):
        for command in ("memory.load_chat", "chat.open", "smart_context.get_topics"):
            assert client.fail(command, chat_id=chat_id)["code"] in {-32602, -32603}
    assert not list(server.vault.parent.glob("*.json"))


def test_a_damaged_chat_is_set_aside_told_and_never_overwritten(configured):
    vault = configured()
    folder = vault / ".memory"
    folder.mkdir()
    (folder / "broken.json").write_bytes(b'{"messages": [{"role": "user", "con')
    with serving(vault, env=KEY) as server, server.connect() as client:
        # Whoever looks first is told: this command, or the log when the server starts.
        reply = client.start("memory.load_chat", chat_id="broken")()
        aside = [p for p in folder.iterdir() if p.read_bytes().startswith(b'{"messages": [{"role"')]
    (kept,) = aside
    assert kept.name != "broken.json"
    assert kept.name in json.dumps(reply) + "".join(server.errors)


def test_without_a_chat_model_the_answer_says_so_and_quotes_the_vault(vault):
    (vault / "Boats.md").write_text("# Boats\n\nThe ketch has two masts and five sails.\n")
    with serving(vault) as server, server.connect() as client:
        client.call("chat.send", chat_id="c", message="How many masts does the ketch have?")
        answer = read_chat(vault, "c")["messages"][1]["content"]
    assert answer.startswith("No chat model is configured")
    assert "[llm]" in answer
    assert ".vault.toml" in answer
    assert "Boats.md" in answer
    assert "two masts" in answer


def test_nothing_is_written_until_somebody_chats(vault):
    with serving(vault) as server, server.connect() as client:
        client.call("memory.list_chats")
        client.call("smart_context.get_topics", chat_id="nothing")
        client.call("chat.open", chat_id="nothing")
    assert list(vault.iterdir()) == []


@pytest.mark.parametrize("stream", [True, False])
def test_what_a_model_thinks_aloud_is_kept_for_the_reader_and_not_sent_again(
    server, endpoint, stream
):
    endpoint.reply_with(Reply(text="Forty-two.", reasoning=("Let me ", "count.")))
    answer = server.ask("chat.send", chat_id="deep", message="How many?", stream=stream)
    stored = server.ask("memory.load_chat", chat_id="deep")["messages"][-1]
    assert stored["id"] == answer["message_ids"][1]
    assert stored["content"] == [
        {"type": "reasoning", "text": "Let me count."},
        {"type": "text", "text": "Forty-two."},
    ]
    server.ask("chat.send", chat_id="deep", message="Sure?")
    asked = [r.messages for r in endpoint.chat_requests if r.messages[-1]["content"] == "Sure?"]
    assert [message["content"] for message in asked[0]] == ["How many?", "Forty-two.", "Sure?"]
