import io
import json
from itertools import islice

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from smart_context.importing import json_lists
from smart_context.importing.found import NotReadable
from smart_context.importing.json_lists import values_in

TEXTS = st.text(st.characters(exclude_categories=()), max_size=30)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


def read(content: bytes, piece: int = 1 << 20) -> list[object]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_lists, "_READ_AT_ONCE", piece)
        return [*values_in(io.BytesIO(content))]


# cut at the point, and at the e
@example(values=[0.5, 1e300], piece=1, is_ascii=True, indent=None)
@given(
    values=st.lists(VALUES, max_size=4),
    piece=st.integers(1, 40),
    is_ascii=st.booleans(),
    indent=st.sampled_from([None, 1]),
)
def test_a_list_is_read_as_python_reads_it_wherever_a_piece_ends(values, piece, is_ascii, indent):
    text = json.dumps(values, ensure_ascii=is_ascii, indent=indent)
    content = text.encode("utf-8", "surrogatepass")
    assert read(content, piece) == json.loads(content)
    assert read(b"\xef\xbb\xbf\r\n " + content + b" \n", piece) == json.loads(content)


@given(chats=st.lists(st.dictionaries(TEXTS, VALUES), max_size=3), data=st.data())
def test_what_comes_before_damage_is_read(chats, data):
    content = json.dumps(chats).encode()
    found, whole = [], content[: data.draw(st.integers(0, len(content) - 1))]
    with pytest.raises(NotReadable, match="damaged"):
        found.extend(one for one in values_in(io.BytesIO(whole)))
    assert found == chats[: len(found)]
    told = values_in(io.BytesIO(json.dumps([*chats, {}]).encode()[:-2] + b'"a" 1}]'))
    assert [*islice(told, len(chats))] == chats


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'["a"] ["b"]', "its list is over, but '[' follows"),
        (b'["a" "b"]', 'expected , or ], found "'),
        (b'["a",', "Expecting value"),
        (b'["\xff"]', "expected UTF-8"),
        (b"[" * 100_000, "nests more levels deep"),
        (b"[" + b"1" * 5_000 + b"]", "damaged: Exceeds the limit"),
    ],
)
def test_a_damaged_list_says_what_is_wrong(content, words):
    with pytest.raises(NotReadable, match=words.replace("[", r"\[")):
        read(content)


def test_numbers_and_halves_of_characters_that_only_python_takes_are_read():
    content = rb'[NaN, 1e999, 123456789012345678901234567890, "\ud800\u0041", "\udc00"]'
    assert [*map(repr, read(content))] == [
        *("nan", "inf", "123456789012345678901234567890", r"'\ud800A'", r"'\udc00'")
    ]
