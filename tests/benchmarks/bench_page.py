"""What a long chat costs in the browser: frames while it is scrolled, filtered and typed into.

    python -m tests.benchmarks.bench_page [--messages 2000 10000]

Headless Chromium draws without a graphics card. With every message loaded, it tells of each deed
the milliseconds from one frame to the next (the median, nineteen in twenty, the worst), and the
processor time of the page's main thread: for each frame, and in all beyond that of a still page.
Before that: the milliseconds from a click on a topic to the painted folds, quickest and median.
On a machine that others use too, look at the processor time. Nothing is asserted.
"""

import argparse
import random
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.contexts import let_in
from tests.browser.steps import open_chat
from tests.fake_openai import FakeOpenAI
from tests.serving import serving
from tests.vaults import KEY, about, settings_text, write_chat

LABELS = ["garden", "boats", "taxes"]
WORDS = [f"word{number}" for number in range(2_000)]
PATIENCE_MS = 300_000

WATCH = """() => {
    const watch = { frames: [], last: 0 };
    const tick = (now) => {
        if (watch.last) watch.frames.push(now - watch.last);
        watch.last = now;
        watch.next = requestAnimationFrame(tick);
    };
    watch.next = requestAnimationFrame(tick);
    window.watch = watch;
}"""
END = """() => {
    cancelAnimationFrame(watch.next);
    return watch.frames;
}"""
LOAD = """async () => {
    const scroll = document.querySelector("#scroll");
    const shown = () => scroll.querySelectorAll("[data-message-id]").length;
    while (!scroll.querySelector(".older")?.hidden) {
        document.querySelector(".fold[aria-expanded=false]")?.click();  // beyond the model's window
        const before = shown();
        scroll.scrollTop = 0;
        scroll.dispatchEvent(new Event("scroll"));
        await new Promise(requestAnimationFrame);
        for (let n = 0; n < 500 && shown() === before; n++)
            await new Promise((done) => setTimeout(done, 5));
        if (shown() === before) break;
    }
    return shown();
}"""
SETTLE_FRAMES = 60
FRAMES = """
    const frame = () => new Promise(requestAnimationFrame);
    const until = async (is_so) => { while (!is_so()) await frame(); };
    const frames = async (count) => { for (let n = 0; n < count; n++) await frame(); };
    const text = (selector) => document.querySelector(selector).textContent;
    const bubble = (label) => document.querySelector(`.bubble input[value="${label}"]`);
"""


def deed(body):
    return f"async ([given]) => {{ {FRAMES} {body} await frames({SETTLE_FRAMES}); }}"


STILL = deed("await frames(given);")
SCROLL = deed(
    "for (let n = 0; n < given; n++) { document.querySelector('#scroll').scrollTop -= 300;"
    " await frame(); }"
)
PICK = deed(
    "const before = text('.topics .status'); bubble(given).click();"
    " await until(() => text('.topics .status') !== before);"
)
HOVER = deed(
    "bubble(given).dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));"
    " await until(() => /message|no change/.test(text('.peek')));"
)
TYPE = deed(
    "const box = document.querySelector('#message-box');"
    " for (const letter of given) { box.value += letter;"
    " box.dispatchEvent(new InputEvent('input', { bubbles: true })); await frames(4); }"
)
PAINTED = """async ([label]) => {
    const main = document.querySelector("main");
    const isDimmed = () => main.hasAttribute("data-filtered") && main.querySelector(".fold");
    const input = document.querySelector(`.bubble input[value="${label}"]`);
    const seen = new Promise((done) => {
        const watcher = new MutationObserver(() => isDimmed() && (watcher.disconnect(), done()));
        watcher.observe(main, { attributes: true, childList: true, subtree: true });
    });
    const start = performance.now();
    input.click();
    await seen;
    await new Promise((done) => requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = done;
        port2.postMessage(null);
    }));
    return performance.now() - start;
}"""
CLEAR = deed(
    "const before = text('.topics .status');"
    " document.querySelector('[data-panel=clear]').click();"
    " await until(() => text('.topics .status') !== before);"
)


def messages(count):
    pick = random.Random(0)
    texts = []
    for number in range(count):
        words = " ".join(pick.choices(WORDS, k=pick.choice((8, 30, 90))))
        texts.append(f"{LABELS[number % 3]} {LABELS[number % 3]} {words}")
    return about(*texts)


class Watched:
    """Prints what the frames took while something was done on the page."""

    def __init__(self, page):
        self.page = page
        self.cdp = page.context.new_cdp_session(page)
        self.cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.still_ms = 0.0

    def busy_ms(self):
        metrics = self.cdp.send("Performance.getMetrics")["metrics"]
        return next(1000 * one["value"] for one in metrics if one["name"] == "TaskDuration")

    def row(self, name, script, *arguments):
        before = self.busy_ms()
        self.page.evaluate(WATCH)
        self.page.evaluate(script, list(arguments))
        frames = sorted(self.page.evaluate(END))
        busy = self.busy_ms() - before
        each = busy / len(frames)
        self.still_ms = self.still_ms or each
        beyond = busy - self.still_ms * len(frames)
        at = [frames[len(frames) // 2], frames[int(len(frames) * 0.95)], frames[-1], each, beyond]
        print(f"{name:<44}" + "".join(f"{ms:>9.1f}" for ms in at))


def pick_to_paint(page, name):
    """Print how long after a click the folds are painted: the quickest and the median of nine."""
    took = []
    page.evaluate(PICK, [LABELS[0]])  # embeds the chat the first time
    page.evaluate(CLEAR, [])
    for number in range(9):
        took.append(page.evaluate(PAINTED, [LABELS[number % 3]]))
        page.evaluate(CLEAR, [])
    took.sort()
    print(f"{name:<44}{took[0]:>9.1f}{took[len(took) // 2]:>9.1f}")


def bench(page, count):
    watched = Watched(page)
    watched.row(f"still, {count} messages", STILL, 120)
    watched.row("scrolling", SCROLL, 240)
    watched.row("picking a topic", PICK, LABELS[0])
    watched.row("picking another", PICK, LABELS[1])
    watched.row("scrolling, filtered", SCROLL, 240)
    watched.row("hovering a third", HOVER, LABELS[2])
    watched.row("typing 40 characters", TYPE, "How deep are the roots of an old garden?")
    watched.row("clearing the filter", CLEAR)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--messages", type=int, nargs="*", default=[2_000, 10_000])
    given = options.parse_args()
    columns = ("median", "95 %", "worst", "busy", "beyond")
    print(f"{'':<44}" + "".join(f"{name:>9}" for name in columns) + " ms")
    for count in given.messages:
        with (
            tempfile.TemporaryDirectory() as folder,
            tempfile.TemporaryDirectory() as config,
            FakeOpenAI() as endpoint,
            sync_playwright() as playwright,
        ):
            vault = Path(folder)
            (vault / ".vault.toml").write_text(settings_text(endpoint.base_url), "utf-8")
            topics = [{"label": label, "count": count // 3} for label in LABELS]
            write_chat(vault, "long", messages(count), topics=topics)
            with serving(vault, env={**KEY, "XDG_CONFIG_HOME": config}) as server:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
                context = browser.new_context(viewport={"width": 1280, "height": 800})
                context.set_default_timeout(PATIENCE_MS)

                def new_page(server, path, *, context=context):
                    page = context.new_page()
                    let_in(page, server)
                    page.goto(server.origin + path)
                    return page

                page = open_chat(new_page, server, "long")
                pick_to_paint(page, f"pick to paint, {count} messages, as opened")
                assert page.evaluate(LOAD) == count
                pick_to_paint(page, f"pick to paint, {count} messages, all loaded")
                bench(page, count)
                browser.close()


if __name__ == "__main__":
    main()
