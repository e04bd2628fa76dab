"""How a browser gets in, and what another port of the same host can do with its cookie."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import is_fault
from tests.browser.steps import connected, open_chat
from tests.browser.test_attachments import PICTURE, from_menu, send
from tests.patience import PATIENCE_S
from tests.preloaded import run_to_end
from tests.serving import Browser
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

LOAD = "/api/commands/memory.load_chat"
SOCKET = """(offered) => new Promise((resolve) => {
    const socket = new WebSocket(`ws://${location.host}/ws`, offered);
    socket.onopen = () => resolve("open");
    socket.onclose = () => resolve("closed");
})"""


@pytest.fixture
def server(configured, serve):
    folder = configured()
    (folder / "Chart.png").write_bytes(PICTURE)
    write_chat(folder, "mixed", about("cats purr", "yes"), title="Cats and boats")
    return serve(folder)


@pytest.fixture
def context(chromium, server):
    with chromium.new_context() as context:
        context.set_default_timeout(PATIENCE_S * 1000)
        yield context


def sessions(*args):
    code, out, _ = run_to_end(["sessions", *args])
    assert code == 0
    return out.strip()


def test_a_start_link_opens_the_page_for_all_tabs_and_for_good(server, context):
    faults = []
    page = context.new_page()
    page.on("console", lambda message: is_fault(message) and faults.append(message.text))
    page.goto(server.link)
    # At once, as if the page had come whole.
    assert page.locator("[data-message-id]").count() == 2
    assert page.title() == "Cats and boats · Meine Notizen 笔记"
    assert page.url == f"{server.origin}/chats/mixed"
    connected(page).reload()
    connected(page)
    second = context.new_page()
    second.goto(f"{server.origin}/panels/smart_context?chat_id=mixed")
    connected(second)
    page.goto(f"{server.origin}/new")
    assert re.fullmatch(r"/chats/[\w-]+", page.url.removeprefix(server.origin))
    assert page.url != f"{server.origin}/chats/mixed"
    connected(page).go_back()
    assert page.locator("[data-message-id]").count() == 2
    assert faults == []


def test_what_goes_to_every_port_opens_neither_the_api_nor_the_socket(server, context):
    page = context.new_page()
    page.goto(server.link)
    connected(page)
    asked = context.request.post(server.origin + LOAD, data={"chat_id": "mixed"})
    assert asked.status == 401
    assert "purr" not in context.request.get(f"{server.origin}/chats/mixed").text()
    for offered in ([], ["smart-context"], ["smart-context", "smart-context.key.guess"]):
        assert page.evaluate(SOCKET, offered) == "closed"
    own = "async () => (await import('/static/key.js')).keyProtocols()"
    assert page.evaluate(SOCKET, page.evaluate(own)) == "open"


def test_a_browser_whose_storage_was_cleared_is_told_how_to_get_in_again(server, context):
    page = context.new_page()
    page.goto(server.link)
    connected(page).evaluate("localStorage.clear()")
    page.reload()
    expect(page.get_by_role("heading")).to_have_text("This browser has to be let in again")
    expect(page.get_by_text("smart-context sessions link")).to_be_visible()
    page.goto(sessions("link", str(server.vault)))
    connected(page)


def test_a_second_browser_gets_in_by_a_link_of_its_own(server, context):
    Browser(server.link)
    page = context.new_page()
    page.goto(server.link)
    expect(page.get_by_role("heading")).to_have_text("This start link no longer works")
    page.get_by_role("link").click()
    expect(page.get_by_role("heading")).to_have_text("This browser has not been let in yet")
    page.goto(sessions("link", str(server.vault)))
    connected(page)


def test_a_picture_is_shown_by_an_address_that_its_page_holds(new_page, server):
    page = open_chat(new_page, server)
    with page.expect_file_chooser() as chooser:
        from_menu(page, "Files")
    picture = {"name": "chart.png", "mimeType": "image/png", "buffer": PICTURE}
    chooser.value.set_files([picture])
    chip = page.locator(".attaching img")
    expect(chip).to_have_js_property("naturalWidth", 1)
    send(page, "what is this?")
    shown = page.locator(".message .attached img")
    expect(shown).to_have_js_property("naturalWidth", 1)
    address = server.origin + shown.get_attribute("src")
    assert page.context.request.get(address).status == 200
    assert page.context.request.get(address.partition("?")[0]).status == 401


def test_a_page_that_is_open_while_its_session_ends_says_so(server, context):
    page = context.new_page()
    page.goto(server.link)
    connected(page)
    (cookie,) = context.cookies()
    sessions("end", cookie["value"].partition(".")[0])
    expect(page.locator("html")).to_have_attribute("data-wire", "lost")
    page.reload()
    expect(page.get_by_role("heading")).to_have_text("This browser has not been let in yet")


def test_a_plugins_panel_works_in_its_frame_and_alone(new_page, vault, serve):
    for verb in (["plugins", "new", "word_count"], ["plugins", "enable", "word_count"]):
        assert run_to_end([*verb, "--vault", vault])[0] == 0
    assert run_to_end(["trust", vault, "--yes"])[0] == 0
    server = serve(vault)
    server.ask("chat.send", chat_id="c", message="hello")
    page = open_chat(new_page, server, "c")
    page.get_by_role("tab", name="Word count").click()
    total = re.compile(r"^[1-9]\d*$")
    expect(page.frame_locator("iframe.panel-frame").locator("#total")).to_have_text(total)
    page.goto(f"{server.origin}/panels/word_count/")
    assert page.title() == "Word count"
    expect(page.locator("#total")).to_have_text(total)
