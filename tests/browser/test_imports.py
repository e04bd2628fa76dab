"""Chats of other programs are dropped on the list of chats, and again next month."""

import base64
import io
import json
import zipfile

import pytest
from playwright.sync_api import expect

from tests.browser.steps import open_page
from tests.importing.samples import CHATGPT, MAPPING

pytestmark = pytest.mark.browser

DROP = """([content, name]) => {
  const bytes = Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([bytes], name));
  for (const type of ["dragover", "drop"])
    document.querySelector("#chats").dispatchEvent(
      new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
}"""


def export(*names, odd=()):
    chats = [{**CHATGPT, "title": f"Boats {name}", "conversation_id": name, "mapping": MAPPING}
             for name in names]  # fmt: skip
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("conversations.json", json.dumps([*chats, *odd]))
    return base64.b64encode(archive.getvalue()).decode()


def test_an_archive_is_dropped_on_the_list_and_next_month_again(new_page, serve, tmp_path):
    (tmp_path / "vault").mkdir()
    server = serve(tmp_path / "vault")
    page = open_page(new_page, server, "/")
    page.evaluate(DROP, [export("a", "b", odd=[{"title": "Odd"}]), "chatgpt.zip"])
    notices = page.get_by_role("region", name="Notices")
    expect(notices).to_contain_text("2 new chats. Not read: Odd: expected conversation_id")
    expect(page.locator("#chats")).to_contain_text("Boats a")
    expect(page.locator(".import-told")).to_be_hidden()
    notices.get_by_role("button", name="Show").click()
    expect(page.locator(".chat-entry[data-found]")).to_have_count(2)
    expect(page.get_by_role("link", name="Boats").first).to_be_focused()

    gone = next(
        row for row in server.ask("memory.list_chats")["chats"] if row["title"] == "Boats b"
    )
    server.ask("memory.delete_chat", chat_id=gone["id"])
    page.evaluate(DROP, [export("a", "b", "c"), "chatgpt.zip"])
    said = "1 new chat, 1 known already, 1 left in the trash."
    expect(notices).to_contain_text(said)
    expect(page.locator("#chats")).not_to_contain_text("Boats b")
