import copy
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.messages import Message, copied, derived_id, messages_of

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
parts = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "info"])}, optional={"text": st.text(max_size=9)}
)


def text_part(said):
    return {"type": "text", "text": said}


documents = st.fixed_dictionaries(
    {
        "id": st.text(min_size=1, max_size=8),
        "role": st.sampled_from(["user", "assistant", "system", "tool"]),
        "content": st.text(max_size=20) | st.lists(parts, max_size=3),
    },
    optional={
        "created_at": st.text(min_size=1, max_size=10),
        "generating": st.just(True),
        "error": st.text(min_size=1, max_size=5),
        "error_code": st.integers(min_value=1) | st.text(min_size=1, max_size=5),
        "is_summary": st.just(True),
        "files": st.lists(
            st.fixed_dictionaries({"id": st.text(max_size=4)}), min_size=1, max_size=2
        ),
        "mood": json_values,
        "x-other": json_values,
    },
)


@given(documents)
def test_a_message_survives_reading_and_writing_with_every_key(document):
    assert Message.from_dict(document).to_dict() == document


@given(st.dictionaries(st.text(max_size=10), json_values, max_size=6), st.integers(0, 9))
def test_any_object_can_be_read_as_a_message_and_gives_a_stable_id(document, position):
    message = Message.from_dict(document, position=position)
    assert message.id
    assert message.role in {"user", "assistant", "system", "tool"}
    assert Message.from_dict(message.to_dict(), position=position) == message


def test_a_message_made_in_python_may_have_tuples():
    parts = ({"type": "text", "text": "a"}, {"type": "text", "text": "b"})
    files = ({"id": "f", "storage_key": "k"},)
    message = Message.from_dict({"id": "m", "role": "user", "content": parts, "files": files})
    assert message.text == "a\nb"
    assert message.files == files


def test_a_message_without_an_id_gets_one_from_its_place_and_content():
    document = {"role": "user", "content": "hello"}
    first = Message.from_dict(document, position=3)
    assert (
        first.id
        == Message.from_dict(dict(document), position=3).id
        == derived_id(3, "user", "hello")
    )
    assert first.id != Message.from_dict(document, position=4).id
    assert first.id != Message.from_dict({**document, "content": "bye"}, position=3).id


def test_a_derived_id_is_the_same_in_each_version_since_other_files_name_it():
    assert derived_id(3, "user", "hello \ud800") == "m83547bfa1460"
    assert Message.from_dict({"content": "x"}).id == derived_id(0, "user", "x")
    given, derived = messages_of({"messages": [{"id": "a"}, {"id": "", "content": "x"}]})
    assert (given.id, derived.id) == ("a", derived_id(1, "user", "x"))


@pytest.mark.parametrize(
    ("document", "reads_as"),
    [
        ({"role": "critic"}, {"role": "user"}),
        ({"role": ["user"]}, {"role": "user"}),
        ({"role": "tool"}, {"role": "tool"}),
        ({"id": 5}, {"id": derived_id(0, "user", "")}),
        ({"content": 5}, {"content": "5"}),
        ({"content": ["a", 5]}, {"content": [text_part("a"), text_part("5")]}),
        ({"content": {"type": "text"}}, {"content": "{'type': 'text'}"}),
        ({"links": [{"url": "u"}, 5]}, {"links": [{"url": "u"}]}),
        ({"created_at": 5, "error_code": "late"}, {"error_code": "late"}),
    ],
)
def test_odd_values_read_as_the_nearest_message(document, reads_as):
    read = Message.from_dict({"id": "a", **document}).to_dict()
    assert read == {"id": "a", "role": "user", "content": "", **reads_as}


def test_a_copy_is_of_plain_objects_and_lists():
    inner = MappingProxyType({"b": (1, MappingProxyType({"c": "d"}))})
    copy_of_it = copied(MappingProxyType({"a": inner, "e": 1}))
    assert copy_of_it == {"a": {"b": [1, {"c": "d"}]}, "e": 1}
    assert type(copy_of_it["a"]) is dict


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "reasoning", "text": "hm"}], ""),
        ([], ""),
        (None, ""),
    ],
)
def test_the_text_of_a_message_is_its_text_parts_joined_by_a_newline(content, text):
    assert Message.from_dict({"id": "a", "role": "user", "content": content}).text == text


@pytest.mark.parametrize(
    ("key", "odd"),
    [("generating", "yes"), ("error_code", True), ("error", 3), ("files", "x"), ("is_summary", 1)],
)
def test_a_field_of_another_type_reads_as_not_set(key, odd):
    plain = Message.from_dict({"id": "a", "role": "user", "content": ""})
    assert Message.from_dict({"id": "a", "role": "user", "content": "", key: odd}) == plain


def test_messages_are_immutable():
    message = Message.from_dict({"id": "a", "role": "user", "content": "x"})
    with pytest.raises(AttributeError):
        message.content = "y"
    assert message.with_content("y").content == "y"
    assert message.content == "x"


@pytest.mark.parametrize("document", [{}, {"messages": None}, {"messages": "x"}, {"messages": {}}])
def test_a_document_without_a_list_of_messages_has_none(document):
    assert messages_of(document) == ()


def test_entries_that_are_no_objects_are_passed_over():
    document = {"messages": [1, {"id": "a", "role": "user", "content": "x"}, None]}
    assert [message.id for message in messages_of(document)] == ["a"]


def scribble(value):
    """Change every list and object within a value."""
    if isinstance(value, dict):
        for inner in value.values():
            scribble(inner)
        value["scribbled"] = True
    elif isinstance(value, list):
        for inner in value:
            scribble(inner)
        value.append("scribbled")


nested = st.builds(
    lambda document, part, inner: {
        **document,
        "content": [{**part, "args": inner}],
        "links": [{"id": "l", "more": inner}],
    },
    documents,
    parts,
    json_values,
)


@given(documents | nested)
def test_a_message_does_not_change_with_what_it_was_made_from(document):
    message = Message.from_dict(document)
    before = copy.deepcopy(message.to_dict())
    scribble(document)
    assert message.to_dict() == before


@given(documents | nested)
def test_a_message_does_not_change_with_what_is_made_of_it(document):
    message = Message.from_dict(document)
    before = copy.deepcopy(message.to_dict())
    scribble(message.to_dict())
    assert message.to_dict() == before


def test_a_part_of_any_depth_is_read():
    deep = []
    for _ in range(5_000):
        deep = [deep]
    document = {"id": "m", "role": "user", "content": [{"type": "text", "text": "a", "x": deep}]}
    assert Message.from_dict(document).text == "a"


def test_of_very_many_files_and_links_of_a_message_the_first_thousand_count():
    many = [{"id": f"f{n}"} for n in range(1_500)]
    message = Message.from_dict({"id": "m", "role": "user", "files": many, "links": many})
    assert message.files == message.links == tuple(many[:1_000])
