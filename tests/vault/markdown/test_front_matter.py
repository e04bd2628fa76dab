"""The properties at the top of a note: plain lines are read as YAML reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.vault.markdown.front_matter import (
    front_matter_end,
    links_in_properties,
    names_in,
    properties_of,
    read_yaml,
    whole_characters,
)


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("---\na: b\n---\nBody", "Body"),
        ("---\r\na: b\r\n---\r\nBody", "Body"),
        ("---\na: b\n...\nBody", "Body"),
        ("---\na: b\n--- \t\nBody", "Body"),
        ("---\n---\nBody", "Body"),
        ("---\na: b\n---", ""),
        ("---\na: b\n----\nBody", None),
        ("---\na: b", None),
        ("--- \na: b\n---\n", None),
        (" ---\na: b\n---\n", None),
        ("\n---\na: b\n---\n", None),
        ("", None),
    ],
)
def test_a_body_begins_after_the_closing_line(text, body):
    end = front_matter_end(text)
    assert (text[end:] if end else None) == body


@pytest.mark.parametrize(
    ("source", "properties"),
    [
        ("title: Bread", {"title": "Bread"}),
        ("title:   Bread and butter  ", {"title": "Bread and butter"}),
        ("tags:\n- a\n- b c", {"tags": ["a", "b c"]}),
        ("tags:\n  - a\n  - 'b, c'\nkind: note", {"tags": ["a", "b, c"], "kind": "note"}),
        ("tags: [a, 'b, c', \"d\"]", {"tags": ["a", "b, c", "d"]}),
        ("tags: [a, b,]", {"tags": ["a", "b"]}),
        ("tags: []", {"tags": []}),
        ("# why\n\nmy key: 'x: y'", {"my key": "x: y"}),
        ('größe: ""', {"größe": ""}),
        ("a: {b: c}", {"a": {"b": "c"}}),
        ("a: b\n  c", {"a": "b c"}),
        ("a: b # c", {"a": "b"}),
        ("a: [b, c", {}),
        ("a: 'it''s'", {"a": "it's"}),
        ("- a", {}),
    ],
)
def test_properties_are_read(source, properties):
    assert properties_of(f"---\n{source}\n---\nBody") == properties


def test_a_note_without_properties_or_with_endless_ones_has_none():
    assert properties_of("Body") == {}
    assert properties_of(f"---\na: b\nc: {'x' * 70_000}\n---\n") == {}


_WORDS = (
    st.text("abc -", min_size=1, max_size=8).map(str.strip).filter(lambda word: word[:1].isalpha())
)
_LINES = st.one_of(
    st.builds("{}: {}".format, st.sampled_from(["a", "my key"]), _WORDS),
    st.builds("b:\n- {}\n- {}".format, _WORDS, _WORDS),
    st.builds("c:\n  - {}\n  - '{}'".format, _WORDS, _WORDS),
    st.builds('d: [{}, "{}"]'.format, _WORDS, _WORDS),
)


@given(st.lists(_LINES, min_size=1, max_size=3, unique_by=lambda line: line[0]))
def test_plain_lines_mean_what_they_mean_in_yaml(lines):
    source = "\n".join(lines)
    assert properties_of(f"---\n{source}\n---\n") == read_yaml(source)


@pytest.mark.parametrize(
    ("properties", "names"),
    [
        ({"tags": "a, b,,a"}, ("a", "b")),
        ({"tags": ["a", 5, 2.5, None, True, " b "]}, ("a", "5", "True", "b")),
        ({"tag": ["a"], "tags": "b"}, ("b", "a")),
        ({"tags": 5}, ()),
        ({"tags": [10**30]}, ()),
        ({"tags": ["\ud800"]}, ("?",)),
        ({}, ()),
    ],
)
def test_names_are_found_under_any_of_the_keys(properties, names):
    assert names_in(properties, "tags", "tag") == names


def test_half_a_character_is_a_question_mark():
    assert whole_characters("é\ud800") == "é?"
    assert whole_characters("plain") == "plain"


def test_values_and_entries_that_are_one_link_are_links():
    text = (
        '---\nup: "[[A]]"\nall:\n  - \'[[B|b]]\'\n- "[[C]]"\n'
        'flow: ["[[D]]", "[[E]]"]\nno: "see [[F]]"\nbare: [[G]]\n---\n"[[H]]"'
    )
    end = front_matter_end(text)
    found = links_in_properties(text, end)
    assert [name for _, _, name in found] == ["A", "B|b", "C", "D", "E"]
    assert all(text[start:stop] == f"[[{name}]]" for start, stop, name in found)
