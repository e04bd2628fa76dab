"""What servers tell of a model's window, each in its own words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.llm.told import (
    ToldByServer,
    from_listing,
    from_lm_studio,
    from_ollama,
    from_props,
)

BASE = "http://127.0.0.1:9/v1"


def listing(**row):
    others = [{"id": "another", "max_model_len": 1_111}, {"id": "third"}]
    return {"object": "list", "data": [*others, {"id": "m", **row}]}


@pytest.mark.parametrize(
    ("row", "window", "program"),
    [
        pytest.param(
            {"owned_by": "llamacpp", "meta": {"n_ctx": 8_192, "n_ctx_train": 32_768}},
            *(8_192, "llama.cpp"),
            id="llama.cpp: what it runs with, not what it was trained for",
        ),
        pytest.param(
            {"owned_by": "llamacpp", "meta": {"n_ctx_train": 32_768}},
            *(32_768, "llama.cpp"),
            id="an older llama.cpp",
        ),
        pytest.param({"owned_by": "vllm", "max_model_len": 4_096}, 4_096, "vLLM", id="vLLM"),
        pytest.param(
            {"context_length": 131_072, "top_provider": {"context_length": 65_536}},
            *(65_536, ""),
            id="OpenRouter: the provider that it asks",
        ),
        pytest.param(
            {"context_length": 131_072, "top_provider": {"context_length": None}},
            *(131_072, ""),
            id="OpenRouter without one",
        ),
        pytest.param({"max_context_length": 32_768}, 32_768, "", id="Mistral"),
        pytest.param({"context_window": 131_072}, 131_072, "", id="Groq"),
        pytest.param({"owned_by": "library"}, None, "Ollama", id="Ollama says nothing here"),
        pytest.param({"owned_by": ["odd"], "context_length": True}, None, "", id="not a number"),
        pytest.param({"context_length": 0}, None, "", id="no window at all"),
    ],
)
def test_a_listing_tells_the_window_of_the_model_that_is_asked(row, window, program):
    told = from_listing(listing(**row), "m", BASE)
    assert (told.window, told.program) == (window, program)


def test_a_model_is_found_by_its_alias_and_where_it_is_the_only_one():
    assert from_listing(listing(id="file.gguf", aliases=["m"], n_ctx=4_096), "m", BASE).window
    assert from_listing([{"id": "file.gguf", "meta": {"n_ctx": 4_096}}], "m", BASE).window == 4_096
    assert from_listing(listing(id="else", n_ctx=4_096), "m", BASE) == ToldByServer()


def test_ollama_is_known_by_its_port_too():
    told = from_listing({"data": []}, "m", "http://127.0.0.1:11434/v1")
    assert told.program == "Ollama"
    assert told.may_cut_silently


def test_llama_cpp_tells_the_window_of_one_slot():
    assert from_props({"default_generation_settings": {"n_ctx": 2_048}}).window == 2_048


def test_lm_studio_tells_what_is_loaded_before_what_would_be_possible():
    loaded = listing(loaded_context_length=4_096, max_context_length=32_768)
    assert from_lm_studio(loaded, "m") == ToldByServer(window=4_096, is_in_use=True)
    assert from_lm_studio(listing(max_context_length=32_768), "m") == ToldByServer(window=32_768)


@pytest.mark.parametrize(
    ("running", "shown", "told"),
    [
        pytest.param(
            {"models": [{"name": "m:latest", "context_length": 4_096}]},
            {"model_info": {"qwen2.context_length": 32_768}},
            ToldByServer(window=4_096, is_in_use=True),
            id="what is loaded",
        ),
        pytest.param(
            {"models": [{"name": "another:7b", "context_length": 4_096}]},
            {"parameters": 'stop "x"\nnum_ctx                        16384\n'},
            ToldByServer(window=16_384, is_in_use=True),
            id="what its parameters set",
        ),
        pytest.param(
            {"models": []},
            {"model_info": {"qwen2.block_count": 28, "qwen2.context_length": 32_768}},
            ToldByServer(window=32_768),
            id="at most what it was made for",
        ),
        pytest.param(None, None, ToldByServer(), id="nothing"),
    ],
)
def test_ollama_tells_by_what_it_runs_a_model_with(running, shown, told):
    assert from_ollama(running, shown, "m") == told


KEYS = [
    *("data", "id", "aliases", "owned_by", "meta", "n_ctx", "context_length"),
    *("models", "name", "model_info", "a.context_length", "parameters"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
)


@given(JSON, JSON)
def test_whatever_a_server_says_is_read_without_an_error(one, other):
    for told in (
        from_listing(one, "m", "http://[bad"),
        from_props(one),
        from_lm_studio(one, "m"),
        from_ollama(one, other, "m"),
    ):
        assert told.window is None or told.window > 0
