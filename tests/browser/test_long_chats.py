"""A chat of ten thousand messages opens, is scrolled, filtered and written in like any other."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.steps import (
    asked,
    bubble,
    open_chat,
    open_page,
    pick,
    scroll_to_the_top,
    send,
    status,
)
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

COUNT = 10_000
SOME = 1_000
"""As many as a test of the page needs that is not about how many the server knows."""
TO_NEWEST = "button.to-end"
"""What is asked for by its role takes seconds here, for the driver names each button first."""
SUBJECTS = ["cats sleep", "boats sail"]


@pytest.fixture
def count():
    return SOME


@pytest.fixture
def server(configured, serve, count):
    folder = configured()
    texts = [f"{SUBJECTS[n % 2]} number{n}" for n in range(count - 2)]
    topics = [{"label": subject, "count": count // 2} for subject in SUBJECTS]
    write_chat(folder, "mixed", about(*texts, "thanks", "welcome"), topics=topics)
    return serve(folder)


def comes_into_view(page, message_id):
    """Wait for a message. Where none is yet, `expect` would describe the page at each look."""
    message = page.locator(f"#m-{message_id}")
    message.wait_for(state="attached")
    expect(message).to_be_in_viewport()


@pytest.mark.parametrize("count", [COUNT])
def test_a_chat_of_ten_thousand_messages_is_used_like_any_other(new_page, server, endpoint):
    page = open_chat(new_page, server)
    shown = page.locator(".message")
    expect(shown).to_have_count(80)
    expect(shown.last).to_have_text(re.compile("welcome"))
    comes_into_view(page, "m9999")
    scroll_to_the_top(page)
    expect(shown).to_have_count(160)
    comes_into_view(page, "m9920")  # what was read stays in place

    pick(page, "cats sleep")
    expect(status(page)).to_have_text("4999 of 10000 messages in context")
    expect(page.locator(".message.in-context")).to_have_count(79)
    scroll_to_the_top(page)
    expect(shown).to_have_count(240)
    expect(page.locator(".message.in-context")).to_have_count(119)

    page.evaluate("location.hash = '#m-m9701'")  # a link to what is not on the page yet
    comes_into_view(page, "m9701")
    page.locator(TO_NEWEST).click()
    comes_into_view(page, "m9996")  # what is after it is not sent
    send(page, "and now?")
    expect(shown.last).to_contain_text("You said: and now?")
    assert len(asked(endpoint)) == 5000

    page.evaluate("location.hash = '#m-m7'")  # what is far away is not reached by loading all
    comes_into_view(page, "m7")
    assert shown.count() < 1000


@pytest.mark.parametrize("count", [COUNT])
def test_what_is_found_far_up_is_shown_in_its_chat(new_page, server):
    page = open_chat(new_page, server)
    page.keyboard.press("Control+f")
    page.get_by_role("searchbox", name="Find in this chat").fill("number2348")
    comes_into_view(page, "m2348")
    expect(page.locator(".find-count")).to_have_text("1 of 1")
    expect(page.locator("#message-box")).to_be_visible()
    assert page.locator(".message").count() < 1000


def test_a_link_to_a_message_that_is_far_up_opens_it_with_all_that_a_chat_has(new_page, server):
    page = open_page(new_page, server, "/chats/mixed?at=m7#m-m7")
    comes_into_view(page, "m7")
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
    expect(page.locator("main [data-gap]")).to_contain_text("messages between")


def test_news_that_come_while_the_reader_scrolls_do_not_take_them_back(new_page, server):
    page = open_chat(new_page, server)
    comes_into_view(page, f"m{SOME - 1}")
    every = [f"m{n}" for n in range(SOME)]
    page.locator("#scroll").evaluate(
        """(scroll, ids) => {
            scroll.scrollTo({ top: 0 });
            const news = { detail: { message_ids: ids } };
            document.dispatchEvent(new CustomEvent("smart_context.highlight", news));
        }""",
        every,
    )
    expect(page.locator(".message")).to_have_count(160)


def test_older_messages_that_would_only_be_folded_are_not_fetched(new_page, server):
    texts = [f"cats sleep number{n}" for n in range(190)] + [f"boats sail {n}" for n in range(10)]
    topics = [{"label": subject, "count": 10} for subject in SUBJECTS]
    write_chat(server.vault, "narrow", about(*texts), topics=topics)
    page = open_chat(new_page, server, "narrow")
    shown = page.locator(".message")
    expect(shown).to_have_count(80)
    pick(page, "boats sail")
    expect(status(page)).to_have_text("10 of 200 messages in context")
    expect(page.locator(".message.in-context")).to_have_count(10)
    scroll_to_the_top(page)
    page.locator(TO_NEWEST).click()
    expect(shown.last).to_be_in_viewport()
    expect(shown).to_have_count(80)

    page.locator("main .fold").first.click()  # who reads them can read on
    scroll_to_the_top(page)
    expect(shown).not_to_have_count(80)

    bubble(page, "boats sail").uncheck(force=True)
    expect(page.locator(".message.left-out")).to_have_count(0)
    scroll_to_the_top(page)
    expect(shown).to_have_count(200)


def test_a_topic_far_up_is_shown_without_loading_what_lies_between(new_page, server):
    texts = ["boats sail" if 40 <= n < 50 else f"cats sleep number{n}" for n in range(SOME)]
    topics = [{"label": "boats sail", "count": 10}, {"label": "cats sleep", "count": SOME - 10}]
    write_chat(server.vault, "far", about(*texts), topics=topics)
    page = open_chat(new_page, server, "far")
    shown = page.locator(".message")
    expect(shown).to_have_count(80)
    pick(page, "boats sail")
    comes_into_view(page, "m49")
    expect(page.locator(".message.in-context")).to_have_count(10)
    page.locator("#m-m0").wait_for(state="attached")  # near the top older ones come as ever
    loaded = shown.count()
    assert loaded <= 240

    gap = page.locator("button[data-gap]")
    expect(gap).to_have_text(re.compile(r"^\d+ messages between · Show$"))
    between = int(gap.inner_text().split()[0])
    gap.click()
    expect(gap).to_have_text(f"{between - 400} messages between · Show")
    expect(shown).to_have_count(loaded + 400)
    expect(page.locator(".message.in-context")).to_have_count(10)

    bubble(page, "boats sail").uncheck(force=True)
    comes_into_view(page, f"m{SOME - 1}")  # where the reader was
    page.evaluate("location.hash = '#m-m600'")  # it is in the gap
    comes_into_view(page, "m600")
    expect(gap).to_have_count(0)
    ids = page.locator(".message").evaluate_all(
        "all => all.map(e => +e.dataset.messageId.slice(1))"
    )
    assert ids == list(range(ids[0], SOME))


def test_a_gap_says_what_it_leaves_out_of_the_topics_picked_and_outlives_changes(new_page, server):
    at = {**dict.fromkeys(range(40, 50), "boats sail"), **dict.fromkeys(range(600, 606), "pears")}
    texts = [at.get(n, f"cats sleep number{n}") for n in range(SOME)]
    topics = [{"label": label, "count": 10} for label in ("boats sail", "pears", "cats sleep")]
    write_chat(server.vault, "far", about(*texts), topics=topics)
    page = open_chat(new_page, server, "far")
    pick(page, "boats sail")
    gap = page.locator("[data-gap]")
    expect(gap).to_have_text(re.compile(r"^\d+ messages between · Show$"))
    pick(page, "pears")
    expect(gap).to_contain_text("of them sent")
    known = server.ask("smart_context.get_topics", chat_id="far")["message_ids"]
    shown = page.locator(".message").evaluate_all("all => all.map(e => e.dataset.messageId)")
    left_out = len(set(known) - set(shown))
    assert left_out >= 6
    expect(gap).to_have_text(re.compile(rf"^\d+ messages between, {left_out} of them sent · Show$"))
    first = page.locator(f"#m-m{SOME - 80}")
    server.ask("chat.edit", chat_id="far", message_id=f"m{SOME - 80}", text="changed")
    expect(first).to_contain_text("changed")
    expect(first).to_have_attribute("data-after-gap", "")


def test_a_gap_is_filled_from_the_side_that_is_read_and_keeps_what_is_above(new_page, server):
    texts = ["boats sail" if 40 <= n < 50 else f"cats sleep number{n}" for n in range(SOME)]
    topics = [{"label": "boats sail", "count": 10}, {"label": "cats sleep", "count": SOME - 10}]
    write_chat(server.vault, "far", about(*texts), topics=topics)
    page = open_chat(new_page, server, "far")
    pick(page, "boats sail")
    page.locator("#m-m0").wait_for(state="attached")
    bubble(page, "boats sail").uncheck(force=True)
    below = page.locator(f"#m-m{SOME - 80}")
    below.scroll_into_view_if_needed()
    # who reads upwards sees the line, and what is below it, but nothing above it
    page.locator("[data-gap]").evaluate(
        "gap => { gap.scrollIntoView({block: 'start'}); gap.closest('.scroll').scrollBy(0, 5) }"
    )
    top = below.evaluate("message => message.getBoundingClientRect().top")
    page.locator("[data-gap]").evaluate("gap => gap.click()")
    page.locator(f"#m-m{SOME - 81}").wait_for(state="attached")
    now = below.evaluate("message => message.getBoundingClientRect().top")
    assert abs(now - top) < 100  # it would be thousands
    ids = page.locator(".message").evaluate_all(
        "all => all.map(e => +e.dataset.messageId.slice(1))"
    )
    assert ids == [*range(ids.index(SOME - 480)), *range(SOME - 480, SOME)]
    page.locator("[data-gap]").evaluate("gap => gap.focus()")
    page.keyboard.press("Enter")
    expect(page.locator("[data-gap]")).to_have_count(0)
    expect(page.locator(".message")).to_have_count(SOME)
    assert page.evaluate("document.activeElement.matches('.message')")
