import dataclasses

import pytest

from smart_context.packing import ContextPacker, RoleLoader
from smart_context.packing.request import PackRequest, plan_of


@pytest.fixture
def repo(tmp_path):
    (tmp_path / "a.py").write_text("import b\n")
    (tmp_path / "b.py").write_text("x = 1\n")
    (tmp_path / "c.py").write_text("y = 1\n")
    return tmp_path


def test_a_role_is_packed_as_the_packer_does(repo):
    request = PackRequest(repo=repo, role="implementer", task="TASK", targets=("a.py",))
    role = RoleLoader(repo).load_role("implementer")
    assert plan_of(request).render() == ContextPacker(repo).pack_context(role, "TASK", ["a.py"])
    templated = dataclasses.replace(request, template="implement.j2")
    assert plan_of(templated).render() == ContextPacker(repo).build_full_prompt(
        "implement.j2", role, "TASK", ["a.py"]
    )


def test_what_is_asked_for_comes_on_top_of_the_role(repo):
    (repo / "roles").mkdir()
    (repo / "roles/mine.toml").write_text(
        'token_budget = 7000\n[context]\ninclude = ["a.py"]\nexclude = ["c.py"]\n'
    )
    request = PackRequest(repo=repo, role="mine", include=("*.py",), exclude=("b.py",))
    plan = plan_of(request)
    assert [file.path for file in plan.files()] == ["a.py"]
    assert plan.token_budget == 7000
    assert plan_of(dataclasses.replace(request, token_budget=0)).token_budget == 0


def test_without_a_role_all_that_is_asked_for_fits(repo):
    (repo / "long.py").write_text("x" * 1_000_000)
    plan = plan_of(PackRequest(repo=repo, include=("*.py",)))
    assert plan.is_whole
    assert plan.tokens > 250_000


def test_a_models_tokens_are_counted(repo):
    plan = plan_of(PackRequest(repo=repo, task="hello " * 40, model="gpt-4o"))
    assert 40 <= plan.tokens <= 50


@pytest.mark.parametrize(
    ("request_", "is_empty"),
    [
        pytest.param({}, True, id="nothing"),
        pytest.param({"task": " \n", "exclude": ("a",), "template": "t"}, True, id="no content"),
        pytest.param({"role": "planner"}, False, id="a role"),
        pytest.param({"task": "x"}, False, id="a task"),
        pytest.param({"targets": ("a.py",)}, False, id="a target"),
        pytest.param({"include": ("a.py",)}, False, id="a file"),
    ],
)
def test_a_request_for_nothing_is_empty(repo, request_, is_empty):
    assert PackRequest(repo=repo, **request_).is_empty is is_empty
