"""Moving pictures of the documentation."""

import runpy
import struct
import zlib

import pytest

from tests.docs.pages import ROOT

MADE_BY = runpy.run_path(str(ROOT / "docs" / "apng.py"))
Frame, apng = MADE_BY["Frame"], MADE_BY["apng"]
MOST_BYTES = 1_500_000


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(shade, size=2):
    head = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    rows = (b"\0" + bytes([shade] * size)) * size
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def kinds(picture):
    at, found = 8, []
    while at < len(picture):
        (length,) = struct.unpack(">I", picture[at : at + 4])
        body = picture[at + 4 : at + 8 + length]
        assert picture[at + 8 + length : at + 12 + length] == struct.pack(">I", zlib.crc32(body))
        found.append((body[:4].decode(), body[4:]))
        at += length + 12
    return found


def test_frames_follow_each_other_in_numbered_chunks():
    made = kinds(apng([Frame(png=png(0), shown_ms=100), Frame(png=png(255), shown_ms=2_000)]))
    assert [kind for kind, _ in made] == ["IHDR", "acTL", "fcTL", "IDAT", "fcTL", "fdAT", "IEND"]
    numbered = [body for kind, body in made if kind in {"fcTL", "fdAT"}]
    assert [struct.unpack(">I", body[:4])[0] for body in numbered] == [0, 1, 2]
    assert made[-2][1][4:] == kinds(png(255))[1][1]


def test_a_frame_covers_a_part_of_the_first_where_it_says():
    made = kinds(
        apng([Frame(png=png(0, size=5), shown_ms=1), Frame(png=png(9), shown_ms=1, at=(3, 2))])
    )
    controls = [struct.unpack(">4I", body[4:20]) for kind, body in made if kind == "fcTL"]
    assert controls == [(5, 5, 0, 0), (2, 2, 3, 2)]


@pytest.mark.parametrize("at", [(4, 0), (0, 4), (-1, 0)])
def test_a_frame_that_is_not_within_the_first_is_refused(at):
    with pytest.raises(ValueError, match="does not fit"):
        apng([Frame(png=png(0, size=5), shown_ms=1), Frame(png=png(0), shown_ms=1, at=at)])


def test_a_moving_picture_needs_a_frame():
    with pytest.raises(ValueError, match="first frame"):
        apng([])


@pytest.mark.parametrize("name", ["pick-fold-send.png", "real-model.png"])
def test_the_readmes_moving_pictures_are_small(name):
    picture = ROOT / "docs" / "images" / name
    assert picture.stat().st_size <= MOST_BYTES
    assert "acTL" in dict(kinds(picture.read_bytes()))
