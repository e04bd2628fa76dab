"""What the page shows of other programs: who is connected, and their chats as they happen."""

import re
import threading
import time

import pytest
from playwright.sync_api import expect

from tests.browser.steps import open_chat, open_page
from tests.fake_openai import failure, held
from tests.gateway.asking import ApiClient, provided_vault
from tests.gateway.saying import assistant, user
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with provided_vault(tmp_path_factory.mktemp("clients")) as found:
        yield found


def test_a_clients_chat_is_watched_live_and_continued_in_a_copy(new_page, served):
    server, provider = served
    client, named = ApiClient(server), {"X-Smart-Context-Chat": "foreign"}
    client.chat(user("Count to one"), headers={**named, "User-Agent": "opencode/1.0"})
    page = open_chat(new_page, server, "foreign")
    expect(page.locator(".composer")).to_be_hidden()
    gate = threading.Event()
    provider.reply_with(held("one two three", gate, after=1))
    asked = [user("Count to one"), assistant("You said: Count to one"), user("Count to three")]
    asking = threading.Thread(
        target=client.chat, args=asked, kwargs={"headers": named, "stream": True}
    )
    asking.start()
    answers = page.locator("main .message")
    expect(answers.nth(2)).to_contain_text("Count to three")
    expect(answers.nth(3)).to_contain_text("one")
    expect(answers.nth(3)).not_to_contain_text("three")
    gate.set()
    asking.join(PATIENCE_S)
    expect(answers.nth(3)).to_contain_text("one two three")
    page.get_by_role("button", name="Continue here").click()
    page.wait_for_url(re.compile(r"/chats/(?!foreign$)"))
    expect(page.locator(".composer")).to_be_visible()
    expect(page.locator("main .message")).to_have_count(4)


def test_a_client_is_connected_seen_and_sent_away(new_page, served):
    server, provider = served
    page = open_page(new_page, server, "/clients")
    page.get_by_label("Name of the client").fill("opencode")
    page.get_by_role("button", name="Make a key").click()
    made = page.locator(".made-key code")
    expect(made).not_to_be_empty()
    expect(page.get_by_role("list", name="Keys")).to_contain_text("opencode")
    expect(page.get_by_text("No keys yet.")).to_be_hidden()
    page.get_by_text("Codex", exact=True).click()
    setup = page.locator(".setup[open]")
    expect(setup).to_contain_text(f"export SMART_CONTEXT_KEY={made.inner_text()}")
    expect(setup).to_contain_text('env_key = "SMART_CONTEXT_KEY"')
    expect(setup).to_contain_text(f'base_url = "{server.origin}/v1"')
    client = ApiClient(server, made.inner_text())
    provider.reply_with(failure(400, "the provider knows no such model"))
    assert client.chat(user("Hello"), headers={"User-Agent": "opencode/1.0"}).status == 400
    row = page.get_by_role("row", name=re.compile("opencode opencode"))
    expect(row).to_contain_text("the provider knows no such model")
    expect(row.locator("time")).to_have_attribute("datetime", re.compile(r"^20\d\d-"))
    expect(row.locator("time")).not_to_contain_text("T")
    client.chat(user("Hello there"), headers={"User-Agent": "opencode/1.0"})
    expect(page.get_by_role("status").filter(has_text="Connected: opencode")).to_be_visible()
    expect(row.get_by_role("link")).to_have_text(re.compile("Hello"))
    page.get_by_role("button", name="Revoke opencode").click()
    expect(page.get_by_role("button", name="Revoke opencode")).to_have_count(0)
    deadline = time.monotonic() + PATIENCE_S
    while client.chat(user("Hello")).status != 401:
        assert time.monotonic() < deadline
