"""Pages for browsers that may fetch nothing: they look like the product without its files."""

import re

from smart_context.base.resources import asset
from smart_context.web.gate.door import NO_TOKEN, USED_LINK
from smart_context.web.gate.plain_page import PLAIN_STYLE
from smart_context.web.gate.refusals import refuse
from smart_context.web.gate.request_facts import RequestFacts


def facts_of(accept):
    headers = [(b"accept", accept), (b"host", b"127.0.0.1:8377")]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers}
    return RequestFacts.of(scope)


def test_their_colours_are_those_of_all_pages():
    tokens = (asset("static") / "css" / "tokens.css").read_text(encoding="utf-8")
    colours = set(re.findall(r"oklch\([^)]*\)", PLAIN_STYLE))
    assert len(colours) > 6
    assert colours <= set(re.findall(r"oklch\([^)]*\)", tokens))


def test_their_style_holds_for_nothing_else():
    rules = re.findall(r"([^{}]+)\{", PLAIN_STYLE)
    assert all(rule == ".plain" or rule.startswith(".plain ") for rule in rules)


def test_each_says_what_happened_and_which_command_makes_a_new_link():
    for refusal in (NO_TOKEN, USED_LINK):
        page = refuse(facts_of(b"text/html"), refusal).body.decode()
        assert f"<h1>{refusal.title}</h1>" in page
        assert "<code>smart-context sessions link</code>" in page


def test_the_step_for_programs_is_told_to_programs_alone():
    told = [refuse(facts_of(accept), NO_TOKEN).body for accept in (b"text/html", b"*/*")]
    assert [b"Authorization: Bearer" in each for each in told] == [False, True]
