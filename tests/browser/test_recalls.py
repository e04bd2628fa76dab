"""What other chats said, on the chat page: recalled by words, seen as a chip, taken off."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.checker import STILL, assert_accessible
from tests.browser.steps import asked, open_chat, send, write
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser


@pytest.fixture
def server(configured, serve):
    folder = configured()
    write_chat(folder, "mixed", about("Hello there", "Hello"), title="Greetings")
    write_chat(
        folder,
        "rome",
        about("Which hotel in Rome did we like?", "The hotel Santa Maria in Rome, near the river."),
        title="A trip to Rome",
    )
    write_chat(folder, "bread", about("Fold the dough", "Thrice."), title="Bread")
    return serve(folder)


def chip(page):
    return page.locator(".composer-recalls .chip")


def answered(page, messages):
    """Wait until the last of so many messages is a whole answer."""
    expect(page.locator(".message")).to_have_count(messages)
    expect(page.locator("#announcer")).to_have_text("The answer is complete.")


def test_a_slash_recalls_and_the_chip_says_what_it_costs_and_takes_it_off(
    server, new_page, endpoint
):
    page = open_chat(new_page, server, **STILL)
    write(page, "/recall hotel in Rome")
    expect(chip(page)).to_contain_text("hotel in Rome")
    expect(page.locator("#announcer")).to_contain_text("Recalled 2 messages of 1 chat")
    expect(page.locator(".sends-parts [data-part=recalls]")).to_contain_text("Recalled")
    assert_accessible(page)
    chip(page).get_by_role("button", name="hotel in Rome", exact=True).click()
    sources = page.get_by_role("dialog", name="hotel in Rome")
    expect(sources).to_contain_text(re.compile(r"2 messages of 1 chat, [\d,]+ of 2,000 tokens"))
    expect(sources.get_by_role("link")).to_have_attribute("href", "/chats/rome#m-m0")
    assert_accessible(page)
    page.keyboard.press("Escape")
    send(page, "Book it again.")
    answered(page, 4)
    assert "near the river" in asked(endpoint)[0]
    chip(page).get_by_role("button", name="Take off").press("Enter")
    expect(chip(page)).to_have_count(0)
    expect(page.locator(".attach-button")).to_be_focused()
    send(page, "And now?")
    answered(page, 6)
    assert "near the river" not in "".join(asked(endpoint))


def test_the_menu_and_the_palette_ask_what_to_recall(server, new_page):
    page = open_chat(new_page, server, **STILL)
    page.locator(".attach-button").click()
    page.get_by_role("button", name="Recall from other chats").click()
    dialog = page.get_by_role("dialog", name="Recall from other chats")
    assert_accessible(page)
    box = dialog.get_by_role("searchbox")
    box.fill("quantum chromodynamics")
    box.press("Enter")
    expect(dialog.get_by_role("status")).to_contain_text("Nothing was found")
    box.fill("dough")
    dialog.get_by_label("At most").select_option("4000")
    dialog.get_by_role("button", name="Recall", exact=True).click()
    expect(dialog).to_be_hidden()
    expect(chip(page)).to_contain_text("dough")
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("recall")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("searchbox")).to_be_focused()


def test_a_chip_says_at_once_that_a_chat_is_gone_and_undo_brings_a_recall_back(server, new_page):
    page = open_chat(new_page, server, **STILL)
    server.ask("smart_context.recall", chat_id="mixed", from_chat="rome")
    expect(chip(page)).to_contain_text("A trip to Rome")
    server.ask("memory.delete_chat", chat_id="rome")
    expect(chip(page).locator(".chip-size")).to_have_text("0 · 1 missing")
    server.ask("memory.restore_chat", chat_id="rome")
    expect(chip(page).locator(".chip-size")).not_to_contain_text("missing")
    chip(page).get_by_role("button", name="Take off").click()
    expect(chip(page)).to_have_count(0)
    server.ask("smart_context.undo", chat_id="mixed")
    expect(chip(page)).to_contain_text("A trip to Rome")


def test_a_chat_is_made_private_in_its_menu(server, new_page):
    page = open_chat(new_page, server, "rome")
    page.get_by_role("button", name="This chat").click()
    entry = page.get_by_role("button", name=re.compile("^Private"))
    expect(entry).to_have_attribute("aria-pressed", "false")
    entry.click()
    expect(page.locator(".toast")).to_contain_text("can’t recall")
    assert server.ask("memory.load_chat", chat_id="rome")["private"] is True
    page.reload()
    page.get_by_role("button", name="This chat").click()
    expect(entry).to_have_attribute("aria-pressed", "true")
    entry.click()
    expect(page.locator(".toast")).to_contain_text("again")
    assert "private" not in server.ask("memory.load_chat", chat_id="rome")
