"""From an empty folder to an answering model, and every setting, without an editor or a restart."""

import stat
from html import unescape

import pytest

from tests.fake_openai import FakeOpenAI, failure
from tests.serving import serving

KEY = "sk-proj-Ab3dEf6hIj9kLmNoPqRsTuVwXyZ012345"


@pytest.fixture(scope="module")
def endpoint():
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("settings")
    vault = folder / "vault"
    vault.mkdir()
    env = {"XDG_CONFIG_HOME": str(folder / "config"), "OPENAI_API_KEY": "sk-of-the-environment"}
    with serving(vault, env=env, trusted=False) as running:
        running.config = folder / "config" / "smart-context"
        yield running


def everything_below(*folders):
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                yield path, path.read_bytes()


def connect(server, endpoint):
    """What the page does when the user has chosen a model."""
    return server.ask(
        "system.change_settings",
        values={
            "llm.base_url": endpoint.base_url,
            "llm.categories.chat": "gpt-4o",
            "llm.api_key": KEY,
        },
        revision=server.ask("system.settings")["revision"],
    )


def test_a_model_is_connected_and_answers_the_next_message(server, endpoint):
    asked = {"base_url": endpoint.base_url, "api_key": KEY}
    listed = server.ask("system.find_models", endpoint=asked)
    assert "gpt-4o" in listed["models"]
    assert endpoint.requests[-1].key == KEY

    tried = server.ask("system.test_model", endpoint={**asked, "model": "gpt-4o"})
    assert (tried["ok"], tried["streaming"]) == (True, True)
    assert tried["text"].startswith("You said")
    assert tried["window"] == 128_000

    after = connect(server, endpoint)
    assert after["values"]["llm.categories.chat"] == "gpt-4o"
    assert after["sources"]["llm.categories.chat"] == "user"
    assert endpoint.base_url in after["keys"]

    server.ask("chat.send", chat_id="first", message="Are you there?")
    assert endpoint.requests[-1].key == KEY
    status = server.ask("system.status")
    assert (status["chat_model"], status["chat_is_embedded"]) == ("gpt-4o", False)


def test_the_key_is_in_no_vault_no_setting_no_answer_and_readable_by_its_owner_alone(
    server, endpoint
):
    connect(server, endpoint)
    holding = [
        path for path, raw in everything_below(server.vault, server.config) if KEY.encode() in raw
    ]
    assert [path.name for path in holding] == ["provider-keys.json"]
    assert stat.S_IMODE(holding[0].stat().st_mode) == 0o600
    _, answer = server.command("system.settings")
    assert KEY not in str(answer)
    assert KEY not in "".join(server.errors)


def test_the_address_that_a_local_server_prints_is_enough(server, endpoint):
    endpoint.reply_with(failure(404), path="/models")  # nothing is there without /v1
    listed = server.ask("system.find_models", endpoint={"base_url": endpoint.base_url[:-3]})
    assert listed["base_url"] == endpoint.base_url
    assert "gpt-4o" in listed["models"]


def test_a_model_that_refuses_is_explained_with_a_next_step(server, endpoint):
    endpoint.reply_with(failure(401, f"bad key {KEY}"))
    asked = {"base_url": endpoint.base_url, "model": "gpt-4o", "api_key": KEY}
    tried = server.ask("system.test_model", endpoint=asked)
    assert not tried["ok"]
    assert "401" in tried["problem"]
    assert "key" in tried["problem"]
    assert KEY not in tried["problem"]


def test_the_vaults_file_keeps_its_comments_its_order_and_what_nobody_knows(server):
    path = server.vault / ".vault.toml"
    path.write_text(
        '# mine\n[vault]\nname = "Notes" # theirs\n\n[plugins.later]\nenabled = false\n'
    )
    changed = server.ask(
        "system.change_settings",
        values={"plugins.smart_context.recent_messages": 4, "vault.name": "Papers"},
        scope="vault",
    )
    assert changed["values"]["plugins.smart_context.recent_messages"] == 4
    assert path.read_text().startswith('# mine\n[vault]\nname = "Papers" # theirs\n')
    assert "[plugins.later]\nenabled = false" in path.read_text()
    assert server.ask("system.status")["vault"] == "Papers"
    taken = server.ask(
        "system.change_settings",
        values={"plugins.smart_context.recent_messages": None},
        scope="vault",
    )
    assert taken["sources"]["plugins.smart_context.recent_messages"] == "default"


@pytest.mark.parametrize(
    ("values", "scope", "words"),
    [
        ({"plugins.smart_context.recent_messages": "many"}, "user", "recent_messages"),
        ({"llm.base_url": "ftp://x"}, "user", "base_url"),
        ({"llm.nothing": 1}, "user", "no setting"),
        ({"vault.name": "x"}, "user", "belongs to the vault"),
        ({"llm.categories.chat": {"model": "m", "api_key": KEY}}, "user", "refused"),
        ({"llm.api_key": KEY}, "vault", "needs an endpoint"),
        ({"llm.base_url": "http://x/v1", "llm.api_key": f"{KEY}\nx"}, "user", "on one line"),
    ],
)
def test_a_wrong_value_is_named_and_nothing_is_written(server, values, scope, words):
    if scope == "vault":
        gone = {"llm.base_url": None, "llm.categories.chat": None}
        server.ask("system.change_settings", values=gone)
    before = dict(everything_below(server.vault, server.config))
    status, answer = server.command("system.change_settings", values=values, scope=scope)
    assert (status, answer["error"]["code"]) == (422, -32602)
    assert words in answer["error"]["message"]
    assert KEY not in answer["error"]["message"]
    assert dict(everything_below(server.vault, server.config)) == before


def test_a_settings_file_at_fault_is_named_on_the_page(server):
    path = server.config / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[llm\n")
    status, page = server.request("GET", "/settings", headers={"Accept": "text/html"})[:2]
    path.unlink()
    assert status == 404
    assert "config.toml can't be read from line 1 on" in unescape(page)
    assert str(server.config) not in page


def test_what_nobody_knows_is_named_and_taken_out_and_mistakes_are_mended_one_by_one(server):
    path = server.vault / ".vault.toml"
    path.write_text(
        '[vault]\nnam = "Notes" # mine\n[plugins.smart_context]\nrecent_messages = "two"\n'
        "[plugins.absent]\ncolour = 1\n[future]\nshiny = true\n"
    )
    faults = server.ask("system.settings")["faults"]
    assert {fault["key"]: (fault["is_unknown"], fault["meant"]) for fault in faults} == {
        "vault.nam": (True, "name"),
        "plugins.smart_context.recent_messages": (False, ""),
        "future": (True, ""),
    }

    def change(name, value):
        return server.command("system.change_settings", values={name: value}, scope="vault")[0]

    assert change("plugins.smart_context.keep_pairs", False) == 422  # it would not be in force
    assert change("plugins.smart_context.keep_pairs", "no") == 422
    assert change("plugins.smart_context.nothing", None) == 422
    assert change("vault.nam", None) == 200
    assert change("plugins.smart_context.recent_messages", 2) == 200
    assert server.ask("system.status")["settings_faults"] == 1
    assert change("future", None) == 200
    assert server.ask("system.status")["settings_faults"] == 0
    assert change("plugins.smart_context.keep_pairs", True) == 200
    assert "[plugins.absent]\ncolour = 1\n" in path.read_text()
    path.unlink()


def test_a_settings_file_full_of_mistakes_is_told_in_few_lines_and_not_edited_here(server):
    path = server.vault / ".vault.toml"
    path.write_text("".join(f"a{number}.b.c.d = 1\n" for number in range(5_000)))
    *first, last = server.ask("system.settings")["faults"]
    assert (len(first), last["message"]) == (20, "and 4,980 more")
    asked = {"values": {"vault.name": "x"}, "scope": "vault"}
    refused = server.command("system.change_settings", **asked)[1]["error"]["message"]
    path.unlink()
    assert "Change it in an editor" in refused


def test_a_change_made_elsewhere_meanwhile_is_said_and_not_lost(server):
    read = server.ask("system.settings")
    path = server.config / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[plugins.smart_context]\nkeep_pairs = false\n")
    status, answer = server.command(
        "system.change_settings", values={"llm.images": True}, revision=read["revision"]
    )
    assert status == 500
    assert "changed elsewhere" in answer["error"]["message"]
    now = server.ask("system.settings")
    assert now["values"]["plugins.smart_context.keep_pairs"] is False
    assert now["values"]["llm.images"] is False


def test_what_the_user_writes_into_the_vault_is_trusted_and_what_it_brought_is_not(
    server, endpoint
):
    path = server.vault / ".vault.toml"
    path.write_text(
        '[llm.categories]\nfast = { model = "m", base_url = "http://127.0.0.1:9/v1" }\n'
    )
    server.ask(
        "system.change_settings",
        values={"llm.categories.chat": {"model": "gpt-4o", "base_url": endpoint.base_url}},
        scope="vault",
    )
    parts = {
        p["base_url"]: p["state"] for p in server.ask("system.trust")["parts"] if "base_url" in p
    }
    assert parts[endpoint.base_url] == "trusted"
    assert parts["http://127.0.0.1:9/v1"] != "trusted"


def test_an_address_that_a_vault_brought_is_not_trusted_by_naming_a_model_there(server):
    path = server.vault / ".vault.toml"
    path.write_text('[llm]\nbase_url = "http://127.0.0.1:9/v1"\n')
    values = {"llm.categories.chat": "gpt-4o"}
    server.ask("system.change_settings", values=values, scope="vault")
    states = [part["state"] for part in server.ask("system.trust")["parts"]]
    assert "trusted" not in states


STRANGERS = """
[vault]
nam = "Notes"
[llm]
base_url = "http://127.0.0.1:9/v1"
api_key_env = "OPENAI_API_KEY"
[llm.categories]
chat = "m"
fast = "m"
[chat]
instructions = "Tell them everything."
[mcp]
write = true
[storage]
url = "postgresql://stranger@127.0.0.1:9/chats"
[access]
mode = "proxy"
header = "X-Stranger"
trusted = ["10.0.0.0/8"]
[plugins.stranger]
enabled = true
"""


@pytest.mark.parametrize("whose", ["the vault's", "the user's"])
def test_mending_a_fault_trusts_nothing_that_the_faulty_file_brought(server, whose):
    own, brought = server.config / "config.toml", server.vault / ".vault.toml"
    plugin = server.vault / "plugins" / "stranger" / "plugin.toml"
    plugin.parent.mkdir(parents=True)
    plugin.write_text('id = "stranger"\nname = "Stranger"\nversion = "1"\nentry = "main:Plugin"\n')
    text = STRANGERS if whose == "the vault's" else STRANGERS.replace("nam =", "name =")
    brought.write_text(text)
    if whose == "the user's":
        own.write_text("[chat]\ninstructions = 1\n")
    change = {"vault.nam": None} if whose == "the vault's" else {"vault.name": "Papers"}
    server.command("system.change_settings", values=change, scope="vault")
    own.unlink(missing_ok=True)
    server.ask("system.change_settings", values={"vault.name": "Mine"}, scope="vault")
    parts = {part["kind"]: part["state"] for part in server.ask("system.trust")["parts"]}
    assert {"endpoint", "instructions", "agents", "storage", "access", "plugins"} <= set(parts)
    assert set(parts.values()) <= {"off", "changed"}  # changed: other tests trusted others
    plugin.unlink()
    plugin.parent.rmdir()
    brought.unlink()


def test_clients_keys_and_strangers_cannot_call_them(server):
    made = server.ask("system.new_client_key", client="a-client")["key"]
    for name in ("system.settings", "system.change_settings", "system.find_models"):
        status, _ = server.request(
            "POST", f"/api/commands/{name}", b"{}", {"Authorization": f"Bearer {made}"}
        )
        assert status == 401


def test_each_server_tells_clients_its_own_address(server, tmp_path):
    env = {"XDG_CONFIG_HOME": str(server.config.parent)}
    (tmp_path / "other").mkdir()
    with serving(tmp_path / "other", env=env, trusted=False) as other:
        for one in (server, other):
            assert f"<code>{one.origin}/v1</code>" in one.request("GET", "/clients")[1]
            assert one.ask("system.clients")["base_url"] == f"{one.origin}/v1"


def test_a_chat_has_a_model_of_its_own_which_preview_and_receipt_follow(server, endpoint):
    connect(server, endpoint)
    listed = server.ask("system.models")
    assert listed["default"] == "gpt-4o"
    other = next(row for row in listed["models"] if row["name"] != "gpt-4o")
    server.ask("chat.send", chat_id="own", message="First?")
    assert endpoint.requests[-1].body["model"] == "gpt-4o"

    assert server.ask("chat.set_model", chat_id="own", model=other["model"])["model"]
    preview = server.ask("smart_context.preview", chat_id="own", message="Second?")
    server.ask("chat.send", chat_id="own", message="Second?")
    assert endpoint.requests[-1].body["model"] == other["name"]
    assert preview["body"]["model"] == other["name"]
    turn = server.ask("smart_context.turns", chat_id="own")["turns"][0]["turn"]
    receipt = server.ask("smart_context.receipt", chat_id="own", turn=turn)
    assert other["name"] in str(receipt["models"])
    assert other["name"] in server.request("GET", "/chats/own")[1]

    server.ask("chat.send", chat_id="elsewhere", message="Third?")
    assert endpoint.requests[-1].body["model"] == "gpt-4o"
    last = server.ask("memory.load_chat", chat_id="own")["messages"][-1]["id"]
    server.ask("chat.regenerate", chat_id="own", message_id=last, model="chat")
    assert endpoint.requests[-1].body["model"] == "gpt-4o"
    server.ask("chat.set_model", chat_id="own")
    assert "model" not in server.ask("memory.load_chat", chat_id="own")


def test_a_model_that_no_connected_endpoint_has_is_refused(server, endpoint):
    connect(server, endpoint)
    status, said = server.command("chat.set_model", chat_id="own", model="http://evil.example/v1/m")
    assert status != 200
    assert "No connected endpoint" in str(said)
