"""What somebody sees who opens the demonstration, or a vault without chats."""

import re

import pytest
from playwright.sync_api import expect

from smart_context.cli.server.serve import demo_vault
from tests.browser.checker import STILL, assert_accessible
from tests.browser.steps import connected, open_page, scroll_to_the_top, status

pytestmark = pytest.mark.browser


def see_the_digits(page):
    digits = page.locator(".bubble-digit:visible")
    expect(digits).to_have_count(0)
    page.locator(".bubble input").first.focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")  # keys are at work, so those that pick are shown
    expect(digits).to_have_count(page.locator(".bubble").count())


def see_what_would_be_sent(page, exact):
    """The preview and the exact text while no model is connected, with one topic picked."""
    expect(page.get_by_role("heading", name="Next message would send")).to_be_visible()
    expect(page.get_by_text("Nothing is sent until a model is connected.")).to_be_visible()
    expect(exact).to_contain_text("No model is connected, so nothing is sent.")
    expect(exact.locator("[data-field]")).to_have_count(0)  # no field names a model
    (picked,) = page.locator(".bubble:has(:checked)").evaluate_all(
        "found => found.map(e => [e.querySelector('input').value, e.dataset.hue])"
    )
    topics = "found => found.map(e => [e.querySelector('summary span').textContent, e.dataset.hue])"
    assert picked in exact.locator(".exact-message[data-hue]").evaluate_all(topics)


def take_its_steps_out_of_order(page, guide, step):
    page.evaluate("['guide', 'guide-passed'].forEach((key) => localStorage.removeItem(key))")
    page.goto(page.url.partition("#")[0])
    connected(page)
    expect(step).to_contain_text("See what is sent")  # a topic is picked already
    page.locator("#message-box").fill("And the inverter?")
    page.keyboard.press("Enter")
    expect(guide.locator("li").last).to_contain_text("✓")  # out of order is fine, too
    page.reload()
    connected(page)
    expect(step).to_contain_text("See what is sent")
    page.get_by_role("button", name="Show the exact text").click()
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    expect(guide).to_be_hidden()


def ask_the_guides_question(page, guide):
    guide.get_by_role("button", name="How long should my loaf bake?").click()
    page.keyboard.press("Enter")
    expect(guide).to_be_hidden()
    answer = page.get_by_role("article", name="Notice").last
    expect(answer).to_contain_text("A stored answer of the demonstration; no model wrote it.")
    expect(answer).to_contain_text("Thirty-five minutes in all")
    expect(answer).to_contain_text("never sent to a model")
    expect(answer.locator(".why")).to_have_text(re.compile(r"^\d+ tokens$"))


def test_the_demonstration_guides_through_three_steps_of_the_users_own(new_page, serve):
    with demo_vault() as root:
        page = open_page(new_page, serve(root), "/")
        assert page.locator(".message").count() >= 20
        assert page.locator(".bubble").count() >= 5
        expect(page.locator("#side")).to_be_visible()
        guide = page.get_by_role("region", name="See what a model is sent")
        step = guide.locator("li[aria-current=step]")
        expect(step).to_contain_text("Pick a topic")
        see_the_digits(page)
        page.locator(".bubble").first.click()
        expect(step).to_contain_text("See what is sent")
        passed = guide.locator("li").first
        expect(passed).to_contain_text("✓")
        assert passed.evaluate("(line) => getComputedStyle(line, '::after').content") == "none"
        expect(status(page)).to_contain_text(" of 60 messages in context")
        page.get_by_role("button", name="Show the exact text").click()
        question = page.locator(".exact-message").filter(has_text="Your message goes here.")
        expect(question).to_have_text("userYour message goes here.")
        see_what_would_be_sent(page, page.get_by_role("dialog", name="The exact text"))
        page.get_by_role("dialog").get_by_role("button", name="Close").click()
        expect(step).to_contain_text("Ask")
        ask_the_guides_question(page, guide)
        take_its_steps_out_of_order(page, guide, step)
        page.reload()
        connected(page)
        expect(page.locator(".bubble").first).to_be_visible()
        expect(guide).to_be_hidden()


def test_the_words_of_the_guide_hide_nothing_and_a_hidden_panel_is_offered(new_page, serve):
    with demo_vault() as root:
        page = open_page(new_page, serve(root), "/")
        side, guide = page.locator("#side"), page.locator(".guide")
        guide.get_by_text("above the bar").click()
        expect(side).to_be_visible()
        expect(guide.get_by_role("button", name="Show the topics")).to_be_hidden()
        page.locator("[data-toggle=side]").click()
        expect(side).to_be_hidden()
        guide.get_by_role("button", name="Show the topics").click()
        expect(side).to_be_visible()


def test_the_guide_can_be_sent_away(new_page, serve):
    with demo_vault() as root:
        page = open_page(new_page, serve(root), "/", viewport={"width": 360, "height": 740})
        guide = page.get_by_role("region", name="See what a model is sent")
        guide.get_by_role("button", name="Show the topics").click()
        expect(page.locator("#side")).to_be_visible()
        page.keyboard.press("Escape")
        scroll_to_the_top(page)
        to_end = page.get_by_role("button", name="Go to the newest message")
        expect(to_end).to_be_visible()
        box, guide_box = to_end.bounding_box(), guide.bounding_box()
        assert box["y"] + box["height"] <= guide_box["y"]  # it does not lie on the guide
        guide.get_by_role("button", name="Close the guide").click()
        expect(guide).to_be_hidden()


def test_a_vault_without_chats_says_what_can_be_done(new_page, configured, serve):
    page = open_page(new_page, serve(configured()), "/", **STILL)
    starts = page.get_by_role("list", name="What you can do")
    for title in ("Ask your notes", "Import chats", "Connect a model"):
        expect(starts.get_by_text(title)).to_be_visible()
    expect(page.locator(".welcome-folder")).to_contain_text("Meine Notizen 笔记")
    page.get_by_text("Which file, and where the program keeps it").click()
    expect(page.get_by_role("term").filter(has_text="ChatGPT")).to_be_visible()
    assert_accessible(page)
    expect(page.locator(".always-count")).to_have_text("none yet")
    connect = starts.get_by_role("link", name="Connect a model")
    expect(connect).to_have_attribute("href", "/settings")
    expect(page.locator("body")).not_to_contain_text(".vault.toml", use_inner_text=True)
    page.set_viewport_size({"width": 360, "height": 740})
    for start in starts.get_by_role("listitem").all():
        box = start.bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 360


def test_an_empty_folder_offers_a_model_once_and_says_which_file_below_its_step(
    new_page, vault, serve
):
    page = open_page(new_page, serve(vault), "/")
    expect(page.get_by_role("link", name="Connect a model")).to_have_count(1)
    expect(page.locator(".sends-total")).to_have_text("Only your message")
    step = page.get_by_role("listitem").filter(has_text="Import chats").bounding_box()
    hint = page.get_by_text("Which file, and where the program keeps it").bounding_box()
    assert hint["x"] + hint["width"] / 2 > step["x"]
