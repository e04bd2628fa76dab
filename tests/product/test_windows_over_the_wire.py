"""The window of a model: from its server, from what it refused, and what is done about it."""

import pytest

from tests.serving import serving
from tests.vaults import KEY, settings_text

MODEL = "a-local-model"
LLAMA_CPP = {"owned_by": "llamacpp", "meta": {"n_ctx": 8_192, "n_ctx_train": 32_768}}


@pytest.fixture
def running(vault, endpoint):
    """Starts a server on the vault, with a model that no table knows."""
    endpoint.models = (MODEL, "another")

    def run(*, llm=""):
        text = settings_text(endpoint.base_url).replace("[llm]\n", f"[llm]\n{llm}\n")
        (vault / ".vault.toml").write_text(text.replace("gpt-4o", MODEL), encoding="utf-8")
        return serving(vault, env=KEY)

    return run


def window(server):
    return server.ask("smart_context.preview", chat_id="c1", message="hi")["window"]


def test_a_server_tells_the_window_and_the_settings_know_better(running, endpoint):
    endpoint.said_of_models = LLAMA_CPP
    with running() as server:
        assert window(server) == 8_192
        assert server.ask("system.status")["chat_window"] == 8_192
        assert server.ask("system.test_model")["window"] == 8_192
        server.ask("chat.send", chat_id="c1", message="hi")
    endpoint.said_of_models = {"owned_by": "llamacpp"}
    with running() as server:  # what was told is kept
        assert window(server) == 8_192
    with running(llm="context_window = 4000") as server:
        assert window(server) == 4_000


def test_a_server_is_asked_once(running, endpoint):
    with running() as server:
        assert [window(server) for _ in range(3)] == [None] * 3
    assert [each.path for each in endpoint.requests].count("/models") == 1
