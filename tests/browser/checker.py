"""An automated checker of accessibility, for any page in any state."""

from axe_playwright_python.sync_playwright import Axe

from tests.browser.frames import AT_REST

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FAULTS_ONLY = {"resultTypes": ["violations"]}
"""To tell of all that passed would take a fifth of the time."""
RULES = {"runOnly": TAGS} | FAULTS_ONLY
CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}} | FAULTS_ONLY
STILL = {"bypass_csp": True, "reduced_motion": "reduce"}
"""What a page has to be opened with: the checker is a script, which its own policy would refuse."""


def assert_accessible(page):
    """No fault that a program finds: by every rule in light, and of contrast in dark."""
    for scheme, rules in (("light", RULES), ("dark", CONTRAST)):
        page.emulate_media(color_scheme=scheme)
        page.evaluate(AT_REST)
        found = _checker(page).run(page, options=rules)
        assert found.violations_count == 0, found.generate_report()


def _checker(page):
    """The checker; a page is given its half a megabyte of script only once."""
    return Axe(axe_script="null") if page.evaluate("'axe' in window") else Axe()
