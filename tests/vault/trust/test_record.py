"""The record of what the user trusts: outside the vault, private, harmless when damaged."""

import json
import stat
from pathlib import Path

import pytest

from smart_context.base.config import user_folder
from smart_context.base.errors import StoreFailed
from smart_context.vault.trust.parts import Grant, Pin

GRANT = Grant(
    pins=frozenset(
        {
            Pin("endpoint", "http://127.0.0.1:9/v1", "KEY", "chat"),
            Pin("endpoint", "http://127.0.0.1:9/v1", "KEY", "fast"),
            Pin("endpoint", "http://127.0.0.1:9/v1", "", "embedding"),
            Pin("plugins", "abc"),
            Pin("roles", "def"),
            Pin("git"),
        }
    ),
    granted_at="2026-01-02T03:04:05+00:00",
)


def test_what_is_stored_is_what_is_granted_to_that_vault_alone(record, tmp_path):
    record.store(tmp_path / "a", GRANT)
    assert record.granted(tmp_path / "a") == GRANT
    assert record.granted(tmp_path / "b").pins == frozenset()
    record.store(tmp_path / "b", Grant(pins=frozenset({Pin("git")})))
    assert {*record.vaults()} == {tmp_path / "a", tmp_path / "b"}
    record.store(tmp_path / "a", Grant())
    assert {*record.vaults()} == {tmp_path / "b"}


def test_nobody_else_may_read_it(record, tmp_path):
    record.store(tmp_path, GRANT)
    assert stat.S_IMODE(record.path.stat().st_mode) == 0o600


def test_a_vault_is_known_by_where_it_really_is(record, tmp_path):
    (tmp_path / "vault").mkdir()
    (tmp_path / "link").symlink_to("vault")
    record.store(tmp_path / "link", GRANT)
    assert record.granted(tmp_path / "vault") == GRANT


def test_a_record_of_the_first_version_grants_plugins_alone(record, tmp_path):
    record.path.parent.mkdir()
    entry = {"digest": "abc", "granted_at": "2025-01-01T00:00:00+00:00"}
    record.path.write_text(json.dumps({"version": 1, "vaults": {str(tmp_path): entry}}))
    assert record.granted(tmp_path).pins == {Pin("plugins", "abc")}


def test_a_record_of_the_second_version_grants_all_but_endpoints(record, tmp_path):
    record.path.parent.mkdir()
    endpoint = {"kind": "endpoint", "base_url": "http://127.0.0.1:9/v1", "api_key_env": "KEY"}
    parts = [endpoint, {"kind": "roles", "digest": "def"}, {"kind": "git"}]
    entry = {"granted_at": "2025-01-01T00:00:00+00:00", "parts": parts}
    vaults = {str(tmp_path / name): entry for name in ("one", "other")}
    record.path.write_text(json.dumps({"version": 2, "vaults": vaults}))
    pins = {Pin("roles", "def"), Pin("git")}
    assert record.granted(tmp_path / "one").pins == pins
    record.store(tmp_path / "other", GRANT)
    assert record.granted(tmp_path / "one").pins == pins


DAMAGES = [
    b"{",
    b"[]",
    b'{"vaults": 3}',
    b"\xff",
    b"[" * 100_000,
    b'{"version": 4, "vaults": {"VAULT": {"parts": [{"kind": "git"}]}}}',
    b'{"version": 2, "vaults": {"VAULT": 3}}',
    b'{"version": 2, "vaults": {"VAULT": {"parts": 3}}}',
    b'{"version": 2, "vaults": {"VAULT": {"parts": [3, {"kind": "x"}, {"kind": []}]}}}',
    b'{"version": 2, "vaults": {"VAULT": {"parts": [{"kind": "plugins", "digest": 3}]}}}',
    b'{"version": 3, "vaults": {"VAULT": {"parts": [{"kind": "git", "category": "chat"}]}}}',
    b'{"version": 3, "vaults": {"VAULT": {"parts": [{"kind": "endpoint", "category": []}]}}}',
    b'{"version": 3, "vaults": {"VAULT": {"parts": [{"kind": "endpoint", "category": "x"}]}}}',
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_record_grants_nothing_and_is_rewritten(record, tmp_path, damage):
    record.path.parent.mkdir()
    record.path.write_bytes(damage.replace(b"VAULT", str(tmp_path).encode()))
    assert record.granted(tmp_path) == Grant()
    record.store(tmp_path, GRANT)
    assert record.granted(tmp_path) == GRANT


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, "/home/me/.config/smart-context"),
        ({"XDG_CONFIG_HOME": "/conf"}, "/conf/smart-context"),
        ({"XDG_CONFIG_HOME": "relative"}, "/home/me/.config/smart-context"),
    ],
)
def test_the_record_lies_in_the_users_configuration(environ, expected):
    assert user_folder(environ, Path("/home/me")) == Path(expected)


def test_a_record_that_can_not_be_read_grants_nothing_and_is_not_revoked(record, tmp_path):
    record.path.parent.mkdir()
    record.path.mkdir()  # read as a file, it is an error
    assert record.granted(tmp_path) == Grant()
    for grant in (Grant(), GRANT):
        with pytest.raises(StoreFailed, match=r"trust\.json could not be read"):
            record.store(tmp_path, grant)
