"""An automated checker of accessibility, for any page in any state."""

from axe_playwright_python.sync_playwright import Axe

from tests.browser.frames import FRAME

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
STILL = {"bypass_csp": True, "reduced_motion": "reduce"}
"""What a page has to be opened with: the checker is a script, which its own policy would refuse."""

AT_REST = """async () => {
    const frame = () => FRAME;
    const ends = (moving) => Number.isFinite(moving.effect.getComputedTiming().endTime);
    const moving = () => document.getAnimations().filter(ends);
    do {
        await Promise.allSettled(moving().map((one) => one.finished));
        await frame();
        await frame();
    } while (moving().length);
}""".replace("FRAME", FRAME)
"""Waits until colours that fade into others have arrived, and those that follow them."""


def assert_accessible(page):
    """No fault that a program finds: by every rule in light, and of contrast in dark."""
    for scheme, rules in (("light", RULES), ("dark", CONTRAST)):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(AT_REST)
        found = Axe().run(page, options=rules)
        assert found.violations_count == 0, found.generate_report()
