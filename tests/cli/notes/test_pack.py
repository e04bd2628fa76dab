"""`pack` as a user meets it: the prompt on stdout, its account on stderr."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from smart_context.packing import ContextPacker, RoleLoader

FULL = Path("/dev/full")
KEY = "AKIA" + "ABCDEFGHIJKLMNOP"


@pytest.fixture
def repo(tmp_path):
    texts = {
        "README.md": "# Project\n",
        "src/__init__.py": "",
        "src/auth.py": "from .db import connect\n",
        "src/db.py": "def connect(): ...\n",
        "tests/test_auth.py": "def test(): ...\n",
    }
    folder = tmp_path / "repo"
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def git(folder, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    allowed = ["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main"]
    subprocess.run(
        ["git", *identity, *allowed, *arguments], cwd=folder, check=True, capture_output=True
    )


def files(prompt):
    return [line[4:] for line in prompt.splitlines() if line.startswith("### ")]


def test_the_prompt_alone_is_on_stdout_and_its_account_on_stderr(smart_context, repo):
    code, out, err = smart_context(
        "pack", "--role", "implementer", "--target", "src/auth.py", "--task", "Log in", cwd=repo
    )
    role = RoleLoader(repo).load_role("implementer")
    assert code == 0
    assert out == ContextPacker(repo).pack_context(role, "Log in", ["src/auth.py"])
    rows = {line.split("  ")[0]: line.split() for line in err.splitlines()}
    assert rows["Target Files"][-1] == "yes"
    assert rows["Task"][-1] == "always"
    assert "of 30000 tokens, 3 files" in err


def test_a_template_is_filled(smart_context, repo):
    command = ("--target", "src/auth.py", "--task", "Log in", "--template", "implement.j2")
    code, out, _ = smart_context("pack", "--role", "implementer", *command, cwd=repo)
    role = RoleLoader(repo).load_role("implementer")
    whole = ContextPacker(repo).build_full_prompt("implement.j2", role, "Log in", ["src/auth.py"])
    assert (code, out) == (0, whole)
    assert "## Output Requirements" in out


def test_patterns_alone_pack_files_without_a_role_or_a_budget(smart_context, repo):
    (repo / "long.py").write_text("x = 1\n" * 20_000)
    code, out, _ = smart_context(
        "pack", "--include", "*.py", "--exclude", "tests/", "--exclude", "__init__.py", cwd=repo
    )
    assert code == 0
    assert out.startswith("## Repository Context\n")
    assert files(out) == ["long.py", "src/auth.py", "src/db.py"]


@pytest.mark.parametrize(
    ("style", "expected"),
    [
        pytest.param("markdown", "### README.md", id="markdown"),
        pytest.param("xml", '<file path="README.md">', id="xml"),
        pytest.param("plain", "File: README.md", id="plain"),
    ],
)
def test_the_style_can_be_chosen(smart_context, repo, style, expected):
    _, out, _ = smart_context("pack", "--include", "README.md", "--style", style, cwd=repo)
    assert expected in out


@pytest.mark.parametrize("separator", ["\n", "\0"])
def test_paths_on_stdin_are_packed(smart_context, repo, separator):
    (repo / "$odd.py").write_text("odd\n")
    (repo / "!odd.py").write_text("odd\n")
    (repo / "a[b].py").write_text("odd\n")
    names = ["$odd.py", "!odd.py", "a[b].py", str(repo / "src/db.py")]
    code, out, err = smart_context("pack", "--stdin", cwd=repo, stdin=separator.join(names))
    assert code == 0
    assert sorted(files(out)) == ["!odd.py", "$odd.py", "a[b].py", "src/db.py"]
    assert "warning" not in err


@pytest.mark.skipif(os.name == "nt", reason="names that Windows can't have")
@pytest.mark.parametrize("options", [[], ["-z"]])
def test_paths_are_read_as_git_lists_them(smart_context, repo, options):
    names = ["café.py", 'a"b.py', "a\tb.py", "a\\b.py", "登录.py", "\\303.py"]
    for name in names:
        (repo / name).write_text("odd\n")
    listing = ["git", "--literal-pathspecs", "ls-files", "--others", *options, *names]
    subprocess.run(["git", "init", "-q"], cwd=repo, check=True)
    listed = subprocess.run(listing, cwd=repo, check=True, capture_output=True, text=True).stdout
    assert options or '"caf\\303\\251.py"' in listed.splitlines()
    code, out, err = smart_context("pack", "--stdin", cwd=repo, stdin=listed)
    assert code == 0, err
    assert "warning" not in err
    assert out.count("\nodd\n") == len(names)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-8-sig"])
def test_a_text_with_a_byte_order_mark_is_packed(smart_context, repo, encoding):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (repo / "wide.txt").write_bytes(f"{mark}größer 登录\n".encode(encoding))
    code, out, _ = smart_context("pack", "--target", "wide.txt", cwd=repo)
    assert code == 0
    assert "größer 登录" in out
    assert "\ufeff" not in out


def test_no_paths_on_stdin_are_an_empty_prompt(smart_context, repo):
    assert smart_context("pack", "--stdin", cwd=repo)[:2] == (0, "")


def test_the_task_can_come_from_stdin(smart_context, repo):
    assert "## Task\n\nAdd 登录\n" in smart_context("pack", "--task", "-", stdin="Add 登录\n")[1]
    code, _, err = smart_context("pack", "--task", "-", "--stdin", cwd=repo)
    assert code == 2
    assert "both read stdin" in err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param([], "Say what to pack", id="nothing asked for"),
        pytest.param(["--role", "implementr"], "planner", id="an unknown role"),
        pytest.param(["--role", "../x"], "../x", id="a role that is a path"),
        pytest.param(["--task", "x", "--template", "x.j2"], "implement.j2", id="a template"),
        pytest.param(["--task", "x", "--token-budget", "-1"], "-1", id="a negative budget"),
        pytest.param(["--task", "x", "--style", "html"], "markdown", id="a style"),
        pytest.param(["--task", "x", "--repo", "/no/such"], "/no/such", id="a missing folder"),
    ],
)
def test_bad_usage_says_what_would_be_good(smart_context, repo, arguments, expected):
    code, out, err = smart_context("pack", *arguments, cwd=repo)
    assert (code, out) == (2, "")
    assert expected in err


def test_all_faults_of_a_role_are_told_at_once(smart_context, repo):
    (repo / "roles").mkdir()
    (repo / "roles/mine.toml").write_text('token_budget = "x"\n[context]\ninclud = []\n')
    code, out, err = smart_context("pack", "--role", "mine", cwd=repo)
    assert (code, out) == (2, "")
    assert "line 1: token_budget" in err
    assert "line 3: context.includ" in err
    assert "did you mean 'include'" in err


def test_a_template_that_fails_is_a_warning_told_once(smart_context, repo, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "implement.j2").write_text("{{ missing }}")
    options = ("--template", "implement.j2", "--template-dir", own)
    code, out, err = smart_context("pack", "--task", "Log in", *options, cwd=repo)
    assert (code, out) == (0, "## Task\n\nLog in")
    assert err.count("'missing' is undefined") == 1
    _, out, _ = smart_context("pack", "--task", "x", *options, "--format", "json", cwd=repo)
    assert "'missing' is undefined" in json.loads(out)["warnings"][0]


@pytest.mark.parametrize("budget", [0, 1])
@pytest.mark.parametrize("template", [[], ["--template", "implement.j2"]])
def test_the_smallest_budgets_hold(smart_context, repo, budget, template):
    command = ("--role", "implementer", "--target", "src/auth.py", "--task", "Log in", *template)
    code, out, err = smart_context("pack", *command, "--token-budget", budget, cwd=repo)
    assert code == 0
    assert template or len(out) <= 4 * budget
    assert files(out) == []
    assert "over the token budget" in err
    assert f"over the token budget of {budget}" in err


def test_what_was_dropped_is_said_and_can_be_made_a_failure(smart_context, repo):
    (repo / ("long" * 60)).write_text("")
    command = ("pack", "--role", "planner", "--target", "src/auth.py", "--token-budget", "160")
    code, out, err = smart_context(*command, cwd=repo)
    assert code == 0
    assert "## Repository Tree" not in out
    assert "dropped  over the token budget" in err
    target = repo.parent / "prompt.md"
    code, out, err = smart_context(*command, "--fail-over-budget", "-o", target, cwd=repo)
    assert (code, out) == (1, "")
    assert "nothing was written" in err
    assert not target.exists()
    assert smart_context(*command[:-1], "9999", "--fail-over-budget", cwd=repo)[0] == 0


def test_a_model_counts_its_own_tokens(smart_context, repo):
    (repo / "long.txt").write_text("a" * 4000)
    command = ("pack", "--include", "long.txt", "--format", "json")
    by_characters = json.loads(smart_context(*command, cwd=repo)[1])["tokens"]
    by_model = json.loads(smart_context(*command, "--model", "gpt-4o", cwd=repo)[1])["tokens"]
    assert by_characters > 1000
    assert by_model < 700


def test_the_tokens_of_each_folder_are_shown_when_asked_for(smart_context, repo):
    command = ("pack", "--include", "*.py")
    _, _, err = smart_context(*command, "--token-tree", cwd=repo)
    assert "src/db.py" in err
    assert "src/db.py" not in smart_context(*command, cwd=repo)[2]


def test_secrets_are_left_out_unless_they_are_asked_for(smart_context, repo):
    (repo / "keys.py").write_text(f"key = '{KEY}'\n")
    code, out, err = smart_context("pack", "--include", "keys.py", cwd=repo)
    assert code == 0
    assert KEY not in out + err
    assert "keys.py was left out: it seems to contain an AWS key" in err
    assert KEY in smart_context("pack", "--include", "keys.py", "--allow-secrets", cwd=repo)[1]


def test_the_account_names_the_limit_of_size_and_the_option_that_lifts_it(smart_context, repo):
    for number in range(11):
        (repo / f"big{number:02}.txt").write_text("x" * (1 << 20))
    everything = ("pack", "--include", "big*", "-o", str(repo.parent / "prompt.md"))

    _, _, limited = smart_context(*everything, cwd=repo)
    _, _, lifted = smart_context(*everything, "--max-total-size", "0", cwd=repo)
    _, _, small = smart_context(*everything, "--max-file-size", "500k", cwd=repo)

    note = "size limit: 1 file is over the size limit of 10 MiB in all; raise --max-total-size"
    assert f"{note} (0 = no limit)" in limited
    assert "size limit" not in lifted
    assert "11 files are over the size limit of 500 KiB for a file; raise --max-file-size" in small


def test_a_size_that_is_none_is_bad_usage(smart_context, repo):
    code, _, err = smart_context("pack", "--include", "**", "--max-file-size", "big", cwd=repo)

    assert code == 2
    assert "expected a size such as 500k, 20MiB or 0, found 'big'" in err


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        pytest.param("gone.py", None, "No such file or directory", id="missing"),
        pytest.param("image.png", b"\x89PNG\0", "binary file", id="binary"),
        pytest.param("latin.txt", b"\xe9t\xe9", "not UTF-8 text", id="not UTF-8"),
        pytest.param("wide.txt", "a text".encode("utf-16-le"), "UTF-16 text", id="without a mark"),
        pytest.param(
            "big.bin", b"version https://git-lfs.github.com/spec/v1\n", "Git LFS", id="LFS pointer"
        ),
        pytest.param("../out.txt", None, "refused", id="outside"),
        pytest.param("/etc/passwd", None, "refused", id="absolute"),
    ],
)
def test_a_target_without_text_is_said_with_the_reason(smart_context, repo, name, content, reason):
    if content is not None:
        (repo / name).write_bytes(content)
    code, out, err = smart_context("pack", "--target", name, cwd=repo)
    assert code == 0
    assert "[Could not read file]" in out
    assert any(line.startswith("left out: ") and reason in line for line in err.splitlines())
    assert err.count(reason) == 1, "it is said once"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param("-dash.py", "-dash.py", id="a leading dash"),
        pytest.param("quo\"te's.py", "quo\"te's.py", id="quotes"),
        pytest.param("two\nlines.py", "two\\nlines.py", id="a newline"),
        pytest.param("\x1b[31mred.py", "\\x1b[31mred.py", id="a terminal's escape"),
        pytest.param("猫😀.py", "猫😀.py", id="Chinese and emoji"),
        pytest.param(os.fsdecode(b"\xff.py"), "\\udcff.py", id="no Unicode"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_odd_names_are_packed_and_shown_on_one_line(
    smart_context, repo, tmp_path, name, shown, form
):
    (repo / name).write_text("odd\n")
    options = ("--template", "implement.j2", "--token-tree", "--format", form)
    target = tmp_path / "p.md"
    command = ("pack", f"--target={name}", "--task", "x", *options, "-o", target)
    code, out, err = smart_context(*command, cwd=repo)
    assert code == 0
    text = target.read_text(encoding="utf-8")
    assert f"### {shown}\n\n```\nodd\n" in text
    assert f"change first: {shown}\n" in text
    assert form == "json" or shown in err
    assert form == "text" or json.loads(out)["files"][0]["in"]
    assert "udc" in shown or smart_context("pack", "--check", target)[0] == 0


def test_a_target_may_be_named_from_anywhere(smart_context, repo):
    by_path = smart_context("pack", "--repo", repo, "--target", repo / "src" / "db.py")
    assert by_path[:2] == smart_context("pack", "--target", "./src//db.py", cwd=repo)[:2]
    assert files(by_path[1]) == ["src/db.py"]


def test_json_has_the_prompt_and_the_whole_account(smart_context, repo):
    (repo / "keys.py").write_text(KEY)
    command = ("pack", "--include", "*.py", "--token-budget", "9000", "--format", "json")
    code, out, err = smart_context(*command, "--token-tree", cwd=repo)
    document = json.loads(out)
    assert (code, err) == (0, "")
    assert document["prompt"] == smart_context("pack", "--include", "*.py", cwd=repo)[1]
    assert document["token_budget"] == 9000
    assert document["is_whole"] is True
    assert document["sections"][0]["heading"] == "Repository Context"
    assert {f["path"]: f["reason"] for f in document["files"]}["keys.py"] == (
        "seems to contain an AWS key"
    )
    assert set(document["sources"]) == {f["path"] for f in document["files"] if f["in"]}
    assert document["token_tree"][0]["path"] == "./"
    assert any("keys.py" in warning for warning in document["warnings"])


def test_a_stored_prompt_knows_when_it_is_out_of_date(smart_context, repo):
    pack = ("pack", "--role", "implementer", "--target", "src/auth.py", "--task", "Log in")
    check = ("pack", "--check", "prompt.md")
    code, out, _ = smart_context(*pack, "-o", "prompt.md", cwd=repo)
    assert (code, out) == (0, "")
    assert (repo / "prompt.md").read_text() == smart_context(*pack, cwd=repo)[1]
    assert smart_context(*check, cwd=repo)[:2] == (0, "prompt.md is up to date (3 files).\n")

    (repo / "README.md").write_text("not in it\n")
    assert smart_context(*check, cwd=repo)[0] == 0

    (repo / "src/db.py").write_text("def connect(): pass\n")
    (repo / "tests/test_auth.py").unlink()
    (repo / "src/web.py").write_text("import src.auth\n")
    code, out, _ = smart_context(*check, cwd=repo)
    assert code == 1
    assert "out of date" in out
    assert "changed: src/db.py" in out
    assert "gone: tests/test_auth.py" in out
    assert "new: src/web.py" in out
    found = json.loads(smart_context(*check, "--format", "json", cwd=repo)[1])
    assert (found["is_stale"], found["added"]) == (True, ["src/web.py"])

    smart_context(*pack, "-o", "prompt.md", cwd=repo)
    assert smart_context(*check, cwd=repo)[0] == 0


def test_a_stored_prompt_is_no_part_of_the_next_one(smart_context, repo):
    everything = ("pack", "--role", "planner", "--include", "**", "-o", "my [p].md")
    smart_context(*everything, cwd=repo)
    first = (repo / "my [p].md").read_bytes()
    assert smart_context("pack", "--check", "my [p].md", cwd=repo)[0] == 0
    smart_context(*everything, cwd=repo)
    assert (repo / "my [p].md").read_bytes() == first


def test_changes_that_are_no_files_make_a_prompt_out_of_date(smart_context, repo):
    (repo / "roles").mkdir()
    (repo / "roles/mine.toml").write_text('system_prompt = "Be kind."\n')
    smart_context("pack", "--role", "mine", "--task", "x", "-o", "p.md", cwd=repo)
    (repo / "roles/mine.toml").write_text('system_prompt = "Be brief."\n')
    code, out, _ = smart_context("pack", "--check", "p.md", cwd=repo)
    assert code == 1
    assert "the role" in out


def test_an_edited_prompt_is_told_and_a_moved_repository_still_checked(smart_context, repo):
    smart_context("pack", "--include", "*.py", "-o", "p.md", cwd=repo)
    (repo / "p.md").write_text("mine")
    moved = repo.rename(repo.parent / "moved")
    code, out, _ = smart_context("pack", "--check", moved / "p.md")
    assert code == 0
    assert "was edited" in out


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(None, id="missing"),
        pytest.param(b"{", id="no JSON"),
        pytest.param(b"[" * 5000, id="nested"),
        pytest.param(b"\xff", id="no UTF-8"),
        pytest.param(b'{"version": 2}', id="another version"),
        pytest.param(
            b'{"version": 1, "prompt_sha256": "", "sources": {}, "request": {"repo": 3}}',
            id="wrong types",
        ),
        pytest.param(
            b'{"version": 1, "prompt_sha256": "", "sources": {}, "request": {"repo": "gone"}}',
            id="of a folder that is gone",
        ),
        pytest.param(
            b'{"version": 1, "prompt_sha256": "", "sources": {},'
            b' "request": {"repo": ".", "include": ["**"], "repomix": "always"}}',
            id="that would run a program",
        ),
    ],
)
def test_a_record_that_says_nothing_is_an_error_that_says_what_to_do(smart_context, repo, record):
    (repo / "p.md").write_text("prompt")
    if record is not None:
        (repo / "p.md.sources.json").write_bytes(record)
    code, out, err = smart_context("pack", "--check", "p.md", cwd=repo)
    assert (code, out) == (1, "")
    assert "p.md" in err


@pytest.fixture
def clipboard(tmp_path):
    """A folder for the PATH with clipboard commands in it that write to files."""
    folder = tmp_path / "bin"
    folder.mkdir()

    def add(name, script):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
        return {"PATH": str(folder)}

    return add


def test_a_prompt_is_copied_by_the_first_command_that_works(
    smart_context, repo, tmp_path, clipboard
):
    clipboard("wl-copy", "exit 1")
    env = clipboard("xclip", f"exec /bin/cat > {tmp_path}/copied")
    command = ("pack", "--task", "Add 登录", "--copy")
    code, out, err = smart_context(*command, cwd=repo, env=env)
    assert (code, out) == (0, "")
    assert "Copied by xclip." in err
    assert (tmp_path / "copied").read_text(encoding="utf-8") == "## Task\n\nAdd 登录"


def test_a_clipboard_that_stays_in_the_background_is_not_waited_for(smart_context, repo, clipboard):
    env = clipboard("xsel", "/bin/cat >/dev/null\n/bin/sleep 100 &")
    assert smart_context("pack", "--task", "x", "--copy", cwd=repo, env=env)[0] == 0


@pytest.mark.parametrize(
    ("name", "expected"), [("xclip", "xclip ended with exit code 3"), ("other", "xclip, xsel")]
)
def test_without_a_clipboard_it_is_said_and_nothing_is_lost(
    smart_context, repo, clipboard, name, expected
):
    env = clipboard(name, "exit 3")
    code, _, err = smart_context("pack", "--task", "x", "--copy", cwd=repo, env=env)
    assert code == 1
    assert expected in err
    assert "-o FILE" in err


@pytest.mark.skipif(not FULL.exists(), reason="no such device")
@pytest.mark.parametrize("by_option", [True, False])
def test_a_full_disk_is_said(repo, by_option):
    command = [sys.executable, "-m", "smart_context", "pack", "--task", "x"]
    with FULL.open("wb") as full:
        done = subprocess.run(
            [*command, "-o", "/dev/full"] if by_option else command,
            cwd=repo,
            stdout=subprocess.PIPE if by_option else full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_ends_it_quietly(repo, unbuffered):
    (repo / "long.txt").write_text("x" * 999_999)
    with subprocess.Popen(
        [sys.executable, "-m", "smart_context", "pack", "--include", "*.txt"],
        cwd=repo,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        process.stdout.read(1)
        process.stdout.close()
        complaints = process.stderr.read().decode()
    assert process.returncode == 1
    assert "Error" not in complaints
    assert "ignored" not in complaints


def reviewed(smart_context, folder, *arguments):
    code, out, _ = smart_context(
        "pack", "--role", "reviewer", "--task", "x", *arguments, cwd=folder
    )
    assert code == 0
    return out


def test_a_folder_without_git_has_no_changes(smart_context, repo):
    assert "## Git Diff" not in reviewed(smart_context, repo)


def test_a_bare_repository_has_no_changes(smart_context, repo):
    git(repo, "init", "-q")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    git(repo, "clone", "-q", "--bare", ".", "../bare.git")
    assert "## Git Diff" not in reviewed(smart_context, repo.parent / "bare.git")


def test_a_shallow_clone_has_its_staged_changes(smart_context, repo):
    git(repo, "init", "-q")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    git(repo, "commit", "-qm", "second", "--allow-empty")
    git(repo, "clone", "-q", "--depth", "1", repo.as_uri(), "../shallow")
    shallow = repo.parent / "shallow"
    (shallow / "src/db.py").write_text("CHANGED\n")
    git(shallow, "add", ".")
    out = reviewed(smart_context, shallow)
    assert "+CHANGED" in out
    assert files(out) == ["src/db.py"]


def test_in_the_middle_of_a_merge_the_conflict_is_shown_once(smart_context, repo):
    git(repo, "init", "-q")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    git(repo, "checkout", "-qb", "other")
    (repo / "src/db.py").write_text("theirs\n")
    git(repo, "commit", "-qam", "theirs")
    git(repo, "checkout", "-q", "main")
    (repo / "src/db.py").write_text("ours\n")
    git(repo, "commit", "-qam", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(repo, "merge", "other")
    out = reviewed(smart_context, repo)
    assert "* Unmerged path src/db.py" in out
    assert files(out) == ["src/db.py"]
    assert "<<<<<<<" in out


def test_a_submodule_is_named_in_the_diff_and_its_files_can_be_targets(smart_context, repo):
    git(repo, "init", "-q")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "first")
    outer = repo.parent / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "--quiet", "add", str(repo), "inner")
    out = reviewed(smart_context, outer, "--target", "inner/src")
    assert "+Subproject commit" in out
    assert "inner/src/db.py" in files(out)
    assert "inner" not in files(out)


@pytest.mark.parametrize("option", ["--target", "--include"])
@pytest.mark.parametrize("name", [".", "./"])
def test_a_dot_is_all_there_is(smart_context, repo, option, name):
    code, out, err = smart_context("pack", option, name, cwd=repo)
    assert code == 0, err
    assert "src/auth.py" in files(out)


def test_an_empty_prompt_is_not_left_unexplained(smart_context, repo):
    code, out, err = smart_context("pack", "--include", "nosuch/**", cwd=repo)
    assert (code, out) == (0, "")
    assert "warning: nothing matched the request, so the prompt is empty" in err


@pytest.fixture
def leaky(repo):
    """A repository with a secret and a role that asks for it."""
    (repo / ".env").write_text("KEY=AKIA" + "ABCDEFGHIJKLMNOP\n")
    (repo / "roles").mkdir()
    text = "[context]\nallow_secrets = true\nalways_include = ['.env']\n"
    (repo / "roles" / "leaky.toml").write_text(text)
    return repo


def test_a_repositorys_role_gets_no_secrets_and_it_is_said_how_it_would(smart_context, leaky):
    code, out, err = smart_context("pack", "--role", "leaky", cwd=leaky)
    assert code == 0
    assert "AKIA" not in out
    assert "warning: Role 'leaky' can't allow secrets: it is this folder's role, not yours." in err
    assert "Pass --allow-secrets, or keep the role in" in err


def test_secrets_are_allowed_by_the_command_line_and_by_the_users_own_roles(
    smart_context, leaky, tmp_path
):
    code, out, err = smart_context("pack", "--role", "leaky", "--allow-secrets", cwd=leaky)
    assert "AKIA" in out
    assert "can't allow" not in err
    own = tmp_path / "config" / "smart-context"
    (own / "roles").mkdir(parents=True)
    (leaky / "roles" / "leaky.toml").rename(own / "roles" / "leaky.toml")
    code, out, err = smart_context("pack", "--role", "leaky", cwd=leaky)
    assert (code, "AKIA" in out) == (0, True)
    (own / "roles").rename(own / "parts")
    (own / "config.toml").write_text('[roles]\nfolder = "parts"\n')
    code, out, _ = smart_context("pack", "--role", "leaky", cwd=leaky)
    assert (code, "AKIA" in out) == (0, True)
