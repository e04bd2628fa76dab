"""A vault that wants everything, and a record of what was granted to it."""

import os

import pytest

from smart_context.vault.trust.vault import TrustRecord, VaultTrust
from tests.trusting import settings_of

SETTINGS = """
[llm]
base_url = "http://127.0.0.1:9/v1"
api_key_env = "THEIR_KEY"
[llm.categories]
chat = "m"
fast = "m"
embedding = { model = "e", base_url = "http://127.0.0.1:10/v1" }
[plugins.one]
enabled = true
"""
FILES = {
    ".vault.toml": SETTINGS,
    ".git/HEAD": "ref: refs/heads/main",
    "plugins/one/plugin.toml": 'id = "one"\nname = "One"\nversion = "1"\nentry = "main:Plugin"\n',
    "plugins/one/main.py": "a = 1",
    "plugins/one/inner/more.py": "b = 2",
    "roles/cook.toml": 'system_prompt = "You cook."',
    "roles/templates/planning.j2": "{{ task }}",
}


def write(vault, files):
    for name, text in files.items():
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text(text)
    return vault


@pytest.fixture
def vault(tmp_path):
    return write(tmp_path / "vault", FILES)


@pytest.fixture
def record(tmp_path):
    return TrustRecord(tmp_path / "config" / "trust.json")


@pytest.fixture
def review(record):
    """What a vault wants, compared with what it was granted."""

    def of(vault):
        trust = VaultTrust(vault, record)
        return trust.review(settings_of(vault, trust))

    return of


@pytest.fixture
def grant(record, review):
    """Grants a vault what it wants now, or some kinds of it."""

    def to(vault, *kinds):
        parts = review(vault).restricted
        chosen = tuple(part for part in parts if not kinds or part.pin.kind in kinds)
        VaultTrust(vault, record).trust(review(vault), chosen)

    return to


def off(review):
    """The kinds of parts that are off."""
    return sorted({part.pin.kind for part in review.restricted})


def link_out(folder):
    (folder / "out.toml").symlink_to("/etc/hostname")


def link_in(folder):
    (folder / "in.toml").symlink_to(next(path for path in folder.iterdir() if path.is_file()))


def fifo(folder):
    os.mkfifo(folder / "pipe.toml")


def huge(folder):
    with (folder / "huge.toml").open("wb") as file:
        file.truncate(2**40)
