"""What shows for a while covers nothing that is read, and says only what is so now."""

import pytest
from playwright.sync_api import expect

from tests.browser.checker import STILL
from tests.browser.steps import open_chat, pick, send
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

SAID = about(
    *("Do cats sleep?", "Yes, cats sleep.", "Do boats sail?", "Boats sail.", "And now?", "No.")
)
TOPICS = [
    {"label": "cats sleep", "count": 2, "message_ids": ["m0", "m1"]},
    {"label": "boats sail", "count": 2, "message_ids": ["m2", "m3"]},
]
COVERED = """() => {
    const toast = document.querySelector(".toast").getBoundingClientRect();
    const list = document.querySelector("#scroll").getBoundingClientRect();
    const isOver = (box, bottom) => box.left < toast.right && toast.left < box.right
        && box.top < toast.bottom && toast.top < Math.min(box.bottom, bottom);
    return [...document.querySelectorAll(".message, .failure, .guide, #message-box")]
        .filter((each) => isOver(each.getBoundingClientRect(),
            each.matches(".message, .failure") ? list.bottom : innerHeight))
        .map((each) => each.id || each.className);
}"""


@pytest.fixture
def server(configured, serve):
    folder = configured()
    write_chat(folder, "mixed", SAID, topics=TOPICS, title="Cats and boats")
    return serve(folder)


@pytest.mark.parametrize("width", [1440, 768, 390])
def test_a_notice_covers_no_message_and_no_box(new_page, server, width):
    page = open_chat(new_page, server, viewport={"width": width, "height": 700}, **STILL)
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("button", name="Private").click()
    expect(page.locator(".toast")).to_have_text("Other chats can’t recall this one.Dismiss")
    assert page.evaluate(COVERED) == []
    box = page.locator(".toast").bounding_box()
    assert 0 <= box["x"] <= width - box["width"]
    page.locator(".toast button").click()
    expect(page.locator(".toast")).to_have_count(0)


def test_what_is_said_of_the_next_message_ends_when_that_is_sent(new_page, server):
    page = open_chat(new_page, server, **STILL)
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("button", name="Instructions of this chat…").click()
    page.get_by_role("textbox", name="Instructions of this chat").fill("Be brief.")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".toast")).to_contain_text("The next message follows")
    send(page, "Do cats purr?")
    expect(page.locator(".toast")).to_have_count(0)


def test_an_offer_to_pick_again_ends_once_something_is_picked(new_page, server):
    page = open_chat(new_page, server, **STILL)
    pick(page, "cats sleep")
    page.keyboard.press("Escape")
    expect(page.locator(".toast")).to_contain_text("No topic is picked now.")
    pick(page, "boats sail")
    expect(page.locator(".toast")).to_have_count(0)


def test_the_card_of_a_topic_says_what_is_so_now(new_page, server):
    page = open_chat(new_page, server, **STILL)
    card = page.get_by_role("tooltip")
    page.locator(".bubble", has_text="cats sleep").hover()
    expect(card).to_contain_text("2 messages")
    server.ask(
        "smart_context.assign", chat_id="mixed", message_ids=["m4", "m5"], topic_id="cats sleep"
    )
    expect(card).to_contain_text("4 messages")
