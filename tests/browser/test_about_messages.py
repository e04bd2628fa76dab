"""What a draft sounds like, and what messages are about, is for the person to say."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.checker import STILL, assert_accessible
from tests.browser.steps import asked, bubble, lit, open_chat, pick, send, status
from tests.vaults import KNOTS, write_boats_and_knots

pytestmark = pytest.mark.browser

FOUND = {"Boats": "q1 a1 q2 a2 q3 a3 q5 a5", "Knots": "q4 a4 q6 a6 q7 a7"}
BOATS = "boats with a mast, a keel, a rudder"
LINE = "This sounds like Boats (8 messages)."

WATCHED = """() => {
    const seen = { answers: 0, changes: 0 };
    new MutationObserver((records) => (seen.changes += records.length))
        .observe(document.querySelector(".topic-hint"),
            { attributes: true, childList: true, subtree: true });
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (data) {
        const { id, method } = JSON.parse(data);
        const count = ({ data: answer }) => (seen.answers += JSON.parse(answer).id === id);
        if (method === "smart_context.suggest_topics") this.addEventListener("message", count);
        return send.call(this, data);
    };
    return seen;
}"""
"""Counts what changes in the line, and the answers to what is asked about the draft."""


@pytest.fixture
def server(configured, serve):
    folder = configured(relevance='"enriched"')
    write_boats_and_knots(folder, "c", **FOUND)
    return serve(folder)


@pytest.fixture
def page(new_page, server):
    """The chat, with a draft off the pick, and what is said of that."""
    page = open_chat(new_page, server, "c", **STILL)
    pick(page, "Knots")
    page.locator("#message-box").fill(BOATS)
    expect(line(page)).to_contain_text(LINE)
    return page


def line(page):
    return page.locator(".topic-hint")


def press(page, name):
    line(page).get_by_role("button", name=name).click()
    expect(line(page)).to_be_hidden()


def message(page, number):
    return page.locator("main .message").nth(number)


def members(server, label):
    topics = server.ask("smart_context.topic_map", chat_id="c")
    places = next(topic["places"] for topic in topics["topics"] if topic["label"] == label)
    return [topics["message_ids"][place] for place in places]


def test_a_topic_that_a_draft_sounds_like_is_added_or_picked_alone(page):
    assert_accessible(page)
    press(page, "Add")
    expect(bubble(page, "Boats")).to_be_checked()
    expect(bubble(page, "Knots")).to_be_checked()
    expect(page.locator("#message-box")).to_be_focused()
    bubble(page, "Boats").press("Space")
    expect(line(page)).to_contain_text(LINE)
    press(page, "Only that")
    expect(bubble(page, "Boats")).to_be_checked()
    expect(bubble(page, "Knots")).not_to_be_checked()
    expect(page.locator("#message-box")).to_have_value(BOATS)


@pytest.mark.engines
def test_a_draft_that_is_sent_anyway_belongs_to_no_pick(page, endpoint):
    press(page, "Send anyway")
    expect(message(page, 15)).to_contain_text(f"You said: {BOATS}")
    expect(page.locator("#message-box")).to_have_value("")
    expect(bubble(page, "Knots")).to_be_checked()
    send(page, KNOTS)
    expect(message(page, 17)).to_contain_text(f"You said: {KNOTS}")
    assert BOATS not in asked(endpoint)


def test_what_is_said_of_a_draft_goes_when_it_is_sent_or_emptied(page):
    box = page.locator("#message-box")
    box.fill("")
    expect(line(page)).to_be_hidden()
    box.fill(BOATS)
    expect(line(page)).to_be_visible()
    box.press("Enter")
    expect(line(page)).to_be_hidden()
    expect(message(page, 15)).to_contain_text("You said")
    expect(line(page)).to_be_hidden()


def test_what_is_said_of_a_draft_stays_still_while_more_is_typed(page):
    seen = page.evaluate_handle(WATCHED)
    page.locator("#message-box").press_sequentially(" with boats")
    page.wait_for_function("seen => seen.answers > 0", arg=seen)
    expect(line(page)).to_contain_text(LINE)
    assert seen.evaluate("seen => seen.changes") == 0


def test_what_was_said_under_the_pick_stays_marked_after_its_answer(page):
    page.locator("#message-box").press("Enter")
    expect(message(page, 15)).to_contain_text("You said")
    expect(status(page)).to_have_text("8 of 16 messages in context")
    said = {message(page, n).get_attribute("data-message-id") for n in (14, 15)}
    assert said <= set(lit(page))
    expect(page.locator("main .message.left-out")).to_have_count(8)
    page.reload()
    expect(status(page)).to_have_text("8 of 16 messages in context")
    assert said <= set(lit(page))


def test_what_a_message_is_about_is_said_in_a_dialog_and_taken_back(new_page, server):
    page = open_chat(new_page, server, "c", **STILL)
    message(page, 0).hover()
    message(page, 0).get_by_role("button", name=re.compile("^About…")).click()
    dialog = page.get_by_role("dialog", name="What is this about?")
    assert_accessible(page)
    asked_about = message(page, 0).locator(".body").inner_text()
    expect(dialog.locator(".ask-quote")).to_have_text(f"{asked_about} and its answer")
    assert dialog.get_by_role("option").all_inner_texts() == [
        *("About Boats", "About Knots"),
        *("Not about Boats", "About none of the topics"),  # it is not in Knots
    ]
    dialog.get_by_role("listbox").select_option(label="About Knots")
    dialog.get_by_role("button", name="Keep it so").click()
    expect(bubble(page, "Knots")).to_have_accessible_name(re.compile("8 messages"))
    assert members(server, "Knots")[:2] == ["q1", "a1"]  # a question with its answer
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(bubble(page, "Knots")).to_have_accessible_name(re.compile("6 messages"))


def test_a_key_asks_what_a_message_is_not_about(new_page, server):
    page = open_chat(new_page, server, "c", **STILL)
    message(page, 1).get_by_role("button", name="Copy").focus()
    page.keyboard.press("a")
    dialog = page.get_by_role("dialog", name="What is this about?")
    expect(dialog.locator(".ask-quote")).to_have_text(
        message(page, 1).locator(".body").inner_text()
    )
    options = dialog.get_by_role("listbox")
    expect(options).to_be_focused()
    expect(options.locator("option:checked")).to_have_text("About Boats")
    page.keyboard.type("not")
    expect(options.locator("option:checked")).to_have_text("Not about Boats")
    page.keyboard.press("Enter")
    expect(bubble(page, "Boats")).to_have_accessible_name(re.compile("7 messages"))
    assert "a1" not in members(server, "Boats")
    page.keyboard.press("Control+z")
    expect(bubble(page, "Boats")).to_have_accessible_name(re.compile("8 messages"))
    assert "a1" in members(server, "Boats")


@pytest.mark.engines
def test_a_message_that_is_dragged_onto_a_bubble_is_about_that(new_page, server):
    page = open_chat(new_page, server, "c", **STILL)
    words = page.locator(".in-hand-words")
    message(page, 12).hover()
    message(page, 12).get_by_role("button", name=re.compile("^About…")).hover()
    page.mouse.down()
    end = page.locator(".bubble", has_text="Boats").bounding_box()
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=6)
    expect(words).to_have_text("About Boats")
    page.keyboard.press("Escape")
    expect(words).to_be_hidden()
    page.mouse.up()
    assert "q7" in members(server, "Knots")

    message(page, 12).get_by_role("button", name=re.compile("^About…")).hover()
    page.mouse.down()
    page.mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=6)
    page.mouse.up()
    expect(bubble(page, "Boats")).to_have_accessible_name(re.compile("10 messages"))
    expect(page.locator(".toast", has_text="2 messages about Boats")).to_be_visible()
    assert {"q7", "a7"} <= set(members(server, "Boats"))
    pick(page, "Boats")
    expect(message(page, 12).locator(".why")).to_contain_text("Sent – about Boats, as you chose")
    expect(page.get_by_role("dialog", name="What is this about?")).to_be_hidden()


def test_a_message_out_of_sight_keeps_no_reason_of_an_earlier_choice(new_page, server):
    page = open_chat(new_page, server, "c", **STILL, viewport={"width": 1280, "height": 420})
    why = message(page, 0).locator(".why")
    message(page, 0).scroll_into_view_if_needed()
    expect(why).to_contain_text("Sent – no filter")
    message(page, 13).scroll_into_view_if_needed()
    expect(message(page, 13).locator(".why")).to_contain_text("Sent – no filter")
    bubble(page, "Boats").check(force=True)
    expect(status(page)).to_have_text("8 of 14 messages in context")
    expect(why).to_have_text("")
    # By hand: what else scrolls is undone while the page holds what is in view.
    page.get_by_role("region", name="Messages").hover()
    page.mouse.wheel(0, -9999)
    expect(why).to_contain_text("Sent – about Boats")
