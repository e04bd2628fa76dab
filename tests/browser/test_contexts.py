"""A context is built from notes, attached to a chat, sent, and found in the request."""

import json
import re
import signal

import pytest
from playwright.sync_api import expect

from tests.browser.checker import STILL, assert_accessible
from tests.browser.steps import GONE, asked, connected, open_chat, open_page, send
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

NOTES = {
    "Home/Solar roof.md": "# Solar roof\n18 panels, see [[Inverter]].\n## Log\nRain all day.\n",
    "Home/Inverter.md": "The inverter hums at 50 Hz.\n",
    "Kitchen/Bread.md": "# Bread\n## Rule\nFold thrice.\n## Loaf 7\nDense. ^dense\n",
}


def write_notes(folder, notes):
    for path, text in notes.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


@pytest.fixture
def server(configured, serve):
    folder = configured()
    write_notes(folder, NOTES)
    write_chat(folder, "mixed", about("cats purr", "yes"), title="Cats and boats")
    return serve(folder)


def test_why_no_more_notes_are_listed_is_said(new_page, configured, serve):
    folder = configured()
    write_notes(folder, {f"{number:03}.md": "" for number in range(201)})
    server = serve(folder)
    page = open_builder(new_page, server)
    more = page.locator(".row-next")
    expect(more).to_be_visible()
    server.stop(signal.SIGKILL)
    more.click()
    expect(page.locator(".toast")).to_have_text(GONE)


HAS_MOVED = "dot => dot.hasMoved"


def open_builder(new_page, server, path="/contexts?chat=mixed", **options):
    return open_page(new_page, server, path, **options)


def tick(page, key):
    return page.locator(f"li.row[data-key='{key}'] > .row-line input")


def unfold(page, key):
    page.locator(f"li.row[data-key='{key}'] > .row-line .row-open").click()


def previewed(page):
    return page.locator(".item-name").all_inner_texts()


def system_prompt(endpoint):
    requests = [r for r in endpoint.chat_requests if r.body["model"] == "gpt-4o"]
    first = requests[-1].messages[0]
    return first["content"] if first["role"] == "system" else ""


def build_house(page):
    unfold(page, "Home/")
    tick(page, "Home/Solar roof.md").check()
    unfold(page, "Kitchen/")
    unfold(page, "Kitchen/Bread.md")
    tick(page, "Kitchen/Bread.md#Rule").check()
    expect(page.locator(".item-name")).to_have_count(2)
    page.locator("#options > summary").click()
    page.get_by_label("Follow links", exact=True).fill("1")
    page.get_by_label("Leave out sections").fill("Log")
    expect(page.get_by_role("heading", name="1 link away")).to_be_visible()


def test_a_context_is_built_attached_sent_and_found_in_the_request(new_page, server, endpoint):
    page = open_builder(new_page, server)
    build_house(page)
    assert sorted(previewed(page)) == ["Bread › Rule", "Inverter", "Solar roof"]
    page.get_by_label("Name of the context").fill("House")
    page.get_by_role("button", name="Attach").click()
    page.get_by_role("button", name="Open the chat").click()
    expect(page.locator(".composer .chip-name")).to_have_text("House")
    connected(page)
    send(page, "is it sunny?")
    expect(page.locator(".message").last).to_contain_text("You said: is it sunny?")
    fenced = r"^File: ([^\n]*)\n--begin-note--\n(.*?)\n--end-note--$"
    sources = re.findall(fenced, system_prompt(endpoint), re.MULTILINE | re.DOTALL)
    assert sources == [
        ("Kitchen/Bread.md#Rule", "## Rule\nFold thrice."),
        ("Home/Solar roof.md", "# Solar roof\n18 panels, see [[Inverter]]."),
        ("Home/Inverter.md", NOTES["Home/Inverter.md"].strip()),
    ]
    stored = json.loads((server.vault / ".memory/contexts/House.json").read_text("utf-8"))
    assert stored["context_items"] == {"Home/Solar roof.md": True, "Kitchen/Bread.md#Rule": True}


def test_the_compiled_text_is_shown_without_what_is_left_out(new_page, server):
    page = open_builder(new_page, server)
    build_house(page)
    page.locator(".compiled summary").click()
    expect(page.locator(".compiled pre")).to_contain_text("Fold thrice.")
    expect(page.locator(".compiled pre")).not_to_contain_text("Rain all day.")
    expect(page.locator(".finding[data-kind=excluded]")).to_have_count(1)


def test_the_stepper_tells_what_one_step_further_would_add(new_page, server):
    page = open_builder(new_page, server, viewport={"width": 360, "height": 740})
    unfold(page, "Home/")
    tick(page, "Home/Solar roof.md").check()
    expect(page.locator(".depth-next")).to_have_text(
        re.compile(r"^Step 1 would add 1 note · \d+ tokens$")
    )
    page.get_by_role("button", name="One step more").click()
    expect(page.get_by_role("heading", name="1 link away")).to_be_visible()
    expect(page.locator(".depth-next")).to_have_text("Step 2 would add nothing.")
    graph = page.get_by_role("group", name="Notes that go in, and their links")
    expect(graph.get_by_role("link")).to_have_count(2)
    expect(graph.locator("line")).to_have_count(1)
    expect(graph.locator("text")).to_have_count(2)
    graph.get_by_role("link", name=re.compile("1 link away$")).click()
    expect(page.locator(".item:target")).to_be_in_viewport()
    attach = page.get_by_role("button", name="Attach")
    attach.scroll_into_view_if_needed()
    assert attach.bounding_box()["x"] + attach.bounding_box()["width"] <= 360


def test_dots_of_the_picture_move_to_where_they_are_now(new_page, server):
    page = open_builder(new_page, server)
    unfold(page, "Home/")
    tick(page, "Home/Solar roof.md").check()
    more = page.get_by_role("button", name="One step more")
    more.click()
    dots = page.get_by_role("group", name="Notes that go in, and their links").get_by_role("link")
    expect(dots).to_have_count(2)
    chosen, linked = dots.element_handles()
    chosen.evaluate("dot => dot.addEventListener('transitionrun', () => (dot.hasMoved = true))")
    chosen.focus()
    tick(page, "Home/Inverter.md").evaluate("box => box.click()")
    expect(dots).to_have_count(2)
    expect(page.get_by_role("link", name="Inverter: chosen")).to_be_visible()
    assert dots.element_handles()[1].evaluate("(dot, old) => dot === old", chosen)
    assert linked.evaluate("dot => dot.isConnected")
    page.wait_for_function(HAS_MOVED, arg=chosen)
    assert chosen.evaluate("dot => dot === document.activeElement")

    page.get_by_role("button", name="One step less").click()
    tick(page, "Home/Inverter.md").uncheck()
    expect(page.locator(".graph [data-key]")).to_have_count(1)
    page.emulate_media(reduced_motion="reduce")
    assert chosen.evaluate("dot => getComputedStyle(dot).transitionDuration") == "0.001s, 0.001s"


def test_a_chip_takes_its_context_out_of_the_chat(new_page, server, endpoint):
    server.ask("smart_context.save_context", key="House", items=["Home/"])
    server.ask("smart_context.attach_context", chat_id="mixed", key="House")
    page = open_chat(new_page, server)
    page.get_by_role("button", name="Remove House").click()
    expect(page.locator(".composer .chip")).to_have_count(0)
    expect(page.get_by_role("button", name="Attach", exact=True)).to_be_focused()
    send(page, "and now?")
    expect(page.locator(".message").last).to_contain_text("You said: and now?")
    assert "House" not in system_prompt(endpoint)


def test_a_suggested_note_goes_with_one_click(new_page, server, endpoint):
    write_chat(server.vault, "bread", about("How do I fold bread dough?", "Gently"))
    page = open_chat(new_page, server, "bread")
    page.get_by_role("button", name="Attach", exact=True).click()
    page.get_by_role("button", name="Add notes").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Bread")).click()
    page.keyboard.press("Escape")
    expect(page.locator(".composer .chip-name")).to_have_text("Notes of this chat")
    send(page, "again?")
    expect(page.locator(".message").last).to_contain_text("You said: again?")
    assert NOTES["Kitchen/Bread.md"] in system_prompt(endpoint)


def test_a_note_goes_with_every_message_until_it_is_pressed_again(new_page, server):
    page = open_chat(new_page, server)
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("Add notes")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Add notes")
    search = dialog.get_by_role("searchbox")
    expect(search).to_be_focused()
    search.fill("inverter")
    inverter = dialog.get_by_role("button", name=re.compile("^Inverter"))
    inverter.click()
    expect(inverter).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".composer-contexts .chip-name")).to_have_text("Notes of this chat")
    inverter.click()
    expect(inverter).to_have_attribute("aria-pressed", "false")
    expect(page.locator(".composer-contexts .chip")).to_have_count(0)


def test_the_same_dialog_saves_notes_and_sends_a_named_context_once(new_page, server, endpoint):
    server.ask("smart_context.save_context", key="Ovens", items=["Kitchen/Bread.md#Rule"])
    page = open_chat(new_page, server)
    page.locator(".attach-button").click()
    page.locator(".add-notes").click()
    dialog = page.get_by_role("dialog", name="Add notes")
    dialog.get_by_role("radio", name="Under a name").check()
    dialog.get_by_role("searchbox").fill("inverter")
    dialog.get_by_role("button", name=re.compile("^Inverter")).click()
    name = dialog.get_by_label("Name of the context")
    name.fill("Ovens")
    name.press("Enter")
    expect(dialog.get_by_role("status")).to_contain_text("already")
    name.fill("Power")
    name.press("Enter")
    expect(page.locator(".composer-contexts .chip-name")).to_have_text("Power")
    dialog.get_by_role("radio", name="Once").check()
    dialog.get_by_role("searchbox").fill("ovens")
    dialog.get_by_role("button", name=re.compile("^Ovens")).click()
    expect(page.locator(".attaching-chip[data-state=ready]")).to_contain_text("Ovens.md")
    page.keyboard.press("Escape")
    send(page, "how often?")
    expect(page.locator(".message").last).to_contain_text("You said: how often?")
    assert "Fold thrice." in asked(endpoint)[-1]
    assert "50 Hz" in system_prompt(endpoint)


def test_the_preview_follows_the_notes_while_they_are_edited(new_page, server):
    page = open_builder(new_page, server)
    tick(page, "Home/").check()
    expect(page.locator(".item-name")).to_have_count(2)
    (server.vault / "Home/Boiler.md").write_text("Warm water.", encoding="utf-8")
    expect(page.locator(".item-name")).to_have_count(3)
    unfold(page, "Home/")
    expect(page.locator("li.row[data-key='Home/Boiler.md']")).to_be_visible()
    (server.vault / "Home/Boiler.md").unlink()
    expect(page.locator(".item-name")).to_have_count(2)
    expect(page.locator("li.row[data-key='Home/Boiler.md']")).to_have_count(0)


def test_what_is_missing_cut_or_left_out_is_said_with_its_reason(new_page, server):
    write_notes(server.vault, {"Long.md": "word " * 400, "Longer.md": "word " * 500})
    options = {"max_len": 100}
    items = ["Long.md", "Longer.md", "gone.md", "Kitchen/Bred", "Kitchen/Bread.md#Nothing"]
    server.ask("smart_context.save_context", key="Odd", items=items, options=options)
    page = open_builder(new_page, server, "/contexts/Odd")
    finding = page.locator(".finding[data-kind=missing]")
    finding.locator("summary").click()
    expect(finding).to_contain_text("3 not found")
    expect(finding).to_contain_text("gone.md No such file or folder.")
    expect(finding).to_contain_text(
        "Kitchen/Bred No such file or folder. Similar names: Kitchen/Bread.md"
    )
    expect(finding).to_contain_text("The note has no such heading.")
    expect(page.locator(".finding[data-kind=cut]")).to_contain_text("1 cut to fit")
    expect(page.locator(".finding[data-kind=skipped]")).to_contain_text("1 left out")
    expect(page.locator(".item-size")).to_contain_text("100 of 2,000")


def test_the_keyboard_does_it_all(new_page, server):
    page = open_builder(new_page, server)
    expect(tick(page, "Home/")).to_be_visible()
    page.get_by_role("searchbox", name="Search notes").focus()
    page.keyboard.press("Tab")
    expect(tick(page, "Home/")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(tick(page, "Home/Inverter.md")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(tick(page, "Home/Inverter.md")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.locator(".item-name")).to_have_text("Inverter")
    page.keyboard.press("ArrowLeft")
    expect(tick(page, "Home/")).to_be_focused()
    page.keyboard.press("ArrowLeft")
    expect(tick(page, "Home/Inverter.md")).to_be_hidden()
    page.get_by_role("button", name="Remove Inverter").press("Enter")
    expect(page.get_by_text("Nothing selected yet.")).to_be_visible()
    expect(page.get_by_role("searchbox", name="Search notes")).to_be_focused()


def test_what_has_the_focus_keeps_it_when_a_file_comes(new_page, server):
    page = open_builder(new_page, server)
    tick(page, "Home/").focus()
    (server.vault / "Another note.md").write_text("# New")
    expect(tick(page, "Another note.md")).to_be_visible()
    expect(tick(page, "Home/")).to_be_focused()


def test_a_name_that_is_taken_is_not_overwritten_unasked(new_page, server):
    server.ask("smart_context.save_context", key="House", items=["Home/"])
    page = open_builder(new_page, server)
    page.get_by_label("Name of the context").fill("House")
    expect(page.get_by_role("button", name="Save", exact=True)).to_be_disabled()  # it is empty
    tick(page, "Kitchen/").check()
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    assert server.ask("smart_context.get_context", key="House")["items"] == ["Home/"]
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Replace").click()
    expect(page.locator(".saved-state")).to_have_text("Saved")
    assert server.ask("smart_context.get_context", key="House")["items"] == ["Kitchen/"]
    page.get_by_role("button", name="Delete this context").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile(r"/contexts\?chat=mixed$"))
    assert server.ask("smart_context.list_contexts")["contexts"] == []


def test_unusually_much_is_neither_copied_nor_sent_unasked(new_page, configured, serve, endpoint):
    folder = configured(ask_above_tokens="50")
    write_notes(folder, {"Long.md": "word " * 400})
    write_chat(folder, "mixed", about("word " * 200, "yes"))
    server = serve(folder)
    page = open_builder(new_page, server, permissions=["clipboard-read", "clipboard-write"])
    tick(page, "Long.md").check()
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("dialog").get_by_role("button", name="Copy").click()
    expect(page.locator(".toast")).to_contain_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == "word " * 400

    page = open_chat(new_page, server)
    send(page, "hello")
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("textbox", name="Message")).to_have_value("hello")
    assert not endpoint.chat_requests
    page.get_by_role("textbox", name="Message").press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Send").click()
    expect(page.locator(".message").last).to_contain_text("You said: hello")
    send(page, "once more")
    expect(page.locator(".message").last).to_contain_text("You said: once more")


def test_hostile_names_stay_text(new_page, configured, serve):
    folder = configured()
    write_notes(folder, {"<b>x<b> \u202egnp.md": "# <script>document.title='owned'</script>\n"})
    server = serve(folder)
    page = open_builder(new_page, server, "/contexts")
    page.locator(".row-open:visible").click()
    page.locator("#tree input").first.check()
    expect(page.locator(".item-name")).to_contain_text("<b>x<b> ⟦U+202E⟧gnp")
    assert page.locator("#tree b, .chips b").count() == 0
    assert "owned" not in page.title()


def test_a_large_vault_is_fetched_page_by_page(new_page, configured, serve):
    folder = configured()
    write_notes(folder, {f"many/note {n:04}.md": "x" for n in range(1_205)})
    server = serve(folder)
    page = open_builder(new_page, server, "/contexts")
    unfold(page, "many/")
    expect(page.locator("li.row[data-kind=note]")).to_have_count(200)
    page.get_by_role("button", name="Show more").click()
    expect(page.locator("li.row[data-kind=note]")).to_have_count(400)
    page.get_by_role("searchbox", name="Search notes").fill("1204")
    expect(page.locator("li.row[data-kind=note]")).to_have_count(1)
    page.locator("li.row input").check()
    expect(page.locator("#chosen .chip-name")).to_have_text("note 1204")


def test_the_builder_and_the_dialog_have_no_fault_that_a_program_finds(new_page, server):
    server.ask("smart_context.save_context", key="House", items=["Home/", "gone.md"])
    server.ask("smart_context.attach_context", chat_id="mixed", key="House")
    page = open_builder(new_page, server, "/contexts/House", **STILL)
    expect(page.locator(".item-name")).to_have_count(2)
    page.locator("#options > summary").click()
    assert_accessible(page)
    page = open_chat(new_page, server, **STILL)
    expect(page.locator(".composer .chip")).to_have_count(1)
    page.get_by_role("button", name="Attach", exact=True).click()
    page.get_by_role("button", name="Add notes").click()
    expect(page.locator("#notes-named .pick")).to_have_attribute("aria-pressed", "true")
    assert_accessible(page)


def test_a_long_title_of_a_chat_leaves_room_to_attach(new_page, configured, serve):
    folder = configured()
    write_chat(folder, "long", about("cats", "yes"), title="Kapitänsmützenabzeichen " * 8)
    page = open_builder(new_page, serve(folder), "/contexts?chat=long")
    edge = page.locator("#attach-context").bounding_box()
    assert edge["x"] + edge["width"] <= page.viewport_size["width"]


@pytest.mark.parametrize("path", ["/contexts", "/contexts/House"])
def test_a_narrow_screen_has_room_for_the_builder(new_page, server, path):
    server.ask("smart_context.save_context", key="House", items=["Home/", "Kitchen/Bread.md#Rule"])
    page = open_builder(new_page, server, path, viewport={"width": 360, "height": 740})
    expect(page.locator("#tree input").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_last_step_and_what_it_costs_stay_in_sight(new_page, serve, vault):
    for number in range(40):
        (vault / f"{number}.md").write_text(f"# Note {number}\n\nIt says {number}.\n")
    server = serve(vault)
    page = open_page(new_page, server, "/contexts", viewport={"width": 1280, "height": 600})
    page.locator(".row-label input").first.check()
    expect(page.get_by_role("button", name="Attach")).to_be_in_viewport(ratio=1)
    expect(page.get_by_label("Send it with every message of")).to_have_text(
        re.compile("A new chat")
    )
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Give it a name first.")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 700})
    expect(page.locator(".preview .total")).to_be_in_viewport(ratio=1)
    page.get_by_label("Name of the context").fill("Numbers")
    page.get_by_role("button", name="Attach").click()
    page.get_by_role("button", name="Open the chat").click()
    expect(page.get_by_role("list", name="Sent with each message")).to_contain_text("Numbers")
