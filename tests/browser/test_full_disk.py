"""What the page says of an answer that a full disk does not hold."""

import threading

import pytest
from playwright.sync_api import expect

from tests.browser.steps import open_chat, send
from tests.fake_openai import held
from tests.small_disk import fill, small_disk
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "vault"
    folder.mkdir()
    with small_disk(folder):
        yield folder


def test_the_page_says_that_what_it_shows_is_not_saved_until_it_is(
    new_page, configured, serve, endpoint
):
    folder, gate = configured(), threading.Event()
    write_chat(folder, "mixed", about("cats", "boats"))
    endpoint.reply_with(held("one two " + " ".join(["word" * 50] * 1_000), gate, after=2))
    page = open_chat(new_page, serve(folder))
    notice = page.locator("p.unsaved")
    expect(notice).to_be_hidden()
    send(page, "At length, please")
    expect(page.locator(".message").last).to_contain_text("two")
    filler = fill(folder)
    gate.set()
    expect(notice).to_contain_text("could not be saved")
    expect(notice).to_contain_text("The disk is full")
    page.reload()
    expect(notice).to_contain_text("could not be saved")
    filler.unlink()
    expect(notice).to_be_hidden()
    expect(page.locator(".message").last).to_contain_text("wordword")
