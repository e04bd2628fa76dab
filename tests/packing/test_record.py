from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smart_context.base.errors import CommandFailed
from smart_context.packing.request import (
    REPOMIX_USES,
    STYLES,
    PackRequest,
    freshness,
    plan_of,
    read_record,
    record_file,
    record_of,
    record_path,
)


@pytest.fixture
def repo(tmp_path):
    (tmp_path / "a.py").write_text("import b\n")
    (tmp_path / "b.py").write_text("x = 1\n")
    return tmp_path


def stored(request: PackRequest, prompt: Path) -> None:
    plan = plan_of(request)
    prompt.write_text(plan.render())
    record_path(prompt).write_bytes(record_file(record_of(request, plan), prompt))


def checked(prompt: Path):
    record = read_record(prompt)
    return freshness(record, prompt.read_bytes(), plan_of(record.request))


def test_what_has_not_changed_is_fresh(repo):
    prompt = repo / "p.md"
    stored(PackRequest(repo=repo, include=("*.py",)), prompt)
    found = checked(prompt)
    assert (found.is_stale, found.is_edited) == (False, False)
    assert (found.changed, found.added, found.gone) == ((), (), ())


def test_each_kind_of_change_is_told_apart(repo):
    prompt = repo / "p.md"
    stored(PackRequest(repo=repo, include=("*.py",)), prompt)
    (repo / "a.py").write_text("import c\n")
    (repo / "b.py").unlink()
    (repo / "c.py").write_text("")
    prompt.write_text("mine")
    found = checked(prompt)
    assert (found.is_stale, found.is_edited) == (True, True)
    assert (found.changed, found.added, found.gone) == (("a.py",), ("c.py",), ("b.py",))


def test_a_file_beyond_the_budget_makes_the_prompt_neither_longer_nor_stale(repo):
    prompt = repo / "p.md"
    stored(PackRequest(repo=repo, task="x", targets=("a.py",), token_budget=4), prompt)
    (repo / "a.py").write_text("import everything\n")
    assert not checked(prompt).is_stale


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    st.fixed_dictionaries(
        {
            "role": TEXT,
            "task": TEXT,
            "targets": TEXTS,
            "include": TEXTS,
            "exclude": TEXTS,
            "template": TEXT,
            "token_budget": st.none() | st.integers(0, 10**12),
            "style": st.sampled_from(STYLES),
            "repomix": st.sampled_from(REPOMIX_USES),
            "allow_secrets": st.booleans(),
            "model": TEXT,
        }
    )
)
def test_a_record_is_read_as_it_was_written(tmp_path, values):
    prompt = tmp_path / "p.md"
    request = PackRequest(repo=tmp_path / "repo", template_dir=tmp_path / "own", **values)
    plan = plan_of(PackRequest(repo=tmp_path, task="x"))
    record = record_of(request, plan)
    record_path(prompt).write_bytes(record_file(record, prompt))
    assert read_record(prompt) == record


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"[]", "the file", id="a list"),
        pytest.param(b'{"version": 1}', "request", id="without a request"),
        pytest.param(b"", "the file", id="empty"),
    ],
)
def test_what_is_no_record_is_an_error_that_names_the_place(tmp_path, content, words):
    record_path(tmp_path / "p.md").write_bytes(content)
    with pytest.raises(CommandFailed, match=rf"p\.md\.sources\.json.* in {words}"):
        read_record(tmp_path / "p.md")


def test_a_huge_record_is_not_read(tmp_path):
    with record_path(tmp_path / "p.md").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(CommandFailed, match="larger than"):
        read_record(tmp_path / "p.md")
