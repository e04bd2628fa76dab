"""The cloud stays put: a topic keeps its place and its colour, and its label can be read."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.checker import STILL, assert_accessible
from tests.browser.frames import AT_REST
from tests.browser.steps import bubble, open_chat, pick, status
from tests.product.test_filter_over_the_wire import MIXED
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

LONG = "Donaudampfschifffahrtsgesellschaftskapitän"
TOPICS = [
    {"label": "cats sleep", "count": 4},
    {"label": "boats sail", "count": 3},
    {"label": LONG, "count": 2},
    {"label": "成都两周旅行计划与素食餐厅", "count": 1},
]

LOOKS = """() => Object.fromEntries(
    [...document.querySelectorAll(".bubble:not([data-leaving])")].map((bubble) => {
        const { x, y, width } = bubble.getBoundingClientRect();
        return [bubble.querySelector("input").value, {
            x: x + width / 2, y: y + width / 2, d: width,
            colour: getComputedStyle(bubble).backgroundColor,
        }];
    }))"""

OUTSIDE = """() => [...document.querySelectorAll(".bubble")].flatMap((bubble) => {
    const { x, y, width } = bubble.getBoundingClientRect();
    const label = bubble.querySelector(".bubble-label");
    const { left, right, top, bottom } = label.getBoundingClientRect();
    const corner = Math.max(...[left, right].flatMap((cx) => [top, bottom].map(
        (cy) => Math.hypot(cx - x - width / 2, cy - y - width / 2))));
    return corner > width / 2 - 1 || label.scrollWidth > label.clientWidth + 1
        ? [label.textContent] : [];
})"""

CUT = """() => [...document.querySelectorAll(".bubble-label")].flatMap((label) => {
    const { top, bottom } = label.getBoundingClientRect();
    const text = document.createRange();
    text.selectNodeContents(label);
    const lines = [...text.getClientRects()];
    return lines.length && lines.every((line) => line.top >= top && line.bottom <= bottom)
        ? [] : [label.textContent];
})"""

CONTRAST = """() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const paint = (...colours) => {
        canvas.clearRect(0, 0, 1, 1);
        for (const colour of colours) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
        const channels = [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)].map((c) => c / 255);
        const [r, g, b] = channels.map(
            (c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const paper = getComputedStyle(document.querySelector(".side")).backgroundColor;
    return [...document.querySelectorAll(".bubble:not(:has(:checked))")].map((bubble) => {
        const { backgroundColor, color, opacity } = getComputedStyle(bubble);
        const [back, ink] = [paint(paper, backgroundColor), paint(paper, backgroundColor, color)];
        const ratio = (Math.max(back, ink) + 0.05) / (Math.min(back, ink) + 0.05);
        return [ratio, Number(opacity), backgroundColor];
    });
}"""


@pytest.fixture
def server(configured, serve):
    folder = configured()
    write_chat(folder, "mixed", MIXED, topics=TOPICS, title="Cats and boats")
    return serve(folder)


def at_rest(page):
    """How the bubbles look once none of them moves."""
    page.evaluate(AT_REST)
    return page.evaluate(LOOKS)


def furthest(before, after):
    """The longest way that a bubble went, in its diameters."""
    return max(
        ((after[name]["x"] - was["x"]) ** 2 + (after[name]["y"] - was["y"]) ** 2) ** 0.5 / was["d"]
        for name, was in before.items()
        if name in after
    )


def test_topics_keep_their_places_and_colours_for_life(new_page, server):
    page = open_chat(new_page, server)
    expect(page.locator(".bubble")).to_have_count(4)
    before = at_rest(page)

    server.ask("smart_context.add_topic", chat_id="mixed", label="night sky")
    expect(bubble(page, "night sky")).to_be_visible()
    added = at_rest(page)
    assert furthest(before, added) <= 0.6
    assert {name: added[name]["colour"] for name in before} == {
        name: was["colour"] for name, was in before.items()
    }

    server.ask(
        "smart_context.rename_topic", chat_id="mixed", label="cats sleep", new_label="felines"
    )
    expect(bubble(page, "felines")).to_be_visible()
    renamed = at_rest(page)
    assert furthest(added, renamed) <= 0.05
    moved = {"": renamed.pop("felines")}
    assert furthest({"": added["cats sleep"]}, moved) <= 0.05
    assert moved[""]["colour"] == added["cats sleep"]["colour"]

    page.reload()
    expect(bubble(page, "felines")).to_be_visible()
    reloaded = at_rest(page)
    assert furthest(renamed, reloaded) <= 0.05
    assert reloaded["felines"]["colour"] == moved[""]["colour"]


def test_a_small_window_takes_no_places_away(new_page, configured, serve):
    folder = configured()
    sizes = {"Solar Panels": 28, "Sourdough": 19, "Job Ad": 14, "Tokyo": 8, "MySQL": 6, "Loans": 5}
    texts = [f"{label} {n}" for label, count in sizes.items() for n in range(count)]
    topics = [
        {"label": label, "count": count, "message_ids": [f"m{n}" for n in range(count)]}
        for label, count in sizes.items()
    ]
    write_chat(folder, "mixed", about(*texts), topics=topics)
    page = open_chat(new_page, serve(folder))
    before = at_rest(page)
    page.set_viewport_size({"width": 420, "height": 480})
    page.reload()
    page.locator("[data-toggle=side]").click()
    expect(bubble(page, "Sourdough")).to_be_visible()
    assert furthest(before, at_rest(page)) > 0.1
    page.set_viewport_size({"width": 1280, "height": 800})
    page.reload()
    expect(bubble(page, "Sourdough")).to_be_visible()
    assert furthest(before, at_rest(page)) < 0.05


def test_nothing_moves_while_the_pointer_is_over_the_cloud(new_page, server):
    page = open_chat(new_page, server)
    before = at_rest(page)
    page.locator(".bubble", has_text="boats sail").hover()
    server.ask("smart_context.delete_topic", chat_id="mixed", label="cats sleep")
    expect(bubble(page, "cats sleep")).to_have_count(0)
    server.ask("smart_context.add_topic", chat_id="mixed", label="night sky")
    expect(bubble(page, "night sky")).to_be_visible()
    assert furthest(before, at_rest(page)) < 0.01
    page.mouse.move(5, 5)
    assert furthest(before, at_rest(page)) <= 0.6


def test_labels_stay_within_their_bubbles(new_page, server):
    for width in (1280, 360):
        page = open_chat(new_page, server, viewport={"width": width, "height": 800})
        if width == 360:
            page.locator("[data-toggle=side]").click()
        at_rest(page)
        assert page.evaluate(OUTSIDE) == []


def test_nothing_of_a_letter_is_cut_above_or_below(new_page, server):
    """Firefox cuts at the edge what Chromium rounds up; in both, letters need this much room."""
    page = open_chat(new_page, server)
    at_rest(page)
    assert page.evaluate(CUT) == []


def test_in_a_low_window_the_cloud_leaves_room_for_what_follows_it(new_page, server):
    page = open_chat(new_page, server, viewport={"width": 1366, "height": 640})
    for below in (status(page), page.get_by_role("switch", name="Filter by similarity")):
        expect(below).to_be_in_viewport()
    at_rest(page)
    assert page.evaluate(OUTSIDE) == []
    low = page.locator("bubble-cloud").bounding_box()["height"]
    page.set_viewport_size({"width": 1366, "height": 900})
    expect(page.locator("bubble-cloud")).not_to_have_css("height", f"{low}px")
    at_rest(page)
    assert page.evaluate(OUTSIDE) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_not_picked_recedes_but_can_be_read(new_page, server, scheme):
    page = open_chat(new_page, server, color_scheme=scheme)
    pick(page, "cats sleep")
    page.mouse.move(5, 5)
    at_rest(page)
    found = page.evaluate(CONTRAST)
    assert len(found) == 3
    for ratio, opacity, disc in found:
        assert ratio >= 4.5
        assert opacity == 1
        assert float(re.search(r"/ ([\d.]+)\)", disc).group(1)) == pytest.approx(0.4)
    picked = page.locator(".bubble:has(:checked)")
    assert picked.evaluate("bubble => getComputedStyle(bubble, '::after').opacity") == "1"
    assert picked.evaluate("bubble => getComputedStyle(bubble).boxShadow") != "none"


def test_a_topic_with_parts_opens_into_a_cloud_of_its_own(new_page, configured, serve):
    folder = configured()
    parts = [
        {"id": "pets", "label": "pets", "count": 4},
        {"id": "cats", "label": "cats sleep", "count": 2, "parent_id": "pets"},
        {"id": "dogs", "label": "dogs bark", "count": 2, "parent_id": "pets"},
        {"id": "boats", "label": "boats sail", "count": 3},
    ]
    write_chat(folder, "mixed", MIXED, topics=parts)
    page = open_chat(new_page, serve(folder), **STILL)
    names = page.locator(".bubble:not([data-leaving]) .bubble-label")
    expect(names).to_have_text(["pets", "boats sail"])
    before = page.evaluate(LOOKS)
    opener = page.get_by_role("button", name="Show 2 parts of pets")
    opener.click()
    expect(bubble(page, "pets")).not_to_be_checked()
    expect(names).to_have_text(["pets", "cats sleep", "dogs bark"])
    assert_accessible(page)
    page.emulate_media(color_scheme="light")
    pick(page, "cats sleep")
    back = page.get_by_role("button", name="All topics")
    back.press("Enter")
    expect(names).to_have_text(["pets", "cats sleep", "boats sail"])
    expect(bubble(page, "cats sleep")).to_be_checked()
    expect(opener).to_be_focused()
    pick_off = bubble(page, "cats sleep")
    pick_off.press("Enter")
    expect(names).to_have_text(["pets", "boats sail"])
    page.evaluate(AT_REST)
    after = page.evaluate(LOOKS)
    assert {name: look["colour"] for name, look in after.items()} == {
        name: look["colour"] for name, look in before.items()
    }
