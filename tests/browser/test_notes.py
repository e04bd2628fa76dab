"""Notes that a message links to open beside the chat."""

import pytest
from playwright.sync_api import expect

from tests.browser.checker import STILL, assert_accessible
from tests.browser.steps import open_chat
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser


@pytest.fixture
def server(configured, serve):
    folder = configured()
    (folder / "Boats").mkdir()
    (folder / "Boats" / "Knots.md").write_text("---\ntags: [x]\n---\n# Tying\n\nA **bowline**.\n")
    (folder / "Trip.md").write_text("# Trip\n\nBring [[Knots]].\n\n- [ ] rope\n")
    said = "Read [[Knots#Tying|the knots]] or [[Nowhere]].\n\n- [ ] open\n- [x] done"
    write_chat(folder, "mixed", about("Which note?", said), title="Notes")
    quoted = "No chat model.\n\n**1.** `Boats/Knots.md#Tying`\n\n> A **bowline**.\n\n"
    own = "**2.** `earlier in this chat: an answer`\n\n> It holds."
    quotes = about("Which knot?", quoted + own)
    quotes[-1]["extracted"] = True
    write_chat(folder, "quotes", quotes, title="Quotes")
    return serve(folder)


def test_a_linked_note_opens_in_a_sheet_with_what_links_to_it(new_page, server):
    page = open_chat(new_page, server, **STILL)
    boxes = page.locator(".message").last.get_by_role("checkbox")
    expect(boxes).to_have_count(2)
    assert [box.is_checked() for box in boxes.all()] == [False, True]

    link = page.get_by_role("link", name="the knots", exact=True)
    link.press("Enter")
    sheet = page.get_by_role("dialog", name="A note")
    expect(sheet.get_by_role("heading", name="Knots")).to_be_visible()
    expect(sheet.locator("strong")).to_have_text("bowline")
    assert "tags" not in sheet.inner_text()
    assert_accessible(page)
    sheet.get_by_role("link", name="Trip").click()
    expect(sheet.get_by_role("checkbox")).to_have_count(1)
    expect(sheet.get_by_role("heading", name="Trip")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(link).to_be_focused()
    assert "#" not in page.url


def test_a_quote_without_a_model_opens_its_note_and_says_how_to_connect_one(new_page, server):
    page = open_chat(new_page, server, "quotes", **STILL)
    page.locator("blockquote").first.click()
    sheet = page.get_by_role("dialog", name="A note")
    expect(sheet.get_by_role("heading", name="Knots")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".message .note-link")).to_have_count(1)
    page.locator("blockquote").last.click()
    expect(sheet).to_be_hidden()
    notice = page.get_by_role("article", name="Notice")
    expect(notice.get_by_role("button", name="Answer it now")).to_be_visible()
    page.evaluate("document.body.dataset.connected = 'false'")
    connect = notice.get_by_role("link", name="Connect a model")
    expect(connect).to_have_attribute("href", "/settings")
    expect(notice.get_by_role("button", name="Answer it now")).to_be_hidden()
    assert_accessible(page)


def test_the_palette_opens_a_note_from_which_a_context_is_built(new_page, server):
    page = open_chat(new_page, server, **STILL)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("Knots")
    page.get_by_role("option", name="Knots").click()
    sheet = page.get_by_role("dialog", name="A note")
    expect(sheet.get_by_role("heading", name="Knots")).to_be_visible()
    sheet.get_by_role("link", name="Build a context from it").click()
    expect(page.locator("#chosen")).to_contain_text("Knots")
    expect(page.locator("#preview")).to_contain_text("bowline")


def test_a_link_to_no_note_is_not_found(server):
    status, words = server.request("GET", "/notes?note=Nowhere")
    assert status == 404
    assert "No note is called" in words
