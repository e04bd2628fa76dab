"""A key is found in what an endpoint says, however it is written."""

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.llm.redaction import redacted

KEY = "sk-proj-AbCd_Ef0123456789xyzXYZ"
KEYS = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", min_size=20)


def as_is(key):
    return key


def in_base64(key):
    return base64.b64encode(key.encode()).decode()


def as_credentials(key):
    return base64.b64encode(f"Bearer {key}".encode()).decode()


def for_urls(key):
    return base64.urlsafe_b64encode(f"?key={key}&".encode()).decode()


def as_bytes(key):
    return key.encode().hex(" ")


def as_escapes(key):
    return "".join(f"\\x{byte:02X}" for byte in key.encode())


def as_json_escapes(key):
    return "".join(f"\\u{ord(letter):04x}" for letter in key)


def as_entities(key):
    return "".join(f"&#{ord(letter)};" for letter in key)


def percent_encoded(key):
    return "".join(f"%{byte:02X}" for byte in key.encode())


def spaced(key):
    return "\u200b".join(key)


def in_lines(key):
    return "\n".join(key[start : start + 5] for start in range(0, len(key), 5))


ENCODINGS = [
    *(as_is, str.upper, str.swapcase, in_base64, as_credentials, for_urls, as_bytes, as_escapes),
    *(as_json_escapes, as_entities, percent_encoded, spaced, in_lines),
]


def letters(text):
    return "".join(letter for letter in text if letter.isascii() and letter.isalnum()).lower()


@pytest.mark.parametrize("encode", ENCODINGS)
@given(key=KEYS)
def test_no_run_of_an_encoded_key_is_left(encode, key):
    said = redacted(f"« {encode(key)} »", key)
    assert "[key]" in said
    encoded = letters(encode(key))
    left = letters(said.replace("[key]", "\u2026"))
    whole = len(letters(key)) >= 12
    assert not whole or len(left) <= len(encoded) // 3
    assert letters(key) not in left or not letters(key)


@given(key=KEYS, start=st.integers(0), length=st.integers(8, 40))
def test_no_eight_letters_of_a_key_are_left(key, start, length):
    start %= len(key) - 7
    part = key[start : start + length]
    said = redacted(f"Incorrect key: {part}…", key)
    if len(letters(part)) >= 8:
        assert part not in said


@given(text=st.text(), key=KEYS)
def test_what_is_not_the_key_is_left_as_it_is(text, key):
    runs = {letters(key)[at : at + 6] for at in range(len(letters(key)))}
    if not any(run in letters(text) for run in runs):
        assert redacted(text, key) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param(f"bad key {KEY}.", "bad key [key].", id="the whole"),
        pytest.param(f"{KEY[:15]} then {KEY[15:]}", "[key] then [key]", id="halves"),
        pytest.param("sk-proj-****xXYZ is wrong", "sk-proj-****xXYZ is wrong", id="as vendors do"),
        pytest.param(f"{quote(KEY + '+/=')}!", "[key]%2B/%3D!", id="in an address"),
        pytest.param("no such model", "no such model", id="nothing"),
        pytest.param("", "", id="no text"),
    ],
)
def test_only_the_key_goes(text, shown):
    assert redacted(text, KEY) == shown


@pytest.mark.parametrize(
    ("key", "text", "shown"),
    [
        pytest.param("ollama", "ollama: no llama3", "[key]: no llama3", id="a word"),
        pytest.param("secret-key-123", "secret- and key-123", "[key]- and [key]", id="short"),
        pytest.param("-----", "a ----- b", "a [key] b", id="without letters"),
        pytest.param("x", "expected 2 texts", "expected 2 texts", id="a letter"),
        pytest.param("clé", "la clé", "la [key]", id="of another alphabet"),
    ],
)
def test_short_and_odd_keys(key, text, shown):
    assert redacted(text, key) == shown
