"""Notices of the program in an answer's place look and read as such."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.checker import STILL, assert_accessible
from tests.browser.steps import bubble, folds, open_chat, open_page, pick, send, status
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

NARROW = {"width": 360, "height": 740}
SAID = about(
    *("Do cats purr?", "Yes, cats purr.", "Do boats sail?", "Boats sail.", "And now?", "No."),
    *("And then?", "No."),
)


@pytest.fixture
def server(vault, serve):
    (vault / "Cats.md").write_text("# Cats\n\nCats sleep long, near the stove, in winter.\n")
    messages = [m | ({"extracted": True} if m["role"] == "assistant" else {}) for m in SAID]
    topics = [
        {"label": "cats purr", "count": 1, "message_ids": ["m0"]},
        {"label": "boats sail", "count": 1, "message_ids": ["m2"]},
    ]
    write_chat(vault, "c1", messages, topics=topics)
    return serve(vault)


def notices(page):
    return page.locator(".message[data-extracted]")


def test_a_notice_is_no_answer_from_its_first_word_on(new_page, server):
    page = open_page(new_page, server, "/new", **STILL)
    send(page, "When do cats sleep in winter?")
    expect(page.locator(".message .speaker").last).to_have_text("Notice")
    expect(page.get_by_role("article", name="Notice")).to_contain_text("No model was connected")
    expect(notices(page)).to_contain_text("never sent to a model")
    expect(page.get_by_role("button", name=re.compile("^(Pin|Hide):"))).to_have_count(2)
    expect(page.get_by_role("button", name="Answer again")).to_have_count(1)
    expect(status(page)).to_have_text("All messages in context")
    assert_accessible(page)


def test_notices_are_neither_left_out_nor_folded_until_a_topic_is_picked(new_page, server):
    page = open_chat(new_page, server, "c1", viewport=NARROW)
    expect(notices(page)).to_have_count(4)
    expect(page.get_by_role("link", name="Connect a model")).to_have_count(1)
    expect(folds(page)).to_have_count(0)
    expect(page.locator(".message.left-out")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    head = page.locator(".message[data-extracted] .message-head").first
    assert head.evaluate("head => head.scrollWidth <= head.clientWidth")

    page = open_chat(new_page, server, "c1")
    pick(page, "cats purr")
    expect(bubble(page, "cats purr")).to_be_checked()
    expect(folds(page)).to_have_text(["1 message not sent · Show"])
    page.reload()
    expect(folds(page)).to_have_text(["1 message not sent · Show"])
    expect(page.locator("#m-m1")).to_be_visible()
    expect(page.locator("#m-m3")).to_have_class(re.compile("left-out"))
    expect(status(page)).to_have_text("3 of 4 messages in context")
