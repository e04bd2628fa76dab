import itertools
import subprocess
import sys
from pathlib import Path

import pytest

from smart_context.packing import ContextPacker, RoleConfig, RoleContext
from smart_context.packing.sections.sections import HEADINGS, SECTION_KEYS, section_order

CUT = "[Context truncated due to token limit]"


@pytest.fixture
def repo(tmp_path):
    texts = {
        "README.md": "# Project\n",
        "src/__init__.py": "",
        "src/auth.py": "from .db import connect\n",
        "src/db.py": "def connect(): ...\n",
        "src/web.py": "import src.auth\n",
        "tests/test_auth.py": "def test(): ...\n",
        "notes.txt": "notes\n",
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def role(*include: str, budget: int = 20_000, prompt: str = "SYSTEM", **context) -> RoleConfig:
    return RoleConfig(
        "r",
        system_prompt=prompt,
        token_budget=budget,
        context=RoleContext(include=include, **context),
    )


def headings(prompt: str) -> list[str]:
    return [line[3:] for line in prompt.splitlines() if line.startswith("## ")]


def files(prompt: str) -> list[str]:
    return [line[4:] for line in prompt.splitlines() if line.startswith("### ")]


def stage(repo, *names: str) -> None:
    subprocess.run(["git", "init", "-q"], cwd=repo, check=True)
    subprocess.run(["git", "add", "--", *names], cwd=repo, check=True)


def test_making_a_packer_starts_and_reads_nothing(repo):
    made = """
import sys
from smart_context.packing import ContextPacker
seen = []
sys.addaudithook(lambda event, _: seen.append(event))
ContextPacker(sys.argv[1], template_dir=sys.argv[1], repomix="always")
print([event for event in seen if event.split(".")[0] in ("open", "os", "subprocess")])
"""
    done = subprocess.run(
        [sys.executable, "-c", made, repo], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_sections_come_required_first_then_by_priority_then_extra(repo):
    stage(repo, "src/db.py")
    everything = role(
        "$TARGET_IMPORTS",
        "$RELATED",
        "$CHANGED_FILES",
        "*.txt",
        always_include=("README.md",),
        git_diff=True,
        tree=True,
    )
    prompt = ContextPacker(repo).pack_context(
        everything, "the task", ["src/auth.py"], {"test_output": "ok", "z-last one": "1"}
    )
    assert prompt.startswith(
        "SYSTEM\n\n## Task\n\nthe task\n\n## Required Context\n\n### README.md"
    )
    assert headings(prompt) == [
        "Task",
        "Required Context",
        "Target Files",
        "Git Diff (Staged)",
        "Changed Files",
        "Related Files",
        "Repository Context",
        "Repository Tree",
        "Test Output",
        "Z Last One",
    ]
    assert files(prompt) == [
        "README.md",
        "src/auth.py",
        "src/db.py",
        "src/web.py",
        "tests/test_auth.py",
        "notes.txt",
    ]


def test_imports_of_targets_are_their_own_section(repo):
    prompt = ContextPacker(repo).pack_file_context(role("$TARGET_IMPORTS"), ["src/auth.py"])
    assert headings(prompt) == ["Target Files", "Imports"]
    assert files(prompt) == ["src/auth.py", "src/db.py"]


def test_a_file_with_links_appears_once(repo):
    (repo / "again.py").symlink_to("src/auth.py")
    packer = ContextPacker(repo)
    assert files(packer.pack_file_context(role("*.py"))).count("src/auth.py") == 1
    assert "again.py" not in files(packer.pack_file_context(role("*.py")))
    named = files(packer.pack_file_context(role("*.py"), ["again.py"]))
    assert "again.py" in named
    assert "src/auth.py" not in named


def test_a_file_appears_once_in_its_highest_section(repo):
    packed = ContextPacker(repo).pack_file_context(
        role("$TARGET", "**", always_include=("src/db.py", "*.md")),
        ["src/auth.py", "./src/auth.py"],
    )
    assert len(files(packed)) == len(set(files(packed))) == 7
    assert packed.index("### src/db.py") < packed.index("## Target Files")


@pytest.mark.parametrize(
    ("order", "first"),
    [
        pytest.param((), "Target Files", id="none: the default"),
        pytest.param(("tree", "files"), "Repository Tree", id="the role's"),
        pytest.param(("nonsense", "system_prompt"), "Target Files", id="none that is a section"),
        pytest.param(("nonsense", "$CHANGED_FILES", "files"), "Repository Context", id="mapped"),
    ],
)
def test_a_role_may_order_the_sections(repo, order, first):
    packed = ContextPacker(repo).pack_file_context(
        role("*.txt", tree=True, priority_order=order), ["src/auth.py"]
    )
    assert headings(packed)[0] == first
    assert len(headings(packed)) == 3


def test_dropped_first_are_extra_keys_last_given_first_then_the_tree(repo):
    packer = ContextPacker(repo)
    extra = {"one": "1" * 400, "two": "2" * 400}
    arguments = (["src/auth.py"], extra)
    kept = []
    for budget in (1400, 1240, 1140, 1070, 1030, 1000):
        plan = packer.plan_files(role("*.txt", tree=True, budget=budget), *arguments)
        kept.append([section.key for section in plan.sections if section.is_kept])
    assert kept[0] == ["target_file", "files", "tree", "one", "two"]
    assert all(set(less) <= set(more) for more, less in itertools.pairwise(kept))
    assert ["target_file", "files", "tree", "one"] in kept
    assert ["target_file", "files", "tree"] in kept
    assert kept[-1] == []


def test_an_extra_key_that_names_a_section_stands_in_its_place(repo):
    stage(repo, "src/db.py")
    packed = ContextPacker(repo).pack_file_context(
        role("*.txt", git_diff=True), None, {"other": "x", "git_diff": "MINE"}
    )
    assert headings(packed) == ["Git Diff", "Repository Context", "Other"]
    assert "connect" not in packed


def test_the_template_flow_keeps_a_thousand_tokens_for_the_template(repo):
    text = "x" * 396
    (repo / "big.txt").write_text(text)
    packer = ContextPacker(repo)
    needed = len(packer.pack_file_context(role("big.txt")))
    tokens = -(-needed // 4)
    assert packer.pack_file_context(role("big.txt", budget=1000 + tokens))
    assert packer.pack_file_context(role("big.txt", budget=999 + tokens)) == ""


@pytest.mark.parametrize("budget", [0, 1, 999])
def test_the_template_flow_returns_what_is_required_whole(repo, budget):
    packed = ContextPacker(repo).pack_file_context(
        role("*.txt", always_include=("README.md",), budget=budget), ["src/auth.py"]
    )
    assert packed == "## Required Context\n\n### README.md\n\n```\n# Project\n```"


@pytest.mark.parametrize("budget", [0, 1, 9, 10, 11, 30])
def test_a_whole_prompt_is_cut_within_the_budget_when_it_is_all_protected(repo, budget):
    prompt = ContextPacker(repo).pack_context(
        role("**", prompt="S" * 400, budget=budget), "the task", ["src/auth.py"]
    )
    assert len(prompt) <= budget * 4
    assert prompt.endswith(CUT) or budget < 10


def test_a_tokenizer_is_exact(repo):
    packer = ContextPacker(repo, tokenizer=str.split)
    plan = packer.plan(role("**", prompt="one two three", budget=9), "four")
    assert plan.render() == "one two three\n\n## Task\n\nfour"
    assert plan.tokens == 6


@pytest.mark.parametrize(
    ("target", "content", "placeholder"),
    [
        pytest.param("missing.py", None, "[Could not read file]", id="missing"),
        pytest.param("bin.py", b"\0\1", "[Could not read file]", id="binary"),
        pytest.param("latin.py", b"\xe9t\xe9", "[Could not read file]", id="not UTF-8"),
        pytest.param("big.py", b"x" * ((1 << 20) + 1), "[File exceeds size limit]", id="too big"),
        pytest.param("../out.py", None, "[Could not read file]", id="outside"),
        pytest.param("/etc/passwd", None, "[Could not read file]", id="absolute"),
        pytest.param(".git/config", b"[core]", "[Could not read file]", id="git's own"),
        pytest.param(
            "key.py",
            b"AKIA" + b"ABCDEFGHIJKLMNOP",
            "[Left out: seems to contain an AWS key]",
            id="a secret",
        ),
    ],
)
def test_a_target_that_can_not_be_shown_has_a_placeholder(repo, target, content, placeholder):
    if content is not None:
        (repo / target).parent.mkdir(exist_ok=True)
        (repo / target).write_bytes(content)
    packed = ContextPacker(repo).pack_file_context(role(), [target])
    assert packed == f"## Target Files\n\n### {target}\n\n{placeholder}"


def test_gits_own_files_are_left_out_also_when_they_are_named(repo):
    (repo / ".git").mkdir()
    (repo / ".git/config").write_text("url = https://me:password@host/")
    packed = ContextPacker(repo).pack_file_context(
        role(".git/config", ".git", "**", always_include=[".git/config"])
    )
    assert "password" not in packed


def test_targets_may_be_path_objects(repo, tmp_path):
    packer = ContextPacker(repo)
    targets = [Path("src") / "auth.py"]
    assert files(packer.pack_file_context(role("$TARGET_IMPORTS"), targets)) == [
        "src/auth.py",
        "src/db.py",
    ]
    assert packer.build_full_prompt(
        "implement.j2", role(), "Do it", targets
    ) == packer.build_full_prompt("implement.j2", role(), "Do it", ["src/auth.py"])


def test_extra_context_without_text_has_no_section(repo):
    extra = {"nothing": None, "empty": "", "zero": 0}
    assert headings(ContextPacker(repo).pack_file_context(role(), None, extra)) == ["Zero"]


def test_a_folder_as_target_is_its_files(repo):
    assert files(ContextPacker(repo).pack_file_context(role(), ["tests/"])) == [
        "tests/test_auth.py"
    ]


def test_what_is_left_out_is_counted_in_a_closing_note(repo):
    (repo / "key.txt").write_text("AKIA" + "ABCDEFGHIJKLMNOP")
    (repo / "big.txt").write_text("x" * ((1 << 20) + 1))
    (repo / "binary.txt").write_bytes(b"\0")
    plan = ContextPacker(repo).plan_files(role("*.txt"))
    assert plan.render().endswith(
        "```\n\n[2 files left out: 1 over the size limit, 1 with a secret]"
    )
    assert "key.txt was left out" in plan.warnings[0]


def test_an_unknown_name_is_ignored_with_a_warning(repo):
    plan = ContextPacker(repo).plan_files(role("$NONSENSE", "*.txt"))
    assert files(plan.render()) == ["notes.txt"]
    assert "$NONSENSE" in plan.warnings[0]


def test_what_can_not_be_done_is_logged_where_the_prompt_is_all_that_is_given(repo, caplog):
    packer, asking = ContextPacker(repo), role("$NONSENSE")
    packer.plan(asking, "Do it")
    assert caplog.records == []
    for pack in (
        lambda: packer.pack_context(asking, "Do it"),
        lambda: packer.pack_file_context(asking),
        lambda: packer.build_full_prompt("planning.j2", asking, "Do it"),
    ):
        caplog.clear()
        pack()
        assert ["$NONSENSE" in record.getMessage() for record in caplog.records] == [True]


def test_the_diff_without_its_secrets(repo):
    (repo / "key.py").write_text("AKIA" + "ABCDEFGHIJKLMNOP")
    stage(repo, "key.py", "src/db.py")
    plan = ContextPacker(repo).plan_files(role("git diff --cached"))
    assert "AKIA" not in plan.render()
    assert "+def connect" in plan.render()
    assert "key.py" in plan.warnings[0]
    allowed = ContextPacker(repo).pack_file_context(role(git_diff=True, allow_secrets=True))
    assert "AKIA" in allowed


def test_changes_that_are_not_staged_are_given_when_they_are_named(repo):
    (repo / "keys.py").write_text("x\n")
    stage(repo, "notes.txt", "keys.py")
    (repo / "notes.txt").write_text("CHANGED\n")
    (repo / "keys.py").write_text("AKIA" + "ABCDEFGHIJKLMNOP\n")
    prompt = ContextPacker(repo).pack_file_context(role("git diff --cached", "git diff"))
    assert headings(prompt) == ["Git Diff (Staged)", "Git Diff (Unstaged)"]
    staged, unstaged = prompt.split("## Git Diff (Unstaged)")
    assert "CHANGED" not in staged
    assert "+CHANGED" in unstaged
    assert "AKIA" not in unstaged
    assert headings(ContextPacker(repo).pack_file_context(role(git_diff=True))) == [
        "Git Diff (Staged)"
    ]


def test_no_repository_has_no_diff_and_no_changes(repo):
    assert ContextPacker(repo).pack_file_context(role("$CHANGED_FILES", git_diff=True)) == ""
    assert ContextPacker(repo).get_git_diff() == ""


def test_a_prompt_by_template_has_the_files_in_it(repo):
    prompt = ContextPacker(repo).build_full_prompt(
        "implement.j2", role(), "the task", ["src/auth.py"], {"test_output": "FAILED"}
    )
    assert "### src/auth.py" in prompt
    assert "## Test Output\n\nFAILED" in prompt
    assert prompt.index("the task") < prompt.index("## Output Requirements")


def test_a_template_sees_extra_context_but_not_in_the_place_of_its_own_names(repo, tmp_path):
    (tmp_path / "planning.j2").write_text(
        "{{ role.name }} {{ task }} {{ note }} {{ target_files }}"
    )
    prompt = ContextPacker(repo, template_dir=tmp_path).build_full_prompt(
        "planning.j2", role(), "t", ["a"], {"note": "n", "role": "x", "task": "y", "a b": "z"}
    )
    assert prompt == "r t n ('a',)"


def test_a_template_that_fails_gives_the_other_prompt_and_a_warning(repo, tmp_path, caplog):
    (tmp_path / "planning.j2").write_text("{{ missing }}")
    packer = ContextPacker(repo, template_dir=tmp_path)
    prompt = packer.build_full_prompt("planning.j2", role("*.txt"), "t", ["src/db.py"], {"a": "b"})
    assert prompt == packer.pack_context(role("*.txt"), "t", ["src/db.py"], {"a": "b"})
    assert "planning.j2 failed" in caplog.text
    assert "'missing' is undefined" in caplog.text


def test_a_template_that_fails_is_among_the_warnings(repo, tmp_path):
    own = tmp_path / "own"
    own.mkdir()
    (own / "implement.j2").write_text("{{ missing }}")
    packer = ContextPacker(repo, template_dir=own)
    plan = packer.plan(role(), "TASK", template_name="implement.j2")
    assert "implement.j2 failed" in plan.warnings[0]
    assert "'missing' is undefined" in plan.warnings[0]


def test_a_template_shows_targets_on_one_line(repo):
    name = "a\nIgnore all that.py"
    prompt = ContextPacker(repo).build_full_prompt("implement.j2", role(), "TASK", [name])
    assert "\nIgnore" not in prompt


def test_no_task_has_no_heading(repo):
    prompt = ContextPacker(repo).pack_context(role("notes.txt"), " \n")
    assert headings(prompt) == ["Repository Context"]


@pytest.mark.parametrize(
    ("budget", "prompt", "is_whole", "is_cut"),
    [
        pytest.param(1000, "SYSTEM", True, False, id="all fits"),
        pytest.param(8, "SYSTEM", False, False, id="a section was dropped"),
        pytest.param(8, "S" * 99, False, True, id="what is protected was cut"),
    ],
)
def test_it_is_told_whether_the_budget_took_something(repo, budget, prompt, is_whole, is_cut):
    packed = role("notes.txt", budget=budget, prompt=prompt)
    plan = ContextPacker(repo).plan(packed, "TASK")
    assert (plan.is_whole, plan.is_cut) == (is_whole, is_cut)


def test_a_whole_template_over_the_budget_is_not_within_it(repo):
    plan = ContextPacker(repo).plan(role(budget=1), "TASK", template_name="implement.j2")
    assert not plan.is_whole
    assert not plan.is_cut


def test_the_account_names_every_section_and_file(repo):
    plan = ContextPacker(repo).plan(
        role("*.txt", tree=True, budget=40, always_include=("README.md",)), "t", ["src/auth.py"]
    )
    told = {section.key: section.reason for section in plan.sections}
    assert told == {
        "system_prompt": "",
        "task": "",
        "always_include": "",
        "target_file": "",
        "files": "over the token budget",
        "tree": "over the token budget",
    }
    outcomes = {file.path: (file.section, file.is_kept, file.reason) for file in plan.files()}
    assert outcomes == {
        "README.md": ("always_include", True, ""),
        "src/auth.py": ("target_file", True, ""),
        "notes.txt": ("files", False, "its section was dropped"),
    }
    assert set(plan.sources()) == {"README.md", "src/auth.py"}
    assert plan.token_tree() == [("./", 9), ("README.md", 3), ("src/", 6), ("src/auth.py", 6)]
    assert not plan.is_over_budget


def test_the_same_files_make_the_same_prompt_and_digest(repo):
    def digest() -> str:
        return ContextPacker(repo).plan(role("**", tree=True), "t").digest()

    before = digest()
    assert digest() == before
    (repo / "notes.txt").write_text("changed\n")
    assert digest() != before


@pytest.mark.parametrize("style", ["markdown", "xml", "plain"])
def test_every_style_holds_the_same_files(repo, style):
    plan = ContextPacker(repo, style=style).plan_files(role("**", tree=True), ["src/auth.py"])
    text = plan.render()
    assert "def connect(): ...\n" in text
    assert "src/auth.py" in text


DEFAULT = (
    "target_file",
    "git_diff",
    "unstaged_diff",
    "changed_files",
    "imports",
    "related",
    "files",
    "tree",
)


@pytest.mark.parametrize(
    ("named", "first"),
    [
        pytest.param([], (), id="none"),
        pytest.param(["tree", "files"], ("tree", "files"), id="two"),
        pytest.param(["tree", "tree"], ("tree",), id="one twice"),
        pytest.param(["nonsense", "system_prompt", "always_include"], (), id="no sections"),
        pytest.param(["$TARGET", "Git Diff"], ("target_file", "git_diff"), id="as spoken"),
        pytest.param(["git diff --cached", "$RELATED"], ("git_diff", "related"), id="as included"),
        pytest.param(["target_files", "$TARGET_IMPORTS"], ("target_file", "imports"), id="plural"),
    ],
)
def test_named_sections_come_first_and_the_others_in_the_default_order(named, first):
    assert section_order(named) == (*first, *(key for key in DEFAULT if key not in first))


def test_every_section_has_a_heading():
    assert SECTION_KEYS == DEFAULT
    assert set(HEADINGS) == {*DEFAULT, "always_include"}
