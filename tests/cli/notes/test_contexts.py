"""Named contexts from the command line, as a user or a script does."""

import json
import sys

import pytest
from click.testing import CliRunner

from smart_context.cli.notes import contexts as verbs
from smart_context.cli.root import smart_context as program

NOTES = {
    "Plan.md": "# Plan\nSee [[Trip]] ![[Trip#Day 1]]\n## Private\nx\n",
    "travel/Trip.md": "# Trip\n## Day 1\nTo Lisbon.\n",
    "travel/Costs.md": "1234567890" * 10,
}
TEMPLATES = {"-1": {"before": "<all>", "after": "</all>"}, "0": {"before": "[{{ITEM_PATH}}]"}}


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault"
    (folder / "travel").mkdir(parents=True)
    (folder / ".vault.toml").touch()
    for path, text in NOTES.items():
        (folder / path).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def ask(vault):
    """Runs a verb of `contexts` in this process; gives exit code, stdout and stderr."""

    def run(verb, *arguments, stdin=None):
        words = ["contexts", verb, "--vault", str(vault), *map(str, arguments)]
        done = CliRunner().invoke(program, words, input=stdin)
        assert done.exception is None or isinstance(done.exception, SystemExit)
        return done.exit_code, done.stdout, done.stderr

    return run


@pytest.fixture
def stored(vault):
    """The document of a stored context, or none."""

    def read(key):
        path = vault / ".memory/contexts" / f"{key}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    return read


def test_a_context_is_made_listed_shown_built_and_deleted(smart_context, vault):
    def run(*arguments):
        return smart_context("contexts", *arguments, cwd=vault)

    assert run("edit", "旅行", "--add", "travel/", "--max-len", "50")[0] == 0
    assert run("list", "--format", "tsv") == (0, "context\titems\n旅行\t1\n", "")
    code, out, _ = run("show", "旅行", "--format", "json")
    assert json.loads(out)["context_opts"] == {"max_len": 50}
    code, out, err = run("build", "旅行")
    assert (code, out) == (0, NOTES["travel/Trip.md"])
    assert "skipped: travel/Costs.md: 100 characters" in err
    assert run("delete", "旅行")[0] == 0
    assert run("list", "--format", "json")[1] == "[]\n"


def test_items_need_no_name_and_leave_nothing_behind(ask, vault):
    assert ask("build", "travel/Trip.md", "Plan#Private")[1] == (
        "## Private\nx\n" + NOTES["travel/Trip.md"]
    )
    assert not (vault / ".memory").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(["file=trip"], NOTES["travel/Trip.md"], id="found as a link is"),
        pytest.param(["file=Trip#Day 1"], "## Day 1\nTo Lisbon.\n", id="a part of it"),
        pytest.param(["path=travel/Trip.md"], NOTES["travel/Trip.md"], id="by its path"),
        pytest.param(["Plan", "max-len=6"], "# Plan", id="cut"),
        pytest.param(
            ["Plan", "--exclude-heading", "priv*", "--exclude-heading", "Day*"],
            "# Plan\nSee [[Trip]] ![[Trip#Day 1]]\n",
            id="without a section",
        ),
        pytest.param(
            ["Plan", "--expand-embeds", "--exclude-heading", "priv*"],
            "# Plan\nSee [[Trip]] ## Day 1\nTo Lisbon.\n\n",
            id="embeds in place",
        ),
        pytest.param(
            ["travel/Trip.md", "depth=1", "--inlinks"],
            NOTES["travel/Trip.md"] + NOTES["Plan.md"],
            id="with what links to it",
        ),
        pytest.param(
            ["travel/Costs.md", "travel/Trip.md", "order=listed"],
            NOTES["travel/Costs.md"] + NOTES["travel/Trip.md"],
            id="as listed",
        ),
    ],
)  # fmt: skip
def test_what_is_built(ask, arguments, expected):
    code, out, _ = ask("build", *arguments)
    assert (code, out) == (0, expected)


def test_options_of_the_call_win_over_those_that_are_stored(ask):
    ask("edit", "k", "--add", "Plan", "--depth", "1", "--inlinks")
    assert NOTES["travel/Trip.md"] in ask("build", "k")[1]
    assert ask("build", "k", "--depth", "0")[1] == NOTES["Plan.md"]


def test_templates_come_from_a_file(ask, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps(TEMPLATES))
    code, out, _ = ask("build", "travel/Trip.md", "--template-file", tmp_path / "t.json")
    assert (code, out) == (0, f"<all>[travel/Trip.md]{NOTES['travel/Trip.md']}</all>")
    for content in ("{", "[]", '{"x": {}}', '{"0": {"before": 1}}'):
        (tmp_path / "t.json").write_text(content)
        code, out, err = ask("build", "Plan", "--template-file", tmp_path / "t.json")
        assert (code, out) == (2, "")
        assert "t.json" in err


def test_a_dry_run_tells_what_goes_in_at_each_depth_and_what_does_not_and_why(ask):
    items = ["Plan", "none", "--depth", "1", "--max-len", "80", "--exclude-heading", "Pri*"]
    code, out, err = ask("build", *items, "travel/Costs.md", "--dry-run", "--format", "json")
    account = json.loads(out)
    assert (code, err) == (0, "")
    assert [(row["depth"], row["item"], row["truncated"]) for row in account["items"]] == [
        (0, "Plan.md", False),
        (1, "travel/Trip.md", False),
    ]
    assert account["skipped"] == [{"item": "travel/Costs.md", "characters": 100}]
    assert account["missing"] == ["none"]
    assert account["excluded_headings"] == {"Pri*": 1}
    assert account["characters"] == sum(row["characters"] for row in account["items"])
    assert 0 < account["tokens"] < account["characters"]
    code, out, _ = ask("build", *items, "travel/Costs.md", "--dry-run")
    assert "skipped: travel/Costs.md: 100 characters exceed the rest" in out
    assert "missing: none" in out
    assert out.splitlines()[-1].startswith("2 items, 1 skipped · ")


def test_what_is_cut_says_from_how_much(ask):
    _, out, _ = ask("build", "travel/Costs.md", "--max-len", "10", "--dry-run")
    assert "cut from 100" in out
    _, out, _ = ask("build", "travel/Costs.md", "--max-len", "10", "--dry-run", "--format", "json")
    (row,) = json.loads(out)["items"]
    assert (row["characters"], row["of_characters"], row["truncated"]) == (10, 100, True)


def test_the_text_goes_to_a_file_and_the_account_to_whom_asked(ask, tmp_path):
    code, out, err = ask("build", "travel/Trip.md", "-o", tmp_path / "out.md")
    assert (code, out) == (0, "")
    assert (tmp_path / "out.md").read_text() == NOTES["travel/Trip.md"]
    assert err.startswith("1 item · 27 characters · ")
    _, out, err = ask("build", "travel/Trip.md", "--format", "json")
    assert json.loads(out)["context"] == NOTES["travel/Trip.md"]
    assert err == ""
    _, out, _ = ask("build", "travel/Trip.md", "-o", tmp_path / "out.md", "--format", "json")
    assert "context" not in json.loads(out)


def test_a_copy_that_is_large_is_asked_about(ask, vault, tmp_path, monkeypatch):
    tool = tmp_path / "bin" / "wl-copy"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\nexec cat > {tmp_path}/copied\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tool.parent), prepend=":")
    assert ask("build", "travel/Trip.md", "--copy")[:2] == (0, "")
    assert (tmp_path / "copied").read_text() == NOTES["travel/Trip.md"]
    monkeypatch.setattr(verbs, "LARGE_CHARACTERS", 10)
    (tmp_path / "copied").unlink()
    code, _, err = ask("build", "travel/Trip.md", "--copy")
    assert (code, "--yes" in err) == (1, True)
    assert not (tmp_path / "copied").exists()
    assert ask("build", "travel/Trip.md", "--copy", "--yes")[0] == 0
    assert (tmp_path / "copied").exists()


def test_edit_by_options_changes_what_it_names_and_nothing_else(ask, stored):
    ask("edit", "k", "--add", "Plan", "--add", "travel/", "--depth", "2", "--no-inlinks")
    ask("edit", "k", "--remove", "travel/", "--max-len", "9", "--unset", "link-depth")
    assert stored("k") == {
        "key": "k",
        "context_items": {"Plan": True},
        "context_opts": {"inlinks": False, "max_len": 9},
    }


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param(["build"], 2, "Name a context", id="nothing to build"),
        pytest.param(["build", "none"], 1, "missing: none", id="nothing there"),
        pytest.param(["build", "../x"], 1, "missing: ../x", id="out of the vault"),
        pytest.param(["build", "file=none"], 1, "no note", id="no such name"),
        pytest.param(["build", "\udcff"], 1, "missing", id="no Unicode"),
        pytest.param(["build", "Plan", "--depth", "-1"], 2, "depth", id="no such depth"),
        pytest.param(["show", "none"], 1, "There are: k", id="no such context"),
        pytest.param(["delete", "none"], 1, "There are: k", id="nothing to delete"),
        pytest.param(["edit", "k", "--remove", "x"], 1, "not listed", id="nothing to remove"),
        pytest.param(["edit", "k", "--unset", "depth"], 1, "not set", id="nothing to unset"),
        pytest.param(["edit", "k", "--unset", "x"], 2, "no option 'x'", id="no such option"),
        pytest.param(["edit", "k" * 300, "--add", "x"], 2, "shorter", id="a name too long"),
        pytest.param(["edit", " ", "--add", "x"], 2, "found nothing", id="a name without a letter"),
    ],
)
def test_what_can_not_be_done_says_why_and_changes_nothing(ask, stored, arguments, code, words):
    ask("edit", "k", "--add", "Plan")
    before = stored("k")
    found, out, err = ask(*arguments)
    assert (found, out) == (code, "")
    assert words in err
    assert stored("k") == before


def test_a_name_that_is_no_unicode_is_found_again(ask):
    assert ask("edit", "\udcff", "--add", "Plan")[0] == 0
    assert ask("show", "\udcff")[0] == 0
    assert ask("delete", "\udcff")[0] == 0


def test_a_damaged_context_says_where_it_is(ask, vault):
    ask("edit", "k", "--add", "Plan")
    ask("edit", "l", "--add", "Plan")
    (vault / ".memory/contexts/k.json").write_text("{")
    code, out, err = ask("list", "--format", "tsv")
    assert (code, out, "k.json" in err) == (1, "context\titems\nl\t1\n", True)
    code, out, err = ask("build", "k")
    assert (code, out) == (1, "")
    assert "k.json" in err


def test_without_options_the_editor_opens_on_the_document(ask, stored, tmp_path, monkeypatch):
    script = tmp_path / "editor.py"
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")

    def editor(code):
        script.write_text(f"import sys, pathlib\np = pathlib.Path(sys.argv[1])\n{code}\n")

    editor("""p.write_text('{"context_items": {"Plan": true}, "context_opts": {"max_len": 3}}')""")
    assert ask("edit", "new")[0] == 0
    assert stored("new")["context_opts"] == {"max_len": 3}
    editor("""p.write_text(p.read_text().replace('3', '4'))""")
    assert ask("edit", "new")[0] == 0
    assert stored("new")["context_opts"] == {"max_len": 4}
    editor("pass")
    assert "Nothing was changed" in ask("edit", "new")[2]
    for broken in (
        "{",
        "[]",
        '{"context_opts": {}}',
        '{"context_items": {}, "context_opts": {"x": 1}}',
    ):
        editor(f"p.write_text({broken!r})")
        code, _, err = ask("edit", "new")
        assert (code, "Nothing was stored" in err) == (2, True)
    assert stored("new")["context_opts"] == {"max_len": 4}


def test_a_lone_backtick_or_dollar_lets_no_excluded_section_through(ask, vault):
    note = "- press the ` key, $5\n- see [[Trip]]\n## Private diary\nsecret\n## Open\n- `x` 6$ y\n"
    (vault / "Note.md").write_text(note, encoding="utf-8")
    code, text, _ = ask("build", "Note.md", "--exclude-heading", "Private*", "--depth", 1)
    assert (code, "secret" in text, "Private" in text) == (0, False, False)
    assert "## Open" in text
    assert "To Lisbon." in text
