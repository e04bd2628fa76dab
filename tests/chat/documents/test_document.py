import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.json_limits import MOST_KEYS, MOST_OBJECTS
from smart_context.chat.documents.document import (
    MOST_MESSAGES,
    NotAChat,
    NotJson,
    Version,
    followed_by,
    part_since,
    read_version,
    settle,
    since_message,
    since_unfinished,
)
from smart_context.chat.messages import messages_of
from tests.chat.made_documents import json_documents, message, said, version


@given(json_documents)
def test_what_is_written_reads_as_what_was_meant(document):
    settled = settle(document, Version())
    assert json.loads(settled.encode()) == document
    assert read_version(settled.encode()).copy() == document
    assert list(settled.copy()) == list(document)


@given(json_documents, json_documents)
def test_knowing_an_earlier_version_changes_no_result(before, after):
    known = settle(before, Version())
    assert settle(after, known).copy() == after
    assert read_version(json.dumps(after).encode(), known).copy() == after


def test_each_message_stands_on_a_line_of_its_own():
    content = version({"title": "T", **said("one", "two\nlines"), "topics": []}).encode()
    assert content.decode().splitlines() == [
        '{"title":"T",',
        '"messages":[',
        '{"id":"one","role":"user","content":"one"},',
        '{"id":"two\\nlines","role":"user","content":"two\\nlines"}',
        "],",
        '"topics":[]}',
    ]


def test_text_is_written_as_itself_and_half_of_a_surrogate_pair_escaped():
    assert "你好".encode() in version(said("你好")).encode()
    assert b"\\ud800" in settle(said("\ud800"), Version()).encode()


def test_changing_a_copy_does_not_change_the_version():
    original = {
        "messages": [message("a", content=[{"type": "text", "text": "a"}]), message("b")],
        "topics": [{"label": "x"}],
    }
    kept = version(original)
    copy = kept.copy()
    copy["messages"][0]["content"][0]["text"] = "changed"
    copy["messages"][1]["content"] = "changed"
    copy["messages"].append(message("c"))
    copy["topics"][0]["label"] = "changed"
    assert kept.copy() == original


def test_changing_a_document_after_it_was_settled_does_not_change_the_version():
    document = {"messages": [message("a", files=[{"id": "f"}])], "topics": [{"label": "x"}]}
    settled = settle(document, Version())
    document["messages"][0]["files"][0]["id"] = "changed"
    document["topics"][0]["label"] = "changed"
    assert settled.copy()["messages"][0]["files"] == [{"id": "f"}]
    assert settled.copy()["topics"] == [{"label": "x"}]


def test_messages_do_not_share_what_can_be_changed():
    kept = version({"messages": [message("a", content=[{"type": "text", "text": "a"}])]})
    kept.messages[0].content[0]["text"] = "changed"
    assert kept.copy()["messages"][0]["content"] == [{"type": "text", "text": "a"}]


def test_equal_messages_are_shared_between_versions():
    before = version(said("a", "b", "c"))
    before.messages  # noqa: B018 - works the messages out
    after = settle(said("a", "b", "changed", "d"), before)
    assert after.entries[0] is before.entries[0]
    assert after.messages[1] is before.messages[1]


def test_a_message_without_id_gets_the_id_of_its_present_place():
    bare = {"role": "user", "content": "x"}
    before = version({"messages": [bare, {"role": "user", "content": "y"}]})
    later = before.messages[1]
    after = settle({"messages": [{"role": "user", "content": "y"}]}, before)
    assert after.messages[0].id != later.id
    assert after.messages == version({"messages": [{"role": "user", "content": "y"}]}).messages


def test_entries_that_are_no_messages_are_kept():
    odd = {"messages": ["text", 7, None, message("a"), message("a")]}
    assert version(odd).copy() == odd
    assert [one.id for one in version(odd).messages] == ["a", "a"]
    assert len(version(odd).by_key) == 5


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "nothing in it", id="empty"),
        pytest.param(b" \n", "nothing in it", id="blank"),
        pytest.param(b"\0" * 512, "not JSON", id="zeros after a power cut"),
        pytest.param(b'{"messages": [{"id": "a"', "not JSON", id="cut short"),
        pytest.param(b"{} {}", "not JSON", id="two documents"),
        pytest.param(b"hello", "not JSON", id="text"),
        pytest.param(b'{"messages": ["\xff"]}', "not UTF-8 at byte 15", id="not UTF-8"),
        pytest.param('{"messages": []}'.encode("utf-16"), "not UTF-8", id="UTF-16"),
        pytest.param(b"[]", "found a list", id="a list"),
        pytest.param(b"null", "found null", id="null"),
        pytest.param(b'"x"', "found a text", id="a text"),
        pytest.param(b'{"messages": {}}', "found an object", id="messages is an object"),
        pytest.param(b'{"messages": null}', "found null", id="messages is null"),
        pytest.param(b"[" * 100_000, "nested deeper", id="absurdly nested"),
        pytest.param(
            b'{"messages": [{"a": ' + b"[" * 300 + b"]" * 300 + b"}]}",
            "nested deeper",
            id="a message nested 300 deep",
        ),
        pytest.param(
            b'{"messages": [], "a": ' + b"[" * 300 + b"]" * 300 + b"}",
            "nested deeper",
            id="another key nested 300 deep",
        ),
        pytest.param(b'{"messages": [' + b"9" * 5000 + b"]}", "not JSON", id="a giant number"),
        pytest.param(
            b'{"messages": [' + b"0," * MOST_MESSAGES + b"0]}",
            "at most 100,000 messages, found 100,001",
            id="too many messages",
        ),
        pytest.param(
            b'{"a": [' + b"[]," * MOST_OBJECTS + b"0]}",
            "at most 160,000 lists and objects, found 160,002",
            id="too much in little",
        ),
        pytest.param(
            b"{" + b",".join(b'"k%d":0' % n for n in range(10_001)) + b"}",
            "at most 10,000 keys, found 10,001",
            id="too many keys",
        ),
        pytest.param(
            b'{"a": {' + b",".join(b'"k%d":0' % n for n in range(MOST_KEYS + 60)) + b"}}",
            "at most 160,040 keys, found 160,061",
            id="too many keys in one object",
        ),
    ],
)
def test_damage_is_told_in_words(content, reason):
    with pytest.raises(NotAChat, match=reason):
        read_version(content)


def test_brackets_in_texts_are_no_lists():
    text = "[" * MOST_OBJECTS + '\\"' + "{" * MOST_OBJECTS
    assert read_version(json.dumps({"messages": [text]}).encode()).entries[0].value == text


def test_colons_in_texts_are_no_keys():
    text = ':"' * (MOST_KEYS + 100)
    assert read_version(json.dumps({"messages": [text]}).encode()).entries[0].value == text


def test_a_list_of_many_objects_may_have_their_keys():
    messages = [{"id": f"m{n}", "role": "user", "content": "x"} for n in range(MOST_KEYS // 2)]
    assert len(read_version(json.dumps({"messages": messages}).encode()).entries) == len(messages)


def test_what_could_not_be_read_again_is_not_written():
    with pytest.raises(NotJson, match="at most 100,000 messages, found 100,001"):
        settle({"messages": [0] * (MOST_MESSAGES + 1)}, Version())


@pytest.mark.parametrize(
    ("content", "document"),
    [
        pytest.param(b"{}", {"messages": []}, id="no messages"),
        pytest.param(b'\xef\xbb\xbf{"messages": []}', {"messages": []}, id="a byte order mark"),
        pytest.param(
            b'{"messages": [], "a": NaN, "b": -Infinity, "c": 1e999, "d": 1.5}',
            {"messages": [], "a": None, "b": None, "c": None, "d": 1.5},
            id="numbers that JSON does not know",
        ),
        pytest.param(
            b'{"messages": [{"a": ' + b"[" * 50 + b"]" * 50 + b"}]}", None, id="nested 50 deep"
        ),
    ],
)
def test_what_is_only_odd_is_read(content, document):
    read = read_version(content)
    assert document is None or read.copy() == document
    assert read_version(read.encode()).copy() == read.copy()


def _circle():
    inner = []
    inner.append(inner)
    return inner


@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"messages": {}}, id="messages is an object"),
        pytest.param({"messages": None}, id="messages is null"),
        pytest.param({"messages": [{"id": "a", "x": float("nan")}]}, id="not a number"),
        pytest.param({"messages": [], "x": float("inf")}, id="infinite"),
        pytest.param({"messages": [{"x": {1, 2}}]}, id="a set"),
        pytest.param({"messages": [], "x": b""}, id="bytes"),
        pytest.param({"messages": [{"x": _circle()}]}, id="a circle"),
        pytest.param({"messages": [json.loads("[" * 300 + "]" * 300)]}, id="nested 300 deep"),
    ],
)
def test_what_can_not_be_written_is_refused(document):
    with pytest.raises(NotJson):
        settle(document, Version())


def test_a_document_without_messages_says_nothing_about_them():
    known = version(said("a", "b"))
    assert settle({"topics": []}, known).copy() == {"topics": [], **said("a", "b")}


ENTRIES = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {"id": st.text("abc", min_size=1, max_size=2), "role": st.just("user")},
            optional={"content": st.text(max_size=3), "generating": st.booleans()},
        ),
        st.fixed_dictionaries({"content": st.text(max_size=2)}),
        st.integers(),
    ),
    max_size=6,
)


def version_of(*entries):
    return version({"messages": list(entries)})


@given(ENTRIES, ENTRIES, st.integers(0, 6))
def test_a_document_with_another_end_is_the_one_that_is_read_back(before, end, first):
    stored = version_of(*before)
    first = min(first, len(before))
    rest = settle({"title": "t", "messages": end}, part_since(stored, first))
    joined = followed_by(stored, first, rest)
    read = read_version(joined.encode())
    assert read.says_the_same(joined)
    assert joined.copy() == {"title": "t", "messages": [*before[:first], *end]}
    assert joined.messages == read.messages == messages_of(joined.copy())


@pytest.mark.parametrize(
    ("entries", "place"),
    [
        ([], 0),
        ([{"id": "a"}, {"id": "b"}], 2),
        ([{"id": "a"}, {"id": "b", "generating": True}, {"id": "c"}], 1),
        ([{"id": "a"}, "odd", {"id": "b", "generating": True}], 1),
    ],
)
def test_an_unfinished_answer_is_in_the_part(entries, place):
    assert since_unfinished(version_of(*entries)) == place


@pytest.mark.parametrize(
    ("wanted", "place"), [("c", 2), ("b", 1), ("a", 0), ("x", 0)], ids=["last", "before", "0", "no"]
)
def test_a_message_is_looked_for_from_the_end(wanted, place):
    stored = version_of({"id": "a"}, {"id": "b"}, {"id": "c"})
    assert since_message(wanted)(stored) == place
    assert since_message(wanted, and_before=1)(stored) == max(place - 1, 0)
