"""Finds keys and tokens in texts before they go into a prompt.

Only text in the form of a real credential counts: a vendor's prefix followed by the right number
of characters, a private key, or a random text assigned to a telling name.
"""

import re
from collections.abc import Iterable, Iterator

from smart_context.packing.files.secret_assigned import assigned_in
from smart_context.packing.files.secret_kinds import key_in

_BATCH_CHARACTERS = 1 << 17

# Each begins with the one character that has no case, which is fast to find.
_KEY_FILES = (
    re.compile(r"(?im)_(?<=id_)(?<![^/\n]...)(?:rsa|dsa|ecdsa|ed25519)$"),
    re.compile(r"(?im)\.(?<![^/\n].)(?:netrc|pgpass|htpasswd|git-credentials|vault-token)$"),
)
_ENV_FILE = re.compile(r"(?im)\.(?<![^/\n].)env(?:\.(?!example|sample|template|dist)[\w.-]+)?$")
_ENV_VALUE = re.compile(r"(?m)^[^\S\n]*+(?:export\s++)?\w++\s*+=\s*+[^\s#]")


def find_secrets(files: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The kind of secret in each file that holds one, by path.

    Joined texts are searched first, and single files only where something was found.

    Args:
        files: Path and text of each.
    """
    found: dict[str, str] = {}
    for batch in _batches(files):
        names = "\n".join(path for path, _ in batch)
        if any(pattern.search(names) for pattern in (*_KEY_FILES, _ENV_FILE)) or secret_in(
            "\n".join(text for _, text in batch)
        ):
            found.update((path, what) for path, text in batch if (what := find_secret(path, text)))
    return found


def _batches(files: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    batch: list[tuple[str, str]] = []
    length = 0
    for file in files:
        batch.append(file)
        length += len(file[1])
        if length > _BATCH_CHARACTERS:
            yield batch
            batch, length = [], 0
    if batch:
        yield batch


def find_secret(path: str, text: str) -> str:
    """The kind of secret in a file, such as "an AWS key"; empty if none."""
    if any(pattern.search(path) for pattern in _KEY_FILES):
        return "a file of keys or passwords"
    if _ENV_FILE.search(path) and _ENV_VALUE.search(text):
        return "an environment file"
    return secret_in(text)


def secret_in(text: str) -> str:
    """The kind of secret in a text; empty if none."""
    return key_in(text) or assigned_in(text)
