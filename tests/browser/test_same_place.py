"""Whatever is switched by a click is switched back by a second one at the same point."""

import pytest
from playwright.sync_api import expect

from tests.browser.checker import STILL
from tests.browser.frames import AT_REST
from tests.browser.steps import open_chat, open_page, pick
from tests.product.test_filter_over_the_wire import MIXED
from tests.vaults import write_chat

pytestmark = pytest.mark.browser

WIDE = {"width": 1440, "height": 900}
TOGGLES = """() => {
    const wanted = "input[type=checkbox], summary, [aria-pressed], [aria-expanded]";
    // A column that goes takes its own button along, a dialog covers its own, and a message that
    // is hidden while topics are picked folds.
    const apart = "[data-toggle], [aria-haspopup=dialog], [role=combobox], [data-action=hide]";
    globalThis.toggles = [...document.querySelectorAll(wanted)]
        .filter((each) => !each.matches(apart) && !each.closest("dialog, .menu-list"))
        .filter((each) => each.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
        .map((each) => (each.matches("input") && each.closest("label")) || each);
    return toggles.length;
}"""
POINT = """(n) => {
    toggles[n].scrollIntoView({ block: "center" });
    const { x, y, width, height } = toggles[n].getBoundingClientRect();
    return [x + width / 2, y + height / 2];
}"""
TOLD = "() => document.querySelector('.sends')?.innerText ?? ''"
"""What the server says of the next message."""
STATE = """([n, x, y]) => {
    const one = toggles[n], box = one.matches("input") ? one : one.querySelector("input");
    const state = box ? box.checked : one.matches("summary") ? one.parentElement.open
        : one.ariaPressed ?? one.ariaExpanded;
    const hit = document.elementFromPoint(x, y);
    return [one.contains(hit) || one === hit, String(state), one.outerHTML.slice(0, 120)];
}"""


@pytest.fixture
def server(configured, serve):
    folder = configured()
    for name in ("Cats", "Boats", "Knots"):
        (folder / f"{name}.md").write_text(f"# {name}\\n\\nAll about {name}.", encoding="utf-8")
    topics = [{"label": "cats sleep", "count": 2, "message_ids": ["m0", "m1"]}]
    write_chat(folder, "mixed", MIXED, topics=topics, title="Cats and boats")
    return serve(folder)


def click_twice_on_each(page):
    """Click every toggle twice at one point; its state is as before, and it never moved away."""
    moved, count = [], page.evaluate(TOGGLES)
    for place in range(count):
        x, y = page.evaluate(POINT, place)
        is_there, before, name = page.evaluate(STATE, [place, x, y])
        told = page.evaluate(TOLD)
        if not is_there:
            continue  # one before it, opened and closed, has taken it off the page
        page.mouse.click(x, y)
        page.evaluate(AT_REST)
        stays, switched, _ = page.evaluate(STATE, [place, x, y])
        page.mouse.click(x, y)
        page.evaluate(AT_REST)
        _, after, _ = page.evaluate(STATE, [place, x, y])
        page.wait_for_function(f"(told) => ({TOLD})() === told", arg=told)  # it is as before
        if not stays or after != before or switched == before:
            moved.append((name, stays, before, switched, after))
    assert moved == []
    return count


def test_in_the_builder_no_toggle_moves_from_under_the_pointer(new_page, server):
    page = open_page(
        new_page, server, "/contexts", viewport={"width": 1440, "height": 900}, **STILL
    )
    page.get_by_text("Cats").first.wait_for()
    assert click_twice_on_each(page) >= 3


def test_a_second_click_on_what_opened_a_menu_closes_it(new_page, server):
    page = open_chat(new_page, server, **STILL)
    pick(page, "cats sleep")
    for is_open in (True, False):
        page.get_by_role("button", name="More with the picked topics").click()
        expect(page.locator("#topic-menu")).to_be_visible(visible=is_open)


def test_in_the_chat_no_toggle_moves_from_under_the_pointer(new_page, server):
    page = open_chat(new_page, server, viewport=WIDE, **STILL)
    page.locator(".sends:not([data-unknown]) .sends-total:not(:empty)").wait_for()
    assert click_twice_on_each(page) >= 6


@pytest.mark.parametrize("area", ["chats", "side"])
@pytest.mark.parametrize("width", [1000, 700, 390])
def test_a_second_click_on_what_opened_a_drawer_closes_it(new_page, server, width, area):
    page = open_chat(new_page, server, viewport={"width": width, "height": 800}, **STILL)
    is_open = (
        "area => document.querySelector('.' + area).checkVisibility({visibilityProperty: true})"
    )
    before = page.evaluate(is_open, area)
    box = page.locator(f"[data-toggle={area}]").bounding_box()
    point = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for state in (not before, before):
        page.mouse.click(*point)
        page.evaluate(AT_REST)
        assert page.evaluate(is_open, area) == state
    assert page.url.endswith("/chats/mixed")
