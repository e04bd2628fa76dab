"""Several servers and commands on one database, as a team has them."""

import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from urllib.parse import urlsplit

import psycopg
import pytest

from tests.fake_openai import held
from tests.patience import PATIENCE_S
from tests.postgres_server import new_database, new_empty_database
from tests.preloaded import run_to_end
from tests.redis_server import PROGRAM, redis_server
from tests.serving import Browser, serving
from tests.storage.postgres.test_answers import WITHOUT_GRACE
from tests.trusting import trust
from tests.vaults import KEY


@pytest.fixture
def team(tmp_path_factory):
    """The environment of everybody who works with one database."""
    return {**KEY, "SMART_CONTEXT_STORAGE": new_database(tmp_path_factory)}


@pytest.fixture(params=["database", "redis"])
def told(request, team):
    """The same, with events carried by the database, or by a Redis."""
    if request.param == "database":
        yield team
        return
    if PROGRAM is None:
        pytest.skip("needs redis-server")
    with redis_server() as address:
        yield {**team, "SMART_CONTEXT_EVENTS": address}


@pytest.fixture
def gate():
    gate = threading.Event()
    yield gate
    gate.set()


def titles(server):
    return [row["title"] for row in server.ask("memory.list_chats")["chats"]]


def test_two_servers_have_one_list_of_chats_and_hear_of_each_others_changes(vault, team):
    with (
        serving(vault, env=team) as one,
        serving(vault, env=team) as other,
        other.connect() as client,
    ):
        one.ask("chat.send", chat_id="c1", message="Where do the cats sleep?")
        client.wait_for("memory.chat_changed", chat_id="c1")
        assert titles(other) == titles(one) == ["Where do the cats sleep?"]
        other.ask("memory.rename_chat", chat_id="c1", title="Cats")
        assert titles(one) == ["Cats"]
    code, out, _ = run_to_end(
        ["chats", "list", "--vault", vault, "--format", "json"], env={**os.environ, **team}
    )
    assert code == 0
    assert [row["title"] for row in json.loads(out)] == ["Cats"]
    assert not list(vault.rglob("c1*"))


def half_answered(client, endpoint, gate):
    """Ask, and wait until the first half of the answer is there."""
    endpoint.reply_with(held("One half, the other", gate, after=2))
    finished = client.start("chat.send", chat_id="c1", message="Why?")
    client.wait_for_words("half,")
    return finished


def test_servers_that_start_at_once_on_an_empty_database_all_work(vault, tmp_path_factory):
    team = {**KEY, "SMART_CONTEXT_STORAGE": new_empty_database(tmp_path_factory)}
    trust(vault)

    with ExitStack() as running:

        def started(_number):
            return running.enter_context(serving(vault, env=team, trusted=False))

        with ThreadPoolExecutor(4) as at_once:
            servers = list(at_once.map(started, range(4)))
        servers[0].ask("chat.send", chat_id="c1", message="Where do the cats sleep?")
        assert [titles(server) for server in servers] == [["Where do the cats sleep?"]] * 4


def test_an_answer_is_followed_and_stopped_from_another_server(configured, endpoint, told, gate):
    vault = configured()
    with (
        serving(vault, env=told) as one,
        serving(vault, env=told) as other,
        one.connect() as asking,
        other.connect() as following,
    ):
        finished = half_answered(asking, endpoint, gate)
        started = following.wait_for("chat.started", chat_id="c1")
        following.wait_for_words("One half,")
        opened = following.call("chat.open", chat_id="c1")
        assert opened["answering"] == {
            "message_id": started["message_id"],
            "text": "One half,",
        }
        with serving(vault, env=told) as late, late.connect() as joining:
            assert joining.call("chat.open", chat_id="c1")
            assert following.call("chat.stop", chat_id="c1")["stopped"]
            joining.wait_for("chat.finished", chat_id="c1")
        assert "result" in finished()
        following.wait_for("chat.finished", chat_id="c1")
        answer = following.call("memory.load_chat", chat_id="c1")["messages"][1]
    assert answer["content"] == "One half,"
    assert not answer.get("generating")
    kinds = [name for name, _ in following.events if name in ("chat.finished", "chat.failed")]
    assert kinds == ["chat.finished"]


def test_of_a_killed_server_the_part_is_kept_and_the_others_tell_the_end(
    configured, endpoint, team, gate
):
    vault = configured()
    with serving(vault, env=team) as other, other.connect() as client:
        with serving(vault, env=team) as one, one.connect() as asking:
            half_answered(asking, endpoint, gate)
            with psycopg.connect(team["SMART_CONTEXT_STORAGE"], autocommit=True) as database:
                while not database.execute(
                    "SELECT FROM answer WHERE convert_from(journal, 'UTF8') LIKE '%half%'"
                ).rowcount:
                    database.execute("SELECT pg_sleep(0.05)")
                one.stop(signal.SIGKILL)
                database.execute(WITHOUT_GRACE)
                database.execute("UPDATE answer SET held_until = clock_timestamp()")
        failed = client.wait_for("chat.failed", chat_id="c1")
        assert "interrupted" in failed["error"]
        assert client.call("chat.open", chat_id="c1")["answering"] is None
        answer = client.call("memory.load_chat", chat_id="c1")["messages"][1]
        assert answer["content"] == "One half,"
        assert "interrupted" in answer["error"]
        gate.set()
        endpoint.reply_with("Go on.")
        client.call("chat.send", chat_id="c1", message="And now?")
        assert len(client.call("memory.load_chat", chat_id="c1")["messages"]) == 4


def test_one_server_at_a_time_finds_the_topics_of_a_chat(configured, endpoint, team, gate):
    vault = configured()
    endpoint.answer = lambda request: held("{}", gate) if is_fast(request) else "Yes."
    with (
        serving(vault, env=team) as one,
        serving(vault, env=team) as other,
        one.connect() as first,
        other.connect() as second,
    ):
        first.call("chat.send", chat_id="c1", message="Why?")
        first.wait_for("smart_context.extraction", state="running")
        second.wait_for("smart_context.extraction", state="running")
        second.call("chat.send", chat_id="c1", message="And why not?")
        first.wait_for("smart_context.extraction", state="superseded")
        gate.set()
        for client in (first, second):
            client.wait_for("smart_context.extraction", state="failed")
    states = [
        params["state"] for name, params in first.events if name == "smart_context.extraction"
    ]
    assert sorted(states) == ["failed", "running", "running", "superseded"]


def is_fast(request):
    return request["model"] == "gpt-4o-mini"


def test_a_browser_and_a_key_that_one_server_lets_in_are_known_to_all(vault, team):
    with serving(vault, env=team) as one, serving(vault, env=team, token=None) as other:
        browser = Browser(one.link)
        browser.authority = urlsplit(other.link).netloc
        asked = ("POST", "/api/commands/memory.list_chats", browser.keyed, "{}")
        status, _, answer = browser.request(*asked)
        assert (status, json.loads(answer)) == (200, {"result": {"chats": []}})
        key = one.ask("system.new_client_key", client="editor")["key"]
        for server in (one, other):
            bearer = {"Authorization": f"Bearer {key}"}
            assert server.request("GET", "/v1/models", headers=bearer)[0] == 200
        env = {**os.environ, **team}
        assert "editor" in run_to_end(["keys", "list"], env=env)[1]
        assert run_to_end(["keys", "revoke", "editor"], env=env)[0] == 0
        assert run_to_end(["sessions", "end", "--all"], env=env)[0] == 0
        deadline = time.monotonic() + PATIENCE_S
        while browser.request(*asked)[0] == 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_a_pick_in_a_long_chat_reaches_the_pages_of_another_server(vault, told):
    with serving(vault, env=told) as one, serving(vault, env=told) as other:
        messages = [
            {"id": f"m{n}", "role": ("user", "assistant")[n % 2], "content": f"Of cats, {n}."}
            for n in range(2_000)
        ]
        one.ask("memory.save_chat", chat_id="long", data={"title": "Long", "messages": messages})
        with other.connect() as client:
            client.call("chat.open", chat_id="long")
            client.call("smart_context.get_topics", chat_id="long")
            one.ask("smart_context.set_filter", chat_id="long", topics=["cats"])
            # It may tell first that it has read the chat, which nothing is picked in yet.
            changed = client.wait_for(
                "smart_context.filter_changed", chat_id="long", active_topics=["cats"]
            )
        assert changed["total_messages"] == len(messages)
