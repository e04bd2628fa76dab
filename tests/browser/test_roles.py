"""A chat takes a role in the panel; its words and files are in what is sent."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.steps import asked, open_chat, send
from tests.trusting import trust
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser


@pytest.fixture
def server(configured, serve):
    folder = configured()
    (folder / "Tides.md").write_text("High water at six.\n", encoding="utf-8")
    write_chat(folder, "c1", about("cats purr", "yes"), title="Cats and boats")
    return serve(folder)


def role(page):
    return page.get_by_role("combobox", name="Role", exact=True)


def test_a_role_and_its_files_shape_the_turn_until_it_is_taken_away(new_page, server, endpoint):
    page, other = open_chat(new_page, server, "c1"), open_chat(new_page, server, "c1")
    for tab in (page, other):
        tab.locator("summary", has_text="Options").click()
    role(page).select_option("reviewer")
    expect(page.locator(".role-told")).to_contain_text("Reviews a change strictly")
    field = page.get_by_role("combobox", name="File or folder for this role")
    field.fill("Tid")
    expect(page.locator("#role-files option")).to_have_attribute("value", "Tides.md")
    field.fill("Tides.md")
    field.press("Enter")
    expect(page.get_by_role("button", name="Remove Tides")).to_be_visible()
    for tab in (page, other):
        expect(role(tab)).to_have_value("reviewer")
        expect(tab.locator(".sends-parts li[data-part=role]")).to_be_visible()
    expect(other.get_by_role("button", name="Remove Tides")).to_be_visible()

    send(page, "Is that right?")
    expect(page.locator(".message").last).to_contain_text("You said: ")
    assert "High water at six." in asked(endpoint)[0]

    page.reload()
    page.locator("summary", has_text="Options").click()
    expect(role(page)).to_have_value("reviewer")
    role(page).select_option("")
    expect(page.locator(".sends-parts li[data-part=role]")).to_have_count(0)
    expect(role(other)).to_have_value("")
    send(page, "And now?")
    expect(page.locator(".message").last).to_contain_text("You said: And now?")
    assert not any("High water" in text for text in asked(endpoint)[:1])


def test_a_role_that_breaks_is_told_of_and_stays_the_users_choice(new_page, server):
    (server.vault / "roles").mkdir()
    own = server.vault / "roles/pilot.toml"
    own.write_text('description = "Reads charts."\n', encoding="utf-8")
    trust(server.vault)
    page = open_chat(new_page, server, "c1")
    page.locator("summary", has_text="Options").click()
    role(page).select_option("pilot")
    expect(page.locator(".role-told")).to_have_text("Reads charts.")
    own.write_text('description = "Reads charts."\nbudget = 1\n', encoding="utf-8")
    trust(server.vault)
    page.reload()
    page.locator("summary", has_text="Options").click()
    expect(page.locator(".role-told")).to_contain_text(re.compile("pilot.*not used", re.DOTALL))
    expect(role(page)).to_have_value("pilot")
