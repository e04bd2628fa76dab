"""What people are told about an endpoint."""

import errno
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.config import EndpointSettings
from smart_context.llm.failures import (
    EndpointFailure,
    Trouble,
    explained,
    is_address,
    shortened,
    shown_url,
    system_words,
    vendor_words,
)

ENDPOINT = EndpointSettings(base_url="http://x/v1", model="gpt-4o")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param({"error": {"message": "no"}}, "no", id="as OpenAI says it"),
        pytest.param({"error": "no"}, "no", id="as Ollama says it"),
        pytest.param({"detail": "no"}, "no", id="as FastAPI says it"),
        pytest.param({"message": "no"}, "no", id="bare"),
        pytest.param({"error": {}, "detail": "no"}, "no", id="in the second place"),
        pytest.param({"error": 5}, "", id="a number"),
        pytest.param(None, "", id="nothing"),
        pytest.param(
            {"error": {"message": "no", "n_prompt_tokens": 9, "n_ctx": 8}},
            "no (n_prompt_tokens: 9, n_ctx: 8)",
            id="with llama.cpp's numbers",
        ),
    ],
)
def test_the_vendors_words_are_found_where_vendors_put_them(body, words):
    assert vendor_words(body) == words


@given(st.text(), st.text(min_size=8))
def test_words_are_one_short_line_without_the_key(words, key):
    line = shortened(f"{words}{key}{words}", secret=key)
    assert len(line) <= 300
    assert line.isprintable()


def test_a_key_in_the_words_is_replaced():
    assert shortened("bad key sk-1234", secret="sk-1234") == "bad key [key]"


@pytest.mark.parametrize(
    ("endpoint", "hint"),
    [
        pytest.param(ENDPOINT, "name that variable as api_key_env", id="none is named"),
        pytest.param(
            EndpointSettings(base_url="http://x", model="m", api_key_env="MY_KEY"),
            "Set the environment variable MY_KEY to the key; it is not set.",
            id="it is not set",
        ),
        pytest.param(
            EndpointSettings(base_url="http://x", model="m", api_key_env="MY_KEY", api_key="k" * 9),
            "Check the key in the environment variable MY_KEY.",
            id="it is wrong",
        ),
        pytest.param(
            EndpointSettings(base_url="http://x", model="m", api_key="k" * 9),
            "enter it again under Settings",
            id="it was entered",
        ),
    ],
)
def test_a_wrong_key_names_its_variable(endpoint, hint):
    failed = explained(EndpointFailure(trouble="refused", status=401), endpoint, "chat model")
    assert hint in str(failed)
    assert failed.status == 401


@pytest.mark.parametrize(
    ("words", "status", "first"),
    [
        pytest.param(
            "prompt is too long: 11858 tokens > 8192 maximum",
            400,
            "Too long for this model: 11,858 of 8,192 tokens. Pick a topic, ",
            id="with both numbers",
        ),
        pytest.param(
            "maximum context length is 8192 tokens",
            500,
            "Too long for this model: it takes 8,192 tokens. Pick a topic, ",
            id="with its window",
        ),
        pytest.param("", 413, "Too long for this model. Pick a topic, ", id="without words"),
    ],
)
def test_of_a_request_that_is_too_long_people_read_first_by_how_much_and_what_to_do(
    words, status, first
):
    failure = EndpointFailure(trouble="refused", status=status, words=words)
    failed = explained(failure, ENDPOINT, "chat model")
    assert str(failed).startswith(first)
    assert "The chat model gpt-4o at http://x/v1 " in str(failed)
    assert failed.too_long == failure.too_long is not None


def test_an_embedding_model_asks_for_no_topic_to_be_picked():
    failure = EndpointFailure(trouble="refused", status=400, words="input is too long")
    said = str(explained(failure, ENDPOINT, "embedding model"))
    assert said.startswith("The embedding model gpt-4o at http://x/v1 refused the request")


def test_a_server_that_is_asked_for_its_models_is_not_called_a_model():
    listed = EndpointSettings(base_url="http://x/v1", model="")
    said = str(explained(EndpointFailure(trouble="unreachable"), listed, "chat model"))
    assert said.startswith("The server at http://x/v1 can't be reached.")


def test_a_message_has_one_full_stop_after_the_vendors_words():
    said = str(
        explained(
            EndpointFailure(trouble="refused", status=500, words="Oh."), ENDPOINT, "chat model"
        )
    )
    assert "had a problem (500): Oh. The server" in said


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        pytest.param("http://x:1/v1", "http://x:1/v1", id="as it is"),
        pytest.param("http://me:pw@x:1/v1", "http://x:1/v1", id="without the password"),
        pytest.param("http://[x", "its base_url", id="no address"),
    ],
)
def test_addresses_are_shown_without_secrets(url, shown):
    assert shown_url(url) == shown


@pytest.mark.parametrize(
    ("url", "sound"),
    [
        ("https://api.openai.com/v1", True),
        ("http://[::1]:8080/v1", True),
        ("ftp://x/v1", False),
        ("http:///v1", False),
        ("http://x:99999", False),
        ("http://x:0", False),
        ("http://x\n/v1", False),
        ("x", False),
    ],
)
def test_only_web_addresses_are_addresses(url, sound):
    assert is_address(url) == sound


def test_the_systems_words_are_found_below_other_exceptions():
    outer = RuntimeError("All connection attempts failed")
    outer.__cause__ = ExceptionGroup(
        "several", [OSError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 1)")]
    )
    assert system_words(outer) == "Connection refused"
    assert system_words(RuntimeError("odd")) == "odd"


@pytest.mark.parametrize("status", [402, 429])
def test_of_a_quota_that_is_used_up_the_providers_own_sentence_comes_first(status):
    words = "You exceeded your current quota. Check your plan."
    failure = EndpointFailure(trouble="refused", status=status, words=words)
    said = str(explained(failure, ENDPOINT, "chat model"))
    assert said.startswith(f"{words} The chat model gpt-4o at http://x/v1 refused the request")


@pytest.mark.parametrize("trouble", get_args(Trouble))
@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
def test_a_connection_made_on_the_page_is_mended_there_and_not_in_a_file(trouble, status):
    failure = EndpointFailure(trouble=trouble, status=status)
    made = EndpointSettings(base_url="http://x/v1", model="gpt", connection="x")
    assert ".toml" not in str(explained(failure, made, "chat model"))


def _of_windows(kind, words, winerror):
    error = kind(errno.EINVAL, words)  # Python's translation of numbers that it does not know
    error.winerror = winerror
    return error


def test_a_number_of_windows_is_not_taken_for_one_of_posix():
    refused = _of_windows(ConnectionRefusedError, "Der Remotecomputer hat abgelehnt", 1225)
    assert system_words(refused) == "Connection refused"
    away = _of_windows(OSError, "The network location cannot be reached", 1231)
    assert system_words(away) == "The network location cannot be reached"
