"""A disk that fills up in mid-answer, and a server that is killed then."""

import signal
import threading
from contextlib import contextmanager

import pytest

from smart_context.storage.files.claims import RESERVED_BYTES
from tests.fake_openai import held
from tests.serving import serving
from tests.small_disk import fill, small_disk
from tests.vaults import KEY, read_chat


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault"
    folder.mkdir()
    with small_disk(folder):
        yield folder


@contextmanager
def filled_up_in_mid_answer(vault, endpoint, text):
    """A server that has been sent a whole answer, while its disk filled up."""
    gate = threading.Event()
    endpoint.reply_with(held(text, gate, after=2))
    with serving(vault, env=KEY) as server, server.connect() as client:
        client.start("chat.send", chat_id="c", message="at length")
        client.wait_for("chat.token")
        filler = fill(vault)
        gate.set()
        client.wait_for("chat.failed")
        yield server, client
    filler.unlink(missing_ok=True)


def kept_after_a_kill(vault):
    with serving(vault, env=KEY) as server:
        server.ask("chat.open", chat_id="c")
    return read_chat(vault, "c")["messages"][-1]["content"]


def test_a_kill_on_a_full_disk_keeps_what_there_was_room_for_beforehand(configured, endpoint):
    text = " ".join(["word"] * 5_000)
    with filled_up_in_mid_answer(configured(), endpoint, text) as (server, client):
        said = [params["problem"] for name, params in client.events if name == "chat.unsaved"]
        assert ["The answer could not be saved" in problem for problem in said] == [True]
        assert client.call("chat.open", chat_id="c")["unsaved"] == said[0]
        server.stop(signal.SIGKILL)
    assert kept_after_a_kill(server.vault) == text


def test_what_there_is_no_room_for_is_said_while_it_is_shown(configured, endpoint):
    text = "word word " + " ".join(["word" * 50] * 1_000)
    with filled_up_in_mid_answer(configured(), endpoint, text) as (server, client):
        told = client.wait_for("chat.unsaved")
        names = [name for name, _ in client.events]
        assert names.index("chat.unsaved") < names.index("chat.failed")
        assert "only in memory" in told["problem"]
        assert "The disk is full" in told["problem"]
        server.stop(signal.SIGKILL)
    kept = kept_after_a_kill(server.vault)
    assert text.startswith(kept)
    assert len(kept) > RESERVED_BYTES // 2


def test_once_there_is_room_it_is_saved_and_said(configured, endpoint):
    text = " ".join(["word"] * 5_000)
    with filled_up_in_mid_answer(configured(), endpoint, text) as (server, client):
        (server.vault / "filler").unlink()
        client.wait_for("chat.unsaved", problem="")
        assert read_chat(server.vault, "c")["messages"][-1]["content"] == text
        assert "unsaved" not in client.call("chat.open", chat_id="c")
