"""Finds keys and tokens in texts before they go into a prompt.

Only what has the form of a real credential counts: a vendor's prefix with the right number of
characters behind it, a private key, or a long random text that is assigned to a telling name.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator

# A pattern that begins with a literal skips to it; one that begins with a class, or with `\b`,
# tries every character and takes ten times as long. No repetition gives back what it took.
_VENDORS = tuple(
    (what, re.compile(pattern))
    for what, pattern in (
        (
            "a private key",
            r"-----BEGIN [A-Z ]*+(?:(?<=PRIVATE KEY)|(?<=PRIVATE KEY BLOCK))-----\s++\S",
        ),
        ("an AWS key", r"A(?:KI|SI)A(?<![0-9A-Za-z]....)[0-9A-Z]{16}\b"),
        ("a GitLab token", r"glpat-[\w-]{20}"),
        ("a Slack token", r"xox[abeoprs]-[\w-]{10}"),
        ("a Slack webhook", r"hooks\.slack\.com/services/T\w{6,}+/B\w{6,}+/\w{16}"),
        ("a Google key", r"AIza[\w-]{35}"),
        ("a PyPI token", r"pypi-AgE[\w-]{50}"),
    )
)
_MODEL_VENDORS_KEY = re.compile(r"sk-(?<!\w...)[\w-]{20,}+")
_DIGIT, _CAPITAL = re.compile(r"\d"), re.compile("[A-Z]")
_AFTER_UNDERSCORE = re.compile("_[0-9A-Za-z]{16}")
_UNDERSCORED = tuple(
    (what, re.compile(pattern))
    for what, pattern in (
        ("a GitHub token", r"\bgh[oprsu]_[0-9A-Za-z]{36}|\bgithub_pat_\w{40}"),
        ("a Stripe key", r"\b[rs]k_live_[0-9A-Za-z]{16}"),
        ("a Hugging Face token", r"\bhf_[0-9A-Za-z]{30}"),
        ("an npm token", r"\bnpm_[0-9A-Za-z]{36}"),
    )
)
_ASSIGNED = (
    re.compile(r"""=[ ]?["'`](?P<value>[\w+/=.~-]{24,}+)["'`]"""),
    re.compile(r""":[ ]?["'`](?P<value>[\w+/=.~-]{24,}+)["'`]"""),
)
_TELLING_NAME = re.compile(r"(?i)(?:api_?key|secret|token|passw(?:or)?d|private_?key|access_?key)")
_PLACEHOLDER = re.compile(r"(?i)example|dummy|fake|placeholder|changeme|your[_-]|x{4}|0{6}|1234567")
_LONGEST_NAME = 60
_MIN_BITS_PER_CHARACTER = 3.7

_BATCH_CHARACTERS = 1 << 18

_KEY_FILE = re.compile(r"(?im)(?:^|/)(?:id_(?:rsa|dsa|ecdsa|ed25519)|\.netrc|\.pgpass|\.htpasswd)$")
_ENV_FILE = re.compile(r"(?im)(?:^|/)\.env(?:\.(?!example|sample|template|dist)[\w.-]+)?$")
_ENV_VALUE = re.compile(r"(?m)^[^\S\n]*+(?:export\s++)?\w++\s*+=\s*+[^\s#]")


def find_secrets(files: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Which files hold a secret, and of what kind.

    Files are looked through many at a time, and one by one only where something was found.

    Args:
        files: Path and text of each.
    """
    found: dict[str, str] = {}
    for batch in _batches(files):
        names = "\n".join(path for path, _ in batch)
        if (
            _KEY_FILE.search(names)
            or _ENV_FILE.search(names)
            or secret_in("\n".join(text for _, text in batch))
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
    """What kind of secret a file holds, such as "an AWS key"; empty when it holds none."""
    if _KEY_FILE.search(path):
        return "a file of keys or passwords"
    if _ENV_FILE.search(path) and _ENV_VALUE.search(text):
        return "an environment file"
    return secret_in(text)


def secret_in(text: str) -> str:
    """What kind of secret a text holds; empty when it holds none."""
    if vendor := _vendors_key_in(text):
        return vendor
    for assigned in _ASSIGNED:
        if any(_is_named_secret(text, found) for found in assigned.finditer(text)):
            return "a key or password in an assignment"
    return ""


def _vendors_key_in(text: str) -> str:
    if what := _first_found(_VENDORS, text):
        return what
    if any(map(_is_model_vendors_key, _MODEL_VENDORS_KEY.findall(text))):
        return "a model vendor's key"
    return _first_found(_UNDERSCORED, text) if _AFTER_UNDERSCORE.search(text) else ""


def _first_found(kinds: Iterable[tuple[str, re.Pattern[str]]], text: str) -> str:
    return next((what for what, pattern in kinds if pattern.search(text)), "")


def _is_model_vendors_key(run: str) -> bool:
    return _DIGIT.search(run) is not None and _CAPITAL.search(run) is not None


def _is_named_secret(text: str, assignment: re.Match[str]) -> bool:
    end = assignment.start()
    start = max(0, end - _LONGEST_NAME)
    name = text[max(start, text.rfind("\n", start, end) + 1) : end]
    value = assignment["value"]
    return (
        _TELLING_NAME.search(name) is not None
        and _PLACEHOLDER.search(value) is None
        and any(character.isdigit() for character in value)
        and any(character.isalpha() for character in value)
        and _bits_per_character(value) >= _MIN_BITS_PER_CHARACTER
    )


def _bits_per_character(text: str) -> float:
    shares = [count / len(text) for count in Counter(text).values()]
    return -sum(share * math.log2(share) for share in shares)
