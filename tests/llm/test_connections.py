"""Connections in use, and what a chat's choice of a model means."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.config import Connection, EndpointSettings, VaultConfig
from smart_context.base.config.endpoints import is_connection_id
from smart_context.llm.connections import (
    all_connections,
    connection_at,
    connections_of,
    endpoint_of_choice,
    free_id,
)

HERE = "http://127.0.0.1:11434/v1"
CLOUD = EndpointSettings(base_url="https://openrouter.ai/api/v1", model="openai/gpt-4o")
HOME = EndpointSettings(base_url=HERE, model="llama3", context_window=8_000)
VECTORS = EndpointSettings(base_url="http://127.0.0.1:9/v1", model="nomic")
OPENAI = Connection(
    id="openai",
    name="OpenAI",
    endpoint=EndpointSettings(base_url="https://api.openai.com/v1", model="gpt-4o"),
)


def config(**settings):
    root = Path("/vault")
    return VaultConfig(
        root=root, name="Vault", memory_dir=root / ".memory", plugins={}, path=None, **settings
    )


PLAIN = config(chat=CLOUD, fast=HOME, embedding=VECTORS)


def test_endpoints_of_plain_settings_are_connections_named_after_their_provider():
    named = [(one.id, one.name) for one in all_connections(PLAIN)]
    assert named == [
        ("openrouter", "OpenRouter"),
        ("ollama", "Ollama"),
        ("127-0-0-1-9", "127.0.0.1:9"),
    ]
    assert [one.id for one in connections_of(PLAIN)] == ["openrouter", "ollama"]


def test_that_of_the_default_model_comes_first_and_no_address_twice():
    both = config(chat=replace(HOME, model="qwen"), fast=HOME, connections={"openai": OPENAI})
    assert [one.id for one in connections_of(both)] == ["ollama", "openai"]


@pytest.mark.parametrize(
    ("choice", "base_url", "model"),
    [
        ("openrouter/meta/llama", CLOUD.base_url, "meta/llama"),
        ("ollama/qwen", HERE, "qwen"),
        ("openai/gpt-4o", CLOUD.base_url, "openai/gpt-4o"),  # a name, where no such connection is
        ("llama3", HERE, "llama3"),
        ("fast", HERE, "llama3"),
        ("chat/o3", CLOUD.base_url, "o3"),
        (f"{HERE}/qwen", HERE, "qwen"),
    ],
)
def test_a_choice_leads_to_a_connection_and_a_name(choice, base_url, model):
    found = endpoint_of_choice(PLAIN, choice)
    assert (found.base_url, found.model) == (base_url, model)


@pytest.mark.parametrize("choice", ["", "nobody/x", "127-0-0-1-9/nomic", "ollama/", "gpt-4o"])
def test_what_no_chat_can_choose_is_the_default(choice):
    assert endpoint_of_choice(PLAIN, choice) is None


def test_a_connection_goes_before_a_name_that_begins_like_it():
    both = config(chat=CLOUD, connections={"openai": OPENAI})
    assert endpoint_of_choice(both, "openai/gpt-4o") == OPENAI.endpoint


def test_a_window_that_was_set_is_that_of_its_own_model():
    assert endpoint_of_choice(PLAIN, "ollama/llama3").context_window == 8_000
    assert endpoint_of_choice(PLAIN, "ollama/qwen").context_window is None


@given(st.text(max_size=80), st.sets(st.sampled_from(["ollama", "server", "a", "ollama-2"])))
def test_an_id_is_always_found_and_free(name, taken):
    made = free_id(name, taken)
    assert is_connection_id(made)
    assert made not in taken


def test_the_connection_of_an_endpoint_is_found():
    assert connection_at(PLAIN, replace(HOME, model="x")).id == "ollama"
    assert connection_at(PLAIN, None) is None
