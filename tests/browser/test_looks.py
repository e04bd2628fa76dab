"""How a chat looks in other scripts, for other eyes, on paper and under a finger."""

import itertools
import re

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.browser.steps import connected, open_chat, open_page, pick, status
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

ARABIC = "هل أحجز القطار بين فاس ومراكش مسبقًا؟"
TASKS = "* [ ] boats sail\n    * below it\n* [x] done"
SAID = about("cats sleep", "cats", ARABIC, TASKS, "cats sleep again", "cats sleep long")
TOPICS = [{"label": "cats sleep", "count": 4}, {"label": "boats sail", "count": 2}]


@pytest.fixture
def server(configured, serve):
    folder = configured(recent_messages="1")
    write_chat(folder, "mixed", SAID, topics=TOPICS, title=ARABIC)
    (folder / "Knots.md").write_text("Tie a bowline.")  # tools go with a message: a second piece
    return serve(folder)


BOX = "element => { const { x, y, width, height } = element.getBoundingClientRect(); \
return { x, y, width, height, right: x + width }; }"

COLOURS = """() => {
    const pieces = [...document.querySelectorAll(".sends-bar span")];
    return new Set(pieces.map(e => getComputedStyle(e).backgroundColor)).size > 1;
}"""


SAME_COLOUR = """() => {
    const style = (selector, part) => getComputedStyle(document.querySelector(selector), part);
    return style(".bubble:not([data-leaving]):has(:checked)", "::after").backgroundColor
        === style(".message.in-context[data-mark=in][data-hue]").borderInlineStartColor;
}"""
"""The picked topic and the first message that it keeps."""

RIMS = """() => [..."0,1,2,3,4,5,6,7,8,9,10,11".split(",")].map(hue => {
    const dot = document.body.appendChild(document.createElement("i"));
    dot.dataset.hue = hue;
    dot.style.color = "oklch(var(--bubble-rim-lightness) var(--bubble-rim-chroma) var(--hue))";
    const found = getComputedStyle(dot).color.match(/[0-9.]+/g).map(Number);
    dot.remove();
    return found;
})"""
"""The colours of topics in bar, rail and list: lightness, chroma and hue of OKLCH."""

VISIONS = {
    "all cones": np.eye(3),
    "no red cones": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green cones": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue cones": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
"""What is seen of a colour in linear sRGB, by Machado, Oliveira and Fernandes (2009)."""

TO_CONES = np.array(
    [[1, 0.39633778, 0.21580376], [1, -0.10556135, -0.06385417], [1, -0.08948418, -1.29148555]]
)
"""From OKLab to the cube roots of what the cones get."""
TO_RGB = np.array(
    [
        [4.07674166, -3.30771159, 0.23096993],
        [-1.26843800, 2.60975740, -0.34131940],
        [-0.00419609, -0.70341861, 1.70761470],
    ]
)
"""From the cones to linear sRGB."""


def nearest(rims, vision):
    """How unlike the two most alike colours are, in OKLab; two hundredths can be seen."""
    lightness, chroma, hue = np.array(rims).T
    angle = np.radians(hue)
    lab = np.stack([lightness, chroma * np.cos(angle), chroma * np.sin(angle)], axis=1)
    rgb = np.clip((lab @ TO_CONES.T) ** 3 @ TO_RGB.T, 0, 1)
    seen = np.clip(rgb @ np.array(vision).T, 0, 1)
    seen = np.cbrt(seen @ np.linalg.inv(TO_RGB).T) @ np.linalg.inv(TO_CONES).T
    return min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2))


def box(page, selector):
    return page.locator(selector).first.evaluate(BOX)


def check_other_media(page):
    page.emulate_media(forced_colors="active")
    page.wait_for_function(COLOURS)
    page.emulate_media(forced_colors="none", media="print")
    assert page.locator("[data-folded]").count() > 0
    for element in ("#m-m2", "#m-m3"):
        expect(page.locator(element)).to_be_visible()
    for element in (".composer", ".actions", ".fold", "#side"):
        expect(page.locator(element).first).to_be_hidden()


def test_each_script_and_each_medium_has_what_it_needs(new_page, server):
    warnings = []
    page = new_page(server, "/healthz")
    page.on("console", lambda m: warnings.append(m.text) if m.type == "warning" else None)
    for path in (
        "/new",
        "/contexts",
        "/clients",
        "/settings",
        "/panels/smart_context",
        "/chats/mixed",
    ):
        page.goto(server.origin + path)
        page.locator("body").wait_for()
    connected(page)
    assert warnings == []

    # what is written from right to left begins on the right, with its name; its title does not
    text, name = box(page, "#m-m2 .body"), box(page, "#m-m2 .speaker")
    assert text["right"] - name["right"] < 1
    assert box(page, "#m-m1 .speaker")["x"] - box(page, "#m-m1 .body")["x"] < 1
    assert page.locator("h1").evaluate("h => getComputedStyle(h).textAlign") == "left"
    lists = [box(page, f"#m-m3 {which}") for which in (".task input", ".task li")]
    assert lists[1]["x"] > lists[0]["right"]  # what is below a task is further in than its box

    pick(page, "cats sleep")
    expect(status(page)).to_have_text(re.compile("of . messages in context"))
    expect(page.locator(".message.in-context[data-mark=in][data-hue]").first).to_be_visible()
    page.wait_for_function(SAME_COLOUR)

    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        rims = page.evaluate(RIMS)
        for name, vision in VISIONS.items():
            assert nearest(rims, vision) >= 0.04, (scheme, name)
            assert nearest(rims[::2], vision) >= 0.08, (scheme, name)  # as six topics have

    check_other_media(page)


def test_the_panel_is_as_wide_as_one_likes(new_page, server):
    page = open_chat(new_page, server)
    border = page.get_by_role("separator", name="Width of the panel")
    before = page.locator("#side").bounding_box()
    page.mouse.move(before["x"] + 2, 300)
    page.mouse.down()
    page.mouse.move(before["x"] - 98, 300, steps=3)
    page.mouse.up()
    wide = page.locator("#side").bounding_box()["width"]
    assert abs(wide - before["width"] - 98) <= 4
    border.press("ArrowRight")
    page.reload()
    assert page.locator("#side").bounding_box()["width"] == pytest.approx(wide - 24, abs=1)
    page.get_by_role("separator", name="Width of the panel").dblclick()
    assert page.locator("#side").bounding_box()["width"] == before["width"]


def test_what_is_in_context_is_told_in_one_line_beside_its_buttons(new_page, server):
    page = open_chat(new_page, server, viewport={"width": 1440, "height": 900})
    before = status(page).bounding_box()
    pick(page, page.locator(".bubble-label").first.inner_text())
    expect(page.locator("[data-panel=undo]")).to_be_visible()
    expect(status(page)).to_have_text(re.compile("of . messages in context"))
    status(page).evaluate("line => (line.textContent = '129 of 302 messages in context')")
    assert status(page).bounding_box()["height"] == before["height"]


def test_text_is_drawn_as_it_is_written(new_page, server):
    page = open_chat(new_page, server)
    # The font would turn an x between digits, and an arrow of two signs, into others.
    for place in (".message .body", "#trust-dialog", "button"):
        style = page.locator(place).first.evaluate("e => getComputedStyle(e).fontVariantLigatures")
        assert style == "no-contextual", place


def test_an_address_that_leads_nowhere_looks_like_the_rest(server):
    status, page = server.request("GET", "/nothing/here", headers={"Accept": "text/html"})
    assert status == 404
    assert "/static/joined/pages.css" in page
    assert "There is nothing here" in page


FILL = """box => {
    const { appearance, backgroundColor } = getComputedStyle(box);
    return appearance === "none" ? backgroundColor : appearance;
}"""
"What a box is filled with, unless the browser fills it: grey, in the dark."


def test_a_box_that_is_not_ticked_is_an_outline_on_what_it_stands_on(new_page, server):
    (server.vault / "Bees.md").write_text("Bees sleep in winter.")
    page = open_page(new_page, server, "/contexts", color_scheme="dark")
    box = page.locator(".row-label", has_text="Bees").locator("input")
    assert box.evaluate(FILL) == "rgba(0, 0, 0, 0)"
    box.check()
    assert box.evaluate(FILL) not in {"rgba(0, 0, 0, 0)", "auto"}


def test_a_finger_hits_what_it_means(new_page, server):
    page = open_chat(new_page, server, viewport={"width": 360, "height": 740}, has_touch=True)
    for button in page.locator(".chat-head button, .actions button, .composer button").all():
        if button.is_visible():
            size = button.evaluate(BOX)
            assert min(size["width"], size["height"]) >= 40, button.inner_text()


SMALL = """() => {
    const pressed = "button, summary, select, nav a, input:not([type=checkbox], [type=range])";
    return [...document.querySelectorAll(pressed)]
        .filter(e => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
        .filter(e => e.getBoundingClientRect().height < 44)
        .map(e => e.outerHTML.slice(0, 100));
}"""


def test_under_a_finger_all_that_is_pressed_is_as_large_as_one(new_page, server):
    page = open_chat(
        new_page, server, viewport={"width": 390, "height": 740}, has_touch=True, is_mobile=True
    )
    assert page.evaluate(SMALL) == []
    page.get_by_role("button", name="List of chats").tap()
    expect(page.get_by_role("link", name="Topics of all chats")).to_be_visible()
    assert page.evaluate(SMALL) == []
    page.goto(server.origin + "/contexts")
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_visible()
    assert page.evaluate(SMALL) == []


SMALL_FIELDS = """() => [...document.querySelectorAll("input, select, textarea")]
    .filter(field => !["checkbox", "radio", "range", "hidden", "file"].includes(field.type))
    .filter(field => parseFloat(getComputedStyle(field).fontSize) < 16)
    .map(field => field.outerHTML.slice(0, 120))"""


def test_no_field_is_so_small_that_a_phone_zooms_into_it(new_page, server):
    page = new_page(server, viewport={"width": 390, "height": 740}, has_touch=True, is_mobile=True)
    for path in ("/chats/mixed", "/topics", "/contexts", "/settings", "/clients", "/costs"):
        page.goto(server.origin + path)
        assert connected(page).evaluate(SMALL_FIELDS) == [], path


KEYBOARD = """
    class View extends EventTarget {
        scale = 1;
        height = innerHeight;
        cover(height) {
            this.height = height;
            this.dispatchEvent(new Event("resize"));
        }
    }
    const view = new View();
    Object.defineProperty(window, "visualViewport", { get: () => view });
"""


def test_the_box_stays_above_the_keyboard_of_a_phone(new_page, server):
    page = open_chat(new_page, server, viewport={"width": 390, "height": 740}, has_touch=True)
    page.add_init_script(KEYBOARD)
    page.reload()
    bottom = "box => box.getBoundingClientRect().bottom"
    box = page.locator("#message-box")
    before = box.evaluate(bottom)
    page.evaluate("visualViewport.cover(400)")
    assert box.evaluate(bottom) <= 400
    page.evaluate("visualViewport.cover(innerHeight)")
    assert box.evaluate(bottom) == before
