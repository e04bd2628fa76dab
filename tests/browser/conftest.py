"""A real Chromium; the tests are skipped only where none is installed."""

import os
import shutil
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser.contexts import Contexts
from tests.patience import PATIENCE_S
from tests.serving import is_free, lasting_port, serving
from tests.vaults import KEY

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
"""What Chromium is called; the first has no windows, and takes three quarters of the time."""
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), "")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"),
    *("--process-per-site", "--renderer-process-limit=1"),
    *("--default-tile-width=1300", "--default-tile-height=900"),  # a page is drawn in few tiles
]
VIEWPORT = {"width": 1280, "height": 800}
LOST = (
    *("ERR_CONNECTION", "ERR_EMPTY_RESPONSE", "ERR_CONTENT_LENGTH_MISMATCH"),
    *("ERR_INCOMPLETE_CHUNKED_ENCODING", "WebSocket connection to"),
)
"""What Chromium says of a server that has gone."""


@pytest.fixture(scope="package")
def chromium():
    # Not for the whole session: Playwright keeps an event loop running in this thread, and async
    # tests can't begin another.
    if not CHROMIUM:
        assert not os.environ.get("CI"), "CI has to have a Chromium"
        pytest.skip("no chromium on this machine: apt-get install chromium-headless-shell")
    expect.set_options(timeout=PATIENCE_S * 1000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def is_fault(message):
    """Whether what the console says is a fault of the page's own script."""
    # Chromium also reports what the page shows its user: no connection, a file that is refused.
    is_lost = any(words in message.text for words in LOST)
    is_refused = message.location["url"].endswith("/api/files")
    return message.type == "error" and not is_lost and not is_refused


@pytest.fixture(scope="package")
def free_ports():
    """Ports that servers use one after the other, for a browser keeps scripts by their address."""
    return []


@pytest.fixture
def serve(close_later, free_ports):
    """Serves vaults until the test, and every page that it opened, has ended."""
    servers = ExitStack()

    def begin(vault, **more):
        if "port" not in more:
            left = [free_ports.pop()] if free_ports else []
            # another program may have taken it since: then all later servers use a new one
            more["port"] = next(filter(is_free, left), None) or lasting_port()
            servers.callback(free_ports.append, more["port"])
        return servers.enter_context(serving(vault, **{"env": KEY, **more}))

    yield begin
    close_later(servers)


@pytest.fixture(scope="package")
def browser_contexts(chromium):
    return Contexts(chromium)


@pytest.fixture
def new_page(browser_contexts, serve):
    """Opens pages of a server, each in a context of its own; fails on any error in their scripts.

    It asks for `serve` so that the pages are gone before their servers: what a page says of a
    server that goes away under it is not what a test is about.
    """
    used, faults = [], []

    def hear(message):
        if is_fault(message):
            faults.append(message.text)

    def open_page(server, path="/", *, viewport=VIEWPORT, **options):
        context = browser_contexts.take(**options)
        used.append((context, options))
        page = context.open_page(server, viewport)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", hear)
        page.goto(server.origin + path)
        return page

    yield open_page
    for context, options in used:
        browser_contexts.give_back(context, **options)
    assert faults == []
