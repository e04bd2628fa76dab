"""A real Chromium; the tests are skipped only where none is installed."""

import json
import os
import shutil
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.patience import PATIENCE_S
from tests.serving import Browser, serving
from tests.vaults import KEY

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"]
KEY_NAME = "smart_context.key"
"""Where pages keep their key, as in `static/key.js`."""
LOST = ("ERR_CONNECTION", "WebSocket connection to")
"""What Chromium says of a server that has gone."""


@pytest.fixture(scope="package")
def chromium():
    # Not for the whole session: Playwright keeps an event loop running in this thread, and async
    # tests can't begin another.
    if not CHROMIUM:
        assert not os.environ.get("CI"), "CI has to have a Chromium"
        pytest.skip("no chromium on this machine: apt-get install chromium")
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


def let_in(context, server):
    """Give a browser's context what the server's start link gives, which works once for each."""
    if server.browser is None:
        server.browser = Browser(server.link)
    name, _, value = server.browser.cookie.partition("=")
    strict = {"httpOnly": True, "sameSite": "Strict"}
    context.add_cookies([{"name": name, "value": value, "url": server.origin, **strict}])
    # Storage that Playwright prepares would cost each context a page of its own.
    held = json.dumps([server.origin, KEY_NAME, server.browser.key])
    store = "([own, name, key]) => location.origin === own && localStorage.setItem(name, key)"
    context.add_init_script(f"({store})({held})")


@pytest.fixture
def serve():
    """Serves vaults until the test, and every page that it opened, has ended."""
    with ExitStack() as servers:
        yield lambda vault, **more: servers.enter_context(serving(vault, env=KEY, **more))


@pytest.fixture
def new_page(chromium, serve):
    """Opens pages of a server, each in a context of its own; fails on any error in their scripts.

    It asks for `serve` so that the pages are gone before their servers: what a page says of a
    server that goes away under it is not what a test is about.
    """
    contexts, faults = [], []

    def hear(message):
        if is_fault(message):
            faults.append(message.text)

    def open_page(server, path="/", **options):
        usual = {"viewport": {"width": 1280, "height": 800}}
        context = chromium.new_context(**usual | options)
        contexts.append(context)
        let_in(context, server)
        context.set_default_timeout(PATIENCE_S * 1000)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", hear)
        page.goto(server.origin + path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []
