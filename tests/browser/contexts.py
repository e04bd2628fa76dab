"""Browser contexts that tests use one after the other, which costs half of what new ones do."""

import json
from dataclasses import dataclass, field

from tests.patience import PATIENCE_S
from tests.serving import Browser

KEY_NAME = "smart_context.key"
"""Where pages keep their key, as in `static/key.js`."""
HOME = "http://127.0.0.1/"
NATIVE_TIMER = "setTimeout.toString().includes('[native code]')"
STORE_KEY = "([own, name, key]) => location.origin === own && localStorage.setItem(name, key)"


@dataclass
class Context:
    """A context, and the page in it that keeps its process alive between tests."""

    context: object
    home: object
    origins: set = field(default_factory=set)

    def open_page(self, server, viewport):
        page = self.context.new_page()
        page.set_viewport_size(viewport)
        page.bring_to_front()  # a page behind another one may get no frames
        let_in(page, server)
        self.origins.add(server.origin)
        return page

    @property
    def has_own_time(self):
        """Whether a test has taken over its clock, which stands still for all later pages."""
        return not self.home.evaluate(NATIVE_TIMER)

    def empty(self):
        """Close its pages, and forget what they kept."""
        for page in self.context.pages:
            if page is not self.home:
                page.close()
        self.context.clear_cookies()
        session = self.context.new_cdp_session(self.home)
        for origin in self.origins:
            session.send("Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "all"})
        session.detach()
        self.origins.clear()


class Contexts:
    """Contexts by their options; two that are in use at once are never the same.

    Args:
        browser: One of Playwright's; only Chromium's contexts are used again.
    """

    def __init__(self, browser):
        self._browser = browser
        self._free = {}

    def take(self, **options):
        free = self._free.get(_key(options))
        return free.pop() if free else self._made(options)

    def give_back(self, context, **options):
        if context.has_own_time or self._browser.browser_type.name != "chromium":
            context.context.close()
            return
        context.empty()
        self._free.setdefault(_key(options), []).append(context)

    def _made(self, options):
        context = self._browser.new_context(**options)
        context.set_default_timeout(PATIENCE_S * 1000)
        home = context.new_page()
        home.route(HOME, lambda route: route.fulfill(body=""))
        home.goto(HOME)
        return Context(context, home)


def let_in(page, server):
    """Give a page what the server's start link gives, which works once."""
    if server.browser is None:
        server.browser = Browser(server.link)
    name, _, value = server.browser.cookie.partition("=")
    strict = {"httpOnly": True, "sameSite": "Strict"}
    page.context.add_cookies([{"name": name, "value": value, "url": server.origin, **strict}])
    # Storage that Playwright prepares would cost each context a page of its own.
    held = json.dumps([server.origin, KEY_NAME, server.browser.key])
    page.add_init_script(f"({STORE_KEY})({held})")


def _key(options):
    return json.dumps(options, sort_keys=True)
