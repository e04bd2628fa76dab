"""Commands of one's own, and titles: what saves typing the same again."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.steps import open_chat, open_page, send
from tests.fake_openai import FOR_TOPICS
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser


@pytest.fixture
def server(configured, serve):
    folder = configured()
    (folder / "Commands").mkdir()
    (folder / "Commands" / "Sum up.md").write_text("---\na: 1\n---\nSum $ARGUMENTS up, briefly.\n")
    write_chat(folder, "cats", about("Cats?", "They purr."), title="Of cats")
    return serve(folder)


def test_a_note_of_the_folder_commands_is_a_slash_command(new_page, server):
    page = open_chat(new_page, server, "cats")
    box = page.get_by_role("textbox", name="Message")
    box.press_sequentially("/su")
    option = page.get_by_role("listbox", name="Commands").get_by_role("option")
    expect(option).to_contain_text("Sum $ARGUMENTS up, briefly.")
    box.press_sequentially("m-up the log")
    box.press("Enter")
    expect(box).to_have_value("Sum the log up, briefly.")
    box.fill("/sump")
    box.press("Enter")
    expect(page.locator(".composer-problem")).to_contain_text("/sum-up")


def test_the_model_that_finds_the_topics_names_the_chat(new_page, server, endpoint):
    found = {"1": "Ship Knots", "title": "Tying a ship up"}
    endpoint.reply_with(json.dumps(found), path=FOR_TOPICS)
    page = open_page(new_page, server, "/new")
    send(page, "How do I tie a knot?")
    expect(page.get_by_role("heading", level=1)).to_have_text("Tying a ship up")
    expect(page.get_by_role("link", name=re.compile("Tying a ship up"))).to_be_visible()
