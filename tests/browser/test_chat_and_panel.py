"""What a user does: pick bubbles, see what is in context, send, and get just that sent."""

import json
import re
import threading
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.browser.steps import asked, bubble, lit, open_chat, pick, send, status
from tests.fake_openai import EMBEDDINGS, FOR_TOPICS, Reply, failure
from tests.product.test_filter_over_the_wire import MIXED, TOPICS
from tests.serving import TOKEN, lasting_port
from tests.vaults import about, write_boats_and_knots, write_chat

pytestmark = pytest.mark.browser

CAN_NOT_BE_FOCUSED = "box => (box.focus(), box !== document.activeElement)"


@pytest.fixture
def server(configured, serve):
    folder = configured()
    write_chat(folder, "mixed", MIXED, topics=TOPICS, title="Cats and boats")
    return serve(folder)


@pytest.mark.engines
def test_what_is_highlighted_is_exactly_what_is_sent(new_page, server, endpoint):
    page = open_chat(new_page, server)
    expect(status(page)).to_have_text("All messages in context")
    heard = page.evaluate_handle(
        """() => {
            const heard = [];
            document.addEventListener("smart_context.highlight", (event) =>
                heard.push(event.detail.message_ids));
            return heard;
        }"""
    )
    pick(page, "cats sleep")
    expect(status(page)).to_have_text("3 of 6 messages in context")
    assert lit(page) == ["m0", "m1", "m4"]
    assert heard.json_value()[-1] == ["m0", "m1", "m4"]

    send(page, "and kittens?")
    expect(page.locator(".message").last).to_contain_text("You said: and kittens?")
    contents = {m["id"]: m["content"] for m in MIXED}
    assert asked(endpoint) == [contents["m0"], contents["m1"], contents["m4"], "and kittens?"]
    expect(bubble(page, "cats sleep")).to_be_checked()

    page.reload()
    expect(bubble(page, "cats sleep")).to_be_checked()
    expect(status(page)).to_contain_text("of 8 messages in context")


def test_what_is_highlighted_is_sent_without_streaming_too(new_page, server, endpoint):
    page = open_chat(new_page, server)
    pick(page, "cats sleep")
    expect(status(page)).to_have_text("3 of 6 messages in context")
    highlighted = lit(page)
    page.evaluate(
        """async message => fetch("/api/commands/chat.send", {
            method: "POST",
            headers: {
                "Content-Type": "application/json",
                ...(await import("/static/key.js")).keyHeaders(),
            },
            body: JSON.stringify({ chat_id: "mixed", message, stream: false }),
        })""",
        "and kittens?",
    )
    expect(page.locator(".message").last).to_contain_text("You said: and kittens?")
    contents = {m["id"]: m["content"] for m in MIXED}
    assert asked(endpoint) == [*(contents[i] for i in highlighted), "and kittens?"]
    assert not endpoint.chat_requests[0].body.get("stream")


def test_the_keyboard_does_it_all(new_page, server):
    page = open_chat(new_page, server)
    bubble(page, "cats sleep").focus()
    page.keyboard.press("Space")
    expect(status(page)).to_have_text("3 of 6 messages in context")
    page.keyboard.press("Escape")
    expect(status(page)).to_have_text("All messages in context")
    expect(bubble(page, "cats sleep")).not_to_be_checked()


def test_a_choice_that_takes_long_says_so_instead_of_an_old_count(new_page, server, endpoint):
    page = open_chat(new_page, server)
    gate = threading.Event()
    endpoint.reply_with(Reply(gate=gate), path=EMBEDDINGS)
    pick(page, "cats sleep")
    expect(status(page)).to_have_text("Choosing messages…")
    with server.connect() as other:
        deleted = other.start("smart_context.delete_topic", chat_id="mixed", label="boats sail")
        expect(bubble(page, "boats sail")).to_have_count(0)
        expect(status(page)).to_have_text("Choosing messages…")
        gate.set()
        assert "result" in deleted()
    expect(status(page)).to_have_text("3 of 6 messages in context")


def test_a_topic_that_is_gone_is_there_for_the_eye_only_while_it_fades(new_page, server):
    page = open_chat(new_page, server)
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(hours=1))
    server.ask("smart_context.delete_topic", chat_id="mixed", label="boats sail")
    fading = page.locator(".bubble[data-leaving]")
    expect(fading).to_contain_text("boats sail")
    expect(bubble(page, "boats sail")).to_have_count(0)
    assert fading.get_by_role("checkbox", include_hidden=True).evaluate(CAN_NOT_BE_FOCUSED)
    page.clock.run_for(1_000)
    expect(fading).to_have_count(0)


def test_nothing_that_matches_is_said(new_page, server):
    page = open_chat(new_page, server)
    server.ask("smart_context.set_filter", chat_id="mixed", topics=["quantum physics"])
    expect(status(page)).to_have_text("No message matches; all 6 messages in context")
    expect(page.get_by_text("quantum physics", exact=True)).to_be_visible()


def test_with_similarity_off_bubbles_cannot_be_toggled(new_page, server):
    page = open_chat(new_page, server)
    pick(page, "cats sleep")
    expect(status(page)).to_have_text("3 of 6 messages in context")
    page.get_by_role("switch").uncheck()
    expect(status(page)).to_have_text("All messages in context")
    expect(bubble(page, "cats sleep")).to_be_disabled()
    page.get_by_role("switch").check()
    expect(bubble(page, "cats sleep")).to_be_enabled()
    expect(bubble(page, "cats sleep")).not_to_be_checked()


@pytest.mark.engines
def test_two_tabs_stay_in_step(new_page, server):
    first, second = open_chat(new_page, server), open_chat(new_page, server)
    pick(first, "boats sail")
    expect(bubble(second, "boats sail")).to_be_checked()
    expect(status(first)).to_have_text(re.compile("^[0-9] of 6 messages in context"))
    expect(status(second)).to_have_text(status(first).inner_text())
    send(second, "from the second tab")
    expect(first.locator(".message").last).to_contain_text("You said: from the second tab")
    assert first.locator(".message", has_text="You said: from the second tab").count() == 1


def test_new_topics_keep_the_selection_and_take_the_models_names(new_page, server, endpoint):
    page = open_chat(new_page, server)
    pick(page, "cats sleep")
    names = {str(n): "Boats on the Wind" for n in range(1, 9)}
    endpoint.reply_with(json.dumps(names), path=FOR_TOPICS)
    send(page, "boats sail in the night")
    expect(bubble(page, "Boats on the Wind")).to_be_visible()
    expect(bubble(page, "boats sail")).to_have_count(0)
    selected = server.ask("smart_context.get_topics", chat_id="mixed")["active_topics"]
    assert [label.lower() for label in selected] == ["cats sleep"]


def test_messages_that_move_out_of_a_picked_topic_are_told_and_put_back(new_page, server):
    topics = {"Boats": "q1 a1 q2 a2 q3 a3", "Knots": "q4 a4 q5 a5 q6 a6 q7 a7"}
    write_boats_and_knots(server.vault, "moving", **topics)
    page = open_chat(new_page, server, "moving")
    pick(page, "Knots")
    server.ask("smart_context.refresh_topics", chat_id="moving", regroup=True)
    notice = page.get_by_role("status").filter(has_text="moved from Knots to Boats")
    expect(notice).to_contain_text("2 messages moved from Knots to Boats.")
    expect(bubble(page, "Boats")).to_have_accessible_name(re.compile("8 messages"))
    page.reload()  # it does not go unseen by who comes later
    expect(notice).to_be_visible()
    notice.get_by_role("button", name="Undo").click()
    expect(notice).to_be_hidden()
    expect(bubble(page, "Boats")).to_have_accessible_name(re.compile("6 messages"))
    expect(bubble(page, "Knots")).to_be_checked()
    expect(page.get_by_role("button", name="Undo: Knots picked")).to_be_visible()


def test_a_failed_answer_says_what_to_do_and_can_be_tried_again(new_page, server, endpoint):
    page = open_chat(new_page, server)
    endpoint.reply_with(failure(401, "no such key"))
    send(page, "hello")
    expect(page.locator(".failure")).to_be_visible()
    headline = "The chat model gpt-4o did not accept the key (401)."
    expect(page.locator(".failure strong")).to_have_text(headline)
    reason = page.locator(".failure-reason")
    expect(reason).to_be_hidden()
    page.get_by_text("Details", exact=True).click()
    expect(reason).to_contain_text("TEST_KEY_NAME")
    expect(reason).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".failure")).to_have_count(0)
    expect(page.locator(".message").last).to_contain_text("You said: hello")


TOO_LONG = "the request exceeds the available context size, try increasing it"


def test_where_a_request_is_too_long_a_topic_that_fits_is_a_click_away(new_page, server, endpoint):
    page = open_chat(new_page, server)
    endpoint.reply_with(failure(400, TOO_LONG))
    send(page, "Which boats sail fastest in the harbour?")
    failed = page.locator(".failure")
    expect(failed.locator("strong")).to_have_text("Too long for this model. Pick a topic.")
    topic = failed.get_by_role("button", name=re.compile(r"boats sail \d+ tokens"))
    expect(topic).to_be_visible()
    topic.click()
    expect(failed).to_have_count(0)
    expect(bubble(page, "boats sail")).to_be_checked()
    expect(page.locator(".message").last).to_contain_text("You said: Which boats sail fastest")
    assert MIXED[0]["content"] not in asked(endpoint)


KEEP_WHERE_IT_WAS = """() => {
    const look = () => {
        const button = document.querySelector("[data-action=what-fits]");
        if (button) window.topAtFirst = button.getBoundingClientRect().top;
        else requestAnimationFrame(look);
    };
    look();
}"""
"""Notes where the button is when it is first seen: before the topics that fit are known."""


@pytest.mark.parametrize("width", [1280, 360])
def test_where_a_request_is_too_long_what_fits_is_sent_at_a_click(
    new_page, configured, serve, endpoint, width
):
    folder = configured()
    long = [{**said, "content": said["content"] + " and so on" * 99} for said in MIXED]
    write_chat(folder, "mixed", long, topics=TOPICS)
    endpoint.answer = lambda body: (
        failure(400, TOO_LONG) if len(body["messages"]) > 4 else "What fits."
    )
    page = open_chat(new_page, serve(folder), viewport={"width": width, "height": 740})
    page.evaluate(KEEP_WHERE_IT_WAS)
    send(page, "Which boats sail fastest in the harbour?")
    failed = page.locator(".failure")
    fits = failed.get_by_role("button", name="Send what fits")
    expect(
        failed.get_by_role("button", name=re.compile(r"boats sail [\d,]+ tokens"))
    ).to_be_visible()
    assert fits.evaluate("button => button.getBoundingClientRect().top - window.topAtFirst") == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    fits.focus()
    page.keyboard.press("Enter")
    expect(failed).to_have_count(0)
    expect(page.locator(".message").last).to_contain_text("What fits.")
    assert 1 < len(asked(endpoint)) <= 4
    assert asked(endpoint)[-1] == "Which boats sail fastest in the harbour?"


PUT_BOX_AT_THE_END = """message => {
    const list = message.closest("#scroll");
    const box = message.querySelector("textarea").getBoundingClientRect();
    list.scrollTop += box.bottom - list.getBoundingClientRect().bottom + 4;
}"""


def test_what_saves_an_edited_message_is_in_view(new_page, configured, serve):
    folder = configured()
    write_chat(folder, "mixed", about(*(f"Message {n} about cats" for n in range(31))))
    page = open_chat(new_page, serve(folder))
    question = page.locator("#m-m20")
    edit = question.get_by_role("button", name="Edit")
    question.hover()
    edit.click()
    expect(question.get_by_role("textbox")).to_be_visible()
    question.evaluate(PUT_BOX_AT_THE_END)
    page.keyboard.press("Escape")
    edit.press("Enter")
    save = question.get_by_role("button", name="Save", exact=True)
    expect(save).to_be_visible()
    composer = page.locator(".composer").bounding_box()
    box = save.bounding_box()
    assert box["y"] + box["height"] < composer["y"] + 1  # it scrolls by whole pixels


def test_a_chat_is_shown_although_its_address_names_no_message(new_page, server):
    page = new_page(server, "/chats/mixed#100%")
    expect(page.locator(".message").last).to_be_visible()


def test_a_box_of_several_lines_is_as_high_as_its_text_when_the_window_changes(new_page, server):
    page = open_chat(new_page, server)
    box = page.get_by_role("textbox", name="Message")
    box.fill("a long line of words that goes on " * 4)
    height = box.evaluate("box => box.clientHeight")
    slides = "document.addEventListener('transitionrun', ({ target }) => "
    slides += "target.matches('.side, .chats') && (window.slid = true))"
    page.evaluate(slides)
    page.set_viewport_size({"width": 360, "height": 740})
    expect(box).not_to_have_js_property("clientHeight", height)
    assert page.evaluate("window.slid") is None
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(box).to_have_js_property("clientHeight", height)


def test_options_that_open_at_the_lower_edge_are_seen(new_page, server):
    page = open_chat(new_page, server, viewport={"width": 1280, "height": 700})
    page.locator(".panel-options > summary").click()
    expect(page.get_by_role("button", name="Find topics again")).to_be_in_viewport()


@pytest.mark.engines
def test_a_lost_connection_is_shown_and_nothing_doubles_after_it(new_page, configured, serve):
    folder, port = configured(), lasting_port()
    write_chat(folder, "mixed", MIXED, topics=TOPICS)
    server = serve(folder, port=port)
    page = open_chat(new_page, server)
    expect(page.locator(".message")).to_have_count(6)
    server.stop()
    expect(page.locator(".connection")).to_be_visible()
    serve(folder, port=port)
    expect(page.locator(".connection")).to_be_hidden()
    send(page, "back again")
    expect(page.locator(".message").last).to_contain_text("You said: back again")
    expect(page.locator(".message")).to_have_count(8)


def test_markup_in_messages_and_labels_stays_text(new_page, configured, serve):
    folder = configured()
    hostile = "<img src=x onerror=alert(1)> ![pic](https://evil.example/a.png) \u202egnp"
    write_chat(
        folder,
        "hostile",
        about(hostile, "<script>document.title='owned'</script>"),
        topics=[{"label": "<b>Bold</b> \u202eevil", "count": 2}],
    )
    outside = []
    server = serve(folder)
    page = new_page(server)
    page.on("request", lambda r: outside.append(r.url) if server.origin not in r.url else None)
    page.goto(f"{server.origin}/chats/hostile")
    expect(page.locator(".message")).to_have_count(2)
    expect(page.locator(".bubble").first).to_contain_text("<b>Bold</b>")
    assert page.locator(".message img").count() == 0
    assert page.title() != "owned"
    assert [url for url in outside if not url.startswith(("ws:", "data:"))] == []


def test_the_panel_stands_alone(new_page, server):
    page = new_page(server, "/panels/smart_context?chat_id=mixed")
    pick(page, "cats sleep")
    expect(status(page)).to_have_text("3 of 6 messages in context")
    expect(page.get_by_text("Instructions & Preferences")).to_be_visible()


def test_a_narrow_screen_shows_chat_and_panel(new_page, server):
    page = open_chat(new_page, server, viewport={"width": 360, "height": 740})
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360
    page.locator("[data-toggle=side]").click()
    pick(page, "cats sleep")
    expect(status(page)).to_have_text("3 of 6 messages in context")


def test_a_token_is_not_left_in_the_address(new_page, server):
    page = new_page(server)
    page.goto(server.link)
    assert TOKEN not in page.url


def test_chats_are_listed_by_date_with_their_last_words_and_colours(new_page, configured, serve):
    folder = configured()
    for name in ("mixed", "copy"):
        topics = [{**topic, "id": f"t{n}"} for n, topic in enumerate(TOPICS)]
        write_chat(folder, name, MIXED, topics=topics, title="Cats and boats")
    old = {"id": "o1", "role": "user", "content": "Old news", "created_at": "2001-02-03T04:05:06Z"}
    write_chat(folder, "old", [old])
    page = open_chat(new_page, serve(folder))
    groups = page.locator(".chat-group")
    expect(groups).to_have_text(["Today", "February 2001"])
    expect(page.get_by_role("list", name="February 2001").locator("li")).to_have_count(1)
    entries = page.locator(".chat-entry")
    expect(entries.locator(".chat-preview").last).to_have_text("Old news")
    expect(entries.first.locator(".chat-dots i")).to_have_count(2)
    words = [" ".join(text.split()) for text in entries.locator(".chat-words").all_text_contents()]
    assert len(set(words)) == 3

    entries.first.locator("a").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(entries.last.locator("a")).to_be_focused()
    for name in ("Select", "Rename", "Delete"):
        page.keyboard.press("ArrowRight")
        expect(entries.last.get_by_role("button", name=name)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(entries.nth(1).locator("a")).to_be_focused()

    entries.last.hover()
    entries.last.get_by_role("button", name="Rename").click()
    page.get_by_role("textbox", name="Name of the chat").fill("A new name")
    page.keyboard.press("Enter")
    expect(page.locator('[data-chat-id="old"] .chat-title')).to_have_text("A new name")


def test_being_turned_off_and_on_is_told_and_new_settings_are_not(new_page, server, configured):
    page = open_chat(new_page, server)
    toasts = page.locator(".toast")
    pick(page, "cats sleep")
    expect(status(page)).to_have_text("3 of 6 messages in context")
    configured(recent_messages="2")
    expect(status(page)).to_have_text("4 of 6 messages in context")
    configured(enabled="false")
    expect(toasts).to_have_text([re.compile("Smart Context was turned off")])
    expect(page.locator(".topics .reason")).to_be_hidden()
    configured()
    expect(toasts.last).to_contain_text("Smart Context was turned on")
