"""A chat is compacted, cleared and put back on the page, and so is what is sent of it."""

import json
import re
import threading

import pytest
from playwright.sync_api import expect

from tests.browser.steps import asked, open_chat, send, status, write
from tests.fake_openai import held
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

# Nothing that its topics' finding would take for a preference, which is sent whatever else is not.
SAID = [
    "Cats love boats, above all the grey one that sleeps on the deck of ours",
    "So they do, and grey ones are said to be the calmest of all on the water",
    "And boats? Ours has two masts and is older than everyone who sails it",
    "Those too, as long as somebody else paints the hull in the spring",
]
NOTES = json.dumps({"overview": "About cats and boats.", "decisions": ["Sail on Sunday."]})


@pytest.fixture
def server(configured, endpoint, serve):
    folder = configured()
    write_chat(folder, "c1", about(*SAID), title="Cats and boats")
    return serve(folder)


def from_menu(page, name):
    page.get_by_role("button", name="This chat", exact=True).click()
    page.get_by_role("button", name=re.compile(f"^{name}")).click()


def card(page, title):
    return page.locator(".summary-card", has_text=title)


def undo(page):
    return page.get_by_role("button", name=re.compile("^Undo “"))


def compacted(page, count):
    """The ids of the messages that a summary stands for, once there are so many."""
    expect(page.locator("[data-compacted]")).to_have_count(count)
    return page.eval_on_selector_all(
        "[data-compacted]", "found => found.map(e => e.dataset.messageId)"
    )


def ask(page, text):
    send(page, text)
    expect(page.locator(".message").last).to_contain_text(f"You said: {text}")
    # Its text is there before its turn is over.
    expect(page.locator(".composer .stop")).to_be_hidden()


def test_a_chat_is_compacted_goes_on_and_is_put_back_in_both_tabs(new_page, server, endpoint):
    page, other = open_chat(new_page, server, "c1"), open_chat(new_page, server, "c1")
    gate = threading.Event()
    endpoint.reply_with(held(NOTES, gate))
    send(page, "/compact")
    expect(page.get_by_role("status").filter(has_text="Summing up the chat…")).to_be_visible()
    gate.set()
    for tab in (page, other):
        expect(card(tab, "Summary of 4 messages")).to_contain_text("written by gpt-4o-mini")
        expect(undo(tab)).to_be_visible()
        assert compacted(tab, 4) == ["m0", "m1", "m2", "m3"]
    expect(page.get_by_text("Summing up the chat…")).to_have_count(0)
    expect(page.locator("#m-m1 .marks")).to_have_text("summed up")
    expect(page.get_by_text("Sail on Sunday.")).to_be_hidden()
    card(page, "Summary of 4").locator("summary").press("Enter")
    expect(page.get_by_text("Sail on Sunday.")).to_be_visible()

    ask(page, "Where were we?")
    summary, question = asked(endpoint)
    assert "### Decisions\n\n- Sail on Sunday." in summary
    assert question == "Where were we?"

    page.reload()
    expect(card(page, "Summary of 4 messages")).to_be_visible()
    assert compacted(page, 4) == ["m0", "m1", "m2", "m3"]
    undo(other).click()
    for tab in (page, other):
        expect(tab.locator(".summary-card")).to_have_count(0)
        expect(tab.locator("[data-compacted]")).to_have_count(0)
        expect(tab.locator("#m-m1.left-out")).to_have_count(0)
    ask(other, "And now?")
    assert asked(endpoint)[:4] == SAID
    assert not any("Sail on Sunday" in text for text in asked(endpoint))


def test_compacting_says_what_the_next_message_sends_before_and_after(new_page, server, endpoint):
    page = open_chat(new_page, server, "c1")
    bar, tokens = page.locator(".sends-total"), re.compile(r"^(\d+) tokens$")
    expect(bar).to_have_text(tokens)
    before = bar.inner_text().removesuffix(" tokens")
    endpoint.reply_with(NOTES)
    send(page, "/compact")
    told = page.locator("#announcer")
    expect(told).to_have_text(
        re.compile(rf"^A summary of 4 messages is sent in their place: {before} → \d+ tokens\.$")
    )
    after = re.search(r"→ (\d+)", told.inner_text())[1]
    expect(bar).to_have_text(f"{after} tokens")
    assert int(after) < int(before)


def test_the_context_is_cleared_and_only_the_newest_summary_is_undone(new_page, server, endpoint):
    page = open_chat(new_page, server, "c1")
    endpoint.reply_with(NOTES)
    from_menu(page, "Sum up this chat")
    expect(card(page, "Summary of 4 messages")).to_be_visible()
    ask(page, "More?")
    from_menu(page, "Clear context here")
    expect(card(page, "Context cleared here")).to_be_visible()
    expect(undo(page)).to_have_count(1)
    expect(undo(page)).to_have_accessible_name("Undo “Context cleared here”")
    ask(page, "Who am I?")
    cleared, question = asked(endpoint)
    assert "no longer part of the context" in cleared
    assert question == "Who am I?"

    undo(page).click()
    expect(undo(page)).to_have_accessible_name("Undo “Summary of 4 messages”")
    ask(page, "And now?")
    sent = asked(endpoint)
    assert "Sail on Sunday" in sent[0]
    assert sent[1:4] == ["More?", "You said: More?", "Who am I?"]


def test_what_stands_against_it_is_said_and_nothing_is_lost(new_page, server, endpoint):
    page = open_chat(new_page, server, "c1")
    gate = threading.Event()
    endpoint.reply_with(held("At last.", gate))
    send(page, "Slowly, please")
    expect(page.locator(".message[data-generating]")).to_have_count(1)
    write(page, "/compact")
    expect(page.get_by_role("alert").filter(has_text="still being answered")).to_be_visible()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("/compact")
    from_menu(page, "Clear context here")
    expect(page.locator(".toast")).to_contain_text("still being answered")
    gate.set()
    expect(page.locator(".message").last).to_contain_text("At last.")
    send(page, "/clear")
    expect(card(page, "Context cleared here")).to_be_visible()
    send(page, "/clear")
    expect(page.get_by_role("alert").filter(has_text="Nothing was said")).to_be_visible()


def test_a_summary_that_would_be_longer_is_not_made_and_a_summary_can_be_cleared(
    new_page, server, endpoint
):
    write_chat(server.vault, "short", about("Cats?", "Yes."))
    page = open_chat(new_page, server, "short")
    endpoint.reply_with(NOTES)
    send(page, "/compact")
    expect(page.get_by_role("alert").filter(has_text="Nothing to gain")).to_be_visible()
    expect(page.locator(".summary-card")).to_have_count(0)
    ask(page, "Still there?")
    assert asked(endpoint)[:2] == ["Cats?", "Yes."]

    page = open_chat(new_page, server, "c1")
    endpoint.reply_with(NOTES)
    from_menu(page, "Sum up this chat")
    expect(card(page, "Summary of 4 messages")).to_be_visible()
    send(page, "/clear")
    expect(card(page, "Context cleared here")).to_be_visible()
    expect(page.get_by_text("the summary above is no longer sent")).to_be_attached()
    ask(page, "Who am I?")
    assert not any("Sail on Sunday" in text for text in asked(endpoint))
    undo(page).click()
    expect(undo(page)).to_have_accessible_name("Undo “Summary of 4 messages”")
    ask(page, "And now?")
    assert "Sail on Sunday" in asked(endpoint)[0]
    undo(page).click()
    expect(page.locator(".summary-card")).to_have_count(0)
    ask(page, "And then?")
    assert asked(endpoint)[:4] == SAID


def test_what_a_summary_stands_for_is_no_filter_and_a_pin_outlives_it(new_page, server):
    server.ask("smart_context.pin", chat_id="c1", message_ids=["m1"])
    server.ask("chat.clear_context", chat_id="c1")
    page = open_chat(new_page, server, "c1")
    expect(page.locator("#m-m1 .marks")).to_have_text("pinned")
    expect(card(page, "Context cleared here")).to_contain_text("1 of them still sent")
    expect(page.locator("#m-m0 .marks")).to_have_text("summed up")
    expect(page.locator("#m-m1")).not_to_have_class(re.compile("left-out"))
    expect(page.locator("#m-m0")).to_have_class(re.compile("left-out"))
    expect(status(page)).to_have_text("2 of 5 messages in context · 3 before the clearing")
    expect(page.locator("main")).not_to_have_attribute("data-filtered", "")


def test_without_the_plugin_files_and_summaries_work_all_the_same(
    new_page, configured, serve, endpoint
):
    folder = configured(enabled="false")
    write_chat(folder, "c1", about(*SAID))
    page = open_chat(new_page, serve(folder), "c1")
    note = {"name": "a.txt", "mimeType": "text/plain", "buffer": b"Ahoy."}
    page.locator(".file-input").set_input_files(note)
    expect(page.locator(".attaching-chip")).to_have_attribute("data-state", "ready")
    ask(page, "What does it say?")
    assert "Ahoy." in asked(endpoint)[-1]
    send(page, "/clear")
    expect(card(page, "Context cleared here")).to_be_visible()
    expect(page.locator("#m-m0")).to_have_class(re.compile("left-out"))
    undo(page).click()
    expect(page.locator("#m-m0")).not_to_have_class(re.compile("left-out"))
