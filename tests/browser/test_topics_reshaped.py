"""On the page topics are summed up and get chats of their own, and a message begins a branch."""

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser.steps import asked, bubble, open_chat, pick, send, status, write
from tests.product.test_topics_summed_up import BOATS, BREAD, SAID, topics_of
from tests.vaults import about, read_chat, write_chat

pytestmark = pytest.mark.browser

NOTES = json.dumps({"overview": "Rye bread is baked at 250 degrees by Priya."})

COSTS = re.compile(r"^Next message: \d+ → \d+ tokens$")


@pytest.fixture
def server(configured, endpoint, serve):
    folder = configured()
    write_chat(folder, "c", about(*SAID))
    ids = {"Bread": ["m0", "m1", "m4", "m5", "m6"], "Boats": ["m2", "m3", "m6"]}
    write_chat(folder, "c", about(*SAID), topics=topics_of(folder, "c", **ids), title="Mixed")
    return serve(folder)


def choose(page, label, deed):
    page.locator(".bubble", has_text=label).click(button="right")
    page.get_by_role("button", name=re.compile(f"^{deed}")).click()


def test_a_topic_is_summed_up_after_a_look_and_put_back(new_page, server, endpoint):
    page = open_chat(new_page, server, "c")
    endpoint.reply_with(NOTES)
    choose(page, "Bread", "Sum up")
    dialog = page.get_by_role("dialog", name="Sum up Bread")
    box = dialog.get_by_label("Summary")
    expect(box).to_have_value(re.compile("250 degrees by Priya"))
    expect(dialog.locator(".sum-up-claims li")).to_have_text(["250", "Priya"])
    dialog.get_by_text("1 message word for word").click()
    expect(dialog.locator(".sum-up-kept li")).to_contain_text("also about Boats")
    box.fill("Rye bread is baked at 240 degrees.")
    expect(dialog.locator(".sum-up-claims")).to_be_hidden()
    expect(dialog.locator(".sum-up-tokens")).to_have_text(COSTS)
    dialog.get_by_role("button", name="Sum up").click()
    expect(dialog).to_be_hidden()
    card = page.locator(".summary-card")
    expect(card).to_contain_text("Summary of Bread · 4 messages")
    expect(page.locator("[data-behind]")).to_have_count(4)
    expect(page.locator(".fold")).to_have_count(2)
    page.locator(".fold").first.click()
    expect(page.locator("#m-m0 .marks")).to_have_text("behind a summary")
    expect(status(page)).to_have_text("6 of 10 messages in context · 4 summed up")
    page.reload()
    expect(page.locator(".fold")).to_have_count(2)
    page.get_by_role("button", name=re.compile("^Undo “Summary of Bread")).click()
    expect(page.locator(".fold")).to_have_count(0)
    expect(status(page)).to_have_text("All messages in context")


def test_without_a_model_s_help_the_user_writes_the_summary(new_page, server, endpoint):
    page = open_chat(new_page, server, "c")
    endpoint.reply_with("")
    write(page, "/compact boats")
    dialog = page.get_by_role("dialog", name="Sum up boats")
    expect(dialog.locator(".sum-up-told")).to_contain_text("write the summary yourself")
    expect(dialog.get_by_role("button", name="Sum up")).to_be_disabled()
    dialog.get_by_label("Summary").fill("Of boats.")
    dialog.get_by_role("button", name="Sum up").click()
    expect(page.locator(".summary-card")).to_contain_text("Summary of Boats · 2 messages")


def test_a_topic_moves_into_a_chat_of_its_own_and_both_name_each_other(new_page, server):
    page = open_chat(new_page, server, "c")
    page.locator(".bubble", has_text="Bread").locator("input").focus()
    page.keyboard.press("Space")
    page.get_by_role("button", name="More with the picked topics").click()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="A chat of its own")
    expect(dialog.get_by_label("Title")).to_have_value("Bread")
    dialog.get_by_label("Title").fill("Of bread")
    dialog.get_by_role("button", name="Open the new chat").click()
    expect(page.locator("#chat-title")).to_have_text("Of bread")
    expect(page.locator("[data-message-id]")).to_have_count(5)
    page.locator(".relatives").get_by_role("link", name="Mixed").click()
    expect(page.locator("#chat-title")).to_have_text("Mixed")
    expect(page.locator(".relatives").get_by_role("link", name="Of bread")).to_be_visible()
    expect(page.locator("[data-message-id].left-out")).to_have_count(8)
    page.locator("[data-panel=undo]").click()
    expect(page.locator("[data-message-id].left-out")).to_have_count(4)


def test_a_branch_goes_on_with_the_topics_that_are_picked(new_page, server, endpoint):
    page = open_chat(new_page, server, "c")
    page.locator(".bubble", has_text="Bread").click()
    answer = page.locator("#m-m5")
    answer.hover()
    answer.get_by_role("button", name="Branch from here").click()
    expect(page.locator("#chat-title")).to_have_text("Mixed (branch)")
    expect(page.locator(".bubble", has_text="Bread").locator("input")).to_be_checked()
    send(page, "And?")
    expect(page.locator(".message").last).to_contain_text("You said: And?")
    assert BREAD in asked(endpoint)
    assert BOATS not in asked(endpoint)
    page.locator(".relatives").get_by_role("link", name="Mixed").click()
    expect(page.locator("#m-m5")).to_be_in_viewport()
    assert len(read_chat(server.vault, "c")["messages"]) == len(SAID)


def test_the_dialog_says_what_the_next_message_sends_and_offers_no_summary_that_costs_more(
    new_page, server, endpoint
):
    page = open_chat(new_page, server, "c")
    endpoint.reply_with(NOTES)
    choose(page, "Bread", "Sum up")
    dialog = page.get_by_role("dialog", name="Sum up Bread")
    costs, apply = dialog.locator(".sum-up-tokens"), dialog.get_by_role("button", name="Sum up")
    expect(costs).to_have_text(COSTS)
    box = dialog.get_by_label("Summary")
    box.fill("Rye bread is baked at 240 degrees. " * 40)
    expect(costs).to_contain_text("Nothing to gain: shorten the summary.")
    expect(apply).to_be_disabled()
    box.fill("Rye bread is baked at 240 degrees.")
    expect(costs).to_have_text(COSTS)
    before, after = re.findall(r"\d+", costs.inner_text())
    bar = page.locator(".sends-total")
    expect(bar).to_have_text(f"{before} tokens")
    apply.click()
    expect(bar).to_have_text(f"{after} tokens")


def test_a_muted_topic_is_seen_heard_and_explained_and_so_is_picking_it(new_page, server):
    page = open_chat(new_page, server, "c")
    plain = bubble(page, "Bread")
    expect(plain).to_have_accessible_name("Bread, 5 messages")
    choose(page, "Bread", "Mute")
    muted = page.locator(".bubble", has_text="Bread")
    expect(muted).to_have_attribute("data-silent", "")
    expect(muted.locator(".bubble-label")).to_have_css("text-decoration-line", "line-through")
    why = "muted: its messages are hidden, so none of them is sent, also when it is picked"
    expect(plain).to_have_accessible_name(f"Bread, 5 messages, {why}")
    expect(muted).to_have_attribute("title", f"Bread: {why}")
    reason = page.locator(".topics .reason")
    expect(reason).to_be_hidden()
    pick(page, "Bread")
    expect(reason).to_have_text(f"Bread is {why}.")
    choose(page, "Bread", "Mute or unmute")
    expect(plain).to_have_accessible_name("Bread, 5 messages")
    expect(muted).not_to_have_attribute("data-silent", "")
    expect(reason).to_be_hidden()
