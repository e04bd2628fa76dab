"""Chats are deleted, brought back, and deleted for ever, on the page."""

import re
import threading

import pytest
from playwright.sync_api import expect

from tests.browser.checker import STILL, assert_accessible
from tests.browser.steps import bubble, open_chat, send
from tests.fake_openai import held
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

NARROW = {"width": 360, "height": 740}


@pytest.fixture
def server(configured, serve):
    folder = configured()
    topics = [{"label": "cats purr", "count": 2}]
    write_chat(folder, "cats", about("Cats?", "They purr."), title="Of cats", topics=topics)
    write_chat(folder, "boats", about("Boats?", "They sail."), title="Of boats")
    return serve(folder)


def delete(page, title):
    page.get_by_role("link", name=re.compile(title)).focus()
    for _ in ("Select", "Rename", "Delete"):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_role("button", name=f"Delete {title}")).to_be_focused()
    page.keyboard.press("Enter")


def toast(page):
    return page.locator(".toast", has_text="is in the trash")


def trash(page):
    return page.get_by_role("dialog", name="Trash")


def test_deleting_the_open_chat_in_mid_answer_clears_every_page_and_can_be_undone(
    new_page, server, endpoint
):
    page, other = open_chat(new_page, server, "cats"), open_chat(new_page, server, "cats")
    gate = threading.Event()
    endpoint.reply_with(held("One two three four", gate, after=2))
    send(page, "Slowly, please")
    expect(page.locator(".message").last).to_contain_text("One two")
    expect(bubble(other, "cats purr")).to_be_visible()
    delete(page, "Of cats")
    for tab in (page, other):
        expect(toast(tab)).to_contain_text("“Of cats” is in the trash.")
        expect(tab).to_have_url(re.compile("/chats/boats$"))
        expect(tab.locator(".message", has_text="One two")).to_have_count(0)
        expect(bubble(tab, "cats purr")).to_have_count(0)
    gate.set()
    toast(page).get_by_role("button", name="Undo").click()
    expect(page).to_have_url(re.compile("/chats/cats$"))
    expect(page.locator(".message").last).to_contain_text("One two")
    expect(page.locator(".message").last).to_contain_text("Stopped")
    expect(page.locator("[data-generating]")).to_have_count(0)
    expect(bubble(page, "cats purr")).to_be_visible()


def test_who_writes_in_a_chat_that_is_deleted_elsewhere_stays_and_can_bring_it_back(
    new_page, server
):
    page = open_chat(new_page, server, "cats")
    page.get_by_role("textbox", name="Message").fill("As I was saying")
    server.ask("memory.delete_chat", chat_id="cats")
    toast(page).get_by_role("button", name="Undo").click()
    expect(page).to_have_url(re.compile("/chats/cats$"))
    expect(page.get_by_role("textbox", name="Message")).to_have_value("As I was saying")
    expect(page.locator(".message").first).to_be_visible()


def test_deleted_chats_are_seen_restored_and_deleted_for_ever_in_two_tabs(new_page, server):
    server.ask("memory.delete_chat", chat_id="cats")
    page = open_chat(new_page, server, "boats", **STILL)
    other = open_chat(new_page, server, "boats", viewport=NARROW)
    page.get_by_role("button", name="Trash", exact=True).click()
    expect(trash(page).get_by_role("listitem")).to_contain_text("Of cats")
    expect(trash(page).get_by_role("listitem")).to_contain_text("2 messages · deleted")
    assert_accessible(page)

    other.keyboard.press("Control+k")
    other.get_by_role("combobox").fill("trash")
    other.keyboard.press("Enter")
    expect(trash(other)).to_contain_text("Of cats")
    assert trash(other).evaluate("dialog => dialog.scrollWidth <= dialog.clientWidth")

    trash(page).get_by_role("button", name="Restore Of cats").click()
    expect(trash(page)).to_contain_text("The trash is empty.")
    expect(page.get_by_role("status").filter(has_text="“Of cats” is restored.")).to_be_attached()
    expect(trash(other)).to_contain_text("The trash is empty.")
    expect(page.get_by_role("navigation", name="Chats")).to_contain_text("Of cats")

    server.ask("memory.delete_chat", chat_id="cats")
    trash(page).get_by_role("button", name="Delete Of cats for ever").press("Enter")
    expect(trash(page).get_by_role("button", name="Keep")).to_be_focused()
    page.keyboard.press("Escape")
    expect(trash(page)).to_be_visible()
    expect(trash(page).get_by_role("button", name="Delete Of cats for ever")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    for tab in (page, other):
        expect(trash(tab)).to_contain_text("The trash is empty.")
    assert server.ask("memory.list_trash")["total"] == 0


def test_whoever_deletes_a_chat_by_keys_goes_on_with_the_next(new_page, server):
    page = open_chat(new_page, server, "cats")
    delete(page, "Of boats")
    expect(toast(page)).to_contain_text("“Of boats” is in the trash.")
    expect(page.locator(".chat-entry a", has_text="Of cats")).to_be_focused()


def test_a_double_click_deletes_one_chat_though_the_next_takes_its_place(new_page, server):
    page = open_chat(new_page, server, "cats")
    server.ask("memory.fork", chat_id="boats", message_id="m1")
    entries = page.locator(".chat-entry")
    expect(entries).to_have_count(3)
    deletes = page.get_by_role("button", name=re.compile("^Delete Of boats"))
    entries.filter(has_text="Of boats").first.hover()
    place = deletes.first.bounding_box()
    middle = (place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    page.mouse.click(*middle)
    expect(entries).to_have_count(2)
    page.mouse.move(*middle)
    page.mouse.down(click_count=2)
    page.mouse.up(click_count=2)
    expect(toast(page)).to_have_count(1)
    trashed = server.ask("memory.list_trash")["chats"]
    assert len(trashed) == 1


def test_the_trash_is_emptied_after_a_question(new_page, server):
    for chat_id in ("cats", "boats"):
        server.ask("memory.delete_chat", chat_id=chat_id)
    write_chat(server.vault, "dogs", about("Dogs?", "They bark."), title="Of dogs")
    page = open_chat(new_page, server, "dogs")
    page.get_by_role("button", name="Trash", exact=True).click()
    trash(page).get_by_role("button", name="Empty the trash").click()
    expect(trash(page)).to_contain_text("Delete 2 chats for ever?")
    trash(page).get_by_role("button", name="Keep").click()
    assert server.ask("memory.list_trash")["total"] == 2
    trash(page).get_by_role("button", name="Empty the trash").click()
    trash(page).get_by_role("button", name="Delete all").click()
    expect(trash(page)).to_contain_text("The trash is empty.")
    expect(trash(page).get_by_role("button", name="Empty the trash")).to_be_hidden()
    assert server.ask("memory.list_trash")["total"] == 0
    assert [c["id"] for c in server.ask("memory.list_chats")["chats"]] == ["dogs"]
