"""`smart-context receipt` and `costs`: turns looked up, compared, replayed and summed up."""

import json

import pytest

from tests.cli.conftest import demo_vault
from tests.cli.test_verbs import tree
from tests.fake_openai import FakeOpenAI
from tests.serving import serving
from tests.vaults import KEY, settings_text

CHAT = "agent-debugging"


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    folder = demo_vault(tmp_path_factory.mktemp("receipts"))
    with serving(folder) as server:
        server.ask("chat.send", chat_id=CHAT, message="first question")
        server.ask("smart_context.set_filter", chat_id=CHAT, topics=["Python Async"])
        server.ask("chat.send", chat_id=CHAT, message="second question")
        server.ask("smart_context.refresh_topics", chat_id=CHAT, wait=True)
        server.ask("smart_context.get_topics", chat_id=CHAT)
    return folder


@pytest.fixture
def endpoint_vault(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    with FakeOpenAI() as endpoint:
        (folder / ".vault.toml").write_text(settings_text(endpoint.base_url))
        yield folder


def run_json(smart_context, vault, *arguments):
    code, out, err = smart_context(
        "receipt", CHAT, *arguments, "--vault", vault, "--format", "json"
    )
    assert code == 0, err
    return json.loads(out)


def test_turns_are_listed_newest_first(smart_context, vault):
    code, out, _ = smart_context("receipt", CHAT, "--list", cwd=vault)
    assert code == 0
    lines = out.splitlines()
    assert lines[0].split()[:2] == ["TURN", "WHEN"]
    assert ["second" in lines[1], "first" in lines[2]] == [True, True]


def test_the_newest_turn_is_shown_unless_another_is_named(smart_context, vault):
    code, out, _ = smart_context("receipt", CHAT, cwd=vault)
    assert code == 0
    assert "second question" in out
    assert "in: about Python Async, probability" in out
    older = run_json(smart_context, vault, "--list")[1]
    for name in (older["turn"], older["question"], older["answer"]):
        assert run_json(smart_context, vault, name)["text"] == "first question"


def test_two_turns_are_compared(smart_context, vault):
    older = run_json(smart_context, vault, "--list")[1]["turn"]
    code, out, _ = smart_context("receipt", CHAT, "--diff", older, cwd=vault)
    assert code == 0
    assert "topics: none → Python Async" in out
    assert "tokens" in out.splitlines()[-1]


def test_a_replay_sends_and_changes_nothing(smart_context, vault):
    before = tree(vault / ".memory")
    wanted = ("--replay", "topics=", "--replay", "threshold=0.9", "--replay", "keep_pairs=off")
    replayed = run_json(smart_context, vault, *wanted)
    assert replayed["outcome"] == "replayed"
    left_out = [row["reason"] for row in replayed["messages"] if not row["in"]]
    assert left_out == ["out: a notice of the program"], "the answer without a model"
    assert replayed["settings"]["threshold"] == 0.9
    code, out, _ = smart_context("receipt", CHAT, *wanted, "--show-prompt", cwd=vault)
    assert code == 0
    assert out.rstrip().endswith("[user]\nsecond question")
    assert tree(vault / ".memory") == before


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("nope",), 1, "no receipt"),
        (("--replay", "colour=red"), 2, "threshold"),
        (("--replay", "threshold=high"), 2, "number"),
        (("--replay", "keep_pairs=maybe"), 2, "switch"),
        (("--replay", "threshold=7"), 2, "from -1 to 1"),
        (("--replay", "threshold=0", "--diff", "x"), 2, "either --replay or --diff"),
    ],
)
def test_what_can_not_be_is_told_in_words(smart_context, vault, arguments, code, told):
    found, out, err = smart_context("receipt", CHAT, *arguments, cwd=vault)
    assert (found, out) == (code, "")
    assert told in err


def test_a_chat_without_turns_says_so(smart_context, vault):
    code, out, err = smart_context("receipt", "gartenjahr", cwd=vault)
    assert (code, out) == (1, "")
    assert "no receipts of this chat yet" in err
    assert "No receipts yet" in smart_context("receipt", "gartenjahr", "--list", cwd=vault)[1]


def test_turns_without_a_model_sent_nothing_and_cost_nothing(smart_context, vault):
    code, out, _ = smart_context("costs", vault, "--by", "model")
    assert (code, out.strip()) == (0, "No costs yet: each answer adds some.")
    assert [row["was_sent"] for row in run_json(smart_context, vault, "--list")] == [False, False]


def test_costs_are_summed_up_with_what_the_filter_saved_and_in_money_where_prices_are_set(
    smart_context, endpoint_vault, tmp_path
):
    with serving(endpoint_vault, env=KEY) as server:
        server.ask("chat.send", chat_id="c", message="A question")
    code, out, _ = smart_context("costs", endpoint_vault, "--by", "model")
    assert code == 0
    assert "unknown" in out
    assert "[llm.prices]" in out

    config = tmp_path / "config/smart-context/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[llm.prices]\ncurrency = "EUR"\n"*" = { input = 10, output = 0 }\n')
    code, out, _ = smart_context("costs", endpoint_vault, "--by", "chat", "--format", "json")
    assert code == 0
    found = json.loads(out)
    [row] = found["by_chat"]
    assert (row["chat"], row["turns"], row["saved"]) == ("c", 1, 0)
    assert row["sent"] > 0
    assert found["total"]["price"] == pytest.approx(row["sent"] / 100_000, abs=1e-6)
    assert "€" in smart_context("costs", endpoint_vault)[1]
