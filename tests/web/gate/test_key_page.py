"""The key page asks for what the page will need, which its own script asks for later."""

import re

import pytest

from smart_context.base.resources import asset
from smart_context.web.gate.key_page import key_page


@pytest.mark.parametrize(
    ("path", "script"),
    [
        ("/", "chat-page"),
        ("/new", "chat-page"),
        ("/chats/c", "chat-page"),
        ("/chats/c/turns/t", "turn-page"),
        ("/contexts", "contexts-page"),
        ("/contexts/contexts/a", "contexts-page"),
        ("/clients", "clients-page"),
        ("/settings", "settings-page"),
        ("/costs", "costs-page"),
        ("/topics", "topics-page"),
        ("/layout", "chat-page"),
        ("/panels/smart_context", "panel-page"),
    ],
)
def test_it_preloads_the_script_of_the_page(path, script):
    names = re.findall(
        r'modulepreload" href="/static/joined/([^"]+).js\?v=2f"', key_page(path, "2f")
    )
    assert names[-1] == script
    template = asset("templates") / "pages" / f"{script.removesuffix('-page')}.html"
    assert names == re.findall(r"joined/([\w-]+)\.js", template.read_text(encoding="utf-8"))
