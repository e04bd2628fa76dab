"""The key page asks for what the page will need, which its own script asks for later."""

import re

import pytest

from smart_context.web.gate.gate import key_page


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
        ("/panels/smart_context", "panel-page"),
    ],
)
def test_it_preloads_the_script_of_the_page(path, script):
    names = re.findall(
        r'modulepreload" href="/static/joined/([^"]+).js\?v=2f"', key_page(path, "2f")
    )
    has_cloud = script in {"chat-page", "turn-page", "panel-page"}
    assert names == [*(["bubble-cloud-define"] if has_cloud else []), script]
