"""What users do on the pages, and what they see there, in the words of the tests."""

import re
from contextlib import contextmanager

from playwright.sync_api import expect

GONE = re.compile("reach the server|connection was lost")
"""Why something failed that was asked of a server that has gone: before it was sent, or after."""


def open_page(new_page, server, path, **options):
    """A page whose script is at work and connected."""
    page = connected(new_page(server, path, **options))
    page.evaluate("document.fonts.ready.then(() => {})")  # text has its final size
    return page


def connected(page):
    """Wait until a page's script is connected; `expect` would describe all of it at each look."""
    page.locator("html[data-wire=open]").wait_for(state="attached")
    return page


def open_chat(new_page, server, chat_id="mixed", **options):
    return open_page(new_page, server, f"/chats/{chat_id}", **options)


def bubble(page, name):
    """The checkbox of a topic."""
    return page.locator("bubble-cloud").get_by_role("checkbox", name=re.compile(f"^{name}, "))


def pick(page, name):
    """Click a topic's bubble once it has come to rest, and see that it is picked."""
    page.locator(".bubble:not([data-leaving])", has_text=name).click()
    expect(bubble(page, name)).to_be_checked()


def status(page):
    return page.locator(".topics .status")


def lit(page):
    """The ids of the messages that are highlighted now; wait for the status first."""
    return page.eval_on_selector_all(
        "[data-message-id].in-context", "found => found.map(e => e.dataset.messageId)"
    )


def folds(page):
    """The lines that runs of messages are folded into."""
    return page.locator("main .fold")


def unfold(page):
    """Show every message that is not sent, once they have folded."""
    expect(folds(page)).not_to_have_count(0)
    for line in folds(page).all():
        line.click()


def scroll_to_the_top(page):
    """Scroll with the wheel, which ends what the page is about to scroll to by itself."""
    page.locator("#scroll").evaluate(
        """scroll => {
            scroll.dispatchEvent(new WheelEvent("wheel", { bubbles: true }));
            scroll.scrollTo({ top: 0 });
        }"""
    )


def send(page, text):
    """Send a message once the answer before it is whole."""
    expect(page.locator(".composer .stop")).to_be_hidden()
    write(page, text)


def write(page, text):
    """Write a message and press Enter, whatever the page is doing."""
    composer = page.locator("#message-box")
    composer.fill(text)
    composer.press("Enter")


@contextmanager
def held_back(page, pattern):
    """Hold requests of a page back until the block ends.

    Each is let go by itself: what Playwright still waits for when a page closes is told later, as
    a fault of whatever test runs then.
    """
    waiting = []
    page.route(pattern, lambda route: waiting.append(route))  # noqa: PLW0108 - has to be a function
    yield
    for route in waiting:
        route.continue_()
    page.unroute(pattern)


def asked(endpoint):
    """The contents of the last request that was not for topics."""
    requests = [r for r in endpoint.chat_requests if r.body["model"] == "gpt-4o"]
    return [message["content"] for message in requests[-1].messages]
