"""How a page loads: few requests, and nothing that moves after it is seen."""

from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.steps import connected, folds, open_chat, status
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

MOST_REQUESTS = 20
MOST_SHIFT = 0.01
SHIFTS = """new Promise((done) => {
    const seen = new PerformanceObserver(() => {});
    seen.observe({ type: "layout-shift", buffered: true });
    const shifts = seen.takeRecords().filter((shift) => !shift.hadRecentInput);
    done(shifts.reduce((sum, shift) => sum + shift.value, 0));
})"""

TRANSFERRED = """Object.fromEntries(performance.getEntriesByType("resource")
    .filter(({ name }) => /\\.(css|js|woff2)\\b/.test(name))
    .map(({ name, transferSize }) => [name, transferSize]))"""
MARK_ALL_READ = """new MutationObserver((_, observer) => {
    if (!document.getElementById("announcer")) return;
    performance.mark("all read");
    observer.disconnect();
}).observe(document, { subtree: true, childList: true });"""
READ_AND_DRAWN = """["all read", "first-contentful-paint"].map(
    (name) => performance.getEntriesByName(name)[0]?.startTime
)"""
ROW_SIZES = """() => {
    const row = document.querySelector(".chat-entry");
    return [getComputedStyle(row).containIntrinsicHeight, row.getBoundingClientRect().height];
}"""
A_WHILE = timedelta(hours=1)


@pytest.fixture
def server(configured, serve):
    folder = configured()
    texts = [f"{('cats sleep', 'boats sail')[n % 5 == 0]} number{n}" for n in range(60)]
    topics = [{"label": "cats sleep", "count": 48}, {"label": "boats sail", "count": 12}]
    write_chat(folder, "mixed", about(*texts), topics=topics, title="Cats and boats")
    return serve(folder)


def test_a_reload_takes_few_requests_and_moves_nothing(new_page, server):
    server.ask("smart_context.set_filter", chat_id="mixed", topics=["boats sail"])
    page = open_chat(new_page, server)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    connected(page)
    expect(status(page)).to_contain_text("12 of 60")
    expect(folds(page).first).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert len(asked) <= MOST_REQUESTS, asked
    assert page.evaluate(SHIFTS) <= MOST_SHIFT


def test_a_slow_browser_draws_a_page_only_once_all_of_it_is_there(new_page, server):
    page = open_chat(new_page, server)
    cdp = page.context.new_cdp_session(page)
    cdp.send("Emulation.setCPUThrottlingRate", {"rate": 4})
    page.add_init_script(MARK_ALL_READ)
    page.reload()
    connected(page)
    page.wait_for_function(f"({READ_AND_DRAWN}).every((time) => time > 0)")
    read, drawn = page.evaluate(READ_AND_DRAWN)
    assert read < drawn
    assert page.locator("html").get_attribute("data-arriving") is None


def test_a_row_of_the_list_of_chats_is_as_high_as_it_was_expected_to_be(new_page, server):
    page = open_chat(new_page, server)
    expected, height = page.evaluate(ROW_SIZES)
    assert expected == f"auto {height:g}px"


def test_a_filtered_page_is_shown_before_its_script_starts(new_page, server):
    server.ask("smart_context.set_filter", chat_id="mixed", topics=["boats sail"])
    page = open_chat(new_page, server)
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + A_WHILE)  # no frames, no timers
    for _ in range(5):  # a busy server may draw a page without the filter, which the script mends
        page.reload()
        if folds(page).count():
            break
    expect(page.locator("main").get_by_text("boats sail number55")).to_be_visible()
    assert page.evaluate("document.readyState") == "complete"
    lines = folds(page).all_inner_texts()
    assert lines == ["4 messages not sent · Show"] * 12
    buttons = page.locator("#scroll [data-action=copy]")
    assert buttons.count() == 0
    page.clock.resume()
    expect(buttons).not_to_have_count(0)
    assert folds(page).all_inner_texts() == lines
    folds(page).last.click()
    expect(page.locator("main").get_by_text("cats sleep number59")).to_be_visible()


def test_a_second_load_takes_styles_and_scripts_from_what_the_browser_kept(new_page, server):
    page = open_chat(new_page, server)
    page.wait_for_load_state("networkidle")
    page.reload()
    connected(page)
    page.wait_for_load_state("networkidle")
    sizes = page.evaluate(TRANSFERRED)
    files = {urlsplit(address).path.rpartition("/")[2] for address in sizes}
    scripts = {"early.js", "enter.js", "bubble-cloud-define.js", "chat-page.js"}
    assert files == {"pages.css", "inter-latin.woff2", *scripts}
    assert not any(sizes.values()), sizes


def test_what_is_done_before_the_script_is_there_is_done_once_it_is(new_page, server):
    page = open_chat(new_page, server)
    held = []

    def hold(route):
        held.append(route)

    page.route("**/static/joined/chat-page.js*", hold)
    page.reload(wait_until="commit")
    expect(page.locator("main").get_by_text("cats sleep number59")).to_be_in_viewport()
    expect(page.locator(".bubble", has_text="cats sleep")).to_be_visible()
    theme = page.get_by_role("button", name="Light or dark")
    theme.click()
    page.get_by_role("button", name="List of chats").click()
    page.get_by_role("switch", name="Filter by similarity").click()
    box = page.get_by_role("textbox", name="Message", exact=True)
    box.press_sequentially("early words")
    page.get_by_role("button", name="Send").click()
    box.press("Enter")
    page.evaluate(
        "document.addEventListener('click', (event) => (window.clicks ??= []).push(event.target))"
    )
    assert page.locator("html").get_attribute("data-theme") is None
    expect(box).to_have_value("early words")
    held[0].continue_()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("html")).to_have_attribute("data-chats", "closed")
    expect(page.get_by_role("switch", name="Filter by similarity")).not_to_be_checked()
    expect(page.locator(".message[data-role=assistant]").last).to_contain_text("early words")
    expect(page.locator(".message[data-role=user]", has_text="early words")).to_have_count(1)
    assert page.evaluate("window.clicks.length") == 3
    assert page.evaluate(SHIFTS) <= MOST_SHIFT
