"""Consent to the plugins of a vault, pinned to their content: contract A12."""

import os
from pathlib import Path

import pytest

from smart_context.errors import TrustRequired
from smart_context.host.trust import TrustRecord, fingerprint, trust_path


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault" / "plugins" / "one"
    (folder / "inner").mkdir(parents=True)
    (folder / "main.py").write_text("a = 1")
    (folder / "inner" / "more.py").write_text("b = 2")
    return tmp_path / "vault"


@pytest.fixture
def record(tmp_path):
    return TrustRecord(tmp_path / "config" / "trust.json")


def trusts(record, vault):
    return record.is_trusted(vault, fingerprint(vault))


def test_a_vault_is_not_trusted_until_the_user_says_so_and_the_record_lies_outside(vault, record):
    assert not trusts(record, vault)
    record.grant(vault, fingerprint(vault))
    assert trusts(record, vault)
    assert not [path for path in vault.rglob("*") if "trust" in path.name]


def test_trust_ends_when_it_is_withdrawn(vault, record):
    record.grant(vault, fingerprint(vault))
    record.withdraw(vault)
    assert not trusts(record, vault)
    record.withdraw(vault)


def test_one_vaults_trust_is_not_anothers(vault, record, tmp_path):
    record.grant(vault, fingerprint(vault))
    other = tmp_path / "other"
    vault.rename(other)
    assert not trusts(record, other)


def change(path, text="changed"):
    path.write_text(text)


@pytest.mark.parametrize(
    "alter",
    [
        pytest.param(lambda p: change(p / "one" / "main.py"), id="changed"),
        pytest.param(lambda p: change(p / "one" / "new.py"), id="added"),
        pytest.param(lambda p: change(p / "one" / "data.txt"), id="added, no code"),
        pytest.param(lambda p: change(p / "one" / ".hidden"), id="added, hidden"),
        pytest.param(lambda p: (p / "one" / "main.py").unlink(), id="removed"),
        pytest.param(lambda p: (p / "one" / "main.py").rename(p / "one" / "b.py"), id="renamed"),
        pytest.param(lambda p: (p / "one").rename(p / "two"), id="moved"),
        pytest.param(lambda p: change(p / "loose.py"), id="beside the plugins"),
        pytest.param(lambda p: change(p / "one" / "b.py", "") or None, id="an empty file"),
    ],
)
def test_any_change_of_the_files_ends_the_trust_until_given_again(vault, record, alter):
    record.grant(vault, fingerprint(vault))
    alter(vault / "plugins")
    assert not trusts(record, vault)
    record.grant(vault, fingerprint(vault))
    assert trusts(record, vault)


def test_byte_code_and_notes_do_not_matter(vault, record):
    record.grant(vault, fingerprint(vault))
    cache = vault / "plugins" / "one" / "__pycache__"
    cache.mkdir()
    (cache / "main.cpython-311.pyc").write_bytes(b"x")
    (vault / "plugins" / "one" / "main.pyc").write_bytes(b"x")
    (vault / "note.md").write_text("a note")
    assert trusts(record, vault)


def link_out(plugins):
    (plugins / "one" / "out.py").symlink_to("/etc/hostname")


def link_in(plugins):
    (plugins / "one" / "in.py").symlink_to(plugins / "one" / "main.py")


def link_folder(plugins):
    (plugins / "two").symlink_to(plugins.parent)


def fifo(plugins):
    os.mkfifo(plugins / "one" / "pipe")


@pytest.mark.parametrize("make", [link_out, link_in, link_folder, fifo])
def test_what_lies_elsewhere_or_is_no_file_cannot_be_trusted(vault, record, make):
    record.grant(vault, fingerprint(vault))
    make(vault / "plugins")
    assert not trusts(record, vault)
    with pytest.raises(TrustRequired, match=r"(out|in)\.py|two|pipe"):
        record.grant(vault, fingerprint(vault))


def test_a_link_in_place_of_the_plugins_folder_cannot_be_trusted(vault, record, tmp_path):
    (vault / "plugins").rename(tmp_path / "real")
    (vault / "plugins").symlink_to(tmp_path / "real")
    with pytest.raises(TrustRequired):
        record.grant(vault, fingerprint(vault))


def test_names_and_contents_can_not_be_shifted_into_each_other(tmp_path):
    digests = set()
    for at, (name, text) in enumerate([("ab", "c"), ("a", "bc"), ("abc", "")]):
        folder = tmp_path / str(at) / "plugins"
        folder.mkdir(parents=True)
        (folder / name).write_text(text)
        digests.add(fingerprint(tmp_path / str(at)).digest)
    assert len(digests) == 3


def test_a_vault_without_plugins_has_a_fingerprint(tmp_path):
    assert fingerprint(tmp_path).files == {}


@pytest.mark.parametrize("damage", [b"{", b"[]", b'{"vaults": 3}', b"\xff", b"[" * 100_000])
def test_a_damaged_record_trusts_nothing_and_is_written_anew(vault, record, tmp_path, damage):
    record.grant(vault, fingerprint(vault))
    (tmp_path / "config" / "trust.json").write_bytes(damage)
    assert not trusts(record, vault)
    record.grant(vault, fingerprint(vault))
    assert trusts(record, vault)


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "/home/me/.config/smart-context/trust.json"),
        ({"XDG_CONFIG_HOME": "/conf"}, "/conf/smart-context/trust.json"),
        ({"XDG_CONFIG_HOME": "relative"}, "/home/me/.config/smart-context/trust.json"),
    ],
)
def test_the_record_lies_in_the_users_configuration(environ, expected):
    assert trust_path(environ, Path("/home/me")) == Path(expected)
