"""A database that goes away, hangs, and comes back, under a server that goes on."""

import signal
import time
from contextlib import contextmanager

import pytest

from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer
from tests.serving import serving
from tests.vaults import KEY


@pytest.fixture(scope="module")
def database():
    server = PostgresServer()
    server.make()
    server.start()
    yield server
    server.stop()


@contextmanager
def served(vault, database):
    env = {**KEY, "SMART_CONTEXT_STORAGE": database.url()}
    with serving(vault, env=env) as server:
        server.ask("memory.save_chat", chat_id="c1", data={"messages": [], "title": "Kept"})
        server.ask("memory.load_chat", chat_id="c1")
        server.ask("memory.list_chats")
        yield server


def save(server, title):
    data = {"messages": [], "title": title}
    return server.command("memory.save_chat", chat_id="c1", data=data)


def until_saved(server, title):
    """Save again and again; gives the seconds until it is taken."""
    began = time.monotonic()
    while save(server, title)[0] != 200:
        assert time.monotonic() - began < PATIENCE_S
        time.sleep(0.1)
    return time.monotonic() - began


@contextmanager
def gone(database):
    database.stop(signal.SIGINT)
    yield
    database.start()


@contextmanager
def silent(database):
    """Every process of it is stopped, so that nothing is refused and nothing answered."""
    database.signal_all(signal.SIGSTOP)
    yield
    database.signal_all(signal.SIGCONT)


@pytest.mark.parametrize("away", [gone, silent])
def test_what_is_known_is_read_and_writes_say_so_until_it_is_back(vault, database, away):
    with served(vault, database) as server:
        assert server.request("GET", "/readyz", headers={"Authorization": ""})[0] == 200
        with away(database):
            began = time.monotonic()
            status, answer = save(server, "Lost?")
            assert status == 503
            assert "can't be reached" in answer["error"]["message"]
            assert server.ask("memory.load_chat", chat_id="c1")["title"] == "Kept"
            assert [c["title"] for c in server.ask("memory.list_chats")["chats"]] == ["Kept"]
            assert server.request("GET", "/readyz", headers={"Authorization": ""})[0] == 503
            assert server.request("GET", "/healthz", headers={"Authorization": ""})[0] == 200
            assert time.monotonic() - began < PATIENCE_S
        until_saved(server, "Back")
        assert server.ask("memory.load_chat", chat_id="c1")["title"] == "Back"
        assert server.request("GET", "/readyz")[0] == 200


def test_figures_are_for_those_who_are_let_in(vault, database):
    with served(vault, database) as server:
        assert server.request("GET", "/metrics", headers={"Authorization": ""})[0] == 401
        status, text = server.request("GET", "/metrics")
        assert status == 200
        lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if line[:1] != "#")
        assert float(lines["smart_context_database_up"]) == 1
        assert 1 <= float(lines["smart_context_database_connections"]) <= 12
        ours = database.sql(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'smart-context'"
        )
        assert 1 <= ours[0][0] <= 12
