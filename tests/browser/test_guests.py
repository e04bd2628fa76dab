"""What somebody who is not the owner of the installation is offered on a page."""

import httpx2
import pytest
from playwright.sync_api import expect

from tests.browser.steps import connected
from tests.patience import PATIENCE_S
from tests.serving import serving

pytestmark = pytest.mark.browser

SETTINGS = '[access]\nmode = "proxy"\nheader = "X-User"\ntrusted = ["127.0.0.1"]\n'


def test_a_range_of_chats_selects_ones_own_and_no_settings_are_offered(tmp_path, chromium):
    (tmp_path / ".vault.toml").write_text(SETTINGS)
    with (
        serving(tmp_path, token=None) as server,
        chromium.new_context(extra_http_headers={"X-User": "bob"}) as context,
    ):

        def ask(person, name, **params):
            address = f"{server.origin}/api/commands/{name}"
            httpx2.post(address, json=params, headers={"X-User": person}).raise_for_status()

        for person, chat in (("bob", "one"), ("alice", "other"), ("bob", "two")):
            ask(person, "memory.save_chat", chat_id=chat, data={"title": f"Chat {chat}"})
            ask(person, "memory.share_chat", chat_id=chat, shared=True)
        context.set_default_timeout(PATIENCE_S * 1000)
        page = context.new_page()
        page.goto(f"{server.origin}/chats/one")
        connected(page)
        entries = page.locator(".chat-entry")
        expect(entries).to_contain_text(["Chat two", "Chat other", "Chat one"])
        for place, keys in ((0, []), (2, ["Shift"])):
            entries.nth(place).hover()
            entries.nth(place).get_by_role("button", name="Select").click(modifiers=keys)
        expect(page.locator(".chats-selected [role=status]")).to_have_text("2 selected")
        expect(entries.nth(1).get_by_role("button")).to_have_count(0)
        expect(page.get_by_role("link", name="Settings")).to_have_count(0)
        expect(page.get_by_role("link", name="Connect a model")).to_have_count(0)
        expect(page.get_by_role("link", name="Connect a client")).to_be_visible()
