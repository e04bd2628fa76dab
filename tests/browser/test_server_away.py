"""What the page says when it can't reach the server, or the server doesn't know the chat."""

import re
import signal
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.browser.steps import bubble, open_chat, send
from tests.serving import lasting_port
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

A_WHILE = timedelta(minutes=1)
"""What tests of a stopped clock let pass first, so that it does not lie behind."""
INK_ON_PAPER = """([button, notice]) => {
    const of = (selector) => getComputedStyle(document.querySelector(selector));
    const own = of(button).backgroundColor;
    return [of(button).color, own === "rgba(0, 0, 0, 0)" ? of(notice).backgroundColor : own];
}"""


@pytest.mark.engines
def test_one_notice_says_that_the_server_is_away_and_tries_again(new_page, configured, serve):
    folder, port = configured(), lasting_port()
    topics = [{"label": "cats", "count": 1}]
    write_chat(folder, "mixed", about("cats", "boats"), topics=topics)
    server = serve(folder, port=port)
    page = open_chat(new_page, server)
    page.clock.install()
    server.stop()
    notice = page.locator(".connection")
    expect(notice).to_contain_text("reach the server. Retrying…")
    expect(page.locator(".toast")).to_have_count(0)
    assert "turned off" not in page.locator("body").inner_text()
    page.locator(".bubble", has_text="cats").click()
    expect(page.locator(".toast")).to_contain_text("Not picked: the server can’t be reached.")
    expect(bubble(page, "cats")).not_to_be_checked()
    ink, paper = page.evaluate(INK_ON_PAPER, [".connection button", ".connection"])
    assert ink != paper
    head = page.locator(".chat-head").bounding_box()
    assert notice.bounding_box()["y"] >= head["y"] + head["height"]
    now = page.evaluate("Date.now()")
    page.clock.pause_at(datetime.fromtimestamp(now / 1000, UTC) + A_WHILE)
    serve(folder, port=port)
    notice.get_by_role("button", name="Retry now").click()
    expect(notice).to_be_hidden()


@pytest.mark.engines
def test_what_could_not_be_sent_comes_back_before_what_was_typed_since(new_page, configured, serve):
    folder = configured()
    write_chat(folder, "mixed", about("cats", "boats"))
    server = serve(folder)
    page = open_chat(new_page, server)
    server.process.send_signal(signal.SIGSTOP)
    box = page.get_by_role("textbox", name="Message")
    box.fill("What about dogs?")
    box.press("Enter")
    expect(box).to_have_value("")
    box.press_sequentially("And birds?")
    server.stop(signal.SIGKILL)
    expect(box).to_have_value("What about dogs?\n\nAnd birds?")


def test_an_unknown_chat_is_not_found_and_a_new_one_gets_its_address(new_page, configured, serve):
    server = serve(configured())
    assert server.request("GET", "/chats/unknown", headers={"Accept": "text/html"})[0] == 404
    page = open_chat(new_page, server, "../new")
    expect(page.get_by_role("textbox", name=re.compile("message", re.IGNORECASE))).to_be_visible()
    send(page, "hello")
    expect(page.locator(".message").last).to_contain_text("You said: hello")
    assert re.fullmatch(r"/chats/[0-9a-f]+", page.url.removeprefix(server.origin))
    page.reload()
    expect(page.locator(".message").last).to_contain_text("You said: hello")
