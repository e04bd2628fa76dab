"""Several connections at once: chosen by chats and clients, disconnected one by one."""

import json

import pytest

from tests.fake_openai import FakeOpenAI, failure
from tests.gateway.asking import ApiClient
from tests.gateway.saying import user
from tests.serving import serving

KEY = "sk-proj-Ab3dEf6hIj9kLmNoPqRsTuVwXyZ012345"


@pytest.fixture(scope="module")
def first():
    with FakeOpenAI(models=("gpt-4o", "shared")) as fake:
        yield fake


@pytest.fixture(scope="module")
def second():
    with FakeOpenAI(models=("llama3", "org/qwen", "shared")) as fake:
        yield fake


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("connections")
    (folder / "vault").mkdir()
    env = {"XDG_CONFIG_HOME": str(folder / "config")}
    with serving(folder / "vault", env=env, trusted=False) as running:
        running.config = folder / "config" / "smart-context"
        yield running


@pytest.fixture(autouse=True)
def clean(server):
    yield
    for file in (server.config / "config.toml", server.vault / ".vault.toml"):
        file.unlink(missing_ok=True)
    server.ask("system.change_settings", values={"plugins.smart_context.keep_pairs": True})


def connect(server, endpoint, model, **params):
    given = {"base_url": endpoint.base_url, "model": model, "api_key": KEY}
    return server.ask("system.connect", endpoint=given, **params)["connection"]


def connections(server):
    return {row["id"]: row for row in server.ask("system.models")["connections"]}


def ask(server, chat_id, message="Hello?"):
    server.ask("chat.send", chat_id=chat_id, message=message)


def last_model(endpoint):
    return endpoint.chat_requests[-1].body["model"] if endpoint.chat_requests else None


def test_two_connections_are_listed_with_models_state_and_last_answer(server, first, second):
    one = connect(server, first, "gpt-4o", name="Cloud")
    two = connect(server, second, "llama3", answers=False)
    listed = connections(server)
    assert [*listed] == [one, two]
    assert listed[one] == {
        "id": one,
        "name": "Cloud",
        "base_url": first.base_url,
        "models": ["gpt-4o", "shared"],
        "state": "answers",
        "last_answered": None,
        "is_default": True,
    }
    ask(server, "new")
    assert connections(server)[one]["last_answered"].startswith("20")
    assert connections(server)[two]["last_answered"] is None
    second.reply_with(failure(401, "no"), path="/models")
    assert connections(server)[two]["state"] == "refuses"
    assert KEY not in json.dumps(server.ask("system.models"))


def test_a_server_that_is_away_is_unreachable_and_keeps_its_model(server, first):
    connect(server, first, "gpt-4o")
    with FakeOpenAI(models=("gone",)) as away:
        two = connect(server, away, "gone", answers=False)
    row = connections(server)[two]
    assert (row["state"], row["models"]) == ("unreachable", ["gone"])


def test_a_chat_chooses_a_connection_and_a_name(server, first, second):
    connect(server, first, "gpt-4o")
    two = connect(server, second, "llama3", answers=False)
    for wanted, kept in (
        (f"{two}/org/qwen", f"{two}/org/qwen"),
        ("org/qwen", f"{two}/org/qwen"),  # the one connection that offers it
    ):
        set_to = server.ask("chat.set_model", chat_id="chosen", model=wanted)["model"]
        assert set_to == kept
        ask(server, "chosen")
        assert last_model(second) == "org/qwen"
    one = server.ask("chat.set_model", chat_id="chosen", model="shared")["model"]
    assert one == f"{next(iter(connections(server)))}/shared"  # the default connection's
    status, said = server.command("chat.set_model", chat_id="chosen", model="nobody/has")
    assert status != 200
    assert "No connected endpoint has this model" in str(said)


def test_what_answered_before_stays_a_connection_when_another_answers(server, first, second):
    values = {"llm.base_url": first.base_url, "llm.categories.chat": "gpt-4o"}
    server.ask("system.change_settings", values=values)
    (before,) = connections(server)
    two = connect(server, second, "llama3")
    assert [*connections(server)] == [two, before]
    ask(server, "default")
    assert last_model(second) == "llama3"
    server.ask("chat.set_model", chat_id="old", model=f"{before}/gpt-4o")
    ask(server, "old")
    assert last_model(first) == "gpt-4o"


def test_disconnecting_one_leaves_the_others_and_forgets_its_key(server, first, second):
    one = connect(server, first, "gpt-4o")
    two = connect(server, second, "llama3")
    server.ask("chat.set_model", chat_id="left", model=f"{two}/org/qwen")
    left = server.ask("system.disconnect", connection=two)
    assert left == {"disconnected": two, "default": "gpt-4o"}
    assert [*connections(server)] == [one]
    ask(server, "left")  # its model has gone, so the default answers
    assert last_model(first) == "gpt-4o"
    keys = json.loads((server.config / "provider-keys.json").read_text())["keys"]
    assert (first.base_url in keys, second.base_url in keys) == (True, False)
    assert server.ask("system.disconnect", connection=one)["default"] == ""
    assert first.base_url not in (server.config / "config.toml").read_text()
    assert server.command("system.disconnect", connection=one)[0] != 200


def test_a_connection_of_plain_settings_is_disconnected_too(server, first, second):
    (server.vault / ".vault.toml").write_text("# mine\n[vault]\nname = 'Notes'\n")
    fast = {"model": "llama3", "base_url": second.base_url}
    values = {"llm.base_url": first.base_url, "llm.categories.chat": "gpt-4o"}
    server.ask("system.change_settings", values={**values, "llm.categories.fast": fast})
    one, two = connections(server)
    server.ask("system.disconnect", connection=one)
    assert [*connections(server)] == [two]
    text = (server.config / "config.toml").read_text()
    assert first.base_url not in text
    assert second.base_url in text


def test_using_a_server_without_a_model_changes_nothing(server, first):
    given = {"base_url": first.base_url, "api_key": KEY}
    status, said = server.command("system.connect", endpoint=given)
    assert status != 200
    assert "Choose a model" in str(said)
    assert connections(server) == {}


def test_clients_reach_all_connections_by_the_same_names(server, first, second):
    one, two = connect(server, first, "gpt-4o"), connect(server, second, "llama3", answers=False)
    client = ApiClient(server)
    listed = [row["id"] for row in client.request("GET", "/v1/models").json["data"]]
    assert listed == ["gpt-4o", "shared", *(f"{two}/{m}" for m in ("llama3", "org/qwen", "shared"))]
    for model, endpoint, name in (
        (f"{two}/shared", second, "shared"),
        ("shared", first, "shared"),
        ("org/qwen", second, "org/qwen"),
        (f"{one}/gpt-4o", first, "gpt-4o"),
        ("unheard-of", first, "unheard-of"),
    ):
        assert client.chat(user("hi"), model=model).status == 200
        assert last_model(endpoint) == name
    assert client.request("GET", f"/v1/models/{two}/llama3").json["id"] == f"{two}/llama3"


def test_a_connection_that_a_vault_brings_is_asked_only_once_it_is_trusted(server, first, second):
    connect(server, first, "gpt-4o")
    (server.vault / ".vault.toml").write_text(
        f'[llm.connections.theirs]\nbase_url = "{second.base_url}"\nmodel = "llama3"\n'
    )
    server.ask("system.change_settings", values={"plugins.smart_context.keep_pairs": False})
    before = len(second.requests)
    assert "theirs" not in connections(server)
    assert server.command("chat.set_model", chat_id="t", model="theirs/llama3")[0] != 200
    connect(server, first, "gpt-4o", scope="vault")  # the user's act, for that server alone
    assert "theirs" not in connections(server)
    assert len(second.requests) == before

    review = server.ask("system.trust")
    theirs = next(p for p in review["parts"] if p.get("base_url") == second.base_url)
    assert theirs["used_for"] == ["chat"]
    server.ask("system.grant_trust", digest=review["digest"], parts=[theirs["id"]])
    assert "theirs" in connections(server)
    server.ask("chat.set_model", chat_id="t", model="theirs/llama3")
    ask(server, "t")
    assert last_model(second) == "llama3"
    server.ask("system.revoke_trust")
    count = len(second.chat_requests)
    ask(server, "t")
    assert len(second.chat_requests) == count
