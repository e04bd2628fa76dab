"""Makes the README's pictures from the running demonstration.

Usage: python docs/make_screenshots.py
"""

import re
import subprocess  # noqa: TID251  starts our own program
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

IMAGES = Path(__file__).resolve().parent / "images"
CHAT = "/chats/year-of-projects"
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SHOTS = {
    "chat-light.png": {"color_scheme": "light", "viewport": {"width": 1360, "height": 850}},
    "chat-dark.png": {"color_scheme": "dark", "viewport": {"width": 1360, "height": 850}},
    "chat-narrow.png": {"color_scheme": "light", "viewport": {"width": 360, "height": 740}},
}


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
                browser = playwright.chromium.launch(
                    executable_path="/usr/bin/chromium", args=FLAGS
                )
                with browser.new_context() as context:
                    context.new_page().goto(link)  # works once; the other pages share its session
                    shared = {"storage_state": context.storage_state()}
                for name, options in SHOTS.items():
                    take(browser, link, name, {**options, **shared})
        finally:
            demo.terminate()


def take(browser: Browser, link: str, name: str, options: dict[str, object]) -> None:
    """One picture: the long chat with its first topic picked."""
    context = browser.new_context(**options, reduced_motion="reduce", device_scale_factor=1.5)
    page = context.new_page()
    page.goto(re.match(r"http://[^/]+", link).group() + CHAT)
    bubble = page.locator("bubble-cloud .bubble").first
    bubble.wait_for(state="attached", timeout=60_000)
    if not bubble.locator("input").is_checked():
        if not bubble.is_visible():
            page.locator("[data-toggle=side]").click()
        bubble.click()
    page.locator(".message.in-context").first.wait_for(state="attached")
    page.locator(".message[data-mark=out]").first.wait_for(state="attached")
    page.mouse.move(0, 0)
    page.wait_for_function("() => document.getAnimations().length === 0")
    page.screenshot(path=IMAGES / name)
    context.close()


if __name__ == "__main__":
    main()
