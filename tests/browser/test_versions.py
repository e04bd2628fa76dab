"""Answering again leaves a version, which the page leads back to."""

import re
import threading

import pytest
from playwright.sync_api import expect

from tests.browser.steps import asked, connected, open_chat, send, status
from tests.fake_openai import held
from tests.gateway.asking import ApiClient, provided_vault
from tests.gateway.saying import assistant, user
from tests.vaults import about, read_chat, write_chat

pytestmark = pytest.mark.browser

SAID = [f"{'Question' if n % 2 == 0 else 'Answer'} {n // 2}" for n in range(8)]
CHINESE = ["你好", "你好！有什么可以帮你？", "东京天气怎么样？", "晴天。", "京都呢？", "下雨。"]

TOP_OF_THE_FOURTH = "document.querySelectorAll('main .message')[3].getBoundingClientRect().top"


@pytest.fixture
def server(configured, serve):
    folder = configured()
    write_chat(folder, "c1", about(*SAID), title="Four questions")
    write_chat(folder, "zh", about(*CHINESE), title="天气")
    return serve(folder)


def messages(page):
    return page.locator("main .message")


def answer_again(page, number):
    message = messages(page).nth(number)
    message.hover()
    message.get_by_role("button", name="Answer again").click()


def switch(page):
    return page.get_by_role("group", name=re.compile("^Versions of this"))


def expect_version(page, current, count):
    expect(switch(page)).to_contain_text(f"Version {current} of {count}")


def expect_answered(page):
    """The answer is over, and its messages, with their buttons, are drawn for the last time."""
    expect(page.locator(".composer .stop")).to_be_hidden()
    expect(page.locator("[data-generating]")).to_have_count(0)


def edit(page, number, text):
    message = messages(page).nth(number)
    message.hover()
    message.get_by_role("button", name="Edit").click()
    box = page.get_by_role("textbox", name="Edit the message")
    box.fill(text)
    return box


def test_answering_an_earlier_message_again_says_what_stays_and_leads_back(new_page, server):
    page, other = open_chat(new_page, server, "c1"), open_chat(new_page, server, "c1")
    answer_again(page, 1)
    said = page.get_by_role("status").filter(has_text="7 messages stay with the former version")
    expect(said).to_be_visible()
    for tab in (page, other):
        expect(messages(tab)).to_have_count(2)
        expect_version(tab, 2, 2)
    expect_answered(page)
    page.get_by_role("button", name="Previous version").click()
    for tab in (page, other):
        expect(messages(tab)).to_have_count(8)
        expect_version(tab, 1, 2)
        expect(messages(tab).nth(7)).to_contain_text("Answer 3")
    expect(status(page)).to_contain_text("All messages in context")
    page.reload()
    expect(messages(page)).to_have_count(8)
    page.get_by_role("button", name="Next version").click()
    expect(messages(page)).to_have_count(2)
    expect(messages(page).nth(1)).to_contain_text("You said: Question 0")


def test_undo_gives_everything_back_even_in_mid_answer(new_page, server, endpoint):
    page = open_chat(new_page, server, "zh")
    gate = threading.Event()
    endpoint.reply_with(held("我会重新回答 这个 问题", gate, after=1))
    answer_again(page, 1)
    expect(messages(page)).to_have_count(2)
    said = page.get_by_role("status").filter(has_text="5 messages stay with the former version")
    said.get_by_role("button", name="Undo").click()
    expect(messages(page)).to_have_count(6)
    expect(messages(page).last).to_contain_text("下雨。")
    expect_version(page, 1, 2)
    gate.set()
    contents = [message["content"] for message in read_chat(server.vault, "zh")["messages"]]
    assert contents == CHINESE


def test_a_changed_question_is_asked_by_enter_and_the_former_stays(new_page, server, endpoint):
    page = open_chat(new_page, server, "c1")
    box = edit(page, 4, "Other")
    box.press("Shift+Enter")
    box.press_sequentially("question")
    box.press("Enter")
    expect(messages(page)).to_have_count(6)
    expect(messages(page).last).to_contain_text("You said: Other")
    assert asked(endpoint)[-1] == "Other\nquestion"
    assert messages(page).nth(4).locator(".prose").inner_text() == "Other\nquestion"
    expect(page.get_by_role("group", name="Versions of this question")).to_contain_text("2 of 2")
    expect_answered(page)
    page.get_by_role("button", name="Previous version").click()
    expect(messages(page)).to_have_count(8)
    expect(messages(page).nth(4)).to_contain_text("Question 2")


def test_answering_again_answers_what_the_edit_box_shows(new_page, server, endpoint):
    page = open_chat(new_page, server, "c1")
    edit(page, 6, "Quite another question")
    answer_again(page, 7)
    expect(messages(page).last).to_contain_text("You said: Quite another question")
    expect(page.get_by_role("textbox", name="Edit the message")).to_have_count(0)
    assert asked(endpoint)[-1] == "Quite another question"
    assert read_chat(server.vault, "c1")["branches"][0]["messages"][0]["content"] == "Question 3"


def test_what_is_written_in_an_edit_goes_on_from_the_end_and_is_kept_until_cancelled(
    new_page, server
):
    page = open_chat(new_page, server, "c1")
    box = page.get_by_role("textbox", name="Edit the message")

    def begin():
        messages(page).nth(6).hover()
        messages(page).nth(6).get_by_role("button", name="Edit").click()

    begin()
    expect(box).to_be_focused()
    page.keyboard.type(" and more")
    expect(box).to_have_value("Question 3 and more")
    box.press("Escape")
    expect(box).to_have_count(0)
    page.reload()
    begin()
    expect(box).to_have_value("Question 3 and more")
    page.get_by_role("button", name="Cancel").click()
    begin()
    expect(box).to_have_value("Question 3")


def test_a_text_that_is_only_saved_asks_nothing(new_page, server, endpoint):
    page = open_chat(new_page, server, "c1")
    edit(page, 6, "Better words")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(messages(page).nth(6)).to_contain_text("Better words")
    expect(messages(page)).to_have_count(8)
    expect(switch(page)).to_have_count(0)
    assert endpoint.chat_requests == []


def test_the_keyboard_goes_through_versions_and_what_is_read_stays(new_page, server):
    page = open_chat(new_page, server, "c1")
    for count in (2, 3):
        answer_again(page, 3)
        expect_version(page, count, count)  # the answer has begun; until it ends no key would count
        expect_answered(page)
    before = page.evaluate(TOP_OF_THE_FOURTH)
    # Not by the keyboard alone: the answer's last event may replace it, and with it the focus.
    page.get_by_role("button", name="Previous version").press("Enter")
    expect_version(page, 2, 3)
    expect(page.get_by_role("button", name="Previous version")).to_be_focused()
    page.keyboard.press("Enter")
    expect_version(page, 1, 3)
    # The first version has none before it, so the focus goes to the other button.
    expect(page.get_by_role("button", name="Next version")).to_be_focused()
    expect(page.locator("#announcer")).to_have_text("Version 1 of 3")
    expect(messages(page)).to_have_count(8)
    assert abs(page.evaluate(TOP_OF_THE_FOURTH) - before) <= 2
    page.keyboard.press("Space")
    expect_version(page, 2, 3)


def test_a_message_that_is_drawn_again_keeps_the_focus_on_its_button(new_page, server):
    page = open_chat(new_page, server, "c1")
    answer_again(page, 7)
    expect_version(page, 2, 2)
    expect_answered(page)
    previous = page.get_by_role("button", name="Previous version")
    previous.focus()
    answer = messages(page).nth(7)
    answer_id = answer.get_attribute("data-message-id")
    server.ask("chat.edit", chat_id="c1", message_id=answer_id, text="In other words")
    expect(answer).to_contain_text("In other words")
    expect(previous).to_be_focused()


def test_no_other_version_is_shown_while_an_answer_is_written(new_page, server, endpoint):
    page = open_chat(new_page, server, "c1")
    answer_again(page, 7)
    expect_version(page, 2, 2)
    expect_answered(page)
    gate = threading.Event()
    endpoint.reply_with(held("slow answer", gate, after=1))
    send(page, "And?")
    expect(messages(page)).to_have_count(10)
    page.get_by_role("button", name="Previous version").click()
    expect(page.get_by_role("alert").filter(has_text="still being answered")).to_be_visible()
    gate.set()
    expect(messages(page).last).to_contain_text("slow answer")
    expect_version(page, 2, 2)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with provided_vault(tmp_path_factory.mktemp("clients")) as found:
        yield found


def test_versions_of_a_clients_chat_are_seen_here_and_switched_in_a_copy(new_page, served):
    server, _ = served
    client, named = ApiClient(server), {"X-Smart-Context-Chat": "foreign"}
    client.chat(user("Count to one"), headers=named)
    client.chat(user("Count to two"), headers=named)
    page = open_chat(new_page, server, "foreign")
    expect(switch(page)).to_have_count(0)
    page.get_by_role("link", name="1 other version").click()
    expect(page.locator(".version-text").first).to_have_text("Count to one")
    expect(page.locator(".version-text").first).to_be_visible()
    page.get_by_role("button", name="Continue here").click()
    page.wait_for_url(re.compile(r"/chats/(?!foreign)"))
    expect_version(page, 2, 2)
    page.get_by_role("button", name="Previous version").click()
    expect(messages(page).first).to_contain_text("Count to one")
    client.chat(
        user("Count to two"),
        assistant("You said: Count to two"),
        user("More"),
        headers=named,
    )
    contents = [m["content"] for m in read_chat(server.vault, "foreign")["messages"]]
    assert contents[0] == "Count to two"


def from_the_menu(page, name):
    page.get_by_role("button", name="This chat", exact=True).click()
    return page.locator("#chat-menu-list").get_by_text(name, exact=True)


def test_a_chat_is_renamed_exported_branched_duplicated_and_deleted(new_page, server):
    page = open_chat(new_page, server, "c1")
    from_the_menu(page, "Rename").click()
    name = page.get_by_role("textbox", name="Name of this chat")
    expect(name).to_be_focused()
    name.fill("Other questions")
    name.press("Enter")
    expect(page.get_by_role("heading", name="Other questions")).to_be_visible()
    for form, text, name in (
        ("as Markdown", 'title: "Other questions"', "Other questions-c1.md"),
        ("as a page", "<h1>Other questions</h1>", "Other questions-c1.html"),
        ("as JSON", '"title": "Other questions"', "Other questions-c1.json"),
        ("for OpenAI’s API", '"role": "user"', "Other questions-c1.json"),
    ):
        with page.expect_download() as download:
            page.get_by_role("button", name="This chat", exact=True).click()
            page.get_by_role("button", name=f"Export {form}", exact=True).click()
        assert text in download.value.path().read_text()
        assert download.value.suggested_filename == name

    answer = page.locator("#m-m3")
    answer.hover()
    answer.get_by_role("button", name="Branch from here").click()
    heading = page.locator("#chat-title")
    expect(heading).to_have_text("Other questions (branch)")
    expect(page.locator(".message .body")).to_have_text(SAID[:4])
    connected(page)
    from_the_menu(page, "Duplicate").click()
    expect(heading).to_have_text("Other questions (branch) (copy)")
    connected(page)
    from_the_menu(page, "Delete").click()
    expect(heading).not_to_have_text("Other questions (branch) (copy)")
    expect(page.locator("#chats .chat-title")).to_have_count(3)
    assert [m["content"] for m in read_chat(server.vault, "c1")["messages"]] == SAID


def select(page, *titles):
    """Select chats of the list; the bar that then shows."""
    listed = page.get_by_role("navigation", name="Chats")
    for title in titles:
        entry = listed.locator(".chat-entry", has_text=title)
        entry.get_by_role("button", name="Select").press("Enter")  # news may move the entry
    bar = listed.get_by_role("toolbar", name="Selected chats")
    expect(bar).to_contain_text(f"{len(titles)} selected")
    return bar


@pytest.fixture
def with_more(server):
    for name in ("two", "three"):
        write_chat(server.vault, name, about(*SAID), title=f"Chat {name}")
    return server


def test_chats_are_put_into_a_folder_together_in_every_tab(new_page, with_more):
    page, other = open_chat(new_page, with_more, "c1"), open_chat(new_page, with_more, "zh")
    bar = select(page, "Chat two", "Chat three")
    bar.get_by_role("button", name="Put into a folder").click()
    page.get_by_role("combobox", name="Folder").fill("Küche")
    page.get_by_role("button", name="Put there").click()
    folder = page.locator("#chats [data-name='Küche']")
    expect(folder.locator("summary")).to_contain_text("2")
    expect(bar).to_be_hidden()
    expect(other.locator("#chats [data-name='Küche'] summary")).to_contain_text("2")
    folder.locator("summary").click()
    expect(folder.get_by_role("link", name="Chat two")).to_be_visible()
    page.reload()
    expect(folder.get_by_role("link", name="Chat three")).to_be_visible()  # it was left open
    assert read_chat(with_more.vault, "two")["folder"] == "Küche"


def test_chats_are_kept_at_the_top_archived_and_brought_back(new_page, with_more):
    page = open_chat(new_page, with_more, "c1")
    select(page, "Chat two").get_by_role("button", name="Pin, or release").click()
    page.locator(".toast", has_text="The chat is pinned.").get_by_role("button").click()
    expect(page.locator("#chats [data-kind=pinned]")).to_have_count(0)
    select(page, "Chat two").get_by_role("button", name="Pin, or release").click()
    expect(page.locator("#chats .chat-group").first).to_have_text("Pinned")
    expect(page.locator("#chats .chat-entry").first).to_contain_text("Chat two")
    select(page, "Chat three").get_by_role("button", name="Archive").click()
    archived = page.locator("#chats [data-kind=archived]")
    expect(archived.locator("summary")).to_contain_text("Archived 1")
    expect(archived.get_by_role("link", name="Chat three")).to_be_hidden()
    page.get_by_role("button", name="Undo").click()
    expect(archived).to_have_count(0)
    bar = select(page, "Chat two", "Chat three")
    page.keyboard.press("Escape")
    expect(bar).to_be_hidden()


def test_a_text_is_found_in_messages_that_are_not_loaded(new_page, server):
    texts = [f"{'Question' if n % 2 == 0 else 'Answer'} {n}" for n in range(400)]
    texts[3], texts[390] = "The red Lighthouse", "A lighthouse again"
    write_chat(server.vault, "long", about(*texts), title="Long")
    page = open_chat(new_page, server, "long")
    page.keyboard.press("Control+f")
    field = page.get_by_role("searchbox", name="Find in this chat")
    expect(field).to_be_focused()
    field.fill("LIGHTHOUSE")
    told = page.get_by_role("search").get_by_role("status")
    expect(told).to_have_text("2 of 2")
    expect(page.get_by_text(texts[390])).to_be_in_viewport()
    field.press("Enter")
    expect(told).to_have_text("1 of 2")
    expect(page.get_by_text(texts[3])).to_be_in_viewport()
    page.wait_for_function("CSS.highlights.get('found')?.size === 2")
    field.fill("no such words")
    expect(told).to_have_text("No matches")
    field.press("Escape")
    expect(field).to_be_hidden()
    assert page.evaluate("CSS.highlights.has('found')") is False


def test_a_click_counts_though_the_answer_grows_and_ends_meanwhile(new_page, server, endpoint):
    page = open_chat(new_page, server, "c1")
    gate = threading.Event()
    endpoint.reply_with(held("Long " + "answer\n\n" * 40, gate, after=1))
    answer_again(page, 7)
    expect_version(page, 2, 2)
    expect(messages(page).last).to_contain_text("Long")
    page.get_by_role("button", name="Previous version").hover()
    page.mouse.down()
    gate.set()
    expect_answered(page)
    page.mouse.up()
    expect_version(page, 1, 2)


def test_a_message_that_changes_elsewhere_keeps_what_is_pressed_and_written(new_page, server):
    page = open_chat(new_page, server, "c1")
    edit(page, 4, "half a thought")
    pin = messages(page).nth(3).get_by_role("button", name="Pin: always send")
    pin.hover()
    page.mouse.down()
    for changed in ("m3", "m4"):
        server.ask("chat.edit", chat_id="c1", message_id=changed, text=f"{changed} has changed")
    for number in (3, 4):
        expect(messages(page).nth(number)).to_contain_text(f"m{number} has changed")
    page.mouse.up()
    expect(pin).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("textbox", name="Edit the message")).to_have_value("half a thought")
