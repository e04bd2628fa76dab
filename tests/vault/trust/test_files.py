"""The files that consent is pinned to: all of them, no links, nothing that hangs."""

import os
import shutil

import pytest

from smart_context.vault.trust.files import (
    find_plugin_files,
    find_role_files,
    plugin_files,
    read_pinned,
    role_files,
)
from tests.vault.trust.conftest import fifo, huge, link_in, link_out


def plugins(vault):
    return plugin_files(find_plugin_files(vault))


def roles(vault):
    return role_files(find_role_files(vault))


def test_a_vault_without_plugins_and_roles_has_nothing_to_trust(tmp_path):
    assert plugins(tmp_path).is_empty
    assert roles(tmp_path).set.is_empty


def test_notes_in_folders_of_these_names_are_neither_roles_nor_templates(tmp_path):
    (tmp_path / "roles").mkdir()
    (tmp_path / "roles/Actor.md").write_text("Hamlet")
    (tmp_path / "roles/sub").mkdir()
    (tmp_path / "roles/sub/x.toml").write_text("")
    assert roles(tmp_path).set.is_empty


@pytest.mark.parametrize("change", [link_out, link_in, fifo, huge])
@pytest.mark.parametrize("folder", ["plugins/one", "roles"])
def test_what_lies_elsewhere_or_is_no_plain_file_is_refused_at_once(vault, change, folder):
    change(vault / folder)
    refused = plugins(vault).refused + roles(vault).set.refused
    assert [name.rpartition("/")[2].partition(".")[2] for name in refused] == ["toml"]


@pytest.mark.parametrize("folder", ["plugins", "plugins/one", "roles", "roles/templates"])
def test_a_link_in_place_of_a_folder_is_refused(vault, tmp_path, folder):
    shutil.move(vault / folder, tmp_path / "real")
    (vault / folder).symlink_to(tmp_path / "real")
    assert len(plugins(vault).refused + roles(vault).set.refused) == 1


def test_only_byte_code_where_python_leaves_it_is_left_out(vault):
    before = plugins(vault)
    cache = vault / "plugins/one/__pycache__"
    cache.mkdir()
    (cache / "main.cpython-311.pyc").write_bytes(b"x")
    assert plugins(vault) == before
    for name in ("__pycache__/panel.js", "main.pyc"):
        (vault / "plugins/one" / name).write_text("alert(1)")
        assert f"one/{name}" in plugins(vault).files


def test_a_folder_in_a_folder_in_a_folder_is_looked_into(vault):
    folder = vault / "plugins"
    for _ in range(1_500):
        folder /= "a"
        folder.mkdir()
    assert not plugins(vault).refused
    os.removedirs(folder)  # what cleans up after tests is recursive


def test_names_and_contents_can_not_be_shifted_into_each_other(tmp_path):
    digests = set()
    for at, (name, text) in enumerate([("ab", "c"), ("a", "bc"), ("abc", "")]):
        folder = tmp_path / str(at) / "plugins"
        folder.mkdir(parents=True)
        (folder / name).write_text(text)
        digests.add(plugins(tmp_path / str(at)).digest)
    assert len(digests) == 3


def test_the_bytes_that_are_read_are_those_that_were_pinned(vault):
    pinned = plugins(vault).files
    folder = vault / "plugins"
    assert read_pinned(folder, "one/main.py", pinned) == b"a = 1"
    (folder / "one/main.py").write_text("a = 2")
    with pytest.raises(OSError, match="changed after the vault was trusted"):
        read_pinned(folder, "one/main.py", pinned)
    (folder / "one/new.py").write_text("")
    with pytest.raises(FileNotFoundError):
        read_pinned(folder, "one/new.py", pinned)
    with pytest.raises(FileNotFoundError):
        read_pinned(folder, "../.vault.toml", pinned)
