"""Reads the data files that ship with the package, checked by digest."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from smart_context.base.errors import ModelFailed
from smart_context.base.installed import how_to_repair

FOLDER = Path(__file__).parent
WEIGHTS = "weights.safetensors"
VOCABULARY = "vocab.txt"

DIGESTS = {
    WEIGHTS: "d990194c29ae684de70073b96c38152cde28a5c97f4630be391d7860b5d90447",
    VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
"""SHA-256 of each data file. `tests/benchmarks/convert_minilm.py` writes nothing else."""


def read_checked(folder: Path, name: str, digests: Mapping[str, str] = DIGESTS) -> bytes:
    """The content of a data file, whose SHA-256 is among the digests by its name.

    Raises:
        ModelFailed: If the file is missing, or not the one that shipped with this version.
    """
    path = folder / name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _broken(path, f"it can't be read ({error.strerror or error})") from error
    found = hashlib.sha256(content).hexdigest()
    if found != digests[name]:
        raise _broken(path, f"it is damaged (SHA-256 expected {digests[name]}, found {found})")
    return content


def _broken(path: Path, what: str) -> ModelFailed:
    return ModelFailed(
        f"The built-in embedding model can't be loaded: {path}: {what}. Reinstall the"
        f" package ({how_to_repair()}), or set an embedding model in the"
        " [llm.categories] table of .vault.toml."
    )
