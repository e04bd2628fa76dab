"""What adds to this copy is this copy: never what has its name on the package index."""

import json
import re
from pathlib import Path

import pytest

from smart_context.base import installed
from smart_context.base.installed import (
    DISTRIBUTION,
    Installed,
    how_to_add,
    how_to_repair,
    in_shell,
    quoted,
    settings_in_shell,
    shell_in_use,
    this_copy,
)

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "/venv/bin/python"
NEEDS = {"files": ["pypdf>=5.0"], "mcp": ["mcp>=2.3,<3"]}
ADDRESS = "git+https://example.org/copy.git@1234"


def copy(tool="pip", **about):
    return Installed(tool=tool, python=PYTHON, name=DISTRIBUTION, needs=NEEDS, **about)


@pytest.mark.parametrize(
    ("one", "added", "again"),
    [
        pytest.param(
            copy(source="/my copy"),
            f"{PYTHON} -m pip install '/my copy[files]'",
            f"{PYTHON} -m pip install --force-reinstall --no-deps '/my copy'",
            id="a folder",
        ),
        pytest.param(
            copy(source="/copy", is_editable=True),
            f"{PYTHON} -m pip install --editable '/copy[files]'",
            "",
            id="a folder that is edited",
        ),
        pytest.param(
            copy(source=ADDRESS),
            f"{PYTHON} -m pip install '{DISTRIBUTION}[files] @ {ADDRESS}'",
            f"{PYTHON} -m pip install --force-reinstall --no-deps {ADDRESS}",
            id="an address",
        ),
        pytest.param(copy(), f"{PYTHON} -m pip install 'pypdf>=5.0'", "", id="nobody knows where"),
        pytest.param(
            copy("uv pip", source="/copy"),
            f"uv pip install --python {PYTHON} '/copy[files]'",
            f"uv pip install --python {PYTHON} --force-reinstall --no-deps /copy",
            id="an environment without pip",
        ),
        pytest.param(
            copy("pipx", source="/copy"),
            f"pipx inject {DISTRIBUTION} 'pypdf>=5.0'",
            f"pipx reinstall {DISTRIBUTION}",
            id="pipx",
        ),
        pytest.param(
            copy("uv tool", source="/copy", extras=frozenset({"mcp"})),
            "uv tool install '/copy[files,mcp]'",
            f"uv tool upgrade --reinstall {DISTRIBUTION}",
            id="uv tool, with what it has",
        ),
        pytest.param(
            copy("uv tool"),
            "",
            f"uv tool upgrade --reinstall {DISTRIBUTION}",
            id="uv, from nowhere",
        ),
    ],
)
def test_an_extra_and_a_repair_are_of_the_copy_that_is_there(one, added, again):
    assert in_shell(one.adding("files"), "sh") == added
    assert in_shell(one.again(), "sh") == again


def test_an_extra_that_nobody_knows_is_not_made_up():
    assert copy().adding("unknown") == []


@pytest.mark.parametrize(
    ("platform", "environ", "shell"),
    [
        ("linux", {"PSModulePath": "a;b;c"}, "sh"),
        ("win32", {}, "cmd"),
        ("win32", {"PSModulePath": r"C:\all"}, "cmd"),
        ("win32", {"PSModulePath": r"C:\mine;C:\program;C:\all"}, "PowerShell"),
        ("win32", {"MSYSTEM": "MINGW64", "PSModulePath": r"C:\a;C:\b;C:\c"}, "sh"),
    ],
)
def test_the_shell_is_told_by_the_environment(platform, environ, shell):
    assert shell_in_use(platform, environ) == shell


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("cmd", r'"C:\my py\python.exe" -m pip install "C:\it\'s[mcp]" "mcp>=2,<3"'),
        ("PowerShell", r"& 'C:\my py\python.exe' -m pip install 'C:\it''s[mcp]' 'mcp>=2,<3'"),
    ],
)
def test_a_command_is_quoted_for_its_shell(shell, line):
    words = [r"C:\my py\python.exe", "-m", "pip", "install", r"C:\it's[mcp]", "mcp>=2,<3"]
    assert in_shell(words, shell) == line.replace(r"\'", "'")
    assert in_shell(["uv", "tool"], shell) == "uv tool"


def test_the_copy_under_test_is_named_by_its_folder():
    assert this_copy().source == str(ROOT)
    assert f"{ROOT}[files]" in how_to_add("files")


def metadata_beside(folder, recorded, extra="files"):
    """What an installer leaves behind, beside a copy of the one module that reads it."""
    about = folder / "smart_context_vault-1.dist-info"
    about.mkdir(parents=True)
    needs = f'Requires-Dist: pypdf>=5.0; extra == "{extra}"'
    about.joinpath("METADATA").write_text(
        f"Metadata-Version: 2.3\nName: {DISTRIBUTION}\nVersion: 1\n{needs}\n"
    )
    if recorded is not None:
        about.joinpath("direct_url.json").write_text(json.dumps(recorded))


@pytest.mark.parametrize(
    ("recorded", "source"),
    [
        pytest.param(None, "", id="an index"),
        pytest.param({"url": "file:///nowhere/copy", "dir_info": {}}, "", id="a folder that went"),
        pytest.param({"url": ROOT.as_uri(), "dir_info": {}}, str(ROOT), id="a folder"),
        pytest.param(
            {"url": "https://me:secret@example.org/c.tar.gz", "archive_info": {}},
            "https://example.org/c.tar.gz",
            id="an archive",
        ),
        pytest.param(
            {
                "url": "ssh://git@example.org/copy",
                "vcs_info": {"vcs": "git", "commit_id": "12", "requested_revision": "main"},
            },
            "git+ssh://git@example.org/copy@12",
            id="a repository",
        ),
        pytest.param(["damaged"], "", id="what nobody can read"),
    ],
)
def test_where_a_copy_is_from_is_read_from_its_record(tmp_path, monkeypatch, recorded, source):
    package = tmp_path / "smart_context"
    package.mkdir()
    metadata_beside(tmp_path, recorded)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(installed, "_PACKAGE", package)
    found = this_copy()
    assert (found.source, found.is_editable) == (source, False)
    assert found.needs == {"files": ["pypdf>=5.0"]}
    hints = how_to_add("files") + how_to_repair()
    assert "secret" not in hints
    assert source or not re.search(rf"{DISTRIBUTION}|smart-context", hints)


def test_a_record_of_another_copy_does_not_count(tmp_path, monkeypatch):
    metadata_beside(tmp_path, {"url": "https://example.org/c.tar.gz", "archive_info": {}})
    monkeypatch.syspath_prepend(str(tmp_path))
    assert this_copy().source == str(ROOT)


ASKS_THE_INDEX = re.compile(
    r"(?:install|inject|upgrade|reinstall|--from|uvx|(?:pipx|uv|tool)\s+run)\s+(?:-\S+\s+)*"
    r"['\"]?smart[-_.]context(?:[-_.]vault)?(?=[\['\"\s`)]|$)",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("pip install 'smart-context[mcp]'", True),
        ("pip install --force-reinstall smart-context", True),
        ("uvx --from smart-context-vault smart-context", True),
        ("pipx run smart-context demo", True),
        ("uv tool run smart-context demo", True),
        ("Let its owner run smart-context storage migrate", False),
        ("pip install . && smart-context demo", False),
        ("pip install '.[mcp]'", False),
    ],
)
def test_a_line_that_asks_the_index_is_known(line, asks):
    assert bool(ASKS_THE_INDEX.search(line)) == asks


def test_no_line_for_people_asks_the_package_index_for_the_program():
    folders = [ROOT / name for name in ("docs", "smart_context", "templates", "static")]
    texts = [ROOT / "README.md", *(path for folder in folders for path in folder.rglob("*"))]
    wrong = [
        f"{path}: {found[0]}"
        for path in texts
        if path.suffix in {".md", ".py", ".html", ".js", ".toml"}
        for found in ASKS_THE_INDEX.finditer(path.read_text(encoding="utf-8"))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("sh", "export API_KEY={key}"),
        ("cmd", "set API_KEY={key}"),
        ("PowerShell", "$env:API_KEY = '{key}'"),
    ],
)
def test_a_variable_is_set_as_the_shell_knows_it(shell, line):
    told = "Then: export API_KEY={key}\nNext."
    assert settings_in_shell(told, shell) == f"Then: {line}\nNext."


@pytest.mark.parametrize(
    ("shell", "word"), [("sh", "'a b'"), ("cmd", '"a b"'), ("PowerShell", "'a b'")]
)
def test_an_argument_is_quoted_as_the_shell_knows_it(shell, word):
    assert quoted("a b", shell) == word
