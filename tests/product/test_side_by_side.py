"""Several processes on one vault: servers, and commands beside them."""

import json
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.fake_openai import held
from tests.preloaded import run_to_end
from tests.serving import serving
from tests.vaults import KEY, about, read_chat, write_chat

VERBS = (
    ("filter", "c1"),
    ("topics", "c1"),
    ("role", "c1"),
    ("receipt", "c1"),
    ("doctor",),
    ("plugins", "list"),
    ("chats", "show", "c1"),
)


@pytest.fixture
def gate():
    gate = threading.Event()
    yield gate
    gate.set()


@contextmanager
def two_clients(vault):
    """A client of each of two servers of one vault."""
    with (
        serving(vault, env=KEY) as first,
        serving(vault, env=KEY) as second,
        first.connect() as one,
        second.connect() as two,
    ):
        yield one, two


def half_answered(client, endpoint, gate):
    """Ask, and wait until the first half of the answer is there."""
    endpoint.reply_with(held("One half, the other", gate, after=2))
    finished = client.start("chat.send", chat_id="c1", message="Why?")
    client.wait_for_words("half,")
    return finished


def run_all(verbs, vault):
    """Run commands next to each other; gives what each printed, and its errors."""
    with ThreadPoolExecutor(len(verbs)) as threads:
        ended = threads.map(lambda verb: run_to_end(placed(verb, vault)), verbs)
        return [out + err for _, out, err in ended]


def placed(verb, vault):
    return [*verb, vault] if verb[0] == "doctor" else [*verb, "--vault", vault]


def test_commands_beside_a_streaming_server_leave_its_answer_to_it(configured, endpoint, gate):
    vault = configured()
    with serving(vault, env=KEY) as server, server.connect() as client:
        half_answered(client, endpoint, gate)
        before = (vault / ".memory" / "c1.json").read_bytes()
        outputs = run_all(VERBS, vault)
        assert not [text for text in outputs if "Traceback" in text]
        assert (vault / ".memory" / "c1.json").read_bytes() == before
        server.stop(signal.SIGKILL)
    assert read_chat(vault, "c1")["messages"][1]["generating"]
    with serving(vault, env=KEY) as server, server.connect() as client:
        answer = client.call("memory.load_chat", chat_id="c1")["messages"][1]
    assert answer["content"] == "One half,"
    assert "interrupted" in answer["error"]


def test_a_role_that_a_command_gives_beside_a_server_is_seen_and_outlives_a_click(configured):
    vault = configured()
    write_chat(vault, "c1", about("cats purr", "boats sail"), topics=[{"label": "cats"}])
    with serving(vault, env=KEY) as server, server.connect() as client:
        assert client.call("smart_context.roles", chat_id="c1")["current"] == ""
        (said,) = run_all([("role", "c1", "reviewer")], vault)
        client.wait_for("smart_context.filter_changed", role="reviewer")
        assert client.call("smart_context.roles", chat_id="c1")["current"] == "reviewer", said
        client.call("smart_context.set_filter", chat_id="c1", topics=["cats"])
        assert client.call("smart_context.roles", chat_id="c1")["current"] == "reviewer"
    chosen = json.loads((vault / ".memory" / "c1.filter.json").read_text())
    assert (chosen["role"], chosen["active_topics"]) == ("reviewer", ["cats"])


def test_a_second_server_leaves_the_answer_of_the_first_to_it(configured, endpoint, gate):
    vault = configured()
    with two_clients(vault) as (one, two):
        finished = half_answered(one, endpoint, gate)
        two.call("chat.open", chat_id="c1")
        assert two.call("memory.load_chat", chat_id="c1")["messages"][1]["generating"]
        assert "another server" in two.fail("chat.send", chat_id="c1", message="Me too")["message"]
        gate.set()
        assert "result" in finished()
        two.call("chat.send", chat_id="c1", message="And then?")
    stored = read_chat(vault, "c1")["messages"]
    assert [m["content"] for m in stored[1::2]] == ["One half, the other", "You said: And then?"]
    assert not [m for m in stored if "error" in m]
    sent = [r.messages for r in endpoint.chat_requests if r.messages[-1]["content"] == "And then?"]
    assert {"role": "assistant", "content": "One half, the other"} in sent[0]


def test_a_chat_that_a_second_server_deletes_stays_deleted_when_its_answer_is_whole(
    configured, endpoint, gate
):
    vault = configured()
    with two_clients(vault) as (one, two):
        finished = half_answered(one, endpoint, gate)
        two.call("memory.delete_chat", chat_id="c1")
        gate.set()
        assert "deleted" in finished()["error"]["message"]
        one.wait_for("chat.failed", chat_id="c1")
        assert not [*(vault / ".memory").glob("c1.*")]
        two.call("memory.restore_chat", chat_id="c1")
        assert one.call("memory.load_chat", chat_id="c1")["messages"][0]["content"] == "Why?"
