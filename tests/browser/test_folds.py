"""What is not sent folds away, and the reader is where they want to be."""

import re
import threading
import time
from itertools import product

import pytest
from playwright.sync_api import expect

from tests.browser.frames import FRAME
from tests.browser.steps import bubble, connected, folds, open_chat, pick, send, status, unfold
from tests.fake_openai import held
from tests.patience import PATIENCE_S
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

CATS, BOATS = "cats sleep", "boats sail"
TEXTS = [f"number{n} {f'{(CATS, BOATS)[30 <= n < 34]} ' * 60}" for n in range(60)]
TOPICS = [{"label": CATS, "count": 56}, {"label": BOATS, "count": 4}]


@pytest.fixture
def server(configured, serve):
    folder = configured()
    write_chat(folder, "mixed", about(*TEXTS), topics=TOPICS, title="Cats and boats")
    return serve(folder)


AT_REST = """async (element) => {
    const top = () => element.getBoundingClientRect().top;
    let last = top();
    for (let frames = 0; frames < 8; frames += 1) {
        await FRAME;
        if (top() !== last) [frames, last] = [0, top()];
    }
    return last;
}""".replace("FRAME", FRAME)
"""Where an element is once it rests: messages take their true height with the next frames."""


def top(page, message_id):
    return page.locator(f"#m-{message_id}").evaluate(AT_REST)


IN_VIEW = """(element) => {
    const { top, bottom } = element.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
}"""


def read(page, message_id, block="center"):
    """Scroll to a message as a reader would, and wait until nothing moves.

    A page that is still being laid out goes back to its end; then the reader scrolls again.
    """
    message = page.locator(f"#m-{message_id}")
    for _ in range(5):
        page.locator("#scroll").dispatch_event("wheel")
        message.evaluate("(e, block) => e.scrollIntoView({ block })", block)
        top(page, message_id)
        if message.evaluate(IN_VIEW):
            return
    raise AssertionError(f"{message_id} does not stay in view")


def shown(page):
    return page.eval_on_selector_all(
        "[data-message-id]",
        "all => all.filter(e => e.offsetParent).map(e => e.dataset.messageId)",
    )


def test_runs_that_are_not_sent_fold_into_one_line_each_and_open_again(new_page, server):
    page = open_chat(new_page, server)
    expect(folds(page)).to_have_count(0)
    pick(page, BOATS)
    expect(status(page)).to_have_text("4 of 60 messages in context")
    lines = page.locator("main").get_by_role("button", name=re.compile("not sent"))
    expect(lines).to_have_text(["30 messages not sent · Show", "26 messages not sent · Show"])
    assert page.locator("[data-message-id] .fold").count() == 0
    assert page.locator("[data-message-id]").count() == 60
    assert shown(page) == ["m30", "m31", "m32", "m33"]

    first = page.get_by_role("button", name="30 messages not sent · Show")
    expect(first).to_have_attribute("aria-expanded", "false")
    first.focus()
    place = first.evaluate(AT_REST)
    first.press("Enter")
    expect(first).to_have_attribute("aria-expanded", "true")
    expect(first).to_have_text("30 messages not sent · Fold")
    assert shown(page)[:2] == ["m0", "m1"]
    assert abs(first.evaluate(AT_REST) - place) <= 1
    first.press("Enter")
    expect(first).to_have_text("30 messages not sent · Show")
    assert len(shown(page)) == 4


def test_a_pick_goes_to_the_topic_and_taking_it_back_gives_the_old_place_back(new_page, server):
    page = open_chat(new_page, server)
    read(page, "m8")
    before = top(page, "m8")
    pick(page, BOATS)
    expect(folds(page)).to_have_count(2)
    expect(page.locator("#m-m30")).to_be_in_viewport()
    pick_again = page.locator(".bubble", has_text=BOATS)
    pick_again.click()
    expect(folds(page)).to_have_count(0)
    expect(page.locator("#m-m8")).to_be_in_viewport()
    assert abs(top(page, "m8") - before) <= 40


def test_who_has_read_on_stays_there_when_the_filter_is_cleared(new_page, server):
    page = open_chat(new_page, server)
    read(page, "m8")
    pick(page, CATS)
    expect(folds(page)).to_have_count(1)
    read(page, "m45")
    before = top(page, "m45")
    page.locator(".bubble", has_text=CATS).click()
    expect(folds(page)).to_have_count(0)
    expect(page.locator("#m-m45")).to_be_in_viewport()
    assert abs(top(page, "m45") - before) <= 40


def test_who_watches_an_answer_being_written_goes_on_watching_it(new_page, server, endpoint):
    page = open_chat(new_page, server)
    gate = threading.Event()
    endpoint.reply_with(held("word " * 9 + "last", gate, after=9))
    send(page, "cats again?")
    expect(page.locator(".message").last).to_contain_text("word word")
    pick(page, BOATS)
    expect(folds(page)).not_to_have_count(0)
    page.wait_for_function("() => !document.querySelector('[data-waiting]')")
    expect(page.locator(".message[data-generating]")).to_be_in_viewport()
    gate.set()
    expect(page.locator("[data-generating]")).to_have_count(0)
    expect(page.locator(".message").last).to_be_in_viewport()


def test_from_the_end_and_back_to_the_end(new_page, server):
    page = open_chat(new_page, server)
    expect(page.locator("#m-m59")).to_be_in_viewport()
    pick(page, BOATS)
    expect(page.locator("#m-m33")).to_be_in_viewport()
    bubble(page, BOATS).focus()
    page.keyboard.press("Escape")
    expect(page.locator("#m-m59")).to_be_in_viewport()


def test_a_kept_message_that_is_read_stays_where_it_is(new_page, server):
    page = open_chat(new_page, server, viewport={"width": 1280, "height": 420})
    for message_id, block in product(("m30", "m31", "m33"), ("center", "start", "end")):
        read(page, message_id, block)
        before = top(page, message_id)
        pick(page, BOATS)
        expect(folds(page)).to_have_count(2)
        page.wait_for_function("() => !document.querySelector('[data-waiting]')")
        assert abs(top(page, message_id) - before) <= 40, (message_id, block)
        page.keyboard.press("Escape")
        expect(folds(page)).to_have_count(0)


def test_on_fallback_nothing_folds(new_page, server):
    server.ask("smart_context.set_filter", chat_id="mixed", topics=["quantum physics"])
    page = open_chat(new_page, server)
    expect(status(page)).to_have_text("No message matches; all 60 messages in context")
    expect(folds(page)).to_have_count(0)
    expect(page.get_by_text("The rest stays in the chat")).to_be_hidden()


def test_hidden_and_cleared_messages_fold_too(new_page, server):
    server.ask("smart_context.hide", chat_id="mixed", message_ids=["m57", "m58"])
    page = open_chat(new_page, server)
    expect(folds(page)).to_have_text(["2 messages not sent · Show"])
    send(page, "/clear")
    expect(status(page)).to_have_text(re.compile("before the clearing"))
    expect(folds(page)).to_have_text(["60 messages not sent · Show"])
    expect(page.locator(".summary-card")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Undo “")).click()
    expect(folds(page)).to_have_text(["2 messages not sent · Show"])


def hide_the_last_two(server):
    """Leave out what was just said, which stays with the topic that was picked."""
    messages = server.ask("memory.load_chat", chat_id="mixed")["messages"]
    ids = [message["id"] for message in messages[-2:]]
    server.ask("smart_context.hide", chat_id="mixed", message_ids=ids)


def test_what_was_just_answered_is_not_folded_away(new_page, server):
    page = open_chat(new_page, server)
    pick(page, BOATS)
    expect(status(page)).to_have_text("4 of 60 messages in context")
    send(page, "cats again?")
    expect(page.locator(".message").last).to_contain_text("You said: cats again?")
    expect(status(page)).to_have_text("6 of 62 messages in context")
    hide_the_last_two(server)
    expect(status(page)).to_have_text("4 of 62 messages in context")
    expect(page.locator(".message").last).to_be_visible()
    expect(folds(page).last).to_have_text("26 messages not sent · Show")
    page.reload()
    expect(folds(page).last).to_have_text("28 messages not sent · Show")


def test_an_answer_that_is_over_before_its_news_come_is_not_folded_away(new_page, server):
    page = open_chat(new_page, server)
    waiting, is_held = [], threading.Event()

    def pass_on(socket):
        def told(frame):
            waiting.append(frame)
            if is_held.is_set() and not re.search(r'"hidden": ?\["', frame):
                return
            is_held.clear()
            while waiting:
                socket.send(waiting.pop(0))

        socket.connect_to_server().on_message(told)

    page.route_web_socket(re.compile("/ws"), pass_on)
    page.reload()
    connected(page)
    pick(page, BOATS)
    expect(status(page)).to_have_text("4 of 60 messages in context")
    is_held.set()
    send(page, "cats again?")
    deadline = time.monotonic() + PATIENCE_S
    while not any('"chat.finished"' in frame for frame in waiting):
        assert time.monotonic() < deadline
        page.wait_for_timeout(50)
    hide_the_last_two(server)
    expect(status(page)).to_have_text("4 of 62 messages in context")
    expect(page.locator(".message").last).to_contain_text("You said: cats again?")
    expect(page.locator(".message").last).to_be_visible()


def test_a_link_to_a_message_ends_there_even_if_it_is_folded(new_page, server):
    page = open_chat(new_page, server)
    expect(page.locator("#m-m59")).to_be_in_viewport()
    page.goto(f"{server.origin}/chats/mixed?at=m12#m-m12")
    connected(page)
    expect(page.locator("#m-m12")).to_be_in_viewport()
    pick(page, BOATS)
    expect(folds(page)).to_have_count(2)
    page.evaluate("location.hash = '#m-m50'")
    expect(page.locator("#m-m50")).to_be_in_viewport()
    unfold(page)
    page.reload()
    connected(page)
    expect(page.locator("#m-m50")).to_be_in_viewport()


def test_a_message_that_one_was_led_to_stays_open_while_the_page_changes(new_page, server):
    page = open_chat(new_page, server)
    pick(page, BOATS)
    expect(folds(page)).to_have_count(2)
    page.evaluate("location.hash = '#m-m50'")
    expect(page.locator("#m-m50")).to_be_in_viewport()
    send(page, "go on with boats")
    expect(page.locator("[data-generating]")).to_have_count(0)
    expect(page.locator(".message").last).to_contain_text("You said")
    expect(page.locator("#m-m50")).not_to_have_attribute("data-folded", "")
    server.ask("smart_context.pin", chat_id="mixed", message_ids=["m0"])
    expect(page.locator("#m-m0")).to_have_attribute("data-marked", "")
    expect(page.locator("#m-m50")).not_to_have_attribute("data-folded", "")


def test_a_search_hit_ends_at_its_message(new_page, server):
    page = open_chat(new_page, server)
    page.get_by_role("searchbox", name="Search chats").fill("number7 ")
    page.locator(".hits a").first.click()
    connected(page)
    expect(page.locator("#m-m7")).to_be_in_viewport()
    hits = page.get_by_role("list", name="Messages found")
    expect(hits).to_contain_text("1 message in 1 chat")  # the list stays, and says where one is
    expect(hits.locator("[aria-current] mark")).to_have_text("number7")
    page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
    expect(page.locator("#m-m7")).to_be_in_viewport()
    page.get_by_role("searchbox", name="Search chats").fill("")
    expect(page.locator("#chats [data-chat-id]")).to_have_count(1)


def test_the_map_shows_the_chat_and_leads_through_it(new_page, server):
    page = open_chat(new_page, server)
    shown = page.get_by_role("navigation", name=re.compile("^Map"))
    expect(shown.locator("rect")).to_have_count(60)
    box, main = shown.bounding_box(), page.locator("main").bounding_box()
    assert box["width"] <= 80
    assert abs(box["x"] + box["width"] - main["x"] - main["width"]) <= 1
    shown.click(position={"x": 5, "y": box["height"] * 10.5 / 60})
    expect(page.locator("#m-m10")).to_be_in_viewport()

    pick(page, BOATS)
    expect(shown.locator("rect[data-sent]")).to_have_count(4)
    assert shown.locator("rect[data-sent]").first.get_attribute("data-hue")
    read(page, "m30", "start")
    shown.focus()
    for key, message_id in (("ArrowDown", "m31"), ("ArrowDown", "m32"), ("ArrowUp", "m31")):
        page.keyboard.press(key)
        page.wait_for_function(
            """id => {
                const { top, height } = document.getElementById("scroll").getBoundingClientRect();
                const place = document.getElementById(`m-${id}`).getBoundingClientRect().top;
                return Math.abs(place - top - 0.2 * height) < 30;
            }""",
            arg=message_id,
        )
