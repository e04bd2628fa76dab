"""Makes the README's pictures, one of them moving, from the running demonstration.

Usage: python docs/make_screenshots.py
"""

import re
import shutil
import subprocess  # noqa: TID251  starts our own program
import sys
from pathlib import Path

from apng import Frame, apng
from playwright.sync_api import Browser, Page, sync_playwright

IMAGES = Path(__file__).resolve().parent / "images"
CHAT = "/chats/year-of-projects"
TOPIC = "Sourdough Loaf"
QUESTION = "And how long in the oven?"
RECALLED = "Tokyo & Kyoto"
ABOUT_RECALLED = "Which of the temples did we leave for the second week?"
QUESTIONS = ("How warm should the kitchen be?", "How much water goes in?", "And overnight?")
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
    with subprocess.Popen(  # noqa: S603 - our own program
        [*command, "--token", token], stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as demo:
        try:
            link = next(
                m.group() for line in demo.stdout or () if (m := re.search(r"http\S+", line))
            )
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
                with browser.new_context() as context:
                    context.new_page().goto(link)  # works once; the other pages share its session
                    shared = {"storage_state": context.storage_state()}
                take_all(browser, link.partition("?")[0].rstrip("/"), shared)
        finally:
            demo.terminate()


def take_all(browser: Browser, origin: str, shared: dict[str, object]) -> None:
    """Every picture; the moving one first, since it picks the topic that the others show."""
    take_moving(browser, origin, shared)
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


def take_moving(browser: Browser, origin: str, shared: dict[str, object]) -> None:
    """Pick a topic, see the rest fold, send a message."""
    page = opened(browser, origin + CHAT, {"viewport": LOW, **shared}, "no-preference")
    page.locator("bubble-cloud[data-moves] .bubble").first.wait_for()
    page.locator(".message[data-mark]").first.wait_for(state="attached")
    page.mouse.move(0, 0)
    frames: list[Frame] = []

    def film(shown_ms: int, pause_ms: int = 0) -> None:
        page.wait_for_timeout(pause_ms)
        frames.append(Frame(png=page.screenshot(), shown_ms=shown_ms))

    film(1400, 600)
    bubble = page.locator(".bubble", has_text=TOPIC)
    bubble.hover()
    film(1300, 900)
    bubble.click()
    film(120)
    film(2000, 900)
    page.mouse.move(0, 0)
    box = page.locator("#message-box")
    for part in re.findall(r"\S+ \S+ ?|\S+", QUESTION):
        box.press_sequentially(part)
        film(260)
    film(900, 500)
    box.press("Enter")
    page.locator(".message[data-extracted]").last.wait_for()
    film(3200, 1500)
    (IMAGES / "pick-fold-send.png").write_bytes(apng(frames))
    page.context.close()


if __name__ == "__main__":
    main()
