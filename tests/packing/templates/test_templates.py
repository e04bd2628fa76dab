import jinja2
import pytest

from smart_context.base.processes.child import Child
from smart_context.packing import ContextPacker, RoleConfig
from smart_context.packing.templates.templates import (
    ALLOWED_TEMPLATES,
    OwnTemplates,
    format_diff,
    render,
    truncate_lines,
)

ROLE = RoleConfig("r", system_prompt="Be good.")


@pytest.fixture(scope="module")
def child():
    with Child() as shared:
        yield shared


@pytest.mark.parametrize("name", sorted(ALLOWED_TEMPLATES))
def test_every_shipped_template_renders(tmp_path, name):
    ContextPacker(tmp_path).render_prompt(name, ROLE, "Do it.")


@pytest.mark.parametrize("name", ["planning.j2", "implement.j2", "review_strict.j2"])
def test_a_prompt_has_system_prompt_context_task_and_what_to_answer(tmp_path, name):
    prompt = ContextPacker(tmp_path).render_prompt(name, ROLE, "Do {{ it }}.", context="CONTEXT")
    places = [prompt.index(part) for part in ("Be good.", "CONTEXT", "Do {{ it }}.", "## Output")]
    assert places == sorted(places)


@pytest.mark.parametrize("name", ["other.j2", "../planning.j2", "planning.j2\0", "", None])
def test_a_template_that_is_not_on_the_list_is_a_value_error(tmp_path, name):
    packer = ContextPacker(tmp_path)
    with pytest.raises(ValueError, match="not allowed"):
        packer.render_prompt(name, ROLE, "x")
    with pytest.raises(ValueError, match="not allowed"):
        packer.build_full_prompt(name, ROLE, "x")


def test_own_versions_come_first_and_the_others_are_shipped(tmp_path):
    (tmp_path / "_base.j2").write_text("MINE {% block content %}{% endblock %}")
    prompt = ContextPacker(tmp_path, template_dir=tmp_path).render_prompt("planning.j2", ROLE, "x")
    assert prompt.startswith("MINE Be good.")


def test_values_are_not_escaped_and_not_rendered():
    own = OwnTemplates(sources={"planning.j2": "{{ x }}"})
    assert render(own, "planning.j2", {"x": "<b> {{ 7 * 7 }}"}) == "<b> {{ 7 * 7 }}"


@pytest.mark.parametrize(
    ("count", "expected"),
    [(2, "a\nb\n[Truncated 1 lines]"), (3, "a\nb\nc"), (0, "[Truncated 3 lines]")],
)
def test_lines_are_truncated_with_their_number(count, expected):
    assert truncate_lines("a\nb\nc", count) == expected


def test_a_closing_newline_is_no_line_of_its_own():
    assert truncate_lines("a\nb\n", 2) == "a\nb\n"
    assert truncate_lines("a\nb\nc\n", 2) == "a\nb\n[Truncated 1 lines]"


def test_a_diff_can_not_close_its_fence():
    assert format_diff("+```\n") == "````diff\n+```\n````"
    assert format_diff(" \n") == ""


def test_the_environment_is_sandboxed_and_strict(tmp_path):
    environment = ContextPacker(tmp_path).jinja_env
    assert isinstance(environment, jinja2.sandbox.ImmutableSandboxedEnvironment)
    assert environment.undefined is jinja2.StrictUndefined
    assert environment.autoescape is False


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("one\n{% if %}", "failed at line 2: TemplateSyntaxError", id="syntax"),
        pytest.param("\n\n{{ nosuch }}", "failed at line 3: UndefinedError", id="a variable"),
        pytest.param("{% include 'planning.j2' %}", "includes itself endlessly", id="a circle"),
    ],
)
def test_where_a_template_failed_is_told(tmp_path, child, text, words):
    (tmp_path / "planning.j2").write_text(text)
    plan = ContextPacker(tmp_path, template_dir=tmp_path, child=child).plan(
        RoleConfig("r"), "the task", template_name="planning.j2"
    )
    assert words in plan.warnings[0]
    assert "the task" in plan.render()
