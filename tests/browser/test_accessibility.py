"""Every screen, held to WCAG 2.2 AA as far as a program can tell, in light and dark."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from smart_context.cli.serve import demo_vault
from tests.serving import serving

pytestmark = pytest.mark.browser

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
SCREENS = {
    "a long chat": "/chats/year-of-projects",
    "a chat with code": "/chats/agent-debugging",
    "a Chinese chat": "/chats/chengdu-plan",
    "a new chat": "/new",
    "the panel alone": "/panels/smart_context?chat_id=agent-debugging",
}


@pytest.fixture(scope="module")
def demo():
    with demo_vault() as root, serving(root) as server:
        for chat in ("year-of-projects", "agent-debugging", "chengdu-plan"):
            server.ask("smart_context.refresh_topics", chat_id=chat, wait=True)
        yield server


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", SCREENS.values(), ids=SCREENS.keys())
def test_a_screen_has_no_fault_that_a_program_finds(new_page, demo, path, scheme):
    # The checker is put in as a script by the test; the page's own policy would refuse it.
    page = new_page(demo.link, color_scheme=scheme, bypass_csp=True, reduced_motion="reduce")
    page.goto(demo.origin + path)
    expect(page.locator("html")).to_have_attribute("data-wire", "open")
    found = Axe().run(page, options=RULES)
    assert found.violations_count == 0, found.generate_report()
