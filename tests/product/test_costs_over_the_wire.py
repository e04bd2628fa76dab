"""What a click costs: over the wire, with receipts."""

import json
import time

import pytest

from smart_context.llm.tokens import count_tokens
from tests.fake_openai import Reply
from tests.serving import serving
from tests.vaults import KEY, about, settings_text, write_chat

PRICES = """
[llm.prices]
"gpt-4*" = { input = 2, cached = 0.2, output = 8 }
"*" = { input = 99, output = 99 }
"""
CHAT = "mixed"
WORDS = {"cats": "cats purr sleep kittens", "boats": "boats sail wind harbour"}
TOPICS = [{"id": name, "label": words, "count": 20} for name, words in WORDS.items()]


def texts(count=20, words=60):
    """Exchanges about cats and about boats in turn; each message has a number of its own."""
    names = [name for _ in range(count // 2) for name in ("cats", "cats", "boats", "boats")]
    return [f"{n}: " + " ".join([WORDS[name]] * (words // 4)) for n, name in enumerate(names)]


@pytest.fixture
def running(vault, endpoint):
    """Starts a server on the vault, with more lines for its settings."""

    def run(*, llm="", **settings):
        text = settings_text(endpoint.base_url, **settings).replace("[llm]\n", f"[llm]\n{llm}\n")
        (vault / ".vault.toml").write_text(f"{text}\n{PRICES}", encoding="utf-8")
        write_chat(vault, CHAT, about(*texts()), topics=TOPICS)
        return serving(vault, env=KEY)

    return run


def pick(client, *names):
    return client.call(
        "smart_context.set_filter", chat_id=CHAT, topics=[WORDS[name] for name in names]
    )


def now_price(cost):
    return (cost["unchanged"] * 0.2 + (cost["sent"] - cost["unchanged"]) * 2) / 1e6


def test_a_click_tells_its_cost_and_the_next_receipt_agrees(running, endpoint):
    with running() as server, server.connect() as client:
        first = pick(client)["cost"]
        assert first["unchanged"] == first["reread"] == first["saved"] == 0
        assert first["price"]["now"] == first["price"]["everything"]
        assert first["price"]["now"] == pytest.approx(now_price(first))

        client.call("chat.send", chat_id=CHAT, message="and now?")
        everything = pick(client)["cost"]
        picked = pick(client, "boats")["cost"]
        assert everything["unchanged"] > 0.8 * everything["sent"]
        assert picked["sent"] + picked["saved"] == everything["sent"]
        tools = client.call("smart_context.receipt", chat_id=CHAT)["parts"]["tools"]
        assert tools <= picked["unchanged"] < tools + 20 < picked["reread"] <= picked["sent"]
        assert picked["price"] == {
            "now": pytest.approx(now_price(picked)),
            "everything": pytest.approx(now_price(everything)),
            "currency": "USD",
        }
        told = client.wait_for("smart_context.filter_changed", active_topics=[WORDS["boats"]])
        assert told["cost"] == picked
        card = client.call("smart_context.describe_topic", chat_id=CHAT, label=WORDS["boats"])
        assert card["cost"] == picked

        question = "how deep is a harbour?"
        shown = client.call("smart_context.preview", chat_id=CHAT, message=question)
        assert shown["cost"]["sent"] == shown["tokens"]
        assert shown["cost"]["saved"] == shown["unfiltered"] - shown["tokens"]
        client.call("chat.send", chat_id=CHAT, message=question)
        receipt = client.call("smart_context.receipt", chat_id=CHAT)
        assert receipt["cost"] == shown["cost"]
        assert receipt["cost"]["unchanged"] == receipt["unchanged"]
        listed = client.call("smart_context.receipts", chat_id=CHAT)["receipts"]
        assert listed[0]["cost"] == receipt["cost"]


def test_other_tools_leave_nothing_unchanged(running):
    with running() as server, server.connect() as client:
        client.call("smart_context.set_file_tools", chat_id=CHAT, on=True)
        client.call("chat.send", chat_id=CHAT, message="and now?")
        assert pick(client)["cost"]["unchanged"]
        shown = client.call("smart_context.set_file_tools", chat_id=CHAT, on=False)
        assert shown["cost"]["unchanged"] == 0


@pytest.mark.parametrize("owner", ["openai", "llamacpp"])
def test_a_new_note_leaves_unchanged_what_the_model_reads_before_it(running, endpoint, owner):
    endpoint.said_of_models = {"owned_by": owner}
    with running() as server, server.connect() as client:
        (server.vault / "Cats.md").write_text("They purr.\n", encoding="utf-8")
        client.call("smart_context.save_context", key="Cats", items=["Cats.md"])
        client.call("chat.send", chat_id=CHAT, message="and now?")
        tools = client.call("smart_context.receipt", chat_id=CHAT)["parts"]["tools"]
        before = pick(client)["cost"]
        client.call("smart_context.attach_context", chat_id=CHAT, key="Cats")
        shown = client.call("smart_context.preview", chat_id=CHAT, message="how deep?")
        client.call("chat.send", chat_id=CHAT, message="how deep?")
        receipt = client.call("smart_context.receipt", chat_id=CHAT)
    reads_tools_first = owner == "openai"
    assert 0 < tools < before["unchanged"]
    assert (shown["cost"]["unchanged"] >= tools) == reads_tools_first
    assert (shown["cost"]["reread"] >= before["unchanged"]) == (not reads_tools_first)
    assert {**receipt["cost"], "price": 0} == {**shown["cost"], "price": 0}


def test_after_a_restart_a_click_costs_the_same(running):
    with running() as server, server.connect() as client:
        client.call("chat.send", chat_id=CHAT, message="and now?")
        before = pick(client, "cats")["cost"]
    with serving(server.vault, env=KEY) as again, again.connect() as client:
        assert pick(client, "cats")["cost"] == before


@pytest.mark.parametrize("setting", ["cache_ttl_s = 0", "cache_ttl_s = 1"])
def test_nothing_is_unchanged_once_the_provider_has_forgotten_it(running, setting):
    with running(llm=setting) as server, server.connect() as client:
        client.call("chat.send", chat_id=CHAT, message="and now?")
        deadline = time.monotonic() + 20
        while (cost := pick(client)["cost"])["unchanged"] and time.monotonic() < deadline:
            continue
        assert cost["unchanged"] == cost["reread"] == 0


def test_an_edited_message_ends_what_is_unchanged(running):
    with running() as server, server.connect() as client:
        client.call("chat.send", chat_id=CHAT, message="and now?")
        whole = pick(client)["cost"]["unchanged"]
        client.call("chat.edit", chat_id=CHAT, message_id="m4", text="something else altogether")
        first = sum(count_tokens(text, "gpt-4o") for text in texts()[:4])
        assert first <= pick(client)["cost"]["unchanged"] < whole


def test_a_turn_with_tools_costs_all_its_requests(running, endpoint):
    def called(n):
        arguments = '{"paths": ["Cats.md"]}'
        return Reply(
            tool_calls=((f"c{n}", "read_files", arguments),), usage=(1_000 * n, 10), cached=100
        )

    with running() as server, server.connect() as client:
        (server.vault / "Cats.md").write_text("# Cats\n", encoding="utf-8")
        endpoint.reply_with(
            called(1), called(2), Reply(text="They purr.", usage=(3_000, 30), cached=2_000)
        )
        client.call("chat.send", chat_id=CHAT, message="read my note")
        spent = client.call("smart_context.receipt", chat_id=CHAT)["spent"]
        total = client.call("smart_context.costs", by="chat")["total"]
    price = (2_200 * 0.2 + (6_000 - 2_200) * 2 + 50 * 8) / 1e6
    assert spent == {
        "requests": 3,
        "sent": 6_000,
        "unchanged": 2_200,
        "answered": 50,
        "is_counted": True,
        "price": pytest.approx(price),
    }
    assert (total["sent"], total["answered"]) == (6_000, 50)
    assert total["price"] == pytest.approx(price, abs=1e-6)


def test_a_setting_of_earlier_versions_is_ignored_with_a_warning(running, endpoint):
    with running(apply='"when it pays"') as server, server.connect() as client:
        client.call("chat.send", chat_id=CHAT, message="and now?")
        picked = pick(client, "boats")
        assert picked["cost"]["saved"] > 0, "the selection is applied at once"
        settings = client.call("system.settings")
    assert "plugins.smart_context.apply" not in json.dumps(settings)
    assert "plugins.smart_context.apply is ignored" in "".join(server.errors)
