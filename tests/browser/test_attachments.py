"""Files and links are attached in every way that a user has, and found in what is sent."""

import base64
import re

import pytest
from playwright.sync_api import expect

from tests.browser.steps import asked, connected, open_chat, send
from tests.vaults import about, read_chat, write_chat

pytestmark = pytest.mark.browser

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
TOO_LARGE = 25 * 2**20 + 1


@pytest.fixture
def server(configured, serve):
    folder = configured()
    (folder / "Sea").mkdir()
    (folder / "Sea/Tides.md").write_text("High water at six.\n", encoding="utf-8")
    (folder / "Sea/Chart.png").write_bytes(PICTURE)
    write_chat(folder, "mixed", about("cats purr", "yes"), title="Cats and boats")
    return serve(folder)


def text_file(name, text):
    return {"name": name, "mimeType": "text/plain", "buffer": text.encode()}


def pick(page, *files):
    with page.expect_file_chooser() as chooser:
        from_menu(page, "Files")
    chooser.value.set_files(list(files))


def from_menu(page, name):
    page.get_by_role("button", name="Attach", exact=True).click()
    page.get_by_role("button", name=re.compile(f"^{name}…")).click()


def carried(page, *files):
    """What a drag or the clipboard carries: files by name and text, or a plain text."""
    return page.evaluate_handle(
        """files => {
            const carried = new DataTransfer();
            for (const file of files) {
                if (typeof file === "string") carried.setData("text/plain", file);
                else carried.items.add(new File([file.text], file.name, { type: "text/plain" }));
            }
            return carried;
        }""",
        [one if isinstance(one, str) else {"name": one[0], "text": one[1]} for one in files],
    )


def paste(page, *files):
    page.get_by_role("textbox", name="Message").evaluate(
        """(box, clipboardData) => box.dispatchEvent(
            new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }))""",
        carried(page, *files),
    )


def chips(page):
    return page.get_by_role("list", name="Attached to this message").locator("li")


def chip(page, name):
    return chips(page).filter(has_text=name)


def counted(page):
    """The line that tells how many tokens attachments cost."""
    return page.locator(".sends-parts li[data-part=attachments]")


def is_ready(page, name):
    expect(chip(page, name)).to_have_attribute("data-state", "ready")


def answered(page, text):
    expect(page.locator(".message").last).to_contain_text("You said")
    expect(page.locator(".message[data-generating]")).to_have_count(0)
    expect(page.locator(".message", has_text=text).first).to_be_visible()


def test_files_that_were_picked_dropped_and_pasted_are_sent_in_envelopes(
    new_page,
    server,
    endpoint,
):
    page = open_chat(new_page, server)
    pick(page, text_file("picked.txt", "By the button."), text_file("twin.txt", "Its twin."))
    files = {"dataTransfer": carried(page, ("dropped.txt", "By the mouse."))}
    page.dispatch_event(".scroll", "dragover", files)
    expect(page.locator(".drop-zone")).to_be_visible()
    page.dispatch_event(".scroll", "drop", files)
    expect(page.locator(".drop-zone")).to_be_hidden()
    paste(page, ("pasted.txt", "By the keys."))
    for name in ("picked.txt", "twin.txt", "dropped.txt", "pasted.txt"):
        is_ready(page, name)
    expect(chip(page, "picked.txt")).to_contain_text("14 bytes")
    expect(counted(page)).to_be_visible()
    page.get_by_role("button", name="Show the exact text").click()
    expect(page.get_by_role("dialog")).to_contain_text("By the mouse.")
    page.keyboard.press("Escape")

    send(page, "What do they say?")
    answered(page, "What do they say?")
    expect(chips(page)).to_have_count(0)
    question = asked(endpoint)[-1]
    assert question.startswith("What do they say?\n\n<ATTACHMENT_FILE>\n<FILE_INDEX>1</FILE_INDEX>")
    for text in ("By the button.", "Its twin.", "By the mouse.", "By the keys."):
        assert f"<FILE_CONTENT>\n{text}\n</FILE_CONTENT>" in question
    sent = page.get_by_role("list", name="Attached").get_by_role("link", name="picked.txt")
    with page.expect_download() as download:
        sent.click()
    assert download.value.path().read_text(encoding="utf-8") == "By the button."


def test_what_was_taken_away_is_not_sent_and_the_focus_stays(new_page, server, endpoint):
    page = open_chat(new_page, server)
    pick(page, text_file("one.txt", "First."), text_file("two.txt", "Second."))
    is_ready(page, "two.txt")
    page.get_by_role("button", name="Remove one.txt").press("Enter")
    expect(chips(page)).to_have_count(1)
    expect(counted(page)).to_be_visible()
    expect(page.get_by_role("button", name="Remove two.txt")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Message")).to_be_focused()
    expect(page.get_by_role("status").filter(has_text="two.txt was removed")).to_have_count(1)
    expect(counted(page)).to_have_count(0)
    send(page, "and now?")
    answered(page, "and now?")
    assert asked(endpoint)[-1] == "and now?"


def test_a_file_of_the_vault_is_found_attached_and_sent(new_page, server, endpoint):
    page = open_chat(new_page, server)
    from_menu(page, "Add notes")
    dialog = page.get_by_role("dialog", name="Add notes")
    dialog.get_by_role("radio", name="Once").check()
    search = dialog.get_by_role("searchbox")
    search.fill("nowhere to be found")
    expect(dialog.get_by_role("status")).to_contain_text("No matching files")
    search.fill("sea")
    expect(dialog.get_by_role("listitem")).to_have_count(2)
    dialog.get_by_role("button", name=re.compile("^Chart.png")).click()
    search.press("ArrowDown")
    dialog.get_by_role("button", name=re.compile("^Tides")).press("Enter")
    for name in ("Chart.png", "Tides"):
        pressed = dialog.get_by_role("button", name=re.compile(f"^{name}"))
        expect(pressed).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Attach", exact=True)).to_be_focused()
    is_ready(page, "Tides.md")
    # This vault's model takes no images.
    expect(chip(page, "Chart.png")).to_contain_text("can’t see images")

    send(page, "When is high water?")
    answered(page, "When is high water?")
    assert "High water at six." in asked(endpoint)[-1]
    assert "can't be shown to you: Chart.png" in asked(endpoint)[-1]
    picture = page.locator(".attached[data-kind=image] img")
    expect(picture).to_have_js_property("naturalWidth", 1)


def notes_dialog(page, way):
    """The open dialog that adds notes, in one of its ways."""
    from_menu(page, "Add notes")
    dialog = page.get_by_role("dialog", name="Add notes")
    dialog.get_by_role("radio", name=way).check()
    return dialog


def test_a_note_that_goes_once_is_marked_after_a_reload_and_taken_off_there(new_page, server):
    page = open_chat(new_page, server)
    dialog = notes_dialog(page, "Once")
    dialog.get_by_role("searchbox").fill("Tides")
    note = dialog.get_by_role("button", name=re.compile("^Tides"))
    note.click()
    expect(note).to_have_attribute("aria-pressed", "true")
    connected(page).reload()
    dialog = notes_dialog(connected(page), "Once")
    dialog.get_by_role("searchbox").fill("Tides")
    expect(note).to_have_attribute("aria-pressed", "true")
    note.click()
    expect(note).to_have_attribute("aria-pressed", "false")
    expect(chips(page)).to_have_count(0)


def test_taking_off_a_chats_last_note_is_undone_with_the_note(new_page, server):
    page = open_chat(new_page, server)
    dialog = notes_dialog(page, "With every message")
    dialog.get_by_role("searchbox").fill("Tides")
    note = dialog.get_by_role("button", name=re.compile("^Tides"))
    note.click()
    expect(note).to_have_attribute("aria-pressed", "true")
    note.click()
    expect(note).to_have_attribute("aria-pressed", "false")
    page.keyboard.press("Escape")
    page.locator("main").click()
    page.keyboard.press("Control+z")
    sent = page.locator(".composer-contexts li")
    expect(sent).to_have_count(1)
    expect(sent).to_contain_text("1 note, 67 tokens.")


def test_a_long_context_that_goes_once_goes_whole(new_page, server, endpoint):
    lines = "\n".join(f"Line {n}." for n in range(1000))
    (server.vault / "Long.md").write_text(lines, encoding="utf-8")
    server.ask("smart_context.save_context", key="Sea", items=["Long.md"])
    page = open_chat(new_page, server)
    dialog = notes_dialog(page, "Once")
    dialog.get_by_role("button", name=re.compile("^Sea")).click()
    page.keyboard.press("Escape")
    is_ready(page, "Sea.md")
    expect(chip(page, "Sea.md")).not_to_contain_text("First 100")
    send(page, "And?")
    answered(page, "And?")
    assert "Line 999." in asked(endpoint)[-1]


def test_enter_attaches_the_first_file_that_is_found_and_escape_closes(new_page, server):
    page = open_chat(new_page, server)
    from_menu(page, "Add notes")
    dialog = page.get_by_role("dialog", name="Add notes")
    dialog.get_by_role("radio", name="Once").check()
    search = dialog.get_by_role("searchbox")
    search.fill("Tides")
    search.press("Enter")
    expect(dialog.get_by_role("status")).to_have_text("Tides is added.")
    search.press("Escape")
    expect(dialog).to_be_hidden()
    is_ready(page, "Tides.md")


def test_links_are_attached_by_pasting_an_address_or_in_a_dialog(new_page, server, endpoint):
    page = open_chat(new_page, server)
    paste(page, "https://example.org/tides")
    is_ready(page, "https://example.org/tides")
    from_menu(page, "Link")
    dialog = page.get_by_role("dialog", name="Attach a link")
    dialog.get_by_role("textbox", name="Address").fill("tides of the sea")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("Not an address")
    address = dialog.get_by_role("textbox", name="Address")
    expect(address).to_have_attribute("aria-invalid", "true")
    dialog.get_by_role("textbox", name="Address").fill("https://example.org/moon")
    dialog.get_by_role("textbox", name="Title").fill("The moon")
    page.keyboard.press("Enter")
    is_ready(page, "The moon")
    send(page, "Which is nearer?")
    answered(page, "Which is nearer?")
    question = asked(endpoint)[-1]
    assert "https://example.org/tides" in question
    assert "The moon\nhttps://example.org/moon" in question
    link = page.get_by_role("list", name="Attached").get_by_role("link", name="The moon")
    expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")


def test_a_pasted_address_can_be_text_after_all_and_stays_text_within_a_message(new_page, server):
    page = open_chat(new_page, server)
    box = page.get_by_role("textbox", name="Message")
    paste(page, "https://example.org/tides")
    page.get_by_role("button", name="Make it text").click()
    expect(box).to_have_value("https://example.org/tides")
    expect(chips(page)).to_have_count(0)
    # The browser itself pastes into a message that has begun.
    paste(page, "https://example.org/moon")
    expect(chips(page)).to_have_count(0)


def test_what_cannot_be_attached_says_why_and_holds_the_message(new_page, server, endpoint):
    page = open_chat(new_page, server)
    page.locator(".file-input").evaluate(
        """(input, size) => {
            const picked = new DataTransfer();
            picked.items.add(new File([new Uint8Array(size)], "film.txt"));
            picked.items.add(new File(["a\\0b"], "blob.bin"));
            picked.items.add(new File(["Fine."], "fine.txt"));
            input.files = picked.files;
            input.dispatchEvent(new Event("change"));
        }""",
        TOO_LARGE,
    )
    expect(chip(page, "film.txt")).to_contain_text("Too large: 26 MB; the limit is 25 MiB.")
    expect(chip(page, "blob.bin")).to_contain_text("no text")
    is_ready(page, "fine.txt")
    send(page, "And?")
    expect(page.get_by_role("alert")).to_contain_text("2 files could not be attached")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("And?")
    for name in ("film.txt", "blob.bin"):
        page.get_by_role("button", name=f"Remove {name}").click()
    page.get_by_role("textbox", name="Message").press("Enter")
    answered(page, "And?")
    assert "Fine." in asked(endpoint)[-1]


def test_a_file_that_did_not_arrive_can_be_tried_again(new_page, server):
    page = open_chat(new_page, server)
    under_way = []
    page.route("**/api/files", lambda route: under_way.append(route))  # noqa: PLW0108 - has to be a function
    pick(page, text_file("late.txt", "At last."))
    expect(page.get_by_role("progressbar", name="Attaching late.txt")).to_be_visible()
    send(page, "Is it there?")
    expect(page.get_by_role("alert")).to_contain_text("Still attaching 1 file")
    under_way[0].abort("connectionreset")
    expect(chip(page, "late.txt")).to_have_attribute("data-state", "failed")
    expect(chip(page, "late.txt")).to_contain_text("Upload failed")
    page.unroute("**/api/files")
    page.get_by_role("button", name="Try late.txt again").click()
    is_ready(page, "late.txt")


def test_what_is_attached_survives_a_reload_and_a_message_that_could_not_be_sent(
    new_page,
    server,
    endpoint,
):
    page = open_chat(new_page, server)
    pick(page, text_file("kept.txt", "Still here."))
    is_ready(page, "kept.txt")
    page.reload()
    is_ready(page, "kept.txt")
    connected(page)
    stored = next((server.vault / ".memory/files").glob("*.json"))
    kept = stored.with_suffix("").read_bytes()
    stored.with_suffix("").unlink()
    send(page, "What is it?")
    expect(page.get_by_role("alert")).to_contain_text("unknown key")
    is_ready(page, "kept.txt")
    expect(page.get_by_role("textbox", name="Message")).to_have_value("What is it?")
    stored.with_suffix("").write_bytes(kept)
    page.get_by_role("textbox", name="Message").press("Enter")
    answered(page, "What is it?")
    assert "Still here." in asked(endpoint)[-1]
    assert read_chat(server.vault, "mixed")["messages"][2]["files"][0]["name"] == "kept.txt"


def test_the_chip_of_a_long_text_says_what_goes_and_sends_all(new_page, server, endpoint):
    page = open_chat(new_page, server)
    text = "\n".join(f"line {n}" for n in range(600))
    page.locator("input[type=file]").first.set_input_files(
        [{"name": "long.txt", "mimeType": "text/plain", "buffer": text.encode()}]
    )
    is_ready(page, "long.txt")
    told = "First 100 of 600 lines · the model can ask for more"
    expect(chip(page, "long.txt")).to_contain_text(told)
    chip(page, "long.txt").get_by_role("button", name=re.compile("^Send all")).click()
    expect(chip(page, "long.txt")).not_to_contain_text("First 100")
    send(page, "What does it say?")
    answered(page, "What does it say?")
    assert "line 599" in asked(endpoint)[-1]
