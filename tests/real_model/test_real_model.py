"""A real model on this machine: what it is asked, and what becomes of that.

`pytest -m real_model -n0` fetches and serves one (`program.py`); with `REAL_MODEL_URL`, the server
of llama.cpp there is asked, which should serve nobody else meanwhile.
"""

import json
import os
import time
import urllib.request

import pytest

from smart_context.cli.evaluation.measures import adjusted_rand
from tests.benchmarks.bench_cache import command
from tests.real_model.program import MODEL, WINDOW, install
from tests.real_model.program import served as serving_model
from tests.serving import serving
from tests.vaults import about, write_chat

pytestmark = pytest.mark.real_model

SUBJECTS = {
    "bread": "How long does a sourdough loaf rise before the oven is hot enough for its crust",
    "solar": "Which inverter suits solar panels on a roof that faces east and feeds the grid",
    "piano": "How often should I practise scales on the piano to play a sonata with both hands",
}
TURNS = 6
SHORT = "Say yes in one word."


def chat_of_subjects():
    texts = []
    for subject, question in SUBJECTS.items():
        for n in range(TURNS):
            texts += [f"{question}, part {n}?", f"About {subject}: {question.lower()}, as in {n}."]
    return about(*texts)


@pytest.fixture(scope="module")
def model_url():
    if url := os.environ.get("REAL_MODEL_URL"):
        yield url
        return
    install()
    with serving_model() as url:
        yield url


@pytest.fixture
def vault(model_url, tmp_path):
    folder = tmp_path / "vault"
    folder.mkdir()
    settings = f'[llm]\nbase_url = "{model_url}"\nmax_retries = 0\n'
    categories = f'[llm.categories]\nchat = "{MODEL}"\nfast = "{MODEL}"\n'
    (folder / ".vault.toml").write_text(settings + categories, encoding="utf-8")
    return folder


@pytest.fixture
def server(vault):
    env = {"XDG_CONFIG_HOME": str(vault.parent / "config")}
    with serving(vault, env=env) as running:
        yield running


def topics_of(server, verb="get_topics", **params):
    found = command(server, f"smart_context.{verb}", chat_id="c", **params)["topics"]
    return [topic for topic in found if not topic.get("sticky")]


def agreement(server):
    """The adjusted Rand index of a chat's topics against its subjects."""
    placed = command(server, "smart_context.topic_map", chat_id="c")
    owner = {at: n for n, topic in enumerate(placed["topics"]) for at in topic["places"]}
    places = range(len(placed["message_ids"]))
    return adjusted_rand([owner.get(at, -1) for at in places], [at // (2 * TURNS) for at in places])


def send(server, message, chat_id="c"):
    """The seconds of a turn."""
    began = time.monotonic()
    command(server, "chat.send", chat_id=chat_id, message=message)
    return time.monotonic() - began


def test_groups_are_there_at_once_and_the_model_makes_none_of_them_worse(vault, server):
    write_chat(vault, "c", chat_of_subjects())
    with server.connect() as client:
        client.call("chat.open", chat_id="c")
        client.wait_for("smart_context.extraction", state="done")
    assert topics_of(server)
    without = agreement(server)
    named = topics_of(server, "refresh_topics", wait=True)
    assert agreement(server) >= without - 0.02
    labels = [topic["label"] for topic in named]
    assert len(set(labels)) == len(labels)
    assert all(0 < len(label) <= 40 for label in labels)
    assert command(server, "memory.load_chat", chat_id="c")["title"]


def test_a_chat_that_is_too_long_for_the_model_is_answered(vault, server):
    long = about(*[f"{n} " + "All the bread of the town is baked here. " * 90 for n in range(14)])
    write_chat(vault, "c", long)
    send(server, SHORT)
    answer = command(server, "memory.load_chat", chat_id="c")["messages"][-1]
    assert answer["content"]
    assert "error" not in answer
    receipt = command(server, "smart_context.receipt", chat_id="c")
    assert receipt["usage"]["prompt"] <= WINDOW


def test_a_question_right_after_an_answer_is_not_held_up_by_the_search_for_topics(vault, server):
    write_chat(vault, "c", chat_of_subjects())
    send(server, SHORT)
    topics_of(server, "refresh_topics", wait=True)
    send(server, SHORT)
    alone = send(server, SHORT)  # nothing is new that would have to be named
    write_chat(vault, "d", chat_of_subjects())
    command(server, "smart_context.refresh_topics", chat_id="d")
    assert send(server, SHORT) <= 1.5 * alone + 1


def test_the_tokens_that_are_shown_are_those_of_the_models_tokenizer(vault, server, model_url):
    write_chat(vault, "c", chat_of_subjects())
    send(server, SHORT)
    shown = command(server, "smart_context.preview", chat_id="c", message=SHORT)
    counted = sum(tokenized(model_url, message["content"]) for message in shown["prompt"])
    assert 0.95 <= shown["tokens"] / counted <= 1.25


def tokenized(model_url, text):
    """The number of tokens that the model's own tokenizer makes of a text."""
    asked = urllib.request.Request(
        f"{model_url.removesuffix('/v1')}/tokenize",
        data=json.dumps({"content": text}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked) as answer:
        return len(json.load(answer)["tokens"])


def test_it_is_told_how_far_the_model_has_read(vault, server):
    write_chat(vault, "c", chat_of_subjects())
    with server.connect() as client:
        send(server, SHORT)
        send(server, "And now with a reason.")
        told = client.wait_for("chat.reading", such_that=lambda news: news["percent"] is not None)
    assert told["tokens"] > 0
