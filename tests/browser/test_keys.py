"""The keyboard does it all: palette, sheet of keys, digits, Escape, slash menu."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.steps import asked, bubble, open_chat, pick, send, status
from tests.product.test_filter_over_the_wire import MIXED, TOPICS
from tests.vaults import write_chat

pytestmark = pytest.mark.browser


@pytest.fixture
def server(configured, serve):
    folder = configured()
    (folder / "Notes").mkdir()
    (folder / "Notes" / "Harbour walk.md").write_text("Boats and rope.", encoding="utf-8")
    write_chat(folder, "other", MIXED[:2], title="Another chat")
    write_chat(folder, "mixed", MIXED, topics=TOPICS, title="Cats and boats")
    return serve(folder)


def box_of(page):
    return page.get_by_role("textbox", name="Message")


@pytest.mark.engines
def test_the_palette_offers_all_and_gives_the_focus_back(new_page, server):
    page = open_chat(new_page, server)
    box_of(page).focus()
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Palette")
    options = palette.get_by_role("option")
    for name in ("cats sleep", "Another chat", "Harbour walk", "New chat"):
        # beside the name of a chat are its last words, which may be those of a topic
        expect(options.filter(has=page.get_by_text(name, exact=True))).to_be_visible()
    page.keyboard.press("Escape")
    expect(palette).to_be_hidden()
    expect(box_of(page)).to_be_focused()

    page.keyboard.press("Control+k")
    page.keyboard.type("boats s")
    expect(options.first).to_contain_text("boats sail")
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(bubble(page, "boats sail")).to_be_checked()
    expect(palette).to_be_hidden()
    expect(box_of(page)).to_be_focused()

    page.keyboard.press("Control+k")
    page.keyboard.type("another")
    expect(options.first).to_contain_text("Another chat")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/chats/other"))


def test_enter_in_the_palette_opens_nothing_that_no_longer_matches(new_page, server):
    page = open_chat(new_page, server)
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Palette")
    page.keyboard.type("harbour")
    expect(palette.get_by_role("option", name="Harbour walk")).to_be_visible()
    page.keyboard.type("xyz")
    page.keyboard.press("Enter")
    expect(palette).to_be_visible()
    expect(palette.get_by_role("option")).to_have_count(0)


def test_a_note_of_the_palette_is_opened(new_page, server):
    page = open_chat(new_page, server)
    page.evaluate(
        """() => document.addEventListener("smart_context.open_note", (event) => {
            event.preventDefault();
            document.title = event.detail.path;
        })"""
    )
    page.keyboard.press("Control+k")
    page.keyboard.type("harbour")
    note = page.get_by_role("option", name="Harbour walk")
    expect(note).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page).to_have_title("Notes/Harbour walk.md")


def test_a_named_context_of_the_palette_is_opened(new_page, server):
    server.ask("smart_context.save_context", key="Sea trip", items=["Notes/"])
    page = open_chat(new_page, server)
    page.keyboard.press("Control+k")
    context = page.get_by_role("option", name="Sea trip")
    expect(context).to_contain_text("1 item")
    page.keyboard.type("another")
    expect(context).to_be_hidden()
    page.get_by_role("combobox").fill("trip sea")
    expect(context).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/contexts/Sea%20trip\?chat=mixed"))
    expect(page.locator("#chosen")).to_contain_text("Notes")


def test_digits_toggle_bubbles_but_not_while_writing(new_page, server):
    page = open_chat(new_page, server)
    box_of(page).focus()
    page.keyboard.type("2 boats")
    expect(box_of(page)).to_have_value("2 boats")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    expect(bubble(page, "boats sail")).to_be_checked()
    page.keyboard.press("Control+1")
    page.keyboard.press("2")
    expect(bubble(page, "boats sail")).not_to_be_checked()
    expect(bubble(page, "cats sleep")).not_to_be_checked()


def test_the_tools_of_all_messages_are_one_tab_stop_and_arrows_lead_through_them(new_page, server):
    page = open_chat(new_page, server)
    tools = page.get_by_role("toolbar", name="Message")
    last = tools.count() - 1
    messages = page.get_by_role("region", name="Messages")
    messages.focus()
    page.keyboard.press("Tab")
    expect(tools.nth(last).get_by_role("button", name="Copy")).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(tools.nth(last - 2).get_by_role("button", name="Branch from here")).to_be_focused()
    page.keyboard.press("Tab")  # there is no map: one sees the whole chat
    expect(page.get_by_role("button", name="Attach", exact=True)).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(tools.nth(last - 2).get_by_role("button", name="Branch from here")).to_be_focused()
    pick(page, "boats sail")
    fold = page.locator("main .fold").last
    fold.press("ArrowUp")
    expect(fold).not_to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(fold).to_be_focused()
    messages.press("Enter")
    expect(page.locator(".actions :focus")).to_have_attribute("data-action", "copy")


def test_one_key_each_hides_the_panel_and_begins_a_chat(new_page, server):
    page = open_chat(new_page, server)
    page.get_by_role("region", name="Messages").focus()
    side = page.locator("#side")
    page.keyboard.press("]")
    expect(side).to_be_hidden()
    page.keyboard.press("]")
    expect(side).to_be_visible()
    box_of(page).press_sequentially("n]")
    expect(box_of(page)).to_have_value("n]")
    page.get_by_role("region", name="Messages").press("n")
    expect(page).not_to_have_url(re.compile("/chats/mixed"))


def test_the_keys_are_listed(new_page, server):
    page = open_chat(new_page, server)
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("Open the palette")
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    expect(bubble(page, "cats sleep")).not_to_be_checked()


@pytest.mark.engines
def test_escape_closes_what_is_open_before_it_clears_the_filter(new_page, server):
    page = open_chat(new_page, server, viewport={"width": 768, "height": 900})
    page.locator("[data-toggle=side]").click()
    pick(page, "cats sleep")
    page.keyboard.press("Escape")
    expect(page.locator("#side")).to_be_hidden()
    expect(status(page)).to_have_text("3 of 6 messages in context")
    page.get_by_role("button", name="This chat").click()
    page.keyboard.press("Escape")
    expect(page.locator("#chat-menu-list")).to_be_hidden()
    expect(status(page)).to_have_text("3 of 6 messages in context")
    box_of(page).focus()
    page.keyboard.press("Escape")
    expect(status(page)).to_have_text("All messages in context")


def test_escape_in_a_box_with_text_leaves_the_box_and_keeps_what_is_picked(new_page, server):
    page = open_chat(new_page, server)
    pick(page, "cats sleep")
    box_of(page).fill("how long do they sleep?")
    page.keyboard.press("Escape")
    expect(box_of(page)).not_to_be_focused()
    expect(box_of(page)).to_have_value("how long do they sleep?")
    expect(bubble(page, "cats sleep")).to_be_checked()
    expect(status(page)).to_have_text("3 of 6 messages in context")


def test_what_escape_released_can_be_picked_again_from_its_notice(new_page, server):
    page = open_chat(new_page, server)
    pick(page, "cats sleep")
    box_of(page).focus()
    page.keyboard.press("Escape")
    expect(status(page)).to_have_text("All messages in context")
    notice = page.get_by_role("status").filter(has_text="No topic is picked now.")
    notice.get_by_role("button", name="Undo").click()
    expect(bubble(page, "cats sleep")).to_be_checked()
    expect(status(page)).to_have_text("3 of 6 messages in context")


def test_escape_cancels_an_edit_and_keeps_the_filter(new_page, server):
    page = open_chat(new_page, server)
    pick(page, "cats sleep")
    expect(status(page)).to_have_text("3 of 6 messages in context")
    question = page.locator("#m-m0")
    question.hover()
    question.get_by_role("button", name="Edit").click()
    box = page.get_by_role("textbox", name="Edit the message")
    expect(box).to_be_focused()
    box.dispatch_event("keydown", {"key": "Escape", "isComposing": True})
    expect(box).to_be_focused()  # that key was the input method's
    page.keyboard.press("Escape")
    expect(box).to_have_count(0)
    expect(bubble(page, "cats sleep")).to_be_checked()
    expect(status(page)).to_have_text("3 of 6 messages in context")


def test_escape_cancels_a_chat_s_new_name_and_keeps_the_filter(new_page, server):
    page = open_chat(new_page, server)
    pick(page, "cats sleep")
    expect(status(page)).to_have_text("3 of 6 messages in context")
    page.get_by_role("link", name=re.compile("Another chat")).hover()
    page.get_by_role("button", name="Rename Another chat").click()
    page.get_by_role("textbox", name="Name of the chat").fill("")
    page.keyboard.press("Escape")
    expect(page.get_by_role("textbox", name="Name of the chat")).to_have_count(0)
    expect(bubble(page, "cats sleep")).to_be_checked()


def test_the_slash_menu_is_operated_by_keys(new_page, server):
    page = open_chat(new_page, server)
    box_of(page).press_sequentially("/")
    options = page.get_by_role("listbox", name="Commands").get_by_role("option")
    expect(options).to_have_text(
        [re.compile(f"^/{name}") for name in ("compact", "recall", "clear")]
    )
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(options.nth(1)).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(options.last).to_have_attribute("aria-selected", "true")
    expect(box_of(page)).to_have_attribute("aria-activedescendant", "slash-clear")
    page.keyboard.press("Escape")
    expect(options).to_have_count(0)
    expect(box_of(page)).to_have_value("/")
    page.keyboard.type("cl")
    expect(options).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Context cleared here")).to_be_visible()
    expect(box_of(page)).to_have_value("")


def test_an_unknown_command_stays_and_is_explained(new_page, server, endpoint):
    page = open_chat(new_page, server)
    box_of(page).fill("/frobnicate now")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="/frobnicate")).to_be_visible()
    expect(box_of(page)).to_have_value("/frobnicate now")
    assert endpoint.chat_requests == []
    for text in ("/usr/bin is a folder", "//"):
        send(page, text)
        expect(page.locator(".message").last).to_contain_text(f"You said: {text}")
        assert asked(endpoint)[-1] == text


def test_the_palette_knows_whatever_a_menu_offers(new_page, server):
    page = open_chat(new_page, server)
    offered = page.locator("#chat-menu-list button, #attach-menu-list button, .nav-links a")
    names = offered.evaluate_all(
        """found => found.map(each => each.ariaLabel
            ?? (each.querySelector(".menu-words > :first-child") ?? each).textContent.trim())"""
    )
    assert {"Rename", "Private", "Export as Markdown", "Model…", "Settings"} <= {*names}
    page.keyboard.press("Control+k")
    options = page.get_by_role("dialog", name="Palette").get_by_role("option")
    for name in names:
        page.get_by_role("combobox").fill(name.replace("…", ""))
        expect(options.filter(has_text=name.replace("…", "")).first).to_be_visible()

    page.get_by_role("combobox").fill("mute cats")
    page.keyboard.press("Enter")
    muted = re.compile("cats sleep is never sent|No message is known to be on this topic")
    expect(page.locator(".toast")).to_contain_text(muted)  # until its topics are found again
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("private")
    page.keyboard.press("Enter")
    expect(page.locator("[data-chat-menu=private]")).to_have_attribute("aria-pressed", "true")


def test_the_keys_are_told_below_the_box_on_the_first_day_only(new_page, server):
    page = open_chat(new_page, server)
    expect(page.locator("#composer-hint")).to_be_visible()
    page.evaluate("localStorage.setItem('first-day', 'Thu Jan 01 1970')")
    page.reload()
    expect(page.locator("#composer-hint")).to_be_hidden()
