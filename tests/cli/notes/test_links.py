"""The vault asked from the command line, as a user or a script does."""

import csv
import io
import json
import os
import pty
import subprocess
import sys

import pytest
from click.testing import CliRunner

from smart_context.cli.notes import notes
from smart_context.cli.root import smart_context as program
from smart_context.cli.terminal import output
from smart_context.vault.guarded.paths import as_typed

HOME = """---
aliases: [Start]
tags: [home]
---
# Home
[[Trip]] ![[Trip#Day 1]] [[Nowhere]] [[nowhere#x]] [[Twin]] #Garden

## Sub
"""


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault"
    for path, text in {
        ".vault.toml": "",
        "Home.md": HOME,
        "travel/Trip.md": "# Trip\n## Day 1\nTo Lisbon, by train. #garden\n",
        "a/Twin.md": "[home](../Home.md)\nLISBON lisbon",
        "b/Twin.md": "日本語のノート [[Void]]",
        ".memory/chat.json": "{}",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def ask(vault):
    """Runs a verb in this process; gives exit code, stdout and stderr."""

    def run(*arguments):
        verb, *others = map(str, arguments)
        done = CliRunner().invoke(program, [verb, "--vault", str(vault), *others])
        assert done.exception is None or isinstance(done.exception, SystemExit)
        return done.exit_code, done.stdout, done.stderr

    return run


def rows(out):
    return [line.split("\t") for line in out.splitlines()]


def test_the_verbs_work_as_programs(smart_context, vault):
    code, out, err = smart_context("backlinks", "file=Trip", "format=tsv", "counts", cwd=vault)
    assert (code, rows(out), err) == (0, [["path", "count"], ["Home.md", "2"]], "")
    assert sorted(path.name for path in (vault / ".memory").iterdir()) == ["chat.json", "index"]


def test_a_vault_without_a_memory_folder_stays_as_it_is(ask, vault):
    (vault / ".memory/chat.json").unlink()
    (vault / ".memory").rmdir()
    before = sorted(vault.rglob("*"))
    assert ask("orphans")[0] == 0
    assert sorted(vault.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(
            ["links", "Home"],
            [
                ["link", "path", "or"],
                ["Trip", "travel/Trip.md", ""],
                ["Trip#Day 1", "travel/Trip.md", ""],
                ["Nowhere", "", ""],
                ["nowhere#x", "", ""],
                ["Twin", "a/Twin.md", "b/Twin.md"],
            ],
            id="what a note links to",
        ),
        pytest.param(["backlinks", "path=Home.md"], [["path"], ["a/Twin.md"]], id="and who to it"),
        pytest.param(["backlinks", "--file", "home"], [["path"], ["a/Twin.md"]], id="by option"),
        pytest.param(["unresolved"], [["link"], ["Nowhere"], ["Void"]], id="leads nowhere"),
        pytest.param(
            ["unresolved", "counts"],
            [["link", "count"], ["Nowhere", "2"], ["Void", "1"]],
            id="how often",
        ),
        pytest.param(
            ["unresolved", "verbose", "--counts"],
            [["link", "path", "count"], ["Nowhere", "Home.md", "2"], ["Void", "b/Twin.md", "1"]],
            id="and where",
        ),
        pytest.param(["orphans"], [["path"], ["b/Twin.md"]], id="nobody links to it"),
        pytest.param(
            ["deadends"], [["path"], ["b/Twin.md"], ["travel/Trip.md"]], id="it links to nobody"
        ),
        pytest.param(
            ["outline", "Trip"],
            [["level", "line", "heading"], ["1", "1", "Trip"], ["2", "2", "Day 1"]],
            id="headings with their lines",
        ),
        pytest.param(["tags"], [["tag"], ["#Garden"], ["#home"]], id="tags"),
        pytest.param(
            ["tags", "counts", "sort=count"],
            [["tag", "count"], ["#Garden", "2"], ["#home", "1"]],
            id="tags by use",
        ),
        pytest.param(
            ["tags", "file=Trip", "counts"], [["tag", "count"], ["#Garden", "2"]], id="one note's"
        ),
        pytest.param(["aliases"], [["alias", "path"], ["Start", "Home.md"]], id="other names"),
        pytest.param(
            ["search", "lisbon"],
            [
                ["path", "line", "text"],
                ["a/Twin.md", "2", "LISBON lisbon"],
                ["travel/Trip.md", "3", "To Lisbon, by train. #garden"],
            ],
            id="most often first",
        ),
        pytest.param(
            ["search", "trip", "lisbon"],
            [["path", "line", "text"], ["travel/Trip.md", "1", "# Trip"]],
            id="all words",
        ),
        pytest.param(
            ["search", "query=Lisbon", "case", "path=a"], [["path", "line", "text"]], id="case"
        ),
        pytest.param(
            ["search", 'query="by train" -home'],
            [["path", "line", "text"], ["travel/Trip.md", "3", "To Lisbon, by train. #garden"]],
            id="a phrase",
        ),
        pytest.param(
            ["search", "本語", "limit=1"],
            [["path", "line", "text"], ["b/Twin.md", "1", "日本語のノート [[Void]]"]],
            id="another script",
        ),
    ],
)
def test_what_a_verb_finds(ask, arguments, expected):
    verb, *others = arguments
    code, out, _ = ask(verb, "--format", "tsv", *others)
    assert code == 0
    assert rows(out) == expected


def test_each_format_holds_the_same(ask):
    _, tsv, _ = ask("links", "Home", "format=tsv")
    _, text, _ = ask("links", "Home", "format=csv")
    _, found, _ = ask("links", "Home", "format=json")
    listed = json.loads(found)
    assert list(csv.reader(io.StringIO(text))) == rows(tsv)
    assert [list(row) for row in listed] == [["link", "path", "or"]] * 5
    assert listed[-1] == {"link": "Twin", "path": "a/Twin.md", "or": ["b/Twin.md"]}


def test_text_for_people_is_one_a_line_or_a_table(ask):
    assert ask("orphans")[1] == "b/Twin.md\n"
    assert ask("outline", "Home")[1] == "Home\n  Sub\n"
    assert ask("aliases")[1].splitlines() == ["ALIAS  PATH", "Start  Home.md"]


def test_nothing_found_is_nothing_printed_and_no_failure(ask):
    assert ask("backlinks", "path=b/Twin.md") == (0, "", "")
    assert ask("search", "zebra") == (0, "", "")
    assert ask("search", "zebra", "format=json")[1] == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["links", "Home", "total"], "5\n"),
        (["orphans", "total"], "1\n"),
        (["search", "query=lisbon", "total"], "2\n"),
        (["tags", "--total"], "2\n"),
        (["unresolved", "total", "verbose"], "2\n"),
    ],
)
def test_a_total_is_a_number(ask, arguments, expected):
    assert ask(*arguments)[1] == expected


def test_a_name_that_means_more_than_one_note_is_taken_as_a_link_is_and_told(ask):
    code, out, err = ask("links", "file=twin")
    assert (code, out.splitlines()[1].split()) == (0, ["../Home.md", "Home.md"])
    assert "b/Twin.md" in err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param(["links", "Hme"], 1, "Home.md", id="the nearest name is offered"),
        pytest.param(["links", "path=Trip.md"], 1, "travel/Trip.md", id="a path is exact"),
        pytest.param(["links", "path=../x"], 1, "refused", id="out of the vault"),
        pytest.param(["links", "path=/etc/passwd"], 1, "refused", id="absolute"),
        pytest.param(["links", "#x"], 1, "no note", id="no name"),
        pytest.param(["links"], 2, "Name one note", id="none named"),
        pytest.param(["links", "Home", "file=Home"], 2, "Name one note", id="two named"),
        pytest.param(["links", "Home", "format=xml"], 2, "xml", id="no such format"),
        pytest.param(["search"], 2, "look for", id="nothing to look for"),
        pytest.param(["search", "x", "path=none"], 1, "no folder", id="no such folder"),
        pytest.param(["links", "\udcff"], 1, "no note", id="no Unicode"),
    ],
)
def test_what_can_not_be_answered_says_why(ask, arguments, code, words):
    found, out, err = ask(*arguments)
    assert (found, out) == (code, "")
    assert words in err


def test_a_word_is_a_flag_only_when_no_argument_can_mean_it(ask, vault):
    (vault / "total.md").write_text("[[Home]]")
    assert rows(ask("links", "total", "format=tsv")[1])[1][0] == "Home"
    assert ask("links", "total", "total")[1] == "1\n"
    assert ask("search", "--", "total")[1].count("total.md") == 1
    assert ask("search", "a=b", "case")[1] == ""


def test_odd_names_stay_on_their_line(ask, vault):
    (vault / "odd\tna\nme.md").write_text("[[Home]]")
    assert rows(ask("backlinks", "Home", "format=tsv")[1])[-1] == ["odd\\tna\\nme.md"]
    assert ask("backlinks", "Home")[1].splitlines()[-1] == "odd\\tna\\nme.md"
    assert json.loads(ask("backlinks", "Home", "format=json")[1])[-1] == {"path": "odd\tna\nme.md"}


def test_a_canvas_with_half_a_character_is_printed_all_the_same(ask, vault):
    (vault / "c.canvas").write_text('{"nodes": [{"type": "text", "text": "[[\\ud800]]"}]}')
    for form in ("text", "json", "tsv", "csv"):
        assert ask("unresolved", "format=" + form)[0] == 0


def test_a_first_look_that_takes_long_shows_how_far_it_is_on_a_terminal_only(vault, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(output, "PATIENCE_S", 0)
    written = io.StringIO()
    written.isatty = lambda: True
    monkeypatch.setattr(output.sys, "stderr", written)
    with notes.opened_index(vault):
        pass
    assert "Reading notes [" in written.getvalue()
    assert written.getvalue().endswith(f"\r{' ' * 99}\r")
    written.isatty = lambda: False
    shown = written.getvalue()
    output.ProgressBar("x")(1, 2)
    assert written.getvalue() == shown


def test_the_reader_of_a_pipe_may_leave(vault):
    (vault / "many.md").write_text("\n".join(f"[[n{number}]]" for number in range(20_000)))
    done = subprocess.run(
        f"{sys.executable} -m smart_context unresolved | head -1",
        shell=True, cwd=vault, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "Nowhere\n"
    assert "Traceback" not in done.stderr


def test_on_a_terminal_nothing_but_the_result_goes_to_stdout(vault):
    """A real terminal for stderr: what is drawn there is not in the result."""
    controller, terminal = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "smart_context", "orphans"],
        cwd=vault, stdout=subprocess.PIPE, stderr=terminal, text=True, check=False,
    )  # fmt: skip
    os.close(terminal)
    os.close(controller)
    assert (done.returncode, done.stdout) == (0, "b/Twin.md\n")


def test_a_path_may_be_typed_as_the_system_parts_names(ask, vault, monkeypatch):
    monkeypatch.setattr(as_typed, "__defaults__", ("\\",))  # as on Windows
    assert ask("links", r"path=travel\Trip.md") == ask("links", "path=travel/Trip.md")
    assert ask("outline", r"travel\Trip")[0] == 0
    assert "Trip.md" in ask("search", "lisbon", "--path", r".\travel")[1]
    assert ask("read", "--filter", "T*", r"travel\Trip.md")[1].startswith("@")
    packed = CliRunner().invoke(program, ["pack", "--repo", str(vault), "--include", r"a\T*.md"])
    assert "LISBON" in packed.stdout
    found = (
        CliRunner()
        .invoke(program, ["contexts", "build", "--vault", str(vault), r"travel\Trip.md#Day 1"])
        .stdout
    )
    assert "by train" in found
