"""An answer is watched while it is being written, stopped, and found again after a reload."""

import json
import re
import threading
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.browser.frames import FRAME
from tests.browser.steps import asked, connected, held_back, open_chat, pick, send, status, write
from tests.fake_openai import EMBEDDINGS, Reply, failure, held
from tests.marked_thoughts import MARKED_THOUGHTS, SAID, THOUGHT, in_pieces
from tests.product.test_filter_over_the_wire import MIXED, TOPICS
from tests.vaults import read_chat, write_chat

pytestmark = pytest.mark.browser

A_WHILE = timedelta(hours=1)

PICKED = ("only the end", "brackets", "channels", "only the end of a channel")
ANSWER = "## Knots\n\nA **bowline** holds.\n\n* one\n* two\n\n```py\nknot = tie()\n"


@pytest.fixture
def server(configured, serve):
    folder = configured()
    write_chat(folder, "mixed", MIXED, topics=TOPICS, title="Cats and boats")
    return serve(folder)


def answer(page):
    return page.locator(".message").last


def hold(endpoint, text, gate):
    """Let the next answer come word by word, and not end."""
    endpoint.reply_with(held(text, gate, after=len(held(text, gate).parts)))


def test_late_news_of_an_answer_that_is_over_changes_nothing(new_page, server):
    page = open_chat(new_page, server)
    sockets = []

    def pass_on(socket):
        sockets.append((socket, socket.connect_to_server()))

    page.route_web_socket(re.compile("/ws"), pass_on)
    page.reload()
    connected(page)
    late = {"chat_id": "mixed", "message_id": "m5", "offset": 0, "text": "## late"}
    for method in ("chat.started", "chat.token"):
        frame = {"jsonrpc": "2.0", "method": method, "params": late}
        with page.expect_response(re.compile("/messages")):
            sockets[-1][0].send(json.dumps(frame))
    page.evaluate(FRAME)
    expect(page.locator("[data-generating]")).to_have_count(0)
    expect(page.get_by_role("heading", name="late")).to_have_count(0)


@pytest.mark.engines
def test_a_growing_answer_is_rendered_and_in_full_ink(new_page, server, endpoint, gate):
    page = open_chat(new_page, server)
    pick(page, "cats sleep")
    expect(status(page)).to_have_text("3 of 6 messages in context")
    hold(endpoint, ANSWER, gate)
    send(page, "How do I tie a knot?")

    shown = answer(page)
    expect(shown.locator(".body strong")).to_have_text("bowline")
    expect(shown.locator(".body li")).to_have_text(["one", "two"])
    expect(shown.locator(".body pre code")).to_contain_text("knot = tie()")
    expect(shown.get_by_role("heading", name="Knots")).to_be_visible()
    assert "**" not in shown.inner_text()
    question = page.locator(".message").nth(-2)
    for message in (question, shown):
        expect(message).not_to_have_class(re.compile("left-out"))
        expect(message.locator(".marks")).to_have_text("")
        expect(message).to_be_visible()
    ink = "element => getComputedStyle(element).color"
    assert shown.locator(".body").evaluate(ink) == page.locator("body").evaluate(ink)

    gate.set()
    expect(page.locator("[data-generating]")).to_have_count(0)
    expect(answer(page).locator(".body strong")).to_have_text("bowline")
    expect(answer(page)).to_be_visible()  # though the filter leaves it out of the next turn


def test_an_answer_is_followed_though_a_menu_swallowed_a_release(new_page, server, endpoint):
    page = open_chat(new_page, server)
    page.locator("#scroll").evaluate(
        """scroll => ["pointerdown", "contextmenu"].forEach(
            (name) => scroll.dispatchEvent(new PointerEvent(name, { bubbles: true })))"""
    )
    endpoint.reply_with("One more line.\n\n" * 60 + "The end.")
    send(page, "Tell me")
    expect(page.locator(".message").last).to_contain_text("The end.")
    page.wait_for_function(
        """() => {
            const { scrollHeight, scrollTop, clientHeight } = document.querySelector("#scroll");
            return scrollHeight > 2 * clientHeight && scrollHeight - scrollTop - clientHeight < 80;
        }""",
    )


def test_a_message_waits_for_the_answer_before_it_and_a_silence_is_told(
    new_page, server, endpoint, gate
):
    page = open_chat(new_page, server)
    page.clock.install()
    hold(endpoint, ANSWER, gate)
    send(page, "How do I tie a knot?")
    expect(answer(page).locator("strong")).to_have_text("bowline")
    page.clock.run_for(8_000)
    expect(answer(page).locator(".writing")).to_contain_text(
        re.compile(r"its last word came \d+ s ago")
    )
    expect(page).to_have_title(re.compile(r"^\(answering\) Cats and boats"))
    waiting = page.get_by_role("list", name="Sent after this answer")
    for text in ("And a sheet bend?", "Never mind", "And a clove hitch?"):
        write(page, text)
        expect(page.get_by_role("textbox", name="Message")).to_have_value("")
    expect(waiting.get_by_role("listitem")).to_have_count(3)
    waiting.get_by_role("button", name="Don’t send this").nth(1).click()
    page.get_by_role("searchbox", name="Search chats").focus()
    gate.set()
    expect(waiting).to_be_hidden()
    expect(answer(page)).to_contain_text("You said: And a clove hitch?")
    sent = [text for text in asked(endpoint) if isinstance(text, str)]
    assert "And a sheet bend?" in sent
    assert "Never mind" not in sent
    expect(page).to_have_title(re.compile("^Cats and boats"))
    # an answer's end takes no one from what they do
    expect(page.get_by_role("searchbox", name="Search chats")).to_be_focused()


def test_what_a_model_reads_before_it_writes_is_told(new_page, server, endpoint, gate):
    endpoint.said_of_models = {"owned_by": "llamacpp"}
    page = open_chat(new_page, server)
    page.clock.install()
    told = ((9_990, 1_000, 1_000), (9_990, 1_000, 4_596))
    endpoint.reply_with(Reply(text="A bowline.", reading=told, gate=gate, hold_after=len(told)))
    send(page, "How do I tie a knot?")
    state = answer(page).locator(".writing")
    expect(page.locator("[data-reads]")).to_have_count(1)
    page.clock.run_for(28_000)
    expect(state).to_have_text(re.compile(r"Reading 40 % of 8,990 tokens · \d+ s$"))
    expect(page.locator("#announcer")).to_have_text("The model reads 8,990 tokens.")
    gate.set()
    expect(answer(page).locator(".body")).to_have_text("A bowline.")
    expect(answer(page)).not_to_have_attribute("data-reads", re.compile("."))


def test_a_page_that_lags_and_one_that_is_loaded_again_say_how_far_a_model_has_read(
    new_page, server, endpoint, gate
):
    endpoint.said_of_models = {"owned_by": "llamacpp"}
    page, other = (open_chat(new_page, server) for _ in range(2))
    told = ((9_990, 1_000, 1_000), (9_990, 1_000, 4_596))
    endpoint.reply_with(Reply(text="A bowline.", reading=told, gate=gate, hold_after=len(told)))
    newest = re.compile("Reading 40 % of 8,990 tokens")
    with held_back(page, "**/messages?since=*"):
        send(page, "How do I tie a knot?")
        expect(answer(other).locator(".writing")).to_have_text(newest)
    expect(answer(page).locator(".writing")).to_have_text(newest)
    page.reload()
    expect(answer(page).locator(".writing")).to_have_text(newest)


def test_two_tabs_of_a_chat_have_one_draft_and_lose_nothing_that_waits(
    new_page, server, endpoint, gate
):
    page = open_chat(new_page, server)
    other = page.context.new_page()
    other.goto(page.url)
    boxes = [tab.get_by_role("textbox", name="Message") for tab in (page, other)]
    boxes[0].fill("Of one tab")
    expect(boxes[1]).to_have_value("Of one tab")
    hold(endpoint, ANSWER, gate)
    boxes[0].press("Enter")
    expect(boxes[1]).to_have_value("")  # nobody sends it twice
    expect(other.locator(".composer .stop")).to_be_visible()
    for tab, text in ((page, "First?"), (other, "Second?")):
        write(tab, text)
        tab.goto(f"{server.origin}/settings")
    server.ask("chat.stop", chat_id="mixed")
    page.goto(f"{server.origin}/chats/mixed")
    left = page.get_by_role("list", name="Not sent yet")
    expect(left.get_by_role("listitem")).to_have_text([re.compile("First"), re.compile("Second")])
    send(page, "Another one")
    expect(answer(page)).to_contain_text("You said: Another one")
    expect(left.get_by_role("listitem")).to_have_count(2)  # they wait for the user's word
    other.close()


def test_what_waits_is_put_back_into_the_box_by_stop(new_page, server, endpoint):
    page = open_chat(new_page, server)
    again = threading.Event()
    hold(endpoint, ANSWER, again)
    send(page, "Once more")
    expect(answer(page).locator("strong")).to_have_text("bowline")
    write(page, "And then?")
    page.get_by_role("button", name="Stop the answer").click()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("And then?")
    again.set()


def test_what_waits_and_what_is_written_is_there_again_after_the_chat_was_left(
    new_page, server, endpoint, gate
):
    page = open_chat(new_page, server)
    hold(endpoint, ANSWER, gate)
    send(page, "How do I tie a knot?")
    expect(answer(page).locator("strong")).to_have_text("bowline")
    for text in ("And a sheet bend?", "And a clove hitch?"):
        write(page, text)
    page.get_by_role("textbox", name="Message").fill("Which one for a c")
    page.goto(f"{server.origin}/new")
    answering = page.locator("[data-chat-id=mixed] .answering")
    expect(answering).to_be_visible()
    server.ask("chat.stop", chat_id="mixed")
    expect(answering).to_be_hidden()

    page.goto(f"{server.origin}/chats/mixed")
    left = page.get_by_role("list", name="Not sent yet")
    expect(left.get_by_role("listitem")).to_have_count(2)
    expect(page.get_by_role("textbox", name="Message")).to_have_value("Which one for a c")
    assert "And a sheet bend?" not in asked(endpoint)
    left.get_by_role("button", name="Send now").click()
    expect(left).to_be_hidden()
    expect(answer(page)).to_contain_text("You said: And a clove hitch?")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("Which one for a c")


def test_an_answer_that_ends_before_the_page_hears_news_is_not_marked(
    new_page, server, endpoint, gate
):
    page = open_chat(new_page, server)
    hold(endpoint, ANSWER, gate)
    send(page, "How do I tie a knot?")
    expect(answer(page).locator("strong")).to_have_text("bowline")

    def connect_late(socket):
        server.ask("chat.stop", chat_id="mixed")
        socket.connect_to_server()

    page.route_web_socket(re.compile("/ws"), connect_late)
    page.goto(f"{server.origin}/new")
    mark = page.locator("[data-chat-id=mixed] .answering")
    expect(mark).to_have_count(1)
    expect(mark).to_be_hidden()


def test_a_busy_model_is_asked_again_and_the_page_says_when(new_page, server, endpoint):
    page = open_chat(new_page, server)
    endpoint.reply_with(failure(429, "Slow down", retry_after="60"))
    send(page, "How do I tie a knot?")
    expect(answer(page).locator(".writing")).to_contain_text(
        re.compile(r"The model is busy; trying again in \d+ s")
    )
    page.get_by_role("button", name="Stop the answer").click()
    expect(page.locator(".composer .stop")).to_be_hidden()


def test_words_that_come_before_their_message_are_shown_with_it(new_page, server, endpoint, gate):
    page, other = (open_chat(new_page, server) for _ in range(2))
    hold(endpoint, ANSWER, gate)
    with held_back(page, "**/messages?since=*"):
        send(page, "How do I tie a knot?")
        expect(answer(other).locator("li")).to_have_count(2)
        expect(answer(page)).not_to_have_attribute("data-generating", "")
    expect(answer(page).locator("strong")).to_have_text("bowline")


def test_an_answer_that_has_ended_is_not_said_to_be_written(new_page, server, endpoint, gate):
    page = open_chat(new_page, server)
    hold(endpoint, ANSWER, gate)
    send(page, "How do I tie a knot?")
    expect(answer(page).locator("li")).to_have_count(2)
    expect(answer(page).locator(".writing")).to_be_visible()
    with held_back(page, "**/messages?since=*"):  # the stored text does not come yet
        gate.set()
        expect(answer(page).locator(".writing")).to_be_hidden()
        expect(page.locator("[data-generating]")).to_have_count(1)
    expect(page.locator("[data-generating]")).to_have_count(0)


def test_what_is_complete_is_not_rendered_again(new_page, server, endpoint, gate):
    text = "".join(f"Paragraph {n} has *some* words.\n\n" for n in range(400)) + "The end"
    asked = []
    page = open_chat(new_page, server)
    page.on("request", lambda r: asked.append(r.post_data or "") if "/markdown" in r.url else None)
    hold(endpoint, text, gate)
    send(page, "Tell me a lot")

    expect(answer(page).locator("em")).to_have_count(400)
    expect(answer(page).locator("p", has_text="The end")).to_be_visible()
    first = answer(page).locator("p").first.element_handle()
    assert sum(map(len, asked)) < 4 * len(text)
    gate.set()
    expect(page.locator("[data-generating]")).to_have_count(0)
    assert first.evaluate("element => element.isConnected")
    expect(answer(page).locator("em")).to_have_count(400)


@pytest.mark.engines
def test_an_answer_under_way_is_shown_after_a_reload(new_page, server, endpoint, gate):
    hold(endpoint, ANSWER, gate)
    page = open_chat(new_page, server)
    send(page, "How do I tie a knot?")
    expect(answer(page).locator("strong")).to_have_text("bowline")
    page.reload()
    expect(answer(page).locator("strong")).to_have_text("bowline")
    expect(answer(page)).to_have_attribute("data-generating", "")


def test_a_stopped_answer_says_so_also_after_a_reload(new_page, server, endpoint, gate):
    hold(endpoint, ANSWER, gate)
    page = open_chat(new_page, server)
    send(page, "How do I tie a knot?")
    expect(answer(page).locator("strong")).to_have_text("bowline")
    page.get_by_role("button", name="Stop the answer").click()
    for _ in range(2):
        expect(answer(page).locator(".stopped")).to_have_text("Stopped")
        expect(answer(page).locator("strong")).to_have_text("bowline")
        page.reload()
    assert read_chat(server.vault, "mixed")["messages"][-1]["stopped"] is True


@pytest.mark.engines
def test_who_stops_an_answer_by_key_goes_on_in_the_message_box(new_page, server, endpoint, gate):
    page = open_chat(new_page, server)
    hold(endpoint, "one two three", gate)
    send(page, "Count")
    expect(answer(page)).to_contain_text("one")
    page.locator(".composer .stop").press("Enter")
    expect(answer(page).locator(".stopped")).to_be_visible()
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()


def test_an_answer_stopped_before_it_came_keeps_its_notice(new_page, server, endpoint, gate):
    endpoint.reply_with(Reply(gate=gate))
    page = open_chat(new_page, server)
    send(page, "How do I tie a knot?")
    endpoint.wait_for_requests(1)
    page.get_by_role("button", name="Stop the answer").click()
    for _ in range(2):
        expect(status(page)).to_contain_text("7 of 8 messages in context")
        expect(answer(page)).to_contain_text("Stopped before an answer came.")
        expect(answer(page)).to_be_visible()
        page.reload()


def test_stopping_before_a_message_is_sent_takes_it_back(new_page, server, endpoint, gate):
    # The page waits for its preview, whatever else asks for embeddings first.
    endpoint.reply_with(*(Reply(gate=gate) for _ in range(9)), path=EMBEDDINGS)
    page = open_chat(new_page, server)
    pick(page, "cats sleep")
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + A_WHILE)  # the page waits as long as the test needs
    send(page, "How do I tie a knot?")
    page.get_by_role("button", name="Stop the answer").click()
    page.clock.resume()
    expect(page.locator(".composer-problem")).to_have_text("Not sent.")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("How do I tie a knot?")
    assert not endpoint.chat_requests


def test_thoughts_are_read_as_they_come(new_page, server, endpoint, gate):
    page = open_chat(new_page, server)
    thinking = Reply(text="Use a bowline.", reasoning=("Which knot?",), gate=gate, hold_after=1)
    endpoint.reply_with(thinking)
    send(page, "How do I tie it?")
    expect(answer(page).locator(".thoughts")).to_contain_text("Which knot?")
    expect(answer(page).locator(".writing-text")).to_have_text("Thinking")
    gate.set()
    expect(answer(page)).to_contain_text("Use a bowline.")


def test_what_was_shown_before_a_mark_ended_it_becomes_a_thought(new_page, server, endpoint, gate):
    page = open_chat(new_page, server)
    pieces = ("Which knot? ", "A bowline.", "\n</thi", "nk>\n\nUse ", "a bowline.")
    endpoint.reply_with(Reply(pieces=pieces, gate=gate, hold_after=4))
    send(page, "How do I tie it?")
    expect(answer(page).locator(".thoughts")).to_contain_text("Which knot? A bowline.")
    expect(answer(page).locator(".body > .prose")).to_have_text("Use")
    gate.set()
    expect(answer(page)).to_contain_text("Use a bowline.")
    send(page, "And then?")
    endpoint.wait_for_requests(2)
    assert "Which knot?" not in asked(endpoint)


def test_no_thought_is_in_the_answer_or_goes_back_however_a_model_marks_it(
    new_page, server, endpoint
):
    page = open_chat(new_page, server)
    for number, spelled in enumerate(PICKED):
        endpoint.reply_with(Reply(pieces=in_pieces(MARKED_THOUGHTS[spelled])))
        send(page, f"What is two and two, for the {number}th time?")
        expect(page.locator(".message[data-message-id]")).to_have_count(8 + 2 * number)
        expect(answer(page).locator(".body > .prose")).to_have_text(SAID)
        expect(answer(page).locator("details")).to_contain_text(THOUGHT)
    page.reload()
    expect(answer(page).locator(".body > .prose")).to_have_text(SAID)
    send(page, "And then?")
    expect(answer(page)).to_contain_text("You said: And then?")
    sent = asked(endpoint)
    assert sent.count(SAID) == len(PICKED)
    assert THOUGHT not in "".join(sent)


def test_a_stopped_answer_is_gone_on_with(new_page, server, endpoint, gate):
    page = open_chat(new_page, server)
    hold(endpoint, "First make a", gate)
    send(page, "In detail, please")
    expect(answer(page)).to_contain_text("First make a")
    page.get_by_role("button", name="Stop the answer").click()
    answer(page).get_by_role("button", name="Continue").click()
    expect(answer(page)).to_contain_text("You said: Please go on where you stopped.")
    assert "First make a" in asked(endpoint)
    expect(page.get_by_role("button", name="Continue", exact=True)).to_have_count(0)


def test_an_answer_that_the_model_cut_off_says_so_and_is_gone_on_with(new_page, server, endpoint):
    page = open_chat(new_page, server)
    endpoint.reply_with(Reply(pieces=("First make a",), finish_reason="length"))
    send(page, "In detail, please")
    expect(answer(page).locator(".stopped")).to_contain_text("Cut off")
    answer(page).get_by_role("button", name="Continue").click()
    expect(answer(page)).to_contain_text("You said: Please go on where you stopped.")
    assert "First make a" in asked(endpoint)


def test_code_is_wrapped_and_downloaded(new_page, server, endpoint):
    page = open_chat(new_page, server)
    endpoint.reply_with(f"```py\n{'knot = ' * 60}tie()\n```")
    send(page, "Show me the code")
    code = answer(page).locator(".code pre")
    expect(page.locator(".composer .stop")).to_be_hidden()
    assert code.evaluate("pre => pre.scrollWidth > pre.clientWidth")
    answer(page).get_by_role("button", name="Wrap").click()
    assert code.evaluate("pre => pre.scrollWidth <= pre.clientWidth")
    with page.expect_download() as download:
        answer(page).get_by_role("button", name="Download the code").click()
    assert download.value.suggested_filename == "code.py"
