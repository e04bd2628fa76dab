import gzip
import itertools
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.gateway.answers.events import LARGEST_EVENT, EventReader
from smart_context.gateway.answers.unpacked import MAX_UNPACKED, decoder


def read(*chunks):
    reader = EventReader()
    return [*(data for chunk in chunks for data in reader.feed(chunk)), *reader.close()]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b": comment\n\ndata:a\n\n", [b"a"]),
        (b"event: x\nid: 1\ndata: a\ndata: b\n\n", [b"a\nb"]),
        (b"data: no end", [b"no end"]),
        (b"", []),
        (b"\xef\xbb\xbfdata: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"\xef\xbb\xbfdata: a\r\n\r\n", [b"a"]),
        (b"\xef\xbb\xbf\n\xef\xbb\xbfdata: a\n\ndata: b\n\n", [b"b"]),
    ],
)
def test_events_are_read(stream, events):
    assert read(stream) == events


LINES = st.sampled_from([b"data: a", b"data: b", b": c", b"event: e", b""])
ENDS = st.sampled_from([b"\n", b"\r\n"])


MARKS = st.sampled_from([b"", b"\xef\xbb\xbf"])


@given(MARKS, st.lists(LINES, max_size=12), ENDS, st.lists(st.integers(0, 80), max_size=6))
def test_it_does_not_matter_where_a_stream_is_cut(mark, lines, end, cuts):
    stream = mark + b"".join(line + end for line in lines)
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks = [stream[a:b] for a, b in itertools.pairwise(places)]
    assert read(*chunks) == read(stream)


def test_an_event_of_a_mebibyte_in_small_pieces_is_read():
    stream = b"data: " + b"x" * (1 << 20) + b"\n\n"
    chunks = [stream[at : at + 999] for at in range(0, len(stream), 999)]
    assert [len(data) for data in read(*chunks)] == [1 << 20]


def test_an_endless_line_is_not_kept():
    reader = EventReader()
    for _ in range((LARGEST_EVENT >> 20) + 3):
        assert list(reader.feed(b"x" * (1 << 20))) == []
    assert [*reader.feed(b"\n\ndata: a\n\n")] == [b"a"]


def test_compressed_streams_are_read_on_the_side():
    unzip = decoder("gzip")
    packed = gzip.compress(b"data: a\n\n")
    assert b"".join([*unzip(packed[:5]), *unzip(packed[5:])]) == b"data: a\n\n"
    assert decoder("br") is None
    assert [*decoder("identity")(b"x")] == [b"x"]


@pytest.mark.parametrize("name", ["gzip", "deflate"])
def test_a_bomb_is_unpacked_in_small_pieces_and_not_to_its_end(name):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if name == "gzip" else 15)
    piece = bytes(1 << 20)
    packed = b"".join(packer.compress(piece) for _ in range((MAX_UNPACKED >> 20) + 8))
    unpack = decoder(name)
    sizes = [len(part) for part in unpack(packed + packer.flush())]
    assert max(sizes) <= 64 << 10
    assert sum(sizes) == MAX_UNPACKED
    assert [*unpack(b"more")] == []


def test_what_is_damaged_gives_nothing_more():
    unpack = decoder("gzip")
    assert [*unpack(b"no gzip"), *unpack(gzip.compress(b"x"))] == []
