"""`read` prints files as assigns, under the guards that hold for a model."""

import json
import re

import pytest


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("alpha\n")
    (folder / "sub/b.md").write_text("beta")
    (folder / "c.py").write_text("gamma")
    (tmp_path / "secret.md").write_text("outside")
    return folder


def test_files_are_printed_as_assigns_includes_first(smart_context, vault):
    code, out, err = smart_context("read", "a.md", "--include", "sub/b.md", cwd=vault)
    assert (code, err) == (0, "")
    assert re.sub(r"context-[0-9a-f-]{36}", "T", out) == (
        '@spec_b assign "sub/b.md"\n@spec_bContent assign\n--begin-T--\nbeta\n--end-T--\n'
        '@spec_a assign "a.md"\n@spec_aContent assign\n--begin-T--\nalpha\n\n--end-T--\n'
    )


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        pytest.param(["a.md", "c.py", "--filter", "*.md"], ["alpha\n"], id="by name"),
        pytest.param(
            ["c.py", "--filter", "*.md", "--include", "c.py"], ["gamma"], id="not for includes"
        ),
        pytest.param(["a.md", "c.py", "--max-files", "1"], ["alpha\n"], id="by number"),
        pytest.param(
            ["a.md", "c.py", "--max-files", "1", "--include", "sub/b.md"],
            ["beta"],
            id="an include counts",
        ),
        pytest.param(
            ["a.md", "sub/b.md", "--max-file-size", "5"],
            ["[Skipped: file size 6 bytes exceeds maxFileSize 5]", "beta"],
            id="by size",
        ),
    ],
)
def test_the_guards_hold(smart_context, vault, arguments, texts):
    code, out, _ = smart_context("read", *arguments, "--format", "json", cwd=vault)
    assert (code, list(json.loads(out).values())) == (0, texts)


@pytest.mark.parametrize("path", ["../secret.md", "link.md", "gone.md", "sub"])
def test_what_can_not_be_read_has_a_note_in_its_place(smart_context, vault, path):
    (vault / "link.md").symlink_to(vault.parent / "secret.md")
    code, out, _ = smart_context("read", path, cwd=vault)
    assert code == 0
    assert "[Error reading file: " in out
    assert "\noutside" not in out


def test_an_include_is_the_users_and_may_lie_anywhere(smart_context, vault):
    assert "outside" in smart_context("read", "--include", "../secret.md", cwd=vault)[1]


def test_a_named_vault_is_where_files_are_looked_for(smart_context, vault):
    code, out, _ = smart_context("read", "sub/b.md", "--vault", vault)
    assert code == 0
    assert '@spec_b assign "sub/b.md"' in out


def test_names_that_are_no_unicode_are_printed(smart_context, vault):
    code, out, _ = smart_context("read", "\udcff.md", cwd=vault)
    assert code == 0
    assert "udcff.md" in out


def test_nothing_to_read_is_bad_usage(smart_context, vault):
    code, _, err = smart_context("read", cwd=vault)
    assert code == 2
    assert "FILE" in err
