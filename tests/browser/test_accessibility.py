"""Every screen, held to WCAG 2.2 AA as far as a program can tell, in light and dark."""

import re

import pytest
from playwright.sync_api import expect

from smart_context.cli.server.serve import demo_vault
from tests.browser.checker import STILL, assert_accessible
from tests.browser.frames import AT_REST, FRAME
from tests.browser.steps import bubble, open_page
from tests.browser.test_attachments import PICTURE, from_menu
from tests.serving import serving

pytestmark = pytest.mark.browser

SCREENS = {
    "a long chat": "/chats/year-of-projects",
    "a chat with code": "/chats/agent-debugging",
    "a Chinese chat": "/chats/chengdu-plan",
    "a new chat": "/new",
    "connecting a client": "/clients",
    "settings": "/settings",
    "costs": "/costs",
    "topics of all chats": "/topics",
    "the panel alone": "/panels/smart_context?chat_id=agent-debugging",
}


@pytest.fixture(scope="module")
def demo():
    with demo_vault() as root, serving(root) as server:
        for chat in ("year-of-projects", "agent-debugging", "chengdu-plan"):
            server.ask("smart_context.refresh_topics", chat_id=chat, wait=True)
        yield server


@pytest.mark.parametrize("path", SCREENS.values(), ids=SCREENS.keys())
def test_a_screen_has_no_fault_that_a_program_finds(new_page, demo, path):
    assert_accessible(open_page(new_page, demo, path, **STILL))


WIDTH_OF_TITLE = """title => {
  const text = document.createRange();
  text.selectNodeContents(title);
  return text.getBoundingClientRect().width;
}"""


NEEDLESS = """() => [...document.querySelectorAll("*")].flatMap((element) => {
    const isPage = element === document.documentElement;
    const style = getComputedStyle(element);
    const lines = (...sides) => isPage ? 0 : sides.reduce(
        (sum, side) => sum + parseFloat(style[`border${side}Width`]), 0);
    const { offsetWidth, offsetHeight, clientWidth, clientHeight } = element;
    const upright = (isPage ? innerWidth : offsetWidth) - clientWidth - lines("Left", "Right");
    const lying = (isPage ? innerHeight : offsetHeight) - clientHeight - lines("Top", "Bottom");
    const hidden = element.scrollHeight - clientHeight;
    const mayScroll = isPage || /auto|scroll/.test(style.overflowX + style.overflowY);
    const isNeedless = lying >= 1 || (upright >= 1 && hidden > 0 && hidden < 24)
        || (upright >= 1 && hidden <= 0 && style.scrollbarGutter === "auto");
    const name = `${element.tagName} ${element.className}: ${upright} ${lying} ${hidden}`;
    return mayScroll && isNeedless && element.checkVisibility() ? [name] : [];
})"""
"""Elements with a lying scrollbar, or an upright one for what is all but in sight."""


@pytest.mark.parametrize("new_page", ["with_scrollbars"], indirect=True)
def test_no_scrollbar_takes_room_for_nothing(new_page, demo):
    sizes = [(1440, 900), (1440, 700), (390, 844)]
    for path in ("/chats/year-of-projects", "/topics", "/contexts", "/settings", "/costs"):
        page = open_page(new_page, demo, path, **STILL)
        for width, height in sizes:
            page.set_viewport_size({"width": width, "height": height})
            page.evaluate(AT_REST)
            assert page.evaluate(NEEDLESS) == [], (path, width, height)


def test_text_keeps_its_font_when_the_colours_change(new_page, demo):
    page = open_page(new_page, demo, "/chats/year-of-projects", color_scheme="light")
    title = page.locator("h1").first
    before = title.evaluate(WIDTH_OF_TITLE)
    page.emulate_media(color_scheme="dark")
    page.evaluate(
        "async () => { await document.fonts.ready; await FRAME; }".replace("FRAME", FRAME)
    )
    assert title.evaluate(WIDTH_OF_TITLE) == before


@pytest.fixture
def used_chat(demo):
    """A chat with files and a link that was compacted."""
    chat = demo.ask("chat.new")["chat_id"]
    files = [
        demo.request("POST", "/api/files", content, {"X-File-Name": name})[1]
        for name, content in (("notes.md", b"Some notes."), ("map.png", PICTURE))
    ]
    links = [{"url": "https://example.org", "title": "An example"}]
    demo.ask("chat.send", chat_id=chat, message="What?", files=files, links=links)
    demo.ask("chat.compact", chat_id=chat)
    return chat


@pytest.mark.parametrize("width", [1280, 360])
def test_what_is_attached_and_compacted_has_no_fault_that_a_program_finds(
    new_page, demo, used_chat, width
):
    viewport = {"width": width, "height": 740}
    page = open_page(new_page, demo, f"/chats/{used_chat}", viewport=viewport, **STILL)

    def check():
        assert_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    page.locator(".summary-card summary").click()
    expect(page.locator("[data-compacted]")).to_have_count(2)
    page.get_by_role("button", name="This chat", exact=True).click()
    check()  # what the menu lies over is checked below
    page.keyboard.press("Escape")
    page.locator(".file-input").set_input_files(
        [
            {"name": "chart.png", "mimeType": "image/png", "buffer": PICTURE},
            {"name": "nothing.txt", "mimeType": "text/plain", "buffer": b""},
        ]
    )
    for state in ("ready", "refused"):
        expect(page.locator(f".attaching-chip[data-state={state}]")).to_have_count(1)
    page.locator("#message-box").fill("/c")
    check()
    from_menu(page, "Add notes")
    page.locator("#notes-search").fill("start")
    expect(page.locator("#notes-found li")).to_have_count(1)
    check()
    page.locator("#notes-dialog").get_by_role("button", name="Close").click()
    from_menu(page, "Link")
    page.keyboard.press("Enter")
    expect(page.locator("#link-problem")).not_to_be_empty()
    check()


def test_what_a_question_is_about_glows_and_tab_asks_with_it_only(new_page, demo):
    page = open_page(new_page, demo, "/chats/year-of-projects")
    box = page.locator("#message-box")
    hint = page.locator(".topic-hint")
    box.fill("How warm should the dough be overnight?")
    hint.wait_for()
    expect(hint).to_have_text(
        re.compile(r"Ask with Sourdough Loaf only: \d+ instead of [\d,]+ tokens")
    )
    expect(page.locator(".bubble[data-meant]")).to_have_count(1)
    assert_accessible(page)
    box.press("Escape")
    expect(hint).to_be_hidden()
    box.fill("What do I pack for the night train to Kyoto?")
    hint.wait_for()
    expect(hint).to_contain_text("Tokyo & Kyoto")
    box.press("Tab")
    expect(bubble(page, "Tokyo & Kyoto")).to_be_checked()
    expect(hint).to_be_hidden()
    expect(box).to_be_focused()
    demo.ask("smart_context.set_filter", chat_id="year-of-projects", topics=[])
