"""Our keys are taken out of what a model says, however it spells them."""

import base64
import html
import itertools
import json
import string
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from smart_context.llm.echoes import RepeatedKeys, RepeatedKeysStream

ID = st.text(string.ascii_letters + string.digits + "-_", min_size=20, max_size=48)
SIGNED = st.text(string.ascii_letters + string.digits + "+/=", min_size=16, max_size=64)
PRINTED = st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="\\"),
    min_size=12,
    max_size=40,
)
BEGINNINGS = st.sampled_from(["sk-", "sk-proj-", "sk-ant-api03-", "gsk_", "AIza", "hf_", ""])
KEYS = st.builds(str.__add__, BEGINNINGS, st.one_of(ID, SIGNED, PRINTED))
PLAIN = st.text(string.ascii_lowercase + " .,\n", max_size=40)


def as_is(key):
    return key


def in_json(key):
    return json.dumps(key)[1:-1]


def in_json_twice(key):
    return in_json(in_json(key))


def with_slashes_escaped(key):
    return in_json(key).replace("/", "\\/")


def in_escapes(key):
    return "".join(f"\\u{ord(letter):04X}" for letter in key)


def in_escapes_twice(key):
    return in_json(in_escapes(key))


def partly_in_escapes(key):
    return "".join(c if c.isalnum() else f"\\u{ord(c):04x}" for c in key)


def percent_encoded(key):
    return quote(key, safe="")


def percent_encoded_twice(key):
    return quote(quote(key, safe=""), safe="")


def in_html(key):
    return html.escape(key)


def in_entities(key):
    return "".join(f"&#x{ord(letter):X};" for letter in key)


def as_credentials(key):
    return base64.b64encode(f"Bearer {key}".encode()).decode()


def in_hex(key):
    return key.encode().hex()


SPELLINGS = [
    *(as_is, in_json, in_json_twice, with_slashes_escaped, in_escapes, in_escapes_twice),
    *(partly_in_escapes, percent_encoded, percent_encoded_twice, in_html, in_entities),
    *(as_credentials, in_hex),
]


@pytest.mark.parametrize("spell", SPELLINGS)
@given(key=KEYS, before=PLAIN, after=PLAIN)
def test_a_key_is_found_in_every_spelling(spell, key, before, after):
    echoes = RepeatedKeys([key])
    text = f"{before} {spell(key)} {after}"
    assert echoes.are_in(text)
    assert spell(key) not in echoes.text(text)
    assert "[key]" in echoes.text(text)
    assert not echoes.are_in(echoes.text(text))


@pytest.mark.parametrize("spell", SPELLINGS)
@given(key=KEYS, before=PLAIN, after=PLAIN, cuts=st.lists(st.integers(0, 400), max_size=8))
def test_it_does_not_matter_in_which_pieces_it_comes(spell, key, before, after, cuts):
    echoes = RepeatedKeys([key])
    text = f"{before}{spell(key)}{after}"
    places = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    stream = RepeatedKeysStream(echoes)
    pieces = [stream.feed(text[a:b]) for a, b in itertools.pairwise(places)]
    assert "".join([*pieces, stream.last()]) == echoes.text(text)


@given(key=KEYS, text=PLAIN)
def test_all_else_is_left_as_it_is_and_comes_at_once(key, text):
    assume(key not in text)
    echoes = RepeatedKeys([key])
    assert echoes.text(text) == text
    stream = RepeatedKeysStream(echoes)
    assert stream.feed(f"{text} ") + stream.last() == f"{text} "


def test_only_what_may_begin_a_key_waits_for_the_next_piece():
    stream = RepeatedKeysStream(RepeatedKeys(["sk-12345678"]))
    assert [stream.feed(piece) for piece in ("ask", "-1 ", "sk", "-12345678!", " s")] == [
        *("a", "sk-1 ", "", "[key]!", " "),
    ]
    assert stream.last() == "s"


def test_values_are_searched_whole():
    said = {"a-key-123": ["a-key-123", 1, None, ("a-key-123",)]}
    assert RepeatedKeys(["a-key-123"]).value(said) == {"[key]": ["[key]", 1, None, ("[key]",)]}


@pytest.mark.parametrize("key", ["ollama", "lm-studio", "x", "no-key", "", None])
def test_a_key_that_is_just_a_word_stays_one(key):
    assert RepeatedKeys([key]).text(f"Run {key} with lm-studio or ollama") == (
        f"Run {key} with lm-studio or ollama"
    )


def test_a_key_within_a_longer_one_leaves_nothing_of_it():
    assert RepeatedKeys(["sk-12345", "sk-12345678"]).text("sk-12345678 sk-12345") == "[key] [key]"


@pytest.mark.parametrize("piece", ["\\", "s", "sk-1234567", "%7", "&#", "&#x7", "%25"])
def test_a_key_that_never_ends_costs_no_more_than_its_length(piece):
    echoes = RepeatedKeys(["sk-12345678"])
    text = piece * 200_000
    assert echoes.text(text) == text
    assert not echoes.are_in(text)
    stream = RepeatedKeysStream(echoes)
    assert stream.feed(text) + stream.last() == text


def test_a_key_across_the_parts_that_are_searched_at_once_is_found():
    text = "." * ((256 << 10) - 4) + "sk-12345678"
    assert RepeatedKeys(["sk-12345678"]).are_in(text)
