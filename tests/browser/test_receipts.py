"""What a user foresees, steers, takes back and looks up; what is shown is what then happens."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.checker import STILL, assert_accessible
from tests.browser.frames import AT_REST
from tests.browser.steps import asked, bubble, connected, lit, open_chat, pick, send, status, unfold
from tests.product.test_filter_over_the_wire import MIXED, TOPICS
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser


@pytest.fixture
def server(configured, serve):
    folder = configured()
    write_chat(folder, "mixed", MIXED, topics=TOPICS, title="Cats and boats")
    return serve(folder)


def total(page):
    """The tokens that the bar tells of."""
    words = page.locator(".sends-total")
    expect(words).to_have_text(re.compile(r"^[\d,]+ (tokens?|of )"))
    return int(re.match(r"[\d,]+", words.inner_text()).group().replace(",", ""))


def peek(page):
    line = page.locator(".peek")
    expect(line).to_have_text(re.compile("message|no change"))
    return line.inner_text().replace("\n", " ")


def open_options(page, *names):
    for name in ("Options", *names):
        page.locator("summary", has_text=name).click()


def message(page, message_id):
    return page.locator(f"#m-{message_id}")


def test_hovering_a_bubble_tells_what_the_click_then_does(new_page, server):
    page = open_chat(new_page, server)
    before = total(page)
    page.locator(".bubble", has_text="cats sleep").hover()
    change = re.search(r"−(\d+) messages, −(\d+) tokens", peek(page))
    assert change
    going = page.locator('.message[data-would="go"]')
    expect(going).to_have_count(int(change[1]))
    ids = going.evaluate_all("found => found.map(e => e.dataset.messageId)")
    pick(page, "cats sleep")
    expect(status(page)).to_have_text(f"{6 - int(change[1])} of 6 messages in context")
    expect(page.locator(".sends-total")).to_have_text(
        re.compile(rf"^{before - int(change[2]):,} of {before:,} tokens · \d+ % less$")
    )
    assert set(lit(page)) == {m["id"] for m in MIXED} - set(ids)


def test_a_click_is_not_followed_by_the_preview_of_its_own_undo(new_page, server):
    page = open_chat(new_page, server)
    page.evaluate(
        """() => {
            globalThis.seen = [];
            const line = document.querySelector(".peek");
            new MutationObserver(() => seen.push(line.textContent)).observe(
                line, { childList: true, subtree: true });
        }"""
    )
    pick(page, "cats sleep")
    expect(page.locator(".sends-total")).to_contain_text("less")
    asked_again = page.evaluate("new Promise((done) => setTimeout(() => done(seen), 400))")
    assert not [words for words in asked_again if words.startswith("Without")]
    expect(page.locator("[data-would]")).to_have_count(0)
    page.mouse.move(5, 5)
    page.locator(".bubble", has_text="cats sleep").hover()
    assert peek(page).startswith("Without cats sleep:")


def test_hovering_or_pressing_long_shows_what_a_topic_is_about(new_page, server):
    page = open_chat(new_page, server)
    card = page.get_by_role("tooltip")
    page.locator(".bubble", has_text="cats sleep").hover()
    expect(card).to_contain_text("2 messages")
    expect(card.locator("li")).to_have_count(2)
    expect(card).to_contain_text("cats sleep all day")
    expect(bubble(page, "cats sleep")).to_have_accessible_description(re.compile("tokens"))
    page.mouse.move(5, 5)
    expect(card).to_be_hidden()

    touch = open_chat(new_page, server, viewport={"width": 360, "height": 740}, has_touch=True)
    touch.locator("[data-toggle=side]").click()
    pressed = touch.locator(".bubble", has_text="cats sleep")
    # It has no place before, and a page that is drawn late seems to be at rest.
    expect(pressed).to_have_attribute("style", re.compile("--x"))
    touch.evaluate(AT_REST)
    at = pressed.bounding_box()
    at = {"x": at["x"] + at["width"] / 2, "y": at["y"] + at["height"] / 2}
    session = touch.context.new_cdp_session(touch)
    session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [at]})
    expect(touch.get_by_role("tooltip")).to_be_visible()
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(bubble(touch, "cats sleep")).not_to_be_checked()


def test_nothing_shifts_while_the_page_loads(new_page, server):
    page = open_chat(new_page, server)
    server.ask("smart_context.set_filter", chat_id="mixed", topics=["cats sleep"])
    page.add_init_script(
        """globalThis.shifts = [];
        new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) if (!entry.hadRecentInput) shifts.push(
                [entry.value, entry.sources.map((s) => s.node?.className ?? "")]);
        }).observe({ type: "layout-shift", buffered: true });"""
    )
    page.reload()
    expect(page.locator(".sends-total")).to_contain_text("less")
    expect(page.locator(".sends-window")).to_contain_text("128,000")
    page.locator(".panel-options").evaluate(AT_REST)
    shifts = page.evaluate("shifts")
    assert "panel-options-row" not in [name for _, names in shifts for name in names]
    assert sum(value for value, _ in shifts) <= 0.01, shifts


def test_what_a_click_would_change_does_not_widen_the_panel(new_page, server):
    page = open_chat(new_page, server)
    open_options(page, "Edit topics")
    long = "Everything that anybody ever asked about it"
    page.get_by_role("textbox", name="Your own topic").fill(long)
    page.get_by_role("button", name="Add", exact=True).click()
    expect(bubble(page, long)).to_be_visible()
    page.locator(".bubble", has_text=long).hover()
    assert "Everything" in peek(page)
    assert page.locator(".topics").evaluate("e => e.scrollWidth <= e.parentElement.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_focus_tells_the_same_as_hovering_and_leaving_ends_it(new_page, server):
    page = open_chat(new_page, server)
    bubble(page, "boats sail").focus()
    assert peek(page).startswith("boats sail:")
    bubble(page, "boats sail").evaluate("box => box.blur()")
    expect(page.locator(".peek")).to_have_text("")
    expect(page.locator("[data-would]")).to_have_count(0)


def test_the_bar_follows_what_is_typed_and_shows_the_exact_text(new_page, server, endpoint):
    (server.vault / "Cats.md").write_text("Cats purr.", encoding="utf-8")
    page = open_chat(new_page, server)
    before = total(page)
    page.get_by_role("textbox", name="Message").fill("and kittens, " * 20)
    expect(page.locator(".sends-parts")).to_contain_text("This message")
    assert total(page) > before
    assert page.locator(".sends-bar").get_attribute("aria-label").startswith(f"{total(page):,}")
    page.get_by_role("button", name="Show the exact text").click()
    dialog = page.get_by_role("dialog", name="The exact text")
    expect(dialog).to_be_visible()
    shown = dialog.locator("[data-role] pre").all_inner_texts()
    tools, others = map(json.loads, dialog.locator("[data-field] pre").all_inner_texts())
    dialog.get_by_role("button", name="Close").click()
    page.get_by_role("textbox", name="Message").press("Enter")
    expect(page.locator(".message").last).to_contain_text("You said")
    assert asked(endpoint) == shown
    sent = [r.body for r in endpoint.chat_requests if r.body["model"] == "gpt-4o"][-1]
    assert {**others, "messages": sent["messages"], "tools": tools} == sent


def test_the_tools_have_a_line_with_a_switch(new_page, server, endpoint):
    (server.vault / "Cats.md").write_text("Cats purr.", encoding="utf-8")
    page = open_chat(new_page, server)
    box = page.get_by_role("checkbox", name="The model may look into notes")
    expect(box).to_be_checked()
    before = total(page)
    box.focus()
    page.keyboard.press("Space")
    expect(page.locator(".sends-parts [data-part=tools]")).to_have_text(
        re.compile(r"look into notes\s*0")
    )
    expect(box).not_to_be_checked()
    expect(box).to_be_focused()
    assert total(page) < before - 300
    page.get_by_role("button", name="Show the exact text").click()
    dialog = page.get_by_role("dialog", name="The exact text")
    expect(dialog.locator("[data-field=others]")).to_be_visible()
    expect(dialog.locator("[data-field=tools]")).to_have_count(0)
    dialog.get_by_role("button", name="Close").click()
    page.get_by_role("textbox", name="Message").fill("And kittens?")
    page.get_by_role("textbox", name="Message").press("Enter")
    expect(page.locator(".message").last).to_contain_text("You said")
    assert (
        "tools" not in [r.body for r in endpoint.chat_requests if r.body["model"] == "gpt-4o"][-1]
    )


def test_an_exact_text_that_is_too_long_to_show_says_so(new_page, server):
    write_chat(server.vault, "long", about("The beginning.", "x" * 200_000))
    page = open_chat(new_page, server, "long")
    page.get_by_role("textbox", name="Message").fill("And then?")
    page.get_by_role("button", name="Show the exact text").click()
    notes = page.get_by_role("dialog", name="The exact text").locator(".exact-messages > p")
    expect(notes.first).to_have_text("Only the beginning is shown; Copy includes everything.")
    expect(notes.last).to_have_text("1 more message; Copy includes everything.")


def test_each_message_says_why_it_is_in_or_out(new_page, server):
    page = open_chat(new_page, server)
    pick(page, "cats sleep")
    expect(message(page, "m0")).to_have_attribute("data-mark", "in")
    unfold(page)
    expect(message(page, "m2")).to_have_attribute("data-mark", "out")
    why = message(page, "m2").locator(".why")
    expect(why).to_have_text(
        re.compile(r"^Not sent – not close enough to cats sleep · \d+ tokens$")
    )
    expect(message(page, "m0").locator(".why")).to_have_text(
        re.compile(r"^Sent – about cats sleep · \d+ tokens$")
    )
    expect(message(page, "m4").locator(".why")).to_contain_text("Sent – your instruction")
    expect(why).to_have_css("opacity", "0")
    message(page, "m2").hover()
    expect(why).to_have_css("opacity", "1")
    toolbar = message(page, "m2").get_by_role("toolbar")
    expect(toolbar).to_have_accessible_description(re.compile("^Not sent"))


def test_on_a_narrow_screen_the_reason_covers_no_words(new_page, server):
    page = open_chat(new_page, server, viewport={"width": 360, "height": 740})
    expect(message(page, "m0")).to_have_attribute("data-mark", "in")
    message(page, "m0").hover()
    why = message(page, "m0").locator(".why")
    expect(why).to_have_css("opacity", "1")
    words = message(page, "m0").locator(".body").bounding_box()
    assert why.bounding_box()["y"] >= words["y"] + words["height"]


def test_pin_and_hide_by_key_and_range_and_back_again(new_page, server):
    page = open_chat(new_page, server)
    pick(page, "cats sleep")
    expect(status(page)).to_have_text("3 of 6 messages in context")
    unfold(page)
    message(page, "m2").get_by_role("button", name="Copy").focus()
    page.keyboard.press("p")
    expect(status(page)).to_have_text("4 of 6 messages in context")
    expect(message(page, "m2")).to_have_attribute("data-mark", "pinned")
    message(page, "m3").hover()
    message(page, "m3").get_by_role("button", name="Hide").click()
    expect(message(page, "m3").locator(".why")).to_contain_text("Not sent – hidden")
    message(page, "m5").hover()
    message(page, "m5").get_by_role("button", name="Hide").click(modifiers=["Shift"])
    expect(status(page)).to_have_text("3 of 6 messages in context")
    assert lit(page) == ["m0", "m1", "m2"]

    undo = page.get_by_role("button", name=re.compile("^Undo: "))
    for ids in (["m0", "m1", "m2", "m4"], ["m0", "m1", "m2", "m4"], ["m0", "m1", "m4"]):
        undo.click()
        expect(status(page)).to_have_text(f"{len(ids)} of 6 messages in context")
        assert lit(page) == ids
    page.locator(".scroll").focus()
    page.keyboard.press("Control+z")
    expect(status(page)).to_have_text("All messages in context")
    expect(undo).to_be_hidden()


def test_a_strictness_tells_what_it_changes_and_is_taken_with_a_click(new_page, server):
    server.ask("smart_context.set_threshold", chat_id="mixed", threshold=0.7)
    page = open_chat(new_page, server)
    strictness = page.get_by_role("group", name="Match strictness")
    expect(strictness).to_be_hidden()
    everything = total(page)
    pick(page, "cats sleep")
    expect(page.locator(".sends-total")).to_contain_text(f" of {everything:,} tokens")
    open_options(page)
    wide, as_set = (strictness.get_by_role("radio", name=name) for name in ("Wide", "As set"))
    expect(as_set).to_be_checked()  # none of the three
    before = total(page)
    wide.hover()
    change = re.search(r"Wide: \+(\d+) messages?, \+(\d+) tokens", peek(page))
    assert change
    expect(page.locator('.message[data-would="come"]')).to_have_count(int(change[1]))
    expect(status(page)).to_have_text("2 of 6 messages in context")
    wide.check()
    expect(status(page)).to_have_text(f"{2 + int(change[1])} of 6 messages in context")
    expect(page.locator(".sends-total")).to_have_text(
        re.compile(rf"^{before + int(change[2]):,} (of|tokens)")
    )
    page.reload()
    connected(page)
    open_options(page)
    expect(wide).to_be_checked()
    expect(as_set).to_be_hidden()
    assert_accessible(page)
    page.get_by_role("button", name="Reset the strictness").click()
    expect(status(page)).to_have_text("3 of 6 messages in context")
    expect(as_set).to_be_checked()


def test_topics_are_added_renamed_merged_and_deleted_by_hand(new_page, server):
    page = open_chat(new_page, server)
    open_options(page, "Edit topics")
    page.get_by_role("textbox", name="Your own topic").fill("brief")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(bubble(page, "brief")).not_to_be_checked()
    expect(status(page)).to_have_text("All messages in context")
    name = page.get_by_role("textbox", name="Name of the topic cats sleep")
    name.fill("Felines")
    name.press("Enter")
    expect(bubble(page, "Felines")).to_be_visible()
    name = page.get_by_role("textbox", name="Name of the topic boats sail")
    name.fill("Felines")
    name.press("Enter")
    expect(bubble(page, "boats sail")).to_have_count(0)
    expect(page.locator(".toast")).to_contain_text("boats sail merged into Felines.")
    expect(page.locator(".edit-topic")).to_have_count(2)
    page.get_by_role("button", name="Delete the topic Felines").click()
    expect(bubble(page, "Felines")).to_have_count(0)
    # its undo would take back what came after the merge
    expect(page.locator(".toast", has_text="merged into")).to_have_count(0)
    page.get_by_role("button", name=re.compile("^Undo: ")).click()
    expect(bubble(page, "Felines")).to_be_visible()
    page.reload()
    expect(bubble(page, "brief")).to_be_visible()


def ask_twice(server):
    """Two turns of the chat, the second with a filter; gives the second's answer."""
    server.ask("chat.send", chat_id="mixed", message="first question")
    server.ask("smart_context.set_filter", chat_id="mixed", topics=["cats sleep"])
    return server.ask("chat.send", chat_id="mixed", message="second question")["message_ids"][1]


def test_an_answer_leads_to_its_receipt_and_back(new_page, server):
    answer_id = ask_twice(server)
    server.ask("smart_context.set_filter", chat_id="mixed", topics=[])
    page = open_chat(new_page, server)
    answer = message(page, answer_id)
    answer.hover()
    answer.get_by_role("link", name="Receipt").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("second question")
    page.get_by_role("link", name="Back to the answer").click()
    assert page.url.endswith(f"#m-{answer_id}")
    expect(answer).to_be_in_viewport()
    expect(message(page, "m1").locator("a[data-receipt]")).to_be_hidden()
    page.get_by_role("tab", name="Receipts").click()
    entries = page.locator(".receipt-entry")
    expect(entries).to_have_count(2)
    expect(entries.first).to_contain_text("second question")
    expect(entries.first).to_contain_text("3 of 8 messages")
    entries.first.click()
    expect(page.get_by_role("heading", name="Sent: 3 messages")).to_be_visible()


def test_a_receipt_groups_messages_by_topic_and_shows_the_chat_over_time(new_page, server):
    page = new_page(server, f"/chats/mixed/turns/{ask_twice(server)}")
    assert page.evaluate("scrollY") == 0, "the page begins with what the receipt is of"
    columns = page.locator(".over-time svg a")
    expect(columns).to_have_count(2)
    expect(columns.last).to_have_attribute("aria-current", "page")
    expect(columns.last).to_have_accessible_name(
        re.compile(r"second question: \d+ tokens sent, \d+ not sent")
    )
    cats = page.locator(".turn-sent .turn-topic", has_text="cats sleep")
    expect(cats.locator("h3")).to_contain_text("2 messages")
    expect(cats.locator(".turn-reason").first).to_have_text("")
    scores = cats.get_by_role(
        "img", name=re.compile(r"^\w+ 0\.\d\d, (kept from|threshold) 0\.\d\d$")
    )
    expect(scores.first).to_be_visible()
    assert float(cats.locator(".score-value").first.get_attribute("width")) >= 50
    page.locator("summary", has_text="Not sent: 5 messages").click()
    weak = page.locator(".turn-left-out .turn-topic", has_text="boats sail")
    expect(weak.locator(".turn-reason").first).to_have_text("not close enough to cats sleep")
    hues = [one.get_attribute("data-hue") for one in (cats, weak)]
    assert hues[0] != hues[1]
    page.get_by_label("Price of a million").fill("1000")
    expect(page.locator(".price output")).to_have_text(re.compile(r"^\$\d.* instead of \$\d"))
    page.emulate_media(media="print")
    expect(page.locator(".turn-tools")).to_be_hidden()
    expect(page.locator(".over-time svg")).to_be_visible()


def test_a_turn_is_compared_and_replayed_beside_its_receipt(new_page, server, endpoint):
    page = new_page(server, f"/chats/mixed/turns/{ask_twice(server)}")
    requests = len(endpoint.chat_requests)
    page.locator("summary", has_text="Not sent").click()
    page.get_by_label("With the turn").select_option(index=1)
    expect(page.locator(".turn-changes")).to_contain_text("Topics: None → cats sleep")
    expect(page.locator(".turn-difference")).to_contain_text("0 added, 3 removed")
    pick(page, "boats sail")
    expect(page.locator(".turn-note")).to_contain_text("Nothing was sent or stored")
    expect(page.locator(".turn-sent")).to_contain_text("boats sail in the wind")
    expect(page.locator(".turn-left-out")).to_have_attribute("open", "")
    expect(bubble(page, "cats sleep")).to_be_checked()
    strictness = page.get_by_role("group", name="Match strictness")
    expect(strictness).not_to_contain_text(re.compile(r"\d"))
    expect(strictness.get_by_role("radio", name="As set")).to_be_checked()  # none of the three
    strictness.get_by_role("radio", name="Wide").check()
    expect(page.locator(".turn-changes")).to_contain_text("Match strictness: 0.5 → Wide")
    page.reload()
    expect(page.locator(".turn-changes")).to_contain_text("Match strictness: 0.5 → Wide")
    expect(strictness.get_by_role("radio", name="Wide")).to_be_checked()
    assert len([r for r in endpoint.chat_requests[requests:] if r.body["model"] == "gpt-4o"]) == 0
    kept = (server.vault / ".memory" / "mixed.receipts.jsonl").read_text(encoding="utf-8")
    assert [json.loads(line)["outcome"] for line in kept.splitlines()] == ["finished"] * 2


SCROLL_AS_READER = """message => {
    message.closest("#scroll").dispatchEvent(new Event("wheel"));
    message.scrollIntoView();
}"""
"""Nothing scrolls back then."""


@pytest.mark.parametrize("width", [1280, 360])
def test_what_is_opened_on_the_way_has_no_fault_that_a_program_finds(
    new_page,
    server,
    width,
):
    def check(page):
        assert_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    first = server.ask("chat.send", chat_id="mixed", message="first question")
    server.ask("smart_context.set_filter", chat_id="mixed", topics=["cats sleep"])
    server.ask("smart_context.pin", chat_id="mixed", message_ids=["m3"])
    server.ask("chat.send", chat_id="mixed", message="hidden \u200b second")
    page = open_chat(
        new_page,
        server,
        **STILL,
        viewport={"width": width, "height": 800},
    )
    unfold(page)
    page.locator(".message").last.evaluate(SCROLL_AS_READER)
    expect(page.locator(".why").last).to_have_text(re.compile("^(Sent|Not sent)"))
    if width < 1000:
        page.get_by_role("button", name="Smart Context panel").click()
    open_options(page, "Edit topics")
    page.get_by_role("radio", name="Wide").focus()
    page.keyboard.press("ArrowLeft")
    check(page)
    page.get_by_role("button", name="Show the exact text").click()
    check(page)
    page.get_by_role("button", name="Close", exact=True).click()
    page.get_by_role("tab", name="Receipts").click()
    expect(page.locator(".receipt-entry")).to_have_count(2)
    check(page)
    turns = f"{server.origin}/chats/mixed/turns/{first['message_ids'][1]}"
    newest = server.ask("smart_context.receipt", chat_id="mixed")["turn"]
    for query in (f"?diff={newest}", "?replay=1&topics=boats+sail"):
        page.goto(turns + query)
        for summary in page.locator("summary:not(dialog *)").all():
            summary.click()
        check(page)


def test_an_answer_shows_what_it_knew_and_lights_it_up_on_the_map(new_page, server):
    page = open_chat(new_page, server, **STILL)
    pick(page, "cats sleep")
    send(page, "How long do cats sleep?")
    strip = page.locator(".message").last.locator(".knew")
    expect(strip).to_have_attribute(
        "title", re.compile(r"It was sent [2-5] messages of 6 · cats sleep")
    )
    expect(strip.locator("i[data-hue]")).to_have_count(1)
    expect(page.locator(".message").last.locator(".took")).to_have_text(
        re.compile(r"^gpt-4o · [\d.]+ s")
    )
    strip.hover()
    expect(page.locator("#map rect[data-lit]").first).to_be_attached()
    page.mouse.move(0, 0)
    expect(page.locator("#map rect[data-lit]")).to_have_count(0)
