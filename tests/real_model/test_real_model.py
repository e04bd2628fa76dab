"""A real model on this machine: what it is asked, and what becomes of that.

`pytest -m real_model -n0` fetches and serves one (`program.py`); with `REAL_MODEL_URL`, the server
of llama.cpp there is asked, which should serve nobody else meanwhile.
"""

import faulthandler
import os

import pytest

from tests.benchmarks.bench_cache import command
from tests.benchmarks.bench_real_model import AIMS, SHORT, demo_messages, product
from tests.real_model.program import install, served

pytestmark = pytest.mark.real_model


@pytest.fixture(autouse=True)
def unhurried():
    """Lets a slow machine take longer than the suite lets a test that hangs."""
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="module")
def model_url():
    if url := os.environ.get("REAL_MODEL_URL"):
        yield url
        return
    install()
    with served() as url:
        yield url


@pytest.mark.parametrize("measure", AIMS)
def test_what_a_small_model_has_to_bear_is_met(measure, model_url):
    for aim in measure(model_url):
        assert aim.is_met, aim


def test_labels_differ_and_are_short_once_the_model_has_named_them(model_url):
    with product(model_url, has_fast=True, c=demo_messages()) as server:
        named = command(server, "smart_context.refresh_topics", chat_id="c", wait=True)["topics"]
        title = command(server, "memory.load_chat", chat_id="c")["title"]
    labels = [topic["label"] for topic in named]
    assert labels
    assert len(set(labels)) == len(labels)
    assert all(0 < len(label) <= 40 for label in labels)
    assert title


def test_it_is_told_how_far_the_model_has_read(model_url):
    with product(model_url, c=demo_messages()) as server, server.connect() as client:
        for message in (SHORT, "And now with a reason."):
            command(server, "chat.send", chat_id="c", message=message)
        told = client.wait_for("chat.reading", such_that=lambda news: news["percent"] is not None)
    assert told["tokens"] > 0
