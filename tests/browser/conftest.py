"""A real Chromium; the tests are skipped only where none is installed."""

import os
import shutil

import pytest
from playwright.sync_api import expect, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic"]


@pytest.fixture(scope="package")
def chromium():
    # Not for the whole session: Playwright keeps an event loop running in this thread, and async
    # tests can't begin another.
    if not CHROMIUM:
        assert not os.environ.get("CI"), "CI has to have a Chromium"
        pytest.skip("no chromium on this machine: apt-get install chromium")
    expect.set_options(timeout=15_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def is_fault(message):
    """Whether what the console says is a fault of the page's own script."""
    # Chromium also reports what the page shows its user: no connection, a file that is refused.
    is_shown = "ERR_CONNECTION" in message.text or message.location["url"].endswith("/api/files")
    return message.type == "error" and not is_shown


@pytest.fixture
def new_page(chromium):
    """Opens pages, each in a context of its own, and fails on any error in the page's script."""
    contexts, faults = [], []

    def open_page(link, **options):
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "console", lambda message: faults.append(message.text) if is_fault(message) else None
        )
        page.goto(link)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []
