"""A packed role is packed again only when something that it shows has changed."""

import subprocess
from dataclasses import replace

import pytest

from smart_context.llm.tokens import TokenCounter
from smart_context.packing.role_sources import RoleSources
from smart_context.plugin.briefing.chat_roles import MAX_PACKED, RolePacking
from smart_context.vault.trust.vault import TrustRecord, VaultTrust
from tests.trusting import grant_all, settings_of

ROLE = """
system_prompt = "You sail."
[context]
include = ["*.md", "$TARGET"]
git_diff = true
"""


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault"
    for path, text in {"roles/sailor.toml": ROLE, "a.md": "one", "b.py": "B = 1\n"}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def record(vault):
    return VaultTrust(vault, TrustRecord(vault.parent / "trust.json"))


def trust_again(vault):
    grant_all(record(vault), settings_of(vault, record(vault)))


def packing_of(vault, without=(), **options):
    trust_again(vault)
    return RolePacking(vault, without, RoleSources(record(vault)), **options)


def part(packing, name="sailor", targets=(), model="m", window=10_000):
    return packing.part(
        name,
        targets,
        budget=lambda wanted: min(wanted, window),
        count_tokens=TokenCounter(model),
    )


def git(folder, *arguments):
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)


def test_nothing_is_packed_twice_as_long_as_it_is_the_same(vault):
    packing = packing_of(vault)
    assert part(packing) is part(packing)
    assert part(packing).text.startswith("You sail.\n\n## Repository Context\n\n### a.md")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda vault: (vault / "a.md").write_text("two!"), id="a file is changed"),
        pytest.param(lambda vault: (vault / "c.md").write_text("new"), id="a file is new"),
        pytest.param(lambda vault: (vault / "a.md").unlink(), id="a file is gone"),
        pytest.param(
            lambda vault: (vault / "roles/sailor.toml").write_text(ROLE.replace("sail", "row")),
            id="the role is changed",
        ),
        pytest.param(lambda vault: (vault / ".gitignore").write_text("a.md"), id="ignored"),
    ],
)
def test_what_changes_is_seen_at_once(vault, change):
    packing = packing_of(vault)
    before = part(packing)
    change(vault)
    trust_again(vault)
    assert part(packing).text != before.text


def test_what_is_staged_is_seen_at_once(vault):
    git(vault, "init", "-q")
    packing = packing_of(vault)
    assert part(packing) is part(packing)
    git(vault, "add", "b.py")
    assert "## Git Diff (Staged)" in part(packing).text
    assert part(packing) is part(packing)


def test_targets_model_and_budget_make_another_text(vault):
    packing = packing_of(vault)
    first = part(packing)
    assert "B = 1" in part(packing, targets=("b.py",)).text
    assert part(packing, model="other") is not first
    assert part(packing, window=5).text != first.text
    assert part(packing) is first


def test_only_the_last_ones_are_remembered(vault):
    packing = packing_of(vault)
    first = part(packing)
    for number in range(MAX_PACKED):
        part(packing, model=f"m{number}")
    assert part(packing) is not first


def test_the_memory_folder_is_no_part_of_the_files(vault):
    (vault / "memory").mkdir()
    (vault / "memory/chat.md").write_text("said before")
    packing = packing_of(vault, ("memory",))
    first = part(packing)
    assert "said before" not in first.text
    (vault / "memory/chat.md").write_text("and again")
    assert part(packing) is first


def test_in_a_vast_vault_names_are_looked_at_less_often_but_texts_each_time(vault, monkeypatch):
    monkeypatch.setattr("smart_context.plugin.briefing.chat_roles.rest_after", lambda *_: 6.0)
    now = [100.0]
    packing = packing_of(vault, (), clock=lambda: now[0])
    first = part(packing)
    (vault / "new.md").write_text("new")
    assert part(packing) is first
    (vault / "a.md").write_text("changed")
    assert "changed" in part(packing).text
    now[0] += 6
    assert "### new.md" in part(packing).text


def test_a_role_that_is_gone_says_so_and_adds_nothing(vault):
    gone = part(packing_of(vault), name="pirate")
    assert (gone.text, gone.tokens) == ("", 0)
    assert "there is no role 'pirate'" in gone.problem


def test_where_git_may_not_run_a_role_has_no_changes_and_says_so(vault):
    git(vault, "init", "-q")
    git(vault, "add", "a.md")
    trust_again(vault)
    granted = record(vault).grant()
    only_roles = frozenset(pin for pin in granted.pins if pin.kind == "roles")
    packing = packing_of(vault)
    assert "## Git Diff" in part(packing).text
    TrustRecord(vault.parent / "trust.json").store(vault, replace(granted, pins=only_roles))
    without = part(packing)
    assert "## Git Diff" not in without.text
    assert without.problems == ("Git is off until you trust this vault, so changes are not sent.",)
    assert without.text.startswith("You sail.")
