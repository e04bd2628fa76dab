import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.disk.json_file import read_object, write_object
from smart_context.base.errors import StoreFailed
from smart_context.base.json_objects import encoded, parsed
from tests.chat.made_documents import full_disk, put

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=[])), _VALUES, max_size=4))
def test_an_object_reads_back_as_it_was(document):
    for indent in (None, 2):
        assert parsed(encoded(document, indent=indent)) == document


def test_a_compact_object_is_one_line_and_an_indented_one_ends_a_line():
    assert encoded({"a": [1, "é"]}) == '{"a":[1,"é"]}'.encode()
    assert encoded({"a": 1}, indent=2) == b'{\n  "a": 1\n}\n'


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"a": ', id="cut short"),
        pytest.param(b'{"a": "\xff"}', id="not UTF-8"),
        pytest.param(b"[1, 2]", id="a list"),
        pytest.param(b"[" * 100_000, id="absurdly nested"),
        pytest.param(b'{"a": ' + b"9" * 5_000 + b"}", id="a number of 5,000 digits"),
    ],
)
def test_a_damaged_file_reads_as_empty_and_stays_as_it_is(tmp_path, content):
    path = put(tmp_path / "a.json", content)
    assert read_object(path) == {}
    assert path.read_bytes() == content


def test_a_missing_a_large_and_a_linked_file_read_as_empty(tmp_path):
    path = put(tmp_path / "a.json", b'{"a": 1}')
    (tmp_path / "link.json").symlink_to(path)
    assert read_object(tmp_path / "none.json") == {}
    assert read_object(path, max_bytes=7) == {}
    assert read_object(tmp_path / "link.json") == {}
    assert read_object(path, max_bytes=8) == {"a": 1}


def test_a_disk_that_refuses_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.json"
    write_object(path, {"a": 1})
    with full_disk(100), pytest.raises(StoreFailed):
        write_object(path, {"a": "x" * 1_000})
    assert read_object(path) == {"a": 1}
