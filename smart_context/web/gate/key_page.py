"""The page of a browser that has no key yet."""

import re

from smart_context.web.assets import page_modules
from smart_context.web.gate.plain_page import PLAIN_HEAD

_KEY_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{style}
<link rel="preload" as="font" type="font/woff2" href="/static/fonts/inter-latin.woff2" crossorigin>
<link rel="preload" as="style" href="/static/joined/pages.css?v={version}">
<link rel="preload" as="script" href="/static/pages/early.js?v={version}">
{scripts}
<noscript>Smart Context needs JavaScript: a script fetches its pages with a key.</noscript>
<script src="/static/pages/enter.js?v={version}"></script>
"""

_SCRIPT = '<link rel="modulepreload" href="/static/joined/{name}.js?v={version}">'
_TURN = re.compile(r"/chats/[^/]+/turns/?")
_OTHER_NAMES = {"panels": "panel"}


def key_page(path: str, version: str) -> str:
    """The key page. It ends with the script, so that nothing follows the page written by it.

    The files that the page will need are requested along with the script, not after it.

    Args:
        version: The result of `assets_version`; addresses must be the same as in `layout.html`.
    """
    first = path.strip("/").partition("/")[0]
    page = "turn" if _TURN.match(path) else _OTHER_NAMES.get(first, first)
    modules = page_modules()
    names = modules.get(page) or modules["chat"]
    scripts = "\n".join(_SCRIPT.format(name=name, version=version) for name in names)
    return _KEY_PAGE.format(style=PLAIN_HEAD, scripts=scripts, version=version)
