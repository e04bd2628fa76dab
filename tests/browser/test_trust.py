"""A bar says what is off in a stranger's vault; its review grants just what was shown."""

import os
import re
import signal

import pytest
from playwright.sync_api import expect

from tests.browser.checker import STILL, assert_accessible
from tests.browser.steps import GONE, open_chat, open_page, send
from tests.trusting import record_in, trust
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

OFF = re.compile("Restricted: this vault's endpoint, 1 plugin and 1 role are off")


@pytest.fixture
def server(configured, serve):
    folder = configured()
    with (folder / ".vault.toml").open("a") as file:
        file.write("\n[plugins.clock]\nenabled = true\n")
    files = {
        "plugins/clock/plugin.toml": 'id = "clock"\nname = "Clock"\nversion = "1"\n'
        'entry = "main:Plugin"\n[panel]\ntitle = "Clock"\n',
        "plugins/clock/main.py": (
            "class Plugin:\n    async def on_load(self, context):\n"
            '        context.register_panel(html="<p>tick</p>")\n'
        ),
        "plugins/clock/<img src=x onerror=alert(1)>.py": "",
        "roles/pilot.toml": 'description = "Reads charts."\n',
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    write_chat(folder, "c1", about("cats purr", "yes"), title="Cats and boats")
    return serve(folder, trusted=False)


def bar(page):
    return page.get_by_role("region", name="Restricted vault")


def dialog(page):
    return page.get_by_role("dialog", name="Review and trust")


def review(page):
    page.get_by_role("button", name="Review and trust…").click()
    expect(dialog(page)).to_be_visible()


def tick(page):
    """Ticks each part that can be trusted; none is ticked beforehand."""
    for box in dialog(page).get_by_role("checkbox", disabled=False).all():
        expect(box).not_to_be_checked()
        box.check()


def test_what_is_off_is_reviewed_and_trusted_without_a_reload(new_page, server, endpoint):
    page, other = open_chat(new_page, server, "c1"), open_page(new_page, server, "/contexts")
    expect(bar(page)).to_contain_text(OFF)
    expect(bar(other)).to_contain_text(OFF)
    expect(page.locator(".models")).to_contain_text("an endpoint that you have not trusted")
    send(page, "And dogs?")
    expect(page.locator(".message").last).to_contain_text("you have not trusted")

    review(page)
    expect(dialog(page).get_by_role("button", name="Not now")).to_be_focused()
    expect(dialog(page)).to_contain_text(endpoint.base_url)
    expect(dialog(page)).to_contain_text("TEST_KEY_NAME")
    dialog(page).get_by_text("3 files").click()
    expect(dialog(page)).to_contain_text("plugins/clock/<img src=x onerror=alert(1)>.py")
    dialog(page).get_by_role("button", name="Not now").click()
    expect(dialog(page)).to_be_hidden()
    expect(bar(page)).to_be_visible()
    assert endpoint.requests == []

    review(page)
    expect(dialog(page).get_by_role("button", name="Trust", exact=True)).to_be_disabled()
    tick(page)
    dialog(page).get_by_role("button", name="Trust", exact=True).click()
    expect(bar(page)).to_be_hidden()
    expect(bar(other)).to_be_hidden()
    expect(page.get_by_role("textbox", name=re.compile("message", re.IGNORECASE))).to_be_focused()
    expect(page.get_by_role("tab", name="Clock")).to_be_visible()
    expect(page.locator(".models [data-model=chat_model]")).to_have_text("gpt-4o")
    send(page, "And now?")
    expect(page.locator(".message").last).to_contain_text("You said: ")


def test_a_host_that_passes_for_another_is_shown_in_ascii_with_a_warning(new_page, server):
    settings = server.vault / ".vault.toml"
    text = settings.read_text(encoding="utf-8")
    foreign = 'base_url = "https://api.open\u0430i.com/v1"'
    settings.write_text(re.sub('base_url = "[^"]*"', foreign, text), encoding="utf-8")
    page = open_chat(new_page, server, "c1")
    review(page)
    expect(dialog(page)).to_contain_text("Endpoint https://api.xn--openi-7ve.com/v1")
    expect(dialog(page)).to_contain_text("Warning: its host has letters that can pass for others")
    expect(dialog(page)).to_contain_text("CYRILLIC SMALL LETTER A")
    expect(dialog(page)).to_contain_text("gpt-4o")
    expect(dialog(page)).not_to_contain_text("\u0430")


def test_a_part_that_is_not_ticked_stays_off(new_page, server, endpoint):
    page = open_chat(new_page, server, "c1")
    review(page)
    tick(page)
    dialog(page).get_by_role("checkbox", name=re.compile("^Plugins")).uncheck()
    dialog(page).get_by_role("button", name="Trust", exact=True).click()
    expect(bar(page)).to_contain_text("Restricted: 1 plugin is off until you trust it.")
    review(page)
    expect(
        dialog(page).get_by_role("checkbox", name=re.compile("Endpoint.*Trusted"))
    ).to_be_disabled()
    page.keyboard.press("Escape")
    expect(dialog(page)).to_be_hidden()
    expect(page.get_by_role("button", name="Review and trust…")).to_be_focused()


def test_an_endpoint_that_is_asked_for_more_says_what_is_new(new_page, server, endpoint):
    settings = server.vault / ".vault.toml"
    wider = settings.read_text(encoding="utf-8")
    page = open_chat(new_page, server, "c1")
    settings.write_text(re.sub("(?m)^fast = .*$", "", wider), encoding="utf-8")
    trust(server.vault)
    expect(bar(page)).to_be_hidden()
    settings.write_text(wider, encoding="utf-8")
    expect(bar(page)).to_contain_text("Restricted: this vault's endpoint for topics is off")
    review(page)
    box = dialog(page).get_by_role("checkbox", name=re.compile("Endpoint.*more than you trusted"))
    expect(box).not_to_be_checked()
    box.check()
    expect(dialog(page)).to_contain_text("answers and embeddings only; topics are new and off.")
    dialog(page).get_by_role("button", name="Trust", exact=True).click()
    expect(bar(page)).to_be_hidden()


def test_what_changed_since_the_review_is_shown_again_and_not_granted(new_page, server, tmp_path):
    page = open_chat(new_page, server, "c1")
    review(page)
    tick(page)
    (server.vault / "roles/second.toml").write_text("tree = true\n")
    # By script: a server that was quicker has shown the review again, with nothing ticked.
    dialog(page).get_by_role("button", name="Trust", exact=True).evaluate("it => it.click()")
    expect(dialog(page).get_by_role("alert")).to_contain_text("changed")
    expect(dialog(page).get_by_text("2 files")).to_be_visible()
    assert server.vault not in record_in(os.environ["XDG_CONFIG_HOME"]).vaults()
    tick(page)
    dialog(page).get_by_role("button", name="Trust", exact=True).click()
    expect(bar(page)).to_be_hidden()


def test_a_lost_connection_while_trusting_is_said_and_can_be_tried_again(new_page, server):
    page = open_chat(new_page, server, "c1")
    review(page)
    tick(page)
    server.stop(signal.SIGKILL)
    grant = dialog(page).get_by_role("button", name="Trust", exact=True)
    grant.click()
    expect(dialog(page).get_by_role("alert")).to_have_text(GONE)
    expect(grant).to_be_enabled()


@pytest.mark.parametrize("width", [360, 1280])
def test_bar_and_review_fit_the_page_and_have_no_fault_that_a_program_finds(
    new_page, server, width
):
    page = open_chat(new_page, server, "c1", viewport={"width": width, "height": 700}, **STILL)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    expect(
        page.get_by_role("textbox", name=re.compile("message", re.IGNORECASE))
    ).to_be_in_viewport()
    assert_accessible(page)
    review(page)
    assert_accessible(page)
    expect(dialog(page).get_by_role("button", name="Trust", exact=True)).to_be_in_viewport()
    box = dialog(page).bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert page.evaluate("document.querySelector('#trust-dialog').scrollWidth") <= box["width"]


def test_settings_say_what_is_off_and_warnings_stand_out(new_page, server):
    settings = server.vault / ".vault.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(re.sub('base_url = "[^"]*"', 'base_url = "http://models.example/v1"', text))
    page = open_page(new_page, server, "/settings")
    part = page.locator("details", has=page.get_by_role("heading", name="Trust", exact=True))
    expect(part.get_by_text(OFF)).to_be_visible()
    expect(part).not_to_contain_text("asks for nothing")
    review(page)
    expect(page.locator(".trust-warning")).to_contain_text("Warning: it is not encrypted")
    expect(page.locator(".trust-does").first).to_have_text(re.compile("^Models"))


def test_trust_is_withdrawn_in_the_settings_by_a_second_press(new_page, server):
    page = open_page(new_page, server, "/settings")
    trust(server.vault)
    expect(bar(page)).to_be_hidden()
    page.reload()
    part = page.locator("details", has=page.get_by_role("heading", name="Trust", exact=True))
    part.locator("summary").click()
    expect(part.locator(".trust-now")).to_contain_text("You trust this vault with: ")
    part.get_by_role("button", name="Stop trusting this vault").dblclick()
    part.get_by_role("button", name="Turn all of this off").click()
    told = part.get_by_text("You don’t trust this vault; what it asked for is off.")
    expect(told).to_be_focused()
    expect(bar(page)).to_contain_text(OFF)
    expect(part.get_by_role("button")).to_have_count(0)
    page.reload()
    expect(part.get_by_text(OFF)).to_be_visible()
