"""Makes the README's moving picture of a real model on one's own machine.

Usage: python docs/film_real_model.py [BASE_URL]

BASE_URL is that of a server of llama.cpp; without it the one of `tests/real_model` is fetched and
served. All that is seen is what that model does; only the waiting is cut short.
"""

import re
import sys
from contextlib import ExitStack
from typing import Any

from apng import Frame, apng
from make_screenshots import CHROMIUM, FLAGS, IMAGES, opened
from playwright.sync_api import Locator, Page, sync_playwright

from tests.benchmarks.bench_real_model import demo_messages, product
from tests.real_model.program import install, served

SIZE = {"width": 1120, "height": 640}
FIRST = "In one sentence: is the rail pass in Japan worth it?"
SECOND = "In one sentence: how do I get a crisp crust?"
TOPIC_HAS = "dough|bread"
SHOWN_MS, READ_MS = 700, 2600
READING_MS, WRITING_MS, SETTLED_MS = 6000, 1500, 1200
LONGEST_WAIT_MS = 300_000


class Film:
    """The frames of a page, each cut to what has changed if that is known."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frames: list[Frame] = []

    def take(self, shown_ms: int = SHOWN_MS, part: Locator | None = None) -> None:
        """Take the page, or a part of it."""
        clip: Any = None
        if part:
            box = part.bounding_box() or {}
            clip = {key: int(value) for key, value in box.items()}
        at = (clip["x"], clip["y"]) if clip else (0, 0)
        self.frames.append(Frame(png=self.page.screenshot(clip=clip), shown_ms=shown_ms, at=at))


def main() -> None:
    """Serve what is needed, talk, and write the picture."""
    with ExitStack() as stack:
        base_url = sys.argv[1] if len(sys.argv) > 1 else ""
        if not base_url:
            install()
            base_url = stack.enter_context(served())
        chats: Any = {"projects": demo_messages()}
        server = stack.enter_context(product(base_url, has_fast=True, **chats))
        browser = stack.enter_context(sync_playwright()).chromium.launch(
            executable_path=CHROMIUM, args=FLAGS
        )
        with browser.new_context() as context:
            context.new_page().goto(server.link)
            shared = {"storage_state": context.storage_state()}
        film = Film(
            opened(browser, f"{server.origin}/chats/projects", {"viewport": SIZE, **shared})
        )
        film.page.set_default_timeout(LONGEST_WAIT_MS)
        talk(film)
        (IMAGES / "real-model.png").write_bytes(apng(film.frames))


def talk(film: Film) -> None:
    """See the topics appear, ask about all, pick one, and ask again."""
    page = film.page
    film.take()
    page.locator(".bubble").first.wait_for()
    page.wait_for_timeout(SETTLED_MS)
    film.take(READ_MS)
    ask(film, FIRST)
    page.locator(".bubble").filter(has_text=re.compile(TOPIC_HAS, re.IGNORECASE)).first.click()
    page.mouse.move(0, 0)
    page.wait_for_timeout(SETTLED_MS)
    film.take(READ_MS)
    ask(film, SECOND)


def ask(film: Film, question: str) -> None:
    """Type a question, and see how far it is read and answered."""
    page = film.page
    answers = page.locator(".message[data-role=assistant]")
    known = answers.count()
    page.locator("#message-box").press_sequentially(question)
    page.wait_for_timeout(SETTLED_MS)
    film.take(2 * SHOWN_MS)
    page.locator("#message-box").press("Enter")
    answer = answers.nth(known)
    answer.wait_for()
    told = ""
    while page.locator("[data-generating]").count():
        reads = "Reading" in answer.inner_text()
        page.wait_for_timeout(READING_MS if reads and told else WRITING_MS)
        if (now := answer.inner_text()) != told:
            same = told and reads and "Reading" in now
            film.take(part=answer if same else page.locator("main") if told else None)
            told = now
    page.wait_for_timeout(SETTLED_MS)
    film.take(READ_MS)


if __name__ == "__main__":
    main()
