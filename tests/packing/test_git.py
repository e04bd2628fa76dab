import subprocess

import pytest

from smart_context.packing import git


@pytest.fixture
def repo(tmp_path):
    def run(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True
        )

    run("init", "-q")
    tmp_path.joinpath("old.py").write_text("".join(f"line {n}\n" for n in range(30)))
    tmp_path.joinpath("gone.py").write_text("x")
    run("add", ".")
    run("commit", "-qm", "first")
    return tmp_path, run


def test_renames_odd_names_and_deletions_are_told(repo):
    root, run = repo
    names = ["näme 文.py", "new\nline.py", '"quoted".py', "-dash.py", "🎈.py"]
    for name in names:
        (root / name).write_text("x")
    run("mv", "old.py", "moved.py")
    run("rm", "-q", "gone.py")
    run("add", "--", *names)
    assert sorted(git.changed_files(root)) == sorted([*names, "moved.py"])
    assert "näme 文.py" in git.diff(root, staged=True)


def test_staged_and_unstaged_changes_are_apart(repo):
    root, run = repo
    (root / "gone.py").write_text("staged")
    run("add", ".")
    (root / "gone.py").write_text("unstaged")
    assert "+staged" in git.diff(root, staged=True)
    assert "+unstaged" not in git.diff(root, staged=True)
    assert "+unstaged" in git.diff(root, staged=False)


def test_below_the_top_of_a_repository_paths_are_relative_to_it(repo):
    root, run = repo
    (root / "sub").mkdir()
    (root / "sub" / "a.py").write_text("x")
    (root / "top.py").write_text("x")
    run("add", ".")
    assert git.changed_files(root / "sub") == ["a.py"]


def test_programs_named_by_the_repository_are_not_run(repo):
    root, run = repo
    mark = root / "ran"
    program = root / "program"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    program.chmod(0o755)
    for key in ("diff.external", "core.fsmonitor", "core.pager", "diff.evil.textconv"):
        run("config", key, str(program))
    (root / ".gitattributes").write_text("*.py diff=evil\n")
    (root / "gone.py").write_text("changed")
    git.diff(root, staged=False)
    assert not mark.exists()


def test_what_git_can_not_tell_is_empty(tmp_path, caplog):
    assert git.diff(tmp_path, staged=True) == ""
    assert "git did not tell" in caplog.text
    caplog.clear()
    with caplog.at_level("INFO"):
        assert git.changed_files(tmp_path) == []
    assert "git did not tell" in caplog.text


def test_a_bare_repository_has_not_lost_its_files(repo):
    folder, run = repo
    run("clone", "-q", "--bare", ".", "bare.git")
    assert git.diff(folder / "bare.git", staged=True) == ""
    assert git.changed_files(folder / "bare.git") == []


def test_a_file_in_conflict_is_named_once(repo):
    folder, run = repo
    run("checkout", "-qb", "other")
    (folder / "old.py").write_text("theirs\n")
    run("commit", "-qam", "theirs")
    run("checkout", "-q", "-")
    (folder / "old.py").write_text("ours\n")
    run("commit", "-qam", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        run("merge", "other")
    assert git.changed_files(folder) == ["old.py"]
    assert git.diff(folder, staged=True) == "* Unmerged path old.py\n"


def test_a_repository_without_files_has_no_diff(tmp_path):
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path)], check=True)
    assert git.diff(tmp_path, staged=True) == ""


def test_without_git_there_are_no_changes(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git.diff(tmp_path, staged=True) == ""
    assert "git did not tell" in caplog.text


def test_a_git_that_hangs_is_given_up(tmp_path, monkeypatch):
    program = tmp_path / "git"
    program.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git.diff(tmp_path, staged=True, timeout_s=0.05) == ""
