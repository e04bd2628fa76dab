"""What one thing costs is one number, wherever pages show it."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.steps import open_chat, open_page, send, write
from tests.fake_openai import Reply
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

NOTES = {
    "Starter.md": "# Starter\n\nFeed it daily.\n\n- flour\n- water\n\nKeep it warm.\n",
    "Loaf.md": "# Loaf\n\n\nBake at 230 °C for 40 minutes, as [[Starter]] says.\n",
}
SAID = ("How warm should the starter be?", "About 26 °C.", "And the dough?", "A bit less.")
HOTEL = ("Which hotel in Rome was it?", "The Santa Maria, near the river.")
QUESTION = "How long does it rise?"
TOOLS = "The model may look into notes"  # how the bar names what tools take


@pytest.fixture
def server(configured, serve):
    folder = configured()
    for name, text in NOTES.items():
        (folder / name).write_text(text, encoding="utf-8")
    write_chat(folder, "c", about(*SAID), title="Baking")
    write_chat(folder, "rome", about(*HOTEL), title="A trip to Rome")
    return serve(folder)


def number(words):
    """The first number in words; those after "of" say how much it could be."""
    return int(re.search(r"\d[\d,]*", words).group().replace(",", ""))


def rows(lines):
    """The numbers by name of a list that has a name and a number in each line."""
    pairs = (re.split(r"\s*\n\s*", words.strip()) for words in lines.all_inner_texts())
    return {name.strip(): number(count) for name, count, *_ in pairs}


def bar_of(page, part):
    """What each part costs by the bar, once it has this one."""
    expect(page.locator(f".sends-parts [data-part={part}]")).to_have_count(1)
    parts = rows(page.locator(".sends-parts li"))
    if TOOLS in parts:
        parts["Tools"] = parts.pop(TOOLS)
    total = number(page.locator(".sends-total").inner_text())
    assert sum(parts.values()) == total
    return parts | {"Total": total}


def exact_of(page):
    """The tokens of each message in the exact text, of the tools, and of the other fields.

    They sum up to its own total, and so does the legend below its bar.
    """
    page.get_by_role("button", name="Show the exact text").click()
    shown = page.locator("dialog.exact[open] .exact-message summary")
    expect(shown.first).to_be_visible()
    tokens = shown.evaluate_all("found => found.map(e => e.dataset.tokens)")
    total = number(page.locator(".exact-total").inner_text())
    assert sum(rows(page.locator(".exact-parts li")).values()) == total
    assert sum(number(words) for words in tokens) == total
    page.keyboard.press("Escape")
    assert tokens[-1] == "0 tokens"
    return [number(words) for words in tokens]


def build(new_page, server):
    """Attach both notes from the builder; give what it says of them."""
    page = open_page(new_page, server, "/contexts?chat=c")
    for name in NOTES:
        page.locator(f"li.row[data-key='{name}'] > .row-line input").check()
    page.get_by_label("Name of the context").fill("Bread")
    expect(page.locator(".item-name")).to_have_count(2)
    total = number(page.locator(".total strong").inner_text())
    page.get_by_role("button", name="Attach").click()
    expect(page.get_by_role("button", name="Open the chat")).to_be_visible()
    return total


def test_notes_recalls_and_messages_have_one_number_on_every_page(new_page, server, endpoint):
    built = build(new_page, server)
    page = open_chat(new_page, server, "c")
    write(page, "/recall hotel in Rome")
    expect(page.locator(".composer-recalls .chip")).to_have_count(1)
    page.locator("#message-box").fill(QUESTION)
    expect(page.locator(".sends-parts [data-part=message]")).to_have_count(1)
    bar = bar_of(page, "recalls")
    (notes,) = page.locator(".composer-contexts .chip-size").all_inner_texts()
    (recalled,) = page.locator(".composer-recalls .chip-size").all_inner_texts()
    assert {built, number(notes)} == {bar["Notes"]}
    assert number(recalled) == bar["Recalled"]
    expect(page.locator(".message .why")).to_have_text([re.compile(r"\d tokens?$")] * len(SAID))
    whys = (words.rpartition(" · ")[2] for words in page.locator(".why").all_inner_texts())
    assert sum(map(number, whys)) == bar["Messages"]
    assert sum(exact_of(page)) == bar["Total"]

    endpoint.reply_with(Reply(text="Four hours.", usage=None))  # a provider that counts nothing
    send(page, QUESTION)
    expect(page.locator("#announcer")).to_have_text("The answer is complete.")
    page.get_by_role("tab", name="Receipts").click()
    listed = page.locator(".receipt-list a")
    expect(listed).to_contain_text(f"{bar['Total']:,} tokens")
    receipt = new_page(server, listed.get_attribute("href"))
    shown = rows(receipt.locator(".sends-parts li"))  # its messages by topic
    exact = receipt.locator(".turn-exact-tokens").inner_text()
    assert sum(shown.values()) == number(exact) == bar["Total"]
    assert shown.items() >= {(part, bar[part]) for part in bar.keys() - {"Total", "Messages"}}
    costs = new_page(server, "/costs")
    expect(costs.locator(".clients-lead")).to_contain_text(f"{bar['Total']:,} tokens sent")


def test_a_command_in_the_message_box_counts_nothing(new_page, server):
    page = open_chat(new_page, server, "c")
    message = page.locator(".sends-parts [data-part=message]")
    box, total = page.locator("#message-box"), page.locator(".sends-total")
    bar = bar_of(page, "history")
    for command in ("/compact", "/clear", "/recall hotel in Rome", "/unknown words"):
        box.fill("Words that count")
        expect(message).to_have_count(1)
        box.fill(command)
        expect(message).to_have_count(0)
        expect(total).to_have_text(f"{bar['Total']:,} tokens")
    box.fill(" /compact")
    expect(message).to_have_count(1)


def test_the_costs_say_whose_count_they_show(new_page, server, endpoint):
    counted = "Tokens sent are the provider\N{RIGHT SINGLE QUOTATION MARK}s count"
    endpoint.reply_with(Reply(text="Four hours.", usage=None))
    for expected in (0, 1):
        server.ask("chat.send", chat_id="c", message=QUESTION)
        costs = open_page(new_page, server, "/costs")
        expect(costs.locator(".clients-lead")).to_be_visible()
        expect(costs.locator(".hint", has_text=counted)).to_have_count(expected)
