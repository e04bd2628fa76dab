"""nginx as docs/team.md sets it up: four processes on two nodes, no sticky sessions."""

import json
import re
import signal
import threading
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest

from tests.fake_openai import held
from tests.nginx_server import PROGRAM, nginx_server
from tests.patience import PATIENCE_S
from tests.postgres_server import free_port, new_database
from tests.serving import TOKEN, Browser, WireClient, serving
from tests.storage.postgres.test_answers import WITHOUT_GRACE
from tests.vaults import KEY, settings_text

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="needs nginx")


class Team:
    """Four servers behind one address.

    Attributes:
        address: The load balancer's.
        servers: The processes, two on each node.
        storage: The database's address.
    """

    def __init__(self, address, servers, storage):
        self.address = address
        self.servers = servers
        self.storage = storage

    def connect(self):
        return WireClient(self.address.replace("http", "ws") + "/ws")

    def request(self, path, body=None):
        asked = urllib.request.Request(
            self.address + path,
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
        )
        return urllib.request.urlopen(asked, timeout=PATIENCE_S)

    def ask(self, name, /, **params):
        with self.request(f"/api/commands/{name}", params) as response:
            return json.loads(response.read())["result"]

    def with_clients(self):
        """The servers that clients are connected to."""
        return [
            s for s in self.servers if "smart_context_clients 1" in s.request("GET", "/metrics")[1]
        ]


@pytest.fixture
def team(tmp_path_factory, endpoint):
    port, storage = free_port(), new_database(tmp_path_factory)
    env = {**KEY, "SMART_CONTEXT_STORAGE": storage}
    with ExitStack() as running:
        servers = []
        for node in ("one", "two"):
            vault = tmp_path_factory.mktemp(node)
            access = f'\n[access]\nhosts = ["127.0.0.1:{port}"]\n'
            (vault / ".vault.toml").write_text(settings_text(endpoint.base_url) + access)
            servers += [running.enter_context(serving(vault, env=env)) for _ in range(2)]
        addresses = [urlsplit(server.origin).netloc for server in servers]
        folder = tmp_path_factory.mktemp("nginx")
        yield Team(running.enter_context(nginx_server(folder, port, addresses)), servers, storage)


@pytest.fixture
def gate():
    gate = threading.Event()
    yield gate
    gate.set()


def test_any_process_answers_any_request_and_streams_are_not_held_up(team, endpoint, gate):
    for number in range(8):
        team.ask("memory.save_chat", chat_id=f"c{number}", data={"title": f"Chat {number}"})
        titles = {row["title"] for row in team.ask("memory.list_chats")["chats"]}
        assert titles == {f"Chat {each}" for each in range(number + 1)}
    browser = Browser(team.servers[0].link)
    browser.authority = urlsplit(team.address).netloc
    for _ in range(8):
        assert "Chat 1" in browser.request("GET", "/chats/c1", browser.keyed)[2]
    _, headers, _ = browser.request("GET", "/new", browser.keyed)
    browser.cookie += "; " + headers["set-cookie"].split(";")[0]
    for _ in range(4):
        assert browser.request("GET", headers["location"], browser.keyed)[0] == 200

    endpoint.reply_with(held("One half, the other", gate, after=2))
    question = {"role": "user", "content": "Why?"}
    asked = {"model": "gpt-4o", "stream": True, "messages": [question]}
    with team.request("/v1/chat/completions", asked) as response:
        while b"half," not in response.readline():
            pass  # arrives while the rest is held back
        gate.set()
        assert b"other" in response.read()


def test_of_a_process_killed_in_mid_answer_the_part_is_there_and_the_next_goes_on(
    team, endpoint, gate
):
    endpoint.reply_with(held("One half, the other", gate, after=2))
    with team.connect() as asking, team.connect() as following:
        one, other = team.with_clients()
        asking.start("chat.send", chat_id="c1", message="Why?")
        for client in (asking, following):
            client.wait_for_words("half,")
        writer = (
            one
            if "smart_context_answers_under_way 1" in one.request("GET", "/metrics")[1]
            else other
        )
        with psycopg.connect(team.storage, autocommit=True) as database:
            while not database.execute(
                "SELECT FROM answer WHERE convert_from(journal, 'UTF8') LIKE '%half%'"
            ).rowcount:
                database.execute("SELECT pg_sleep(0.05)")
            writer.stop(signal.SIGKILL)
            asking.wait_for("closed")
            with team.connect() as back:  # through nginx, to another process
                opened = back.call("chat.open", chat_id="c1")
                assert opened["answering"]["text"].startswith("One half,")
                database.execute(WITHOUT_GRACE)
                database.execute("UPDATE answer SET held_until = clock_timestamp()")
                for client in (back, following):
                    client.wait_for("chat.failed", chat_id="c1")
                answer = back.call("memory.load_chat", chat_id="c1")["messages"][1]
                assert answer["content"] == "One half,"
                assert "interrupted" in answer["error"]
                gate.set()
                endpoint.reply_with("It goes on.")
                back.call("chat.send", chat_id="c1", message="And now?")
    for _ in range(4):
        texts = [m["content"] for m in team.ask("memory.load_chat", chat_id="c1")["messages"]]
        assert texts == ["Why?", "One half,", "And now?", "It goes on."]


def test_the_settings_for_docker_let_in_those_who_have_a_password_and_keys(tmp_path_factory):
    """Two servers, and nginx with the file of names that docs/team.md has."""
    folder, vault = tmp_path_factory.mktemp("nginx"), tmp_path_factory.mktemp("vault")
    port, people = free_port(), folder / "people"
    people.write_text("alice:{PLAIN}first\nbob:{PLAIN}second\n")
    people.chmod(0o644)
    access = settings_for_docker().replace("172.16.0.0/12", "127.0.0.1/32")
    (vault / ".vault.toml").write_text(access.replace("localhost:8080", f"127.0.0.1:{port}"))
    env = {"SMART_CONTEXT_STORAGE": new_database(tmp_path_factory)}
    with serving(vault, env=env) as one, serving(vault, env=env) as two:
        servers = [urlsplit(server.origin).netloc for server in (one, two)]
        with nginx_server(folder, port, servers, people=people) as address:
            alice, bob = (
                httpx2.Client(base_url=address, auth=each)
                for each in (("alice", "first"), ("bob", "second"))
            )

            def call(browser, name, /, **params):
                return browser.post(f"/api/commands/{name}", json=params)

            with alice, bob:
                for number in range(4):
                    call(alice, "memory.save_chat", chat_id=f"c{number}", data={"title": "Plans"})
                assert len(call(alice, "memory.list_chats").json()["result"]["chats"]) == 4
                assert call(bob, "memory.list_chats").json() == {"result": {"chats": []}}
                key = call(bob, "system.new_client_key", client="editor").json()["result"]["key"]
            for headers, status in (
                ({"Authorization": f"Bearer {key}"}, 200),
                ({"X-Forwarded-User": "alice"}, 401),
                ({"Authorization": httpx2.BasicAuth("alice", "first")._auth_header}, 401),
            ):
                assert httpx2.get(f"{address}/v1/models", headers=headers).status_code == status
            for auth, headers in (
                (None, {"X-Forwarded-User": "alice"}),
                (("alice", "second"), {}),
                (None, {"Authorization": f"Bearer {key}"}),
            ):
                found = httpx2.get(f"{address}/chats", auth=auth, headers=headers)
                assert found.status_code == 401


def settings_for_docker():
    page = Path("docs/team.md").read_text().partition("## With Docker")[2]
    return re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1]
