"""Two people in one chat, each at a page behind the company's proxy, on two servers of a team."""

from contextlib import ExitStack
from urllib.parse import urlsplit

import httpx2
import pytest
from playwright.sync_api import expect

from tests.browser.steps import bubble, connected, pick, send
from tests.fake_openai import held
from tests.nginx_server import PROGRAM, nginx_server
from tests.patience import PATIENCE_S
from tests.postgres_server import free_port, new_database
from tests.serving import serving
from tests.vaults import KEY, settings_text

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason="needs nginx"),
]


@pytest.fixture
def people(tmp_path_factory, chromium, endpoint):
    """Opens a page as a person, whom nginx names to both servers."""
    storage = new_database(tmp_path_factory)
    env = {**KEY, "SMART_CONTEXT_STORAGE": storage}
    ports = {"alice": free_port(), "bob": free_port()}
    hosts = [f"127.0.0.1:{port}" for port in ports.values()]
    access = (
        f'\n[access]\nmode = "proxy"\nheader = "X-User"\ntrusted = ["127.0.0.1"]\nhosts = {hosts}\n'
    )
    with ExitStack() as running:
        servers = []
        for _ in range(2):
            vault = tmp_path_factory.mktemp("node")
            (vault / ".vault.toml").write_text(settings_text(endpoint.base_url) + access)
            server = running.enter_context(serving(vault, env=env, token=None))
            servers.append(urlsplit(server.origin).netloc)

        def open_page(person, path):
            folder = tmp_path_factory.mktemp("nginx")
            behind = nginx_server(folder, ports[person], servers, person)
            address = running.enter_context(behind)
            context = running.enter_context(chromium.new_context())
            context.set_default_timeout(PATIENCE_S * 1000)
            page = context.new_page()
            page.goto(address + path)
            connected(page)
            return page

        yield open_page


def said(page, text):
    return page.get_by_role("region", name="Messages").get_by_text(text)


def origin(page):
    return page.evaluate("location.origin")


def test_they_read_along_while_an_answer_grows_and_each_keeps_their_own_filter(
    people, endpoint, gate
):
    alice = people("alice", "/new")
    endpoint.reply_with("The ferry leaves at nine.")
    send(alice, "When does the ferry leave?")
    expect(said(alice, "The ferry leaves at nine.")).to_be_visible()
    bob = people("bob", "/")
    # by its address, since its name changes when its topics are found
    chat = bob.locator(f"#chats a[href='/chats/{alice.url.rpartition('/')[2]}']")
    expect(chat).to_have_count(0)

    alice.get_by_role("button", name="This chat").click()
    alice.locator("[data-chat-menu=share]").click()
    chat.click()
    expect(said(bob, "The ferry leaves at nine.")).to_be_visible()

    endpoint.reply_with(held("It costs ten euros today", gate, after=3))
    send(bob, "What does it cost?")
    expect(said(alice, "What does it cost?")).to_be_visible()
    expect(alice.locator("[data-message-id]").last).to_contain_text("It costs ten")
    gate.set()
    for page in (alice, bob):
        expect(page.locator("[data-message-id]").last).to_contain_text("It costs ten euros today")

    asked = {"chat_id": alice.url.rpartition("/")[2], "label": "Ferries"}
    added = httpx2.post(f"{origin(alice)}/api/commands/smart_context.add_topic", json=asked)
    assert added.status_code == 200, added.text
    pick(alice, "Ferries")
    expect(bubble(bob, "Ferries")).not_to_be_checked()
