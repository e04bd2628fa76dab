"""Chats of one title are told apart wherever one of them is chosen."""

import pytest
from playwright.sync_api import expect

from tests.browser.steps import bubble, open_chat
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

FOUND = [{"id": "t1", "label": "bread", "count": 2, "message_ids": ["m0", "m1"]}]


@pytest.fixture
def page(configured, serve, new_page):
    folder = configured()
    write_chat(folder, "here", about("What is bread?", "Flour and water."), topics=FOUND)
    write_chat(folder, "one", about("Why is bread flat?", "It rose too long."), title="Bread")
    write_chat(folder, "two", about("Why is bread flat?", "It is too wet."), title="Bread")
    return open_chat(new_page, serve(folder), "here")


def test_the_palette_says_when_each_was_written_in_and_its_last_words(page):
    page.keyboard.press("Control+k")
    page.keyboard.type("bread")
    options = page.get_by_role("option").filter(has_text="· It")
    expect(options).to_have_count(2)
    expect(options.filter(has_text="too wet")).to_have_count(1)


def test_a_search_counts_messages_alone_and_says_when_each_chat_was_written_in(page):
    page.get_by_role("searchbox", name="Search chats").fill("bread")
    hits = page.get_by_role("list", name="Messages found")
    expect(hits).to_contain_text("3 messages in 3 chats")
    heads = hits.locator(".hit-head", has=page.get_by_text("Bread", exact=True))
    expect(heads).to_have_count(2)
    first, second = heads.all_inner_texts()
    assert first != second
    expect(heads.first.get_by_role("link", name="Bread")).to_be_visible()


def test_a_topic_is_recalled_in_the_one_that_is_meant(page):
    bubble(page, "bread").focus()
    page.keyboard.press("Shift+F10")
    page.get_by_role("button", name="Recall in another chat").click()
    chats = page.get_by_role("listbox")
    wet = chats.get_by_role("option").filter(has_text="It is too wet.")
    chats.select_option(value=wet.get_attribute("value"))
    page.get_by_role("button", name="Recall there").click()
    expect(page.locator(".toast", has_text="“Bread” now recalls bread.")).to_be_visible()
    assert page.evaluate("location.pathname") == "/chats/here"
