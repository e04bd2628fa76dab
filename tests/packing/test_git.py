import os
import shutil
import subprocess

import pytest

from smart_context.packing import ContextPacker, RoleConfig, RoleContext
from smart_context.packing.git import GitChanges
from tests.packing.repositories import ATTACKS, git, make_repository, set_trap
from tests.patience import PATIENCE_S
from tests.preloaded import run_to_end

REVIEW = RoleConfig(
    "r",
    context=RoleContext(
        include=("git diff", "$CHANGED_FILES"), git_diff=True, priority_order=("git_diff",)
    ),
)


@pytest.fixture
def repo(tmp_path):
    root = tmp_path / "repo"
    root.mkdir()

    def run(*arguments: str) -> None:
        git(root, *arguments)

    run("init", "-q")
    root.joinpath("old.py").write_text("".join(f"line {n}\n" for n in range(30)))
    root.joinpath("gone.py").write_text("x")
    run("add", ".")
    run("commit", "-qm", "first")
    return root, run


def answers(root) -> tuple[str, str, list[str]]:
    changes = GitChanges(root)
    return changes.diff(staged=True), changes.diff(staged=False), changes.staged_files()


def unguarded_diff(root, *options: str) -> str:
    command = ["git", "diff", *options]
    done = subprocess.run(
        command, cwd=root, capture_output=True, check=False, timeout=PATIENCE_S, text=True
    )
    return done.stdout


def test_renames_odd_names_and_deletions_are_told(repo):
    root, run = repo
    names = ["näme 文.py", "new\nline.py", '"quoted".py', "-dash.py", "🎈.py"]
    for name in names:
        (root / name).write_text("x")
    run("mv", "old.py", "moved.py")
    run("rm", "-q", "gone.py")
    run("add", "--", *names)
    assert sorted(GitChanges(root).staged_files()) == sorted([*names, "moved.py"])
    assert "näme 文.py" in GitChanges(root).diff(staged=True)


def test_staged_and_unstaged_changes_are_apart(repo):
    root, run = repo
    (root / "gone.py").write_text("staged")
    run("add", ".")
    (root / "gone.py").write_text("unstaged")
    assert "+staged" in GitChanges(root).diff(staged=True)
    assert "+unstaged" not in GitChanges(root).diff(staged=True)
    assert "+unstaged" in GitChanges(root).diff(staged=False)


def test_below_the_top_of_a_repository_paths_are_relative_to_it(repo):
    root, run = repo
    for path in ("sub/a.py", "subway/a.py", "top.py"):
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text("x")
    run("add", ".")
    assert GitChanges(root / "sub").staged_files() == ["a.py"]
    assert "+++ b/a.py" in GitChanges(root / "sub").diff(staged=True)
    assert "top" not in GitChanges(root / "sub").diff(staged=True)


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_no_program_that_a_repository_names_is_run(tmp_path, attack):
    trap = set_trap(tmp_path)
    attack(trap)
    for question in (["--cached"], [], ["--cached", "--name-only"]):
        unguarded_diff(trap.root, *question)
    assert trap.is_sprung(), "git itself would run it"
    answers(trap.root)
    ContextPacker(trap.root).get_git_diff()
    ContextPacker(trap.root).pack_context(REVIEW, "")
    assert not trap.is_sprung()


def test_a_git_that_knows_no_way_to_fetch_nothing_can_fetch_from_nowhere(tmp_path, monkeypatch):
    trap = set_trap(tmp_path)
    ATTACKS["a fetch by ssh"](trap)
    old = tmp_path / "old" / "git"
    old.parent.mkdir()
    old.write_text(f'#!/bin/sh\nunset GIT_NO_LAZY_FETCH\nexec {shutil.which("git")} "$@"\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}{os.pathsep}{os.environ['PATH']}")
    answers(trap.root)
    assert not trap.is_sprung()


def test_a_git_that_heeds_none_of_our_settings_is_not_asked(repo, tmp_path, monkeypatch, caplog):
    root, run = repo
    run("config", "safe.bareRepository", "explicit")
    old = tmp_path / "old" / "git"
    old.parent.mkdir()
    old.write_text(f'#!/bin/sh\nunset GIT_CONFIG_COUNT\nexec {shutil.which("git")} "$@"\n')
    old.chmod(0o755)
    (root / "gone.py").write_text("changed")
    assert GitChanges(root).diff(staged=False)
    monkeypatch.setenv("PATH", f"{old.parent}{os.pathsep}{os.environ['PATH']}")
    assert GitChanges(root).diff(staged=False) == ""
    assert "git 2.31 or newer is needed" in caplog.text


def test_more_filters_than_can_be_switched_off_are_no_way_in(tmp_path, caplog):
    trap = set_trap(tmp_path)
    trap.filter("f", "clean")
    with (trap.root / ".git" / "config").open("a") as config:
        config.writelines(f'[filter "{number}"]\n\tclean = x\n' for number in range(30_000))
    assert GitChanges(trap.root).diff(staged=False) == ""
    assert "git could not be started" in caplog.text
    assert not trap.is_sprung()


def test_a_bare_repository_among_the_files_is_just_files(tmp_path):
    trap = set_trap(tmp_path)
    inner = trap.root / "docs"
    git(trap.root, "init", "-q", "--bare", "docs")
    git(inner, "config", "core.bare", "false")
    git(inner, "config", "core.worktree", str(inner))
    git(inner, "config", "core.fsmonitor", str(trap.program))
    unguarded_diff(inner)
    assert trap.is_sprung()
    assert answers(inner) == ("", "", [])
    assert not trap.is_sprung()


def test_a_git_that_lies_in_the_repository_is_not_the_users(tmp_path, monkeypatch):
    trap = set_trap(tmp_path)
    shutil.copy(trap.program, trap.root / "git")
    monkeypatch.chdir(trap.root)
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", str(trap.root), os.environ["PATH"]]))
    assert "+staged" in GitChanges(trap.root).diff(staged=True)
    assert not trap.is_sprung()


def test_what_the_environment_says_about_git_is_not_meant_for_this_repository(repo, monkeypatch):
    root, run = repo
    (root / "new.py").write_text("x")
    run("add", ".")
    program = root.parent / "program"
    program.write_text(f"#!/bin/sh\ntouch '{root}/ran'\n")
    program.chmod(0o755)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.fsmonitor'='/nowhere'")
    assert GitChanges(root).staged_files() == ["new.py"]
    assert "+x" in GitChanges(root).diff(staged=True)
    assert not (root / "ran").exists()


def test_filtered_files_are_shown_as_they_are_stored(repo):
    root, run = repo
    (root / ".gitattributes").write_text("*.bin filter=pointers\n")
    run("config", "filter.pointers.clean", "sed s/^/pointer-to-/")
    run("config", "filter.pointers.required", "true")
    (root / "a.bin").write_text("content\n")
    run("add", ".")
    assert "+pointer-to-content" in GitChanges(root).diff(staged=True)
    (root / "a.bin").write_text("other\n")
    assert "+other" in GitChanges(root).diff(staged=False)


def test_a_work_tree_of_its_own_and_a_submodule_are_asked(repo, tmp_path):
    root, run = repo
    run("worktree", "add", "-q", str(tmp_path / "tree"))
    run("config", "extensions.worktreeConfig", "true")
    run("submodule", "-q", "add", str(root), "sub")
    for top in (tmp_path / "tree", root / "sub"):
        (top / "new.py").write_text("x")
        git(top, "add", "new.py")
        assert GitChanges(top).staged_files() == ["new.py"]
        assert "+x" in GitChanges(top).diff(staged=True)
    assert "+Subproject commit" in GitChanges(root).diff(staged=True)


def _as_pointer(own, private):
    shutil.rmtree(own / ".git")
    (own / ".git").write_text(f"gitdir: {private}/.git\n")


def _as_a_pointer_that_is_too_long_to_read(own, private):
    """Git drops the line ends behind it, however many there are."""
    shutil.rmtree(own / ".git")
    (own / ".git").write_text(f"gitdir: {private}/.git{os.linesep * 70_000}")


def _as_link(own, private):
    shutil.rmtree(own / ".git")
    (own / ".git").symlink_to(private / ".git")


def _as_link_to_a_pointer(own, private):
    _as_pointer(own, private)
    (own / ".git").rename(own / "pointer")
    (own / ".git").symlink_to("pointer")


def _with_its_own_index(own, private):
    (own / ".git" / "commondir").write_text(f"{private}/.git\n")


def _with_its_own_index_and_a_word(own, private):
    _with_its_own_index(own, private)
    (own / ".git" / "gitdir").write_text(f"{own}/.git\n")


def _as_a_tree_of_the_private_one(own, private):
    git(private, "worktree", "add", "-q", str(private.parent / "tree"))
    shutil.rmtree(own / ".git")
    (own / ".git").write_text(f"gitdir: {private}/.git/worktrees/tree\n")


def _with_linked(*names):
    def link(own, private):
        for name in names:
            place = own / ".git" / name
            if place.is_dir():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)
            place.symlink_to(private / ".git" / name)

    return link


def _with_a_named_head(own, private):
    _with_linked("objects", "refs/heads/main")(own, private)
    (own / ".git/refs/heads/main").rename(own / ".git/refs/heads/x")
    (own / ".git/refs/heads/main").write_text("ref: refs/heads/x\n")


def _with_another_work_tree(own, private):
    git(own, "config", "core.worktree", str(private))


@pytest.mark.parametrize(
    "steal",
    [
        pytest.param(_as_pointer, id="a pointer"),
        pytest.param(_as_a_pointer_that_is_too_long_to_read, id="a long pointer"),
        pytest.param(_as_link, id="a link"),
        pytest.param(_as_link_to_a_pointer, id="a link to a pointer"),
        pytest.param(_with_its_own_index, id="a common folder"),
        pytest.param(_with_its_own_index_and_a_word, id="a common folder, and a back pointer"),
        pytest.param(_as_a_tree_of_the_private_one, id="another work tree's pointer"),
        pytest.param(_with_linked("objects", "refs"), id="linked branches"),
        pytest.param(_with_linked("objects", "refs/heads"), id="linked heads"),
        pytest.param(_with_linked("objects", "refs/heads/main"), id="a linked head"),
        pytest.param(_with_linked("objects", "index"), id="a linked index"),
        pytest.param(_with_a_named_head, id="a head that names a linked one"),
        pytest.param(_with_another_work_tree, id="the files of another work tree"),
    ],
)
def test_a_folder_does_not_show_the_changes_of_another_repository(tmp_path, steal, caplog):
    for name in ("own", "private"):
        root = make_repository(tmp_path / name)
        git(root, "branch", "-m", "main")
        (root / f"{name}.txt").write_text(f"word of {name}\n")
        git(root, "add", f"{name}.txt")
        git(root, "commit", "-qm", name)
        (root / "b.txt").write_text(f"word of {name}\n")
    private = tmp_path / "private"
    git(private, "checkout", "-q", "--detach")
    git(private, "add", ".")
    steal(tmp_path / "own", private)
    own = tmp_path / "own"
    assert "word of private" in unguarded_diff(own, "--cached") + unguarded_diff(own)
    assert "word of private" not in "".join(answers(tmp_path / "own")[:2])
    assert "git could not list the changes" in caplog.text


def test_a_repository_kept_elsewhere_is_asked_once_it_names_its_files(tmp_path, caplog):
    files = tmp_path / "files"
    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "kept"), str(files))
    (files / "a.txt").write_text("x")
    git(files, "add", ".")
    assert GitChanges(files).staged_files() == []
    caplog.clear()
    assert GitChanges(files).diff(staged=True) == ""
    assert f"git config core.worktree {files}" in caplog.text
    git(files, "config", "core.worktree", str(files))
    assert GitChanges(files).staged_files() == ["a.txt"]


def test_what_git_can_not_tell_is_empty(tmp_path, caplog):
    assert GitChanges(tmp_path).diff(staged=True) == ""
    assert "git could not list the changes" in caplog.text
    caplog.clear()
    with caplog.at_level("INFO"):
        assert GitChanges(tmp_path).staged_files() == []
    assert "git could not list the changes" in caplog.text


def test_a_bare_repository_has_not_lost_its_files(repo):
    folder, run = repo
    run("clone", "-q", "--bare", ".", "bare.git")
    assert answers(folder / "bare.git") == ("", "", [])
    inside = folder / "inside"
    inside.mkdir()
    run("clone", "-q", "--bare", ".", "inside/.git")
    assert answers(inside) == ("", "", [])


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
    assert GitChanges(folder).staged_files() == ["old.py"]
    assert GitChanges(folder).diff(staged=True) == "* Unmerged path old.py\n"


def test_a_repository_without_files_has_no_diff(tmp_path):
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path)], check=True)
    assert GitChanges(tmp_path).diff(staged=True) == ""


def test_without_git_there_are_no_changes(repo, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert GitChanges(repo[0]).diff(staged=True) == ""
    assert "git is not installed" in caplog.text


def test_a_git_that_hangs_is_given_up(repo, tmp_path, monkeypatch, caplog):
    program = tmp_path / "tools" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    assert GitChanges(repo[0], timeout_s=0.05).diff(staged=True) == ""
    assert "git took longer than 0.05 s" in caplog.text


def _endless_configuration(root):
    git(root, "config", "include.path", str(root / "pipe"))


def _endless_attributes(root):
    git(root, "config", "core.attributesFile", str(root / "pipe"))


@pytest.mark.parametrize("name_it", [_endless_configuration, _endless_attributes])
def test_a_file_without_end_holds_up_nobody(repo, name_it, caplog):
    root, _ = repo
    os.mkfifo(root / "pipe")
    name_it(root)
    (root / "gone.py").write_text("changed")
    assert GitChanges(root, timeout_s=0.3).diff(staged=False) == ""
    assert "git took longer than 0.3 s" in caplog.text


def test_a_huge_file_is_named_but_not_shown(repo):
    root, run = repo
    (root / "huge.txt").write_text("line\n" * (4 << 20))
    run("add", "huge.txt")
    diff = GitChanges(root).diff(staged=True)
    assert "Binary files /dev/null and b/huge.txt differ" in diff
    assert len(diff) < 1000


def test_git_is_asked_for_its_configuration_once(repo, tmp_path, monkeypatch):
    log = tmp_path / "log"
    program = tmp_path / "tools" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$2" >> {log}\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    ContextPacker(repo[0]).pack_context(REVIEW, "")
    assert log.read_text().split() == ["config", "diff", "diff", "diff"]


def test_where_git_may_not_run_it_does_not_and_the_prompt_says_so(tmp_path, monkeypatch):
    trap = set_trap(tmp_path)
    tools = tmp_path / "tools"
    tools.mkdir()
    shutil.copy(trap.program, tools / "git")
    monkeypatch.setenv("PATH", str(tools))
    packer = ContextPacker(trap.root, git="never")
    plan = packer.plan(REVIEW, "")
    assert plan.warnings == ("git may not run here, so its changes are left out",)
    assert packer.get_git_diff() == ""
    assert not trap.is_sprung()
    ContextPacker(trap.root).get_git_diff()
    assert trap.is_sprung(), "otherwise git would have been asked"


def test_the_command_line_runs_no_program_of_a_repository(tmp_path):
    trap = set_trap(tmp_path)
    ATTACKS["a filter"](trap)
    ATTACKS["a file system monitor"](trap)
    code, out, _ = run_to_end(["pack", "--role", "reviewer", "--repo", trap.root])
    assert code == 0
    assert "+staged" in out
    assert not trap.is_sprung()
