import jinja2
import pytest

from smart_context.packing import ContextPacker, RoleConfig
from smart_context.packing.templates import (
    ALLOWED_TEMPLATES,
    format_diff,
    prompt_environment,
    render,
    truncate_lines,
)

ROLE = RoleConfig("r", system_prompt="Be good.")


DOUBLED = (
    "{{% set ns = namespace(x='a') %}}"
    "{{% for i in range(99) %}}{{% set ns.x = ns.x {} ns.x %}}{{% endfor %}}"
)


def rendered(tmp_path, source: str, **values) -> str:
    (tmp_path / "planning.j2").write_text(source, encoding="utf-8")
    return render(prompt_environment(tmp_path), "planning.j2", values)


@pytest.mark.parametrize("name", sorted(ALLOWED_TEMPLATES))
def test_every_shipped_template_renders(tmp_path, name):
    ContextPacker(tmp_path).render_prompt(name, ROLE, "Do it.")


@pytest.mark.parametrize("name", ["planning.j2", "implement.j2", "review_strict.j2"])
def test_a_prompt_has_system_prompt_context_task_and_what_to_answer(tmp_path, name):
    prompt = ContextPacker(tmp_path).render_prompt(name, ROLE, "Do {{ it }}.", context="CONTEXT")
    places = [prompt.index(part) for part in ("Be good.", "CONTEXT", "Do {{ it }}.", "## Output")]
    assert places == sorted(places)


@pytest.mark.parametrize("name", ["other.j2", "../planning.j2", "planning.j2\0", ""])
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


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("{{ missing }}", id="a missing variable"),
        pytest.param("{% include 'other.j2' %}", id="another template"),
        pytest.param("{% extends '../../etc/passwd' %}", id="another file"),
        pytest.param("{{ ''.__class__.__mro__ }}", id="the type of a value"),
        pytest.param("{{ values.append(1) }}", id="changing a value"),
        pytest.param("{% for %}", id="no template"),
        pytest.param(
            "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
            id="a long loop without output",
        ),
        pytest.param("{{ 'a' * 999999999 }}", id="a long repetition"),
        pytest.param("{{ 9 ** 9 ** 9 ** 9 }}", id="a large power"),
        pytest.param("{{ 'a' | center(999999999) }}", id="a wide field"),
        pytest.param("{{ '%999999999d' % 1 }}", id="a wide number"),
        pytest.param("{{ '%999999999d' | format(1) }}", id="a wide number by filter"),
        pytest.param("{{ '{:999999999}'.format(1) }}", id="a wide number by method"),
        pytest.param("{{ 'a'.ljust(999999999) }}", id="a wide method"),
        pytest.param("{{ '%*d' % (999999999, 1) }}", id="a wide number by argument"),
        pytest.param("{{ ('a' * 9999).replace('', 'b' * 9999) }}", id="a growing replacement"),
        pytest.param("{{ ('a' * 9999) | replace('', 'b' * 9999) }}", id="the same by filter"),
        pytest.param("{{ ('a' * 9999).join('b' * 9999) }}", id="a growing join"),
        pytest.param("{{ ('b' * 9999) | join('a' * 9999) }}", id="the same join by filter"),
        pytest.param(DOUBLED.format("+"), id="doubling by plus"),
        pytest.param(DOUBLED.format("~"), id="doubling by tilde"),
        pytest.param("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", id="calls without end"),
    ],
)
def test_a_template_that_may_not_or_would_not_end_fails(tmp_path, source):
    with pytest.raises((jinja2.TemplateError, RecursionError, OverflowError)):
        rendered(tmp_path, source, values=[])


def test_a_template_that_takes_too_long_fails(tmp_path):
    ticks = iter(range(0, 10**9, 11))
    (tmp_path / "planning.j2").write_text("{% for a in range(999) %}{% endfor %}")
    environment = prompt_environment(tmp_path)
    environment.clock = lambda: next(ticks)
    with pytest.raises(jinja2.TemplateError, match="too much"):
        render(environment, "planning.j2", {})


def test_loops_still_know_where_they_are(tmp_path):
    source = "{% for x in 'abc' %}{{ loop.index }}/{{ loop.length }}{{ x }}{% endfor %}"
    assert rendered(tmp_path, source) == "1/3a2/3b3/3c"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ 'a' * 3 ~ (2 ** 3 + 1) }}", "aaa9"),
        ("{{ '{} * 1234567 {:>3}'.format(1, 2) }}", "1 * 1234567   2"),
        ("{{ ['a', 'b'] | join(', ') }} {{ [1, 2] | tojson }}", "a, b [1, 2]"),
        ("{{ 'a-b' | replace('-', '+') | center(5) | indent(2) }}", " a+b "),
        ("{{ '%s: %d' | format('x', 7) }} {{ 2000000 * 2 }}", "x: 7 4000000"),
    ],
)
def test_what_templates_need_works(tmp_path, source, expected):
    assert rendered(tmp_path, source) == expected


def test_values_are_not_escaped_and_not_rendered(tmp_path):
    assert rendered(tmp_path, "{{ x }}", x="<b> {{ 7 * 7 }}") == "<b> {{ 7 * 7 }}"


@pytest.mark.parametrize(
    ("count", "expected"),
    [(2, "a\nb\n[Truncated 1 lines]"), (3, "a\nb\nc"), (0, "[Truncated 3 lines]")],
)
def test_lines_are_truncated_with_their_number(count, expected):
    assert truncate_lines("a\nb\nc", count) == expected


def test_a_diff_can_not_close_its_fence():
    assert format_diff("+```\n") == "````diff\n+```\n````"
    assert format_diff(" \n") == ""


def test_the_environment_is_sandboxed_and_strict(tmp_path):
    environment = ContextPacker(tmp_path).jinja_env
    assert isinstance(environment, jinja2.sandbox.ImmutableSandboxedEnvironment)
    assert environment.undefined is jinja2.StrictUndefined
    assert environment.autoescape is False
