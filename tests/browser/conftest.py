"""Real browsers; tests are skipped only where they are not installed.

Those marked `engines` run in Firefox, too, and where a press gives buttons no focus, as in Safari;
`--safari` presses so in all tests. `test_webkit.py` is about the engine of Safari.
"""

import os
import shutil
import threading
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
    "ERR_SOCKET_NOT_CONNECTED",
    *("ERR_INCOMPLETE_CHUNKED_ENCODING", "WebSocket connection to"),
    *("while the page was loading", "establish a connection to the server at ws"),
)
"""What Chromium and Firefox say of a server that has gone."""


AS_IN_SAFARI = """(() => {
    const unfocused = `a[href], button, summary, select, label:has([type=checkbox], [type=radio]),
        input:is([type=button], [type=checkbox], [type=file], [type=radio], [type=submit])`;
    addEventListener("mousedown", (event) => {
        const pressed = event.target.closest?.(unfocused);
        if (!pressed || pressed.matches("[tabindex]")) return;
        event.preventDefault();
        const around = pressed.parentElement?.closest("[tabindex]");
        if (around) around.focus({ preventScroll: true });
        else document.activeElement?.blur();
    }, true);
})()"""
"""Takes the focus away from who had it, and gives it to what is around a button, if to anything."""


def pytest_generate_tests(metafunc):
    if metafunc.definition.get_closest_marker("engines"):
        browsers = ["chromium", "firefox", "chromium as Safari"]
        metafunc.parametrize("new_page", browsers, indirect=True)


@pytest.fixture(scope="package")
def driver():
    # Not for the whole session: Playwright keeps an event loop running in this thread, and async
    # tests can't begin another.
    expect.set_options(timeout=PATIENCE_S * 1000)
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="package")
def chromium(driver):
    if not CHROMIUM:
        assert not os.environ.get("CI"), "CI has to have a Chromium"
        pytest.skip("no chromium on this machine: apt-get install chromium-headless-shell")
    browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    yield browser
    browser.close()


@pytest.fixture(scope="package")
def with_scrollbars(driver, chromium):
    """The same Chromium with scrollbars that take room, which Playwright hides."""
    program = {"executable_path": CHROMIUM, "args": FLAGS}
    browser = driver.chromium.launch(**program, ignore_default_args=["--hide-scrollbars"])
    yield browser
    browser.close()


@pytest.fixture(scope="package")
def firefox(driver):
    program = shutil.which("firefox-esr") or shutil.which("firefox")
    if not program:
        pytest.skip("no Firefox on this machine: apt-get install firefox-esr")
    browser = driver.firefox.launch(executable_path=program, channel="moz-firefox")
    yield browser
    browser.close()


def is_fault(message):
    """Whether what the console says is a fault of the page's own script."""
    # Browsers also report what the page shows its user: no connection, a file that is refused.
    is_refused = message.location["url"].endswith("/api/files")
    return message.type == "error" and not is_of_a_lost_server(message.text) and not is_refused


def is_of_a_lost_server(text):
    return any(words in text for words in LOST)


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
def contexts_of():
    """The contexts of each browser that tests have asked for."""
    return {}


@pytest.fixture
def new_page(request, contexts_of, serve):
    """Opens pages of a server, each in a context of its own; fails on any error in their scripts.

    It asks for `serve` so that the pages are gone before their servers: what a page says of a
    server that goes away under it is not what a test is about.
    """
    used, faults = [], []
    name, _, is_as_safari = getattr(request, "param", "chromium").partition(" as ")
    is_as_safari = is_as_safari or request.config.getoption("safari")
    browser = request.getfixturevalue(name)
    browser_contexts = contexts_of.setdefault(name, Contexts(browser))

    def hear(message):
        if is_fault(message):
            faults.append(message.text)

    def raised(error):
        if not is_of_a_lost_server(str(error)):
            faults.append(str(error))

    def open_page(server, path="/", *, viewport=VIEWPORT, **options):
        context = browser_contexts.take(**options)
        used.append((context, options))
        page = context.open_page(server, viewport)
        page.on("pageerror", raised)
        page.on("console", hear)
        if is_as_safari:
            page.add_init_script(AS_IN_SAFARI)
        page.goto(server.origin + path)
        return page

    yield open_page
    for context, options in used:
        browser_contexts.give_back(context, **options)
    assert faults == []


@pytest.fixture
def gate():
    """Lets an answer go on that is held; in any case when the test is over."""
    gate = threading.Event()
    yield gate
    gate.set()
