"""The engine of Safari, driven by WebDriver: what it does otherwise than Chromium.

It needs Debian's `webkit2gtk-driver` and `xvfb`; the tests are skipped where they are missing.
"""

import re
import shutil
import subprocess
from pathlib import Path
from warnings import catch_warnings

import pytest
from selenium.webdriver import ActionChains, WebKitGTK
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from selenium.webdriver.webkitgtk.options import Options
from selenium.webdriver.webkitgtk.service import Service

from tests.browser.test_bubbles_in_hand import FOUND
from tests.fake_openai import held
from tests.patience import PATIENCE_S
from tests.product.test_filter_over_the_wire import MIXED
from tests.vaults import about, write_chat

pytestmark = [pytest.mark.browser, pytest.mark.slow]

DRIVER, DISPLAY = (shutil.which(name) for name in ("WebKitWebDriver", "Xvfb"))
BROWSERS = sorted(Path("/usr/lib").glob("*/webkit2gtk-4*/MiniBrowser"))
LONG = "\n\n".join(f"Paragraph {n} of an answer that is as long as they are." for n in range(24))
PATHS = ["/", "/chats/mixed", "/topics", "/contexts", "/settings", "/clients", "/costs"]


class Page:
    """One window of the browser, in words like those of the other tests."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address):
        self.driver.get(address)
        self.see("html[data-wire=open]")
        return self

    def run(self, script, *given):
        return self.driver.execute_script(f"return ({script})(...arguments)", *given)

    def until(self, script, *given):
        """What a function of the page gives, once that is true."""
        waiting = WebDriverWait(self.driver, PATIENCE_S, poll_frequency=0.1)
        return waiting.until(lambda _: self.run(script, *given), f"{script} {given}")

    def see(self, selector, words=""):
        """The element that has these words, once there is one in sight."""
        return self.until(
            """(selector, words) => [...document.querySelectorAll(selector)].find((one) =>
                (one.checkVisibility() || one === document.documentElement)
                && one.textContent.includes(words))""",
            selector,
            words,
        )

    def gone(self, selector):
        self.until("(selector) => !document.querySelector(selector)?.checkVisibility()", selector)

    def at(self, element):
        """Actions with the pointer on it, once it rests."""
        self.until(
            """(element) => new Promise((done) => {
                const { x, y } = element.getBoundingClientRect();
                requestAnimationFrame(() => requestAnimationFrame(() => {
                    const now = element.getBoundingClientRect();
                    done(now.x === x && now.y === y);
                }));
            })""",
            element,
        )
        return ActionChains(self.driver, duration=50).move_to_element(element)

    def click(self, selector, words=""):
        self.at(self.see(selector, words)).click().perform()

    def drag(self, name, target, words):
        """Carry a bubble to something, read what that will do, and let go."""
        self.at(self.see(".bubble", name)).click_and_hold().perform()
        ActionChains(self.driver).move_to_element(target).perform()
        self.see(".in-hand-words", words)
        ActionChains(self.driver).release().perform()

    def write(self, text):
        self.see("#message-box").send_keys(text, Keys.ENTER)


@pytest.fixture(scope="module")
def display():
    """The number of a screen that nobody sees."""
    if not (DRIVER and DISPLAY and BROWSERS):
        pytest.skip("no WebKit on this machine: apt-get install webkit2gtk-driver xvfb")
    command = [DISPLAY, "-displayfd", "1", "-screen", "0", "1280x900x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as screen:
        yield f":{screen.stdout.readline().strip()}"
        screen.terminate()


@pytest.fixture
def webkit(display, tmp_path):
    """A browser of its own for each test: its pointer remembers what was pressed."""
    options = Options()
    options.binary_location = str(BROWSERS[-1])
    options.add_argument("--automation")
    env = {"DISPLAY": display, "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    with catch_warnings(category=DeprecationWarning, action="ignore"):  # selenium's own
        driver = WebKitGTK(options=options, service=Service(DRIVER, env=env))
    driver.set_window_size(1280, 860)
    yield driver
    driver.quit()


@pytest.fixture
def server(configured, serve):
    folder = configured()
    write_chat(folder, "mixed", MIXED, topics=FOUND, title="Cats and boats")
    write_chat(folder, "other", about("Dogs?", "They bark."), title="Of dogs")
    write_chat(folder, "long", about(*("Why?", LONG) * 12), title="Long")
    return serve(folder)


@pytest.fixture
def page(webkit, server):
    webkit.get(server.link)
    return Page(webkit).open(f"{server.origin}/chats/mixed")


def test_every_page_opens(page, server):
    for path in PATHS:
        page.driver.get(server.origin + path)
        page.see("main")
        page.until("() => document.readyState === 'complete'")
        page.gone(".toast")


def test_a_picked_topic_is_what_is_sent(page, endpoint):
    page.click(".bubble", "cats sleep")
    page.see(".topics .status", "2 of")
    page.write("And where now?")
    page.see(".message:last-of-type .body", "You said: And where now?")
    sent = " ".join(m["content"] for m in endpoint.chat_requests[0].messages)
    assert "cat" in sent
    assert "boat" not in sent


def test_the_menu_of_a_topic_is_used_with_the_mouse(page):
    page.at(page.see(".bubble", "boats sail")).context_click().perform()
    page.click("[data-topic-deed]", "Mute")
    page.see(".toast", "boats sail is never sent")


def test_where_a_bubble_is_let_go_decides_what_becomes_of_its_topic(page, server):
    page.run("() => getSelection().selectAllChildren(document.querySelector('.topics'))")
    page.drag("cats sleep", page.see(".composer-box"), "Send messages on cats sleep")
    page.see(".topics .status", "2 of")
    page.drag("cats sleep", page.see(".chat-entry", "Of dogs"), "Recall cats sleep")
    page.see(".toast", "now recalls cats sleep")
    page.drag("cats sleep", page.see(".bubble", "boats sail"), "Merge into boats sail")
    page.see(".bubble", "boats sail")
    page.until("() => document.querySelectorAll('.bubble:not([data-leaving])').length === 1")
    page.drag("boats sail", page.see("#chat-title"), "Mute boats sail")
    page.see(".toast", "boats sail is never sent")
    assert len(server.ask("smart_context.get_topics", chat_id="mixed")["hidden"]) == 4


def test_a_message_is_copied(page):
    page.at(page.see(".message .body")).perform()
    page.click(".message:first-of-type [data-action=copy]")
    page.see("[data-done=Copied]")
    page.gone(".toast")


def test_a_built_context_is_copied(page, server):
    (server.vault / "Bread.md").write_text("Bake it at 250 degrees.", encoding="utf-8")
    page.open(f"{server.origin}/contexts")
    page.click("li.row[data-key='Bread.md'] > .row-line input")
    page.click("#copy-context:enabled")
    page.see(".toast", "Copied.")


def test_a_message_is_edited_in_a_box_as_high_as_its_text(page):
    page.click(".message[data-role=user] [data-action=edit]")
    for _ in range(8):
        page.see(".edit textarea").send_keys(Keys.SHIFT, Keys.ENTER)
    page.until(
        """() => {
            const box = document.querySelector(".edit textarea");
            return box.clientHeight > 200 && box.scrollHeight <= box.clientHeight;
        }"""
    )


def test_nothing_jumps_while_one_scrolls_up_a_chat(page, server):
    page.open(f"{server.origin}/chats/long")
    page.until("() => document.querySelector('#scroll').scrollTop > 2000")
    for _ in range(12):
        moved = page.run(
            """() => new Promise((done) => {
                const scroll = document.querySelector("#scroll");
                const middle = scroll.getBoundingClientRect().top + scroll.clientHeight / 2;
                const seen = [...document.querySelectorAll(".message")].find(
                    (one) => one.getBoundingClientRect().bottom > middle);
                const before = seen.getBoundingClientRect().bottom;
                const top = scroll.scrollTop;
                scroll.dispatchEvent(new WheelEvent("wheel", { bubbles: true }));
                scroll.scrollBy(0, -400);
                const gone = top - scroll.scrollTop;
                setTimeout(() => done(seen.getBoundingClientRect().bottom - before - gone), 60);
            })"""
        )
        assert abs(moved) <= 1


def test_an_answer_goes_on_in_a_page_that_is_loaded_again(page, endpoint, gate):
    endpoint.reply_with(held("The beginning, and the end.", gate, after=2))
    page.write("Tell me")
    page.see(".message:last-of-type .body", "The")
    page.driver.refresh()
    page.see(".message:last-of-type .body", "The")
    gate.set()
    page.see(".message:last-of-type .body", "and the end.")
    page.gone("[data-generating]")


def test_who_stops_an_answer_goes_on_writing(page, endpoint, gate):
    endpoint.reply_with(held("The beginning, and the end.", gate, after=2))
    page.write("Tell me")
    page.see(".message:last-of-type .body", "The")
    page.click(".composer .stop")
    page.gone(".composer .stop")
    page.until("() => document.activeElement.id === 'message-box'")


def test_keys_lead_everywhere(page):
    page.see("#message-box").send_keys(Keys.CONTROL, "k")
    page.see("dialog[open] input").send_keys("of dogs")
    page.see("dialog[open] [role=option]", "Of dogs")
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    page.until("() => location.pathname === '/chats/other'")


def test_a_page_finds_its_server_again(page, server, serve):
    port = int(re.search(r":(\d+)", server.origin)[1])
    server.stop()
    page.see(".connection", "Can’t reach the server")
    serve(server.vault, port=port)
    page.see("html[data-wire=open]")
    page.gone(".connection")
