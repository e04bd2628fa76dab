"""Finds keys and tokens in texts before they go into a prompt.

Only text in the form of a real credential counts: a vendor's prefix followed by the right number
of characters, a private key, or a long random text assigned to a telling name.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator

# A pattern that begins with a literal skips to it; one that begins with a class or `\b` tries
# every character and takes ten times as long. All repetitions are possessive.
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
# Each search takes the same time, however rare its literal. So these four, which begin with a
# rare character that several prefixes share, tell whether any other is worth a search.
_AFTER_UNDERSCORE = re.compile("_[0-9A-Za-z]{16}")
_MAY_HOLD_A_KEY = (
    re.compile(
        r"-(?:(?<=-----)BEGIN "
        r"|(?:(?<=glpat-)|(?<=xox[abeoprs]-)|(?<=pypi-)|(?<=sk-)(?<!\w...))[\w-]{10})"
    ),
    re.compile(r"I(?:(?<=AI)za|(?<=A[KS]I)A)[\w-]{16}"),
    re.compile(r"hooks\.slack\.com/services/T"),
    _AFTER_UNDERSCORE,
)
_MODEL_VENDORS_KEY = re.compile(r"sk-(?<!\w...)[\w-]{20,}+")
_DIGIT, _CAPITAL = re.compile(r"\d"), re.compile("[A-Z]")
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

_BATCH_CHARACTERS = 1 << 17

# Each begins with the one character that has no case, which is fast to find.
_KEY_FILES = (
    re.compile(r"(?im)_(?<=id_)(?<![^/\n]...)(?:rsa|dsa|ecdsa|ed25519)$"),
    re.compile(r"(?im)\.(?<![^/\n].)(?:netrc|pgpass|htpasswd)$"),
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
    if vendor := _vendors_key_in(text):
        return vendor
    for assigned in _ASSIGNED:
        if any(_is_named_secret(text, found) for found in assigned.finditer(text)):
            return "a key or password in an assignment"
    return ""


def _vendors_key_in(text: str) -> str:
    if not any(pattern.search(text) for pattern in _MAY_HOLD_A_KEY):
        return ""
    if what := _first_found(_VENDORS, text):
        return what
    if any(map(_is_model_vendors_key, _MODEL_VENDORS_KEY.findall(text))):
        return "a model vendor's key"
    return _first_found(_UNDERSCORED, text) if _AFTER_UNDERSCORE.search(text) else ""


def _first_found(kinds: Iterable[tuple[str, re.Pattern[str]]], text: str) -> str:
    return next((what for what, pattern in kinds if pattern.search(text)), "")


def _is_model_vendors_key(run: str) -> bool:
    """True for letters and digits with a capital or without hyphens.

    Others may be names.
    """
    is_varied = _CAPITAL.search(run) is not None or run[3:].isalnum()
    return is_varied and _DIGIT.search(run) is not None


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
