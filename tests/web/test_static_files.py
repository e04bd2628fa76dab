"""Laws of the scripts and styles that no browser would complain about."""

import re
import shutil

import pytest

from smart_context.base.resources import asset
from smart_context.relevance.reasons import RULES
from smart_context.web.assets import page_scripts, style_sheets

STATIC, TEMPLATES = asset("static"), asset("templates")
SCRIPTS = sorted(STATIC.rglob("*.js"))
STYLES = sorted((STATIC / "css").rglob("*.css"))
PAGES = sorted(TEMPLATES.rglob("*.html"))


def read(paths):
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_typed_and_makes_no_html(script):
    text = script.read_text(encoding="utf-8")

    assert text.startswith("// @ts-check\n")
    makers = re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", text)
    # The key page writes the page that the server sent in its own place.
    assert makers == (["document.write"] if script.name == "enter.js" else [])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_whatever_a_script_imports_is_there(script):
    imports = re.findall(r'(?:from|import) "(\.[^"]+)"', script.read_text("utf-8"))

    assert all((script.parent / path).is_file() for path in imports)


def test_nothing_is_fetched_from_elsewhere():
    everything = read([*SCRIPTS, *STYLES, *PAGES])

    assert not re.search(r"(?:src|href|url|from|import)\W{1,3}https?:", everything)


def test_every_icon_in_use_is_drawn():
    used = set(re.findall(r'icon\("(\w+)"\)', read(PAGES)))
    drawn = set(
        re.findall(r'<symbol id="(\w+)"', (STATIC / "images" / "icons.svg").read_text("utf-8"))
    )

    assert used == drawn


def test_every_style_sheet_has_one_place_in_the_order():
    assert "/static/joined/pages.css" in (TEMPLATES / "pages/layout.html").read_text("utf-8")
    assert sorted(style_sheets(STATIC / "css")) == sorted(
        path.relative_to(STATIC / "css").with_suffix("").as_posix() for path in STYLES
    )


def test_a_new_style_sheet_follows_those_of_its_folder_that_it_may_override(tmp_path):
    shutil.copytree(STATIC / "css", tmp_path, dirs_exist_ok=True)
    (tmp_path / "panel" / "clock.css").touch()
    before, sheets = style_sheets(STATIC / "css"), style_sheets(tmp_path)
    assert [name for name in sheets if name != "panel/clock"] == before
    place = sheets.index("panel/clock")
    assert sheets.index("panel/panel") < place < sheets.index("base/touch")


def test_the_script_of_each_page_is_found_where_it_is():
    scripts = page_scripts(STATIC)
    assert {path.name for path in (STATIC / "pages").glob("*-page.js")} < {*map(name_of, scripts)}
    assert len({*map(name_of, scripts)}) == len(scripts)
    assert all((STATIC / path).is_file() for path in scripts)


def name_of(path):
    return path.rpartition("/")[2]


def test_every_custom_property_in_use_is_defined():
    styles = read(STYLES)
    by_scripts = set(re.findall(r'"(--[\w-]+)"', read(SCRIPTS)))
    used = set(re.findall(r"var\((--[\w-]+)", styles))

    assert used <= set(re.findall(r"(--[\w-]+):", styles)) | by_scripts


def test_colours_are_named_in_one_place():
    others = read(path for path in STYLES if path.name != "tokens.css")

    assert not re.search(r"#[0-9a-f]{3,8}\b|\brgba?\(|\bhsla?\(", others)


def test_which_part_of_a_page_covers_another_is_decided_in_one_place():
    others = read(path for path in STYLES if path.name != "tokens.css")

    assert not re.search(r"z-index:(?! var\(--z-)", others)


def test_dark_is_the_same_by_choice_and_by_system():
    """Each colour stands once with both its values; what is no colour follows `--dark`."""
    tokens = (STATIC / "css" / "tokens.css").read_text("utf-8")
    chosen = re.search(r':root\[data-theme="dark"\] \{(.*?)\}', tokens, re.DOTALL)[1]
    system = re.search(r"prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}", tokens, re.DOTALL)[1]

    assert system.split() == ["--dark:", "1;"]
    assert chosen.split() == ["color-scheme:", "dark;", *system.split()]


def test_motion_stops_for_those_who_ask():
    assert "prefers-reduced-motion" in read(STYLES)
    timed = re.findall(r"(?:transition|animation):[^;]*?\b\d+m?s[^;]*;", read(STYLES))
    assert all("infinite" in rule or "0s var(" in rule for rule in timed), timed


def test_a_message_that_is_sent_though_not_about_what_is_picked_says_why():
    """Others have the colour of a topic, or a mark; while nothing is picked, all are sent."""
    told = {"no_filter", "fallback", "pinned", "sticky", "current", "waiting"}
    silent = {kind.value for kind, rule in RULES.items() if rule.is_in and not rule.about} - told
    words = re.findall(r'\.message\[data-why="(\w+)"\] \.marks:empty::after', read(STYLES))
    assert silent == set(words)
