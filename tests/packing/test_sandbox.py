import jinja2
import pytest

from smart_context.packing.templates import prompt_environment, render

DOUBLED = (
    "{{% set ns = namespace(x='a') %}}"
    "{{% for i in range(99) %}}{{% set ns.x = ns.x {} ns.x %}}{{% endfor %}}"
)


def rendered(tmp_path, source: str, **values) -> str:
    (tmp_path / "planning.j2").write_text(source, encoding="utf-8")
    return render(prompt_environment(tmp_path), "planning.j2", values)


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
