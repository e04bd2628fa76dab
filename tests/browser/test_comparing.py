"""A question asked twice in a real browser, and what it says of the costs."""

import pytest
from playwright.sync_api import expect

from tests.browser.steps import open_chat, pick
from tests.vaults import about, read_chat, write_chat

pytestmark = pytest.mark.browser

CATS, BOATS = "cats purr sleep", "boats sail wind"


@pytest.fixture
def server(configured, serve):
    folder = configured()
    messages = about(f"{CATS} a", f"{CATS} b", f"{BOATS} c", f"{BOATS} d")
    topics = [{"label": CATS, "count": 2}, {"label": BOATS, "count": 2}]
    write_chat(folder, "animals", messages, topics=topics)
    return serve(folder)


def test_both_answers_are_side_by_side_and_one_is_kept(new_page, server, endpoint):
    long = "\n\nAnd more." * 60
    endpoint.answer = lambda body: f"Read {len(body['messages'])} messages.{long}"
    page = open_chat(new_page, server, "animals")
    twice = page.get_by_role("button", name="Ask twice")
    expect(twice).to_be_hidden()
    pick(page, BOATS)
    expect(twice).to_be_disabled()  # there is nothing to ask yet
    page.get_by_role("textbox", name="Message").fill("How deep?")
    twice.click()
    dialog = page.get_by_role("dialog", name="Asked twice")
    picked = dialog.get_by_role("region", name="With what you picked")
    whole = dialog.get_by_role("region", name="With everything")
    expect(picked).to_contain_text("Read 3 messages.")
    expect(whole).to_contain_text("Read 5 messages.")
    expect(whole).to_contain_text("2 messages only here")
    expect(picked.get_by_role("button", name="Keep this answer")).to_be_focused()
    dialog.get_by_text("And more.").last.scroll_into_view_if_needed()
    keep = whole.get_by_role("button", name="Keep this answer")
    expect(keep).to_be_in_viewport()
    keep.click()
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("")
    expect(page.locator("main .message").last).to_contain_text("Read 5 messages.")
    kept = read_chat(server.vault, "animals")["messages"][-1]["content"]
    assert kept.startswith("Read 5 messages.")
