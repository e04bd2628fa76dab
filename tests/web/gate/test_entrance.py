"""The entrance asks for what the page will need, which its own script asks for later."""

import re

import pytest

from smart_context.web.gate.entrance import entrance


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
        ("/panels/smart_context", "panel-page"),
    ],
)
def test_it_preloads_the_script_of_the_page(path, script):
    assert re.findall(r'modulepreload" href="([^"]+)"', entrance(path, "2f")) == [
        f"/static/joined/{script}.js?v=2f"
    ]
