"""Answers that only quote passages are marked, and are no subject of the chat."""

import json

import pytest

from tests.gateway.asking import ApiClient
from tests.gateway.saying import assistant, user
from tests.serving import serving
from tests.vaults import read_chat

QUESTION = (
    "When do cats sleep in winter, and why do cats sleep so long? Ours sleeps near the stove from "
    "noon until the evening, eats once, and is asleep again before the news are over. Last summer "
    "she hunted all day and hardly slept at all, so we wonder whether cats sleep for the cold."
)


@pytest.fixture
def offline(vault):
    (vault / "Cats.md").write_text("# Cats\n\nCats sleep long in winter, near the stove.\n")
    with serving(vault) as server:
        yield server


def test_offline_answers_are_marked_and_shape_neither_topics_nor_titles_nor_summaries(offline):
    for _ in range(2):
        offline.ask("chat.send", chat_id="c", message=QUESTION, stream=False)
    check_that_answers_are_marked_and_left_out(offline, answers=2)


@pytest.mark.parametrize("is_stream", [False, True])
def test_offline_answers_to_clients_are_marked_alike(offline, is_stream):
    client, named = ApiClient(offline), {"X-Smart-Context-Chat": "c"}
    with offline.connect() as wire:
        client.chat(user(QUESTION), headers=named, stream=is_stream)
        wire.wait_for("chat.finished", chat_id="c")
    said = read_chat(offline.vault, "c")["messages"][-1]["content"]
    with offline.connect() as wire:
        asked = [user(QUESTION), assistant(said), user(QUESTION)]
        client.respond(asked, headers=named, stream=is_stream)
        wire.wait_for("chat.finished", chat_id="c")
    check_that_answers_are_marked_and_left_out(offline, answers=2)


def check_that_answers_are_marked_and_left_out(offline, *, answers):
    stored = read_chat(offline.vault, "c")["messages"][1::2]
    assert [answer["extracted"] for answer in stored] == [True] * answers

    offline.ask("smart_context.refresh_topics", chat_id="c", wait=True)
    title = offline.ask("memory.list_chats")["chats"][0]["title"]
    summary_id = offline.ask("chat.compact", chat_id="c")["message_id"]
    stored = read_chat(offline.vault, "c")
    summary = next(m for m in stored["messages"] if m["id"] == summary_id)["content"]
    shown = json.dumps([stored["topics"], title, summary])
    assert "cats" in shown.lower()
    for words in ("chat model", "configured", "smart-context init", "vault.toml"):
        assert words not in shown.lower()
