"""Makes the README's pictures, one of them moving, from the running demonstration.

Usage: python docs/make_screenshots.py
"""

import os
import re
import shutil
import subprocess  # noqa: TID251  starts our own program
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from apng import Frame, apng
from playwright.sync_api import Browser, Page, sync_playwright

from tests.fake_openai import FakeOpenAI, Reply

Film = Callable[..., None]
IMAGES = Path(__file__).resolve().parent / "images"
CHAT = "/chats/year-of-projects"
TOPIC = "Sourdough Loaf"
QUESTION = "And how long in the oven?"
OLLAMAS_PORT = 11434
MODELS = ("gemma3:12b", "llama3.2", "qwen3:8b")
ANSWER = (
    "Forty-two minutes in all: twenty with the lid on at 250 °C, then about twenty-two without it "
    "at 220 °C. You wanted a crust that is crisp but not hard, so take the loaf out a little early."
)
RECALLED = "Tokyo & Kyoto"
ABOUT_RECALLED = "Which of the temples did we leave for the second week?"
QUESTIONS = {
    "How warm should the kitchen be?": "About 24 degrees; at your 19 the dough takes nine hours.",
    "How much water goes in?": "340 g for 500 g of flour: 68 percent until the gluten holds.",
    "And overnight?": "Twelve hours in the fridge at 4 degrees, straight into the hot pot.",
}
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-headless-shell")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
LOW = {"width": 1120, "height": 640}
WIDE = {"width": 1360, "height": 850}
SHOTS = {
    "chat-light.png": {"color_scheme": "light", "viewport": WIDE},
    "chat-dark.png": {"color_scheme": "dark", "viewport": WIDE},
    "chat-narrow.png": {"color_scheme": "light", "viewport": {"width": 360, "height": 740}},
}
AT_REST = "() => document.getAnimations().length === 0"
WITHOUT_GUIDE = "localStorage.setItem('guide', 'done')"


def main() -> None:
    """Serve the demonstration, take each picture, and stop."""
    command = [sys.executable, "-m", "smart_context", "demo", "--port", "0", "--no-browser"]
    token = "only-for-pictures"  # noqa: S105 - the demonstration is served for these pictures only
    with (
        TemporaryDirectory() as settings,
        subprocess.Popen(  # noqa: S603 - our own program
            [*command, "--token", token],
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, "XDG_CONFIG_HOME": settings},  # noqa: TID251 - our own program's
        ) as demo,
    ):
        try:
            link = next(
                m.group() for line in demo.stdout or () if (m := re.search(r"http\S+", line))
            )
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
                with browser.new_context() as context:
                    context.new_page().goto(link)  # works once; the other pages share its session
                    shared = {"storage_state": context.storage_state()}
                with FakeOpenAI(at_port=OLLAMAS_PORT, answer=answered) as ollama:
                    take_all(browser, link.partition("?")[0].rstrip("/"), shared, ollama)
        finally:
            demo.terminate()


def answered(body: dict[str, Any]) -> str:
    """What the model answers to one of the questions."""
    return QUESTIONS.get(str(body["messages"][-1]["content"]), "")


def take_all(browser: Browser, origin: str, shared: dict[str, object], ollama: FakeOpenAI) -> None:
    """Every picture; the moving one first, since it picks the topic that the others show."""
    take_moving(browser, origin, shared, ollama)
    for name, options in SHOTS.items():
        page = opened(browser, origin + CHAT, {**options, **shared, "device_scale_factor": 1.5})
        page.locator(".message[data-mark]").first.wait_for(state="attached")
        page.locator("#scroll").evaluate("list => list.scrollBy(0, -list.clientHeight * 0.9)")
        shoot(page, name)
    page = opened(browser, origin + CHAT, {"viewport": WIDE, **shared, "device_scale_factor": 1.5})
    for number, question in enumerate(QUESTIONS, 2):
        page.locator("#message-box").fill(question)
        page.locator("#message-box").press("Enter")
        page.locator("a[data-receipt]:not([hidden])").nth(number - 1).wait_for(state="attached")
    page.locator("a[data-receipt]:not([hidden])").last.evaluate("link => link.click()")
    page.locator(".turn-sent").wait_for()
    shoot(page, "receipt.png")
    page = opened(browser, f"{origin}/contexts?note=Start%20here.md", {"viewport": WIDE, **shared})
    page.locator("[data-step='1']").click()
    page.locator(".depth-next:not(:empty)").wait_for()
    shoot(page, "contexts.png")
    take_topics(browser, origin, shared)


def take_topics(browser: Browser, origin: str, shared: dict[str, object]) -> None:
    """The map of all topics, once every chat has been read."""
    page = opened(browser, f"{origin}/topics", shared)
    page.locator("main[aria-busy=false]").wait_for()
    page.locator(".unread").wait_for(state="hidden")
    page.context.close()
    # In a browser that has seen no smaller map.
    page = opened(browser, f"{origin}/topics", {"viewport": LOW, **shared})
    page.locator(".theme .bubble").first.wait_for()
    shoot(page, "topics.png")
    page = opened(browser, f"{origin}/topics?view=list", {"viewport": LOW, **shared})
    page.locator(".topic-row").filter(has_text=RECALLED).click()
    page.get_by_role("button", name="Ask about this").click()
    page.locator(".composer-recalls .chip").wait_for()
    page.locator("#message-box").fill(ABOUT_RECALLED)
    page.get_by_text("Recalled", exact=True).wait_for()
    page.get_by_text("This message", exact=True).wait_for()
    shoot(page, "recall.png")


def opened(
    browser: Browser, address: str, options: dict[str, object], motion: str = "reduce"
) -> Page:
    """A page whose script is at work, without the guide for newcomers."""
    context = browser.new_context(**options, reduced_motion=motion)  # type: ignore[arg-type]
    context.add_init_script(WITHOUT_GUIDE)
    page = context.new_page()
    page.goto(address)
    page.locator("html[data-wire=open]").wait_for()
    return page


def shoot(page: Page, name: str) -> None:
    """A picture of the page at rest."""
    page.mouse.move(0, 0)
    page.wait_for_function(AT_REST)
    page.screenshot(path=IMAGES / name)
    page.context.close()


def take_moving(
    browser: Browser, origin: str, shared: dict[str, object], ollama: FakeOpenAI
) -> None:
    """Connect a model of this computer, pick a topic, see the rest fold, ask, read the answer."""
    page = opened(browser, origin + CHAT, {"viewport": LOW, **shared}, "no-preference")
    frames: list[Frame] = []

    def film(shown_ms: int, pause_ms: int = 0) -> None:
        page.wait_for_timeout(pause_ms)
        frames.append(Frame(png=page.screenshot(), shown_ms=shown_ms))

    at_rest(page)
    film(1000, 600)
    connect_model(page, ollama, film)
    page.goto(origin + CHAT)
    at_rest(page)
    pick_topic(page, film)
    ask(page, ollama, film)
    (IMAGES / "pick-fold-send.png").write_bytes(apng(frames))
    page.context.close()


def at_rest(page: Page) -> None:
    """Wait until the chat's topics and marks are there."""
    page.locator("bubble-cloud[data-moves] .bubble").first.wait_for()
    page.locator(".message[data-mark]").first.wait_for(state="attached")
    page.mouse.move(0, 0)


def connect_model(page: Page, ollama: FakeOpenAI, film: Film) -> None:
    """Find a model on this computer and use it."""
    ollama.models = MODELS
    page.get_by_role("link", name="Connect a model").first.click()
    find = page.get_by_role("button", name="Find models on this computer")
    find.hover()
    film(900, 600)
    find.click()
    page.get_by_role("radio", name=MODELS[0]).check()
    film(900, 300)
    page.get_by_role("button", name="Use this model").click()
    page.get_by_text(f"{MODELS[0]} answers your messages.").wait_for()
    film(1300, 400)


def pick_topic(page: Page, film: Film) -> None:
    """Look at a topic, pick it, and see the rest fold."""
    bubble = page.locator(".bubble", has_text=TOPIC)
    bubble.hover()
    film(1100, 900)
    bubble.click()
    film(120)
    film(1800, 900)
    page.mouse.move(0, 0)


def ask(page: Page, ollama: FakeOpenAI, film: Film) -> None:
    """Ask, and see the answer half-way and whole."""
    gate = threading.Event()
    ollama.reply_with(Reply(text=ANSWER, gate=gate, hold_after=len(ANSWER.split()) // 2))
    box = page.locator("#message-box")
    box.press_sequentially(QUESTION)
    film(1200, 500)
    box.press("Enter")
    page.get_by_text(ANSWER[:40]).wait_for()
    film(700, 500)
    gate.set()
    page.get_by_text(ANSWER[-40:]).wait_for()
    page.locator("a[data-receipt]:not([hidden])").last.wait_for(state="attached")
    film(3200, 1500)


if __name__ == "__main__":
    main()
