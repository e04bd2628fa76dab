"""Bubbles are taken in the hand, and the menu of a topic does the same with the keyboard."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.checker import STILL
from tests.browser.steps import bubble, open_chat, status
from tests.product.test_filter_over_the_wire import MIXED
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

FOUND = [
    {"id": "t1", "label": "cats sleep", "count": 2, "message_ids": ["m0", "m1"]},
    {"id": "t2", "label": "boats sail", "count": 2, "message_ids": ["m2", "m3"]},
]


@pytest.fixture
def server(configured, serve):
    folder = configured()
    write_chat(folder, "mixed", MIXED, topics=FOUND, title="Cats and boats")
    write_chat(folder, "other", about("Dogs?", "They bark."), title="Of dogs")
    return serve(folder)


def drag(page, name, target, words):
    """Carry a bubble to the middle of something, read what that will do, and let go."""
    target.scroll_into_view_if_needed()
    end = target.bounding_box()
    page.locator(".bubble", has_text=name).hover()
    page.mouse.down()
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=6)
    expect(page.locator(".in-hand-words")).to_contain_text(words)
    page.mouse.up()
    expect(page.locator(".in-hand-words")).to_be_hidden()


@pytest.mark.engines
def test_where_a_bubble_is_let_go_decides_what_becomes_of_its_topic(new_page, server):
    page = open_chat(new_page, server, **STILL)
    drag(page, "cats sleep", page.locator(".composer-box"), "Send messages on cats sleep")
    expect(bubble(page, "cats sleep")).to_be_checked()
    drag(page, "boats sail", page.locator("#chat-title"), "Mute boats sail")
    expect(page.locator(".toast", has_text="boats sail is never sent.")).to_be_visible()
    assert len(server.ask("smart_context.get_topics", chat_id="mixed")["hidden"]) == 2
    page.locator(".toast", has_text="boats sail").get_by_role("button", name="Undo").click()
    chat = page.locator(".chat-entry", has_text="Of dogs")
    drag(page, "cats sleep", chat, "Recall cats sleep in “Of dogs”")
    expect(page.locator(".toast", has_text="now recalls cats sleep")).to_be_visible()
    assert len(server.ask("smart_context.recalls", chat_id="other")["recalls"]) == 1
    drag(
        page, "cats sleep", page.locator(".bubble", has_text="boats sail"), "Merge into boats sail"
    )
    expect(page.get_by_role("checkbox", name="boats sail, 4 messages")).to_be_visible()


def test_the_menu_of_a_topic_does_the_same_with_the_keyboard(new_page, server):
    page = open_chat(new_page, server, **STILL)
    bubble(page, "cats sleep").focus()
    page.keyboard.press("Shift+F10")
    page.get_by_role("button", name=re.compile("^Merge into")).press("Enter")
    expect(page.get_by_role("listbox")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(bubble(page, "cats sleep")).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(bubble(page, "cats sleep")).to_be_visible()
    expect(status(page)).to_have_text("All messages in context")


@pytest.mark.engines
def test_a_topic_is_renamed_from_its_bubble(new_page, server):
    page = open_chat(new_page, server, **STILL)
    bubble(page, "cats sleep").focus()
    page.keyboard.press("F2")
    expect(page.get_by_role("textbox", name="Name of the topic cats sleep")).to_be_focused()
    page.keyboard.type("Felines")
    page.keyboard.press("Enter")
    page.locator(".bubble", has_text="Felines").click(button="right")
    page.get_by_role("button", name=re.compile("^Rename…")).click()
    expect(page.get_by_role("textbox", name="Name of the topic Felines")).to_be_focused()
