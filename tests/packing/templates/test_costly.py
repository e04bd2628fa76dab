import os
from pathlib import Path

import jinja2
import pytest

from smart_context.base.disk.places import Place
from smart_context.base.processes.child import Child
from smart_context.packing import ContextPacker, RoleConfig
from smart_context.packing.roles import RoleContext
from smart_context.packing.templates.costly import render_in
from smart_context.packing.templates.templates import MAX_TEMPLATE_BYTES, read_own
from tests.patience import PATIENCE_S

ROLE = RoleConfig("r", system_prompt="Be good.")
SOON_S = 0.3
DOUBLED = (
    "{{% set ns = namespace(x='a') %}}"
    "{{% for i in range(99) %}}{{% set ns.x = ns.x {} ns.x %}}{{% endfor %}}"
)


@pytest.fixture(scope="module")
def child():
    with Child() as shared:
        yield shared


@pytest.fixture
def rendered(tmp_path, child):
    def render(source: str, *, deadline_s=PATIENCE_S, **values) -> str:
        (tmp_path / "planning.j2").write_text(source, encoding="utf-8")
        own = read_own(Place(tmp_path))
        return render_in(child, own, "planning.j2", values, deadline_s=deadline_s)

    return render


FILTERS = """{% set text = 'The keeper lit the lamp, <b>twice</b>. http://a.example' %}
{{ text|wordwrap(9) }}{{ [1, {'a': 'b' * 99}]|pprint }}{{ [3]|random }}{{ {'a': 1}|tojson }}
{{ text|urlize }}{{ text|striptags }}{{ text|escape }}{{ text|title }}{{ text|urlencode }}
{{ 1234567|filesizeformat }}{{ [1, 2]|join('-') }}{{ '%s'|format(1) }}{{ text|xmlattr if 0 }}
{{ [{'k': 1}]|groupby('k')|list|length }}{{ 2.5|round }}{{ text|indent }}{{ text|truncate(9) }}
{{ lipsum(n=1, min=2, max=3)|length > 0 }}{{ range(3)|batch(2)|list }}{{ cycler(1, 2).next() }}"""


def test_all_that_templates_can_use_works_where_no_module_can_be_loaded(rendered):
    made = rendered(FILTERS)
    assert "twice" in made
    assert "lamp" in made


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        pytest.param("{{ missing }}", jinja2.UndefinedError, "'missing'", id="a variable"),
        pytest.param("{% include 'other.j2' %}", jinja2.TemplateNotFound, "not an", id="a name"),
        pytest.param(
            "{% extends '../../etc/passwd' %}", jinja2.TemplateNotFound, "not an", id="a file"
        ),
        pytest.param(
            "{{ ''.__class__.__mro__ }}", jinja2.TemplateError, "unsafe", id="the type of a value"
        ),
        pytest.param("{{ values.append(1) }}", jinja2.TemplateError, "unsafe", id="a change"),
        pytest.param("a\n{% for %}", jinja2.TemplateSyntaxError, "Expected", id="no template"),
        pytest.param("{{ 1 / 0 }}", jinja2.TemplateError, "ZeroDivisionError", id="arithmetic"),
        pytest.param("{% include 'planning.j2' %}", RecursionError, "", id="itself"),
    ],
)
def test_a_template_that_fails_fails_as_it_would_here(rendered, source, error, words):
    with pytest.raises(error) as failure:
        rendered(source, values=[])
    assert words in str(failure.value)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param(
            "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
            "longer than",
            id="a long loop without output",
        ),
        pytest.param("{{ 9 ** (9 ** 9) }}", "longer than", id="a large power"),
        pytest.param("{{ 'a' * 999999999 }}", "does too much", id="a long repetition"),
        pytest.param("{{ 'a' | center(999999999) }}", "does too much", id="a wide field"),
        pytest.param("{{ '%999999999d' % 1 }}", "", id="a wide number"),
        pytest.param("{{ '%*d' % (999999999, 1) }}", "", id="a wide number by argument"),
        pytest.param("{{ '{:99999999999}'.format(1) }}", "", id="a wide number by method"),
        pytest.param(
            "{{ '{:X}'.replace('X', '9' * 11).format(1) }}", "", id="a width that is put together"
        ),
        pytest.param("{{ ''.join(['x' * 1000000] * 3000) }}", "does too much", id="a join of many"),
        pytest.param(
            "{{ ('a' * 99999).replace('', 'b' * 9999) }}", "does too much", id="a replacement"
        ),
        pytest.param(DOUBLED.format("+"), "does too much", id="doubling by plus"),
        pytest.param(DOUBLED.format("~"), "does too much", id="doubling by tilde"),
        pytest.param(
            "{% for i in range(99999) %}{{ 'x' * 99999 }}{% endfor %}",
            "longer than 16,777,216 characters",
            id="a long prompt",
        ),
    ],
)
def test_a_template_that_does_too_much_is_stopped(rendered, source, words):
    with pytest.raises(jinja2.TemplateError, match=words or None):
        rendered(source, deadline_s=SOON_S if words in ("", "longer than") else PATIENCE_S)
    assert rendered("{{ x }}", x="next") == "next"


def test_loops_still_know_where_they_are(rendered):
    source = "{% for x in 'abc' %}{{ loop.index }}/{{ loop.length }}{{ x }}{% endfor %}"
    assert rendered(source) == "1/3a2/3b3/3c"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ 'a' * 3 ~ (2 ** 3 + 1) }}", "aaa9"),
        ("{{ '{} * 1234567 {:>3}'.format(1, 2) }}", "1 * 1234567   2"),
        ("{{ ['a', 'b'] | join(', ') }} {{ [1, 2] | tojson }}", "a, b [1, 2]"),
        ("{{ 'a-b' | replace('-', '+') | center(5) | indent(2) }}", " a+b "),
        ("{{ '%s: %d' | format('x', 7) }} {{ 2000000 * 2 }}", "x: 7 4000000"),
        ("{{ 'a\nb' | truncate_lines(1) }}{{ '+x' | format_diff }}", None),
    ],
)
def test_what_templates_need_works(rendered, source, expected):
    expected = expected or "a\n[Truncated 1 lines]```diff\n+x\n```"
    assert rendered(source) == expected


def test_a_role_and_what_else_is_given_arrive_whole(rendered):
    role = RoleConfig("r", context=RoleContext(include=("*.py",)))
    source = "{{ role.name }} {{ role.context.include[0] }} {{ files | join }} {{ extra.a }}"
    assert rendered(source, role=role, files=("a", "ä\udc80"), extra={"a": 1}) == (
        "r *.py aä\udc80 1"
    )


def test_a_value_that_is_no_plain_data_is_told(rendered):
    with pytest.raises(jinja2.TemplateError, match="not plain data"):
        rendered("{{ f() }}", f=lambda: 1)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        pytest.param(lambda at: at.symlink_to(Path(__file__)), "a link", id="a link"),
        pytest.param(os.mkfifo, "a link, a folder or a device", id="a FIFO"),
        pytest.param(lambda at: at.write_bytes(b"\xff"), "not in UTF-8", id="no UTF-8"),
        pytest.param(
            lambda at: at.write_bytes(b"x" * (MAX_TEMPLATE_BYTES + 1)), "at most", id="large"
        ),
    ],
)
@pytest.mark.parametrize("name", ["planning.j2", "_base.j2"])
def test_what_is_no_plain_file_of_text_is_not_used_and_said(tmp_path, child, name, place, told):
    place(tmp_path / name)
    packer = ContextPacker(tmp_path, template_dir=tmp_path, child=child)

    plan = packer.plan(ROLE, "the task", template_name="planning.j2")

    assert told in plan.warnings[0]
    assert name in plan.warnings[0]
    assert "the task" in plan.render()
    assert "PATIENCE_S" not in plan.render()


def test_a_folder_of_templates_that_is_a_link_is_not_followed(tmp_path, child):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "planning.j2").write_text("STOLEN")
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "roles").symlink_to(elsewhere)
    templates = Place(vault) / "roles"

    plan = ContextPacker(vault, template_dir=templates, child=child).plan(
        ROLE, "the task", template_name="planning.j2"
    )

    assert "STOLEN" not in plan.render()
    assert "a link" in plan.warnings[0]


def test_shipped_templates_need_no_other_process(tmp_path, child):
    with Child() as unused:
        packer = ContextPacker(tmp_path, template_dir=tmp_path, child=unused)
        assert "Be good." in packer.render_prompt("planning.j2", ROLE, "Do it.")
        assert unused.pid is None
