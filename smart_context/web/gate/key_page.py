"""The page that a browser gets for its cookie alone; it fetches the real one with the key.

A cookie goes to every port of a host, so any program on this machine that a browser visits
could show it. The key is in storage that only pages of our own origin can read; but a browser
does not send it by itself. So each page is asked for twice: the browser gets the key page, and
`static/pages/enter.js` fetches the page with the key and writes it in the key page's place.
"""

import re

SHEETS = (
    "tokens",
    "base/foundation",
    "base/layout",
    "chat/chats",
    "chat/messages",
    "chat/prose",
    "chat/code",
    "chat/composer",
    "panel/chips",
    "base/menus",
    "chat/attached",
    "chat/comparison",
    "chat/compaction",
    "pages/contexts",
    "panel/panel",
    "panel/bubbles",
    "panel/sends",
    "panel/topic-deeds",
    "pages/turn",
    "pages/trust",
    "pages/clients",
    "pages/settings",
    "pages/topics",
    "base/print",
)
"""The style sheets of our pages, in order."""

_KEY_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<link rel="preload" as="font" type="font/woff2" href="/static/fonts/inter-latin.woff2" crossorigin>
<link rel="preload" as="style" href="/static/joined/pages.css?v={version}">
<link rel="preload" as="script" href="/static/pages/early.js?v={version}">
{scripts}
<noscript>Smart Context needs JavaScript: a script fetches its pages with a key.</noscript>
<script src="/static/pages/enter.js?v={version}"></script>
"""

_SCRIPT = '<link rel="modulepreload" href="/static/joined/{name}.js?v={version}">'
_WITH_CLOUD = frozenset({"chat", "turn", "panel"})
_PAGES = re.compile(
    r"/(?:(?P<contexts>contexts)|(?P<clients>clients)|(?P<panel>panels)|(?P<settings>settings)|(?P<costs>costs)|chats/[^/]+/(?P<turn>turns))/?"
)


def key_page(path: str, version: str) -> str:
    """The key page; it ends with the script, so that nothing follows the page that this writes.

    What the page will need is asked for along with the script, and not only after it.

    Args:
        path: The path of the page.
        version: What `assets_version` gives; addresses have to be the same as in `layout.html`.
    """
    found = _PAGES.match(path)
    page = (found and found.lastgroup) or "chat"
    names = [*(["bubble-cloud-define"] if page in _WITH_CLOUD else []), f"{page}-page"]
    scripts = "\n".join(_SCRIPT.format(name=name, version=version) for name in names)
    return _KEY_PAGE.format(scripts=scripts, version=version)
