"""Every regular expression of the package takes time in proportion to the text, on its worst one.

The worst texts are made from each expression: a new one is tried without anybody naming it here.
"""

from collections import Counter, deque

import pytest

from tests.growth.clock import MOST_GROWTH, growth, seconds
from tests.growth.patterns_in_use import calls_within_functions, used_patterns
from tests.growth.worst_cases import worst_cases
from tests.yardstick import yardstick_s

SHORT, LONG = 1 << 12, 1 << 16
FAST = 0.15
"""How many times as long as the yardstick a short text takes at most without a closer look."""
SLOW = 1.2
"""And at most in any case, or a text of the only length that a pattern sees."""

PASSED_ON = {
    "base.config.lines": "match",
    "host.plugins.manifest": "fullmatch",
}
"""How patterns are used that a module hands to a function, or looks up; by default to search."""

BOUNDED = {
    "topics.standing.personal._NOTED": 120,
    "topics.standing.personal": 200,
    "topics.standing": 600,
}
"""Patterns that only see texts of so many characters; a text of that length must take no time."""

MADE_WHEN_NEEDED = {
    "host/plugins/manifest.py": 1,
    "llm/echoes.py": 3,
    "packing/roles/document.py": 1,
    "relevance/evidence/lexical.py": 1,
    "base/text/hidden.py": 1,
    "topics/naming/borders.py": 2,
    "topics/naming/words/languages.py": 1,
    "topics/standing/standing.py": 1,
    "vault/assigns.py": 1,
    "vault/guarded/ignore.py": 2,
    "web/gate/sessions/browser_sessions.py": 1,
}
"""How often expressions are put together; `test_parsers` tries what does so from a text."""


def ways_of(used):
    passed_on = (way for place, way in PASSED_ON.items() if used.name.startswith(place))
    return used.methods or {next(passed_on, "search")}


def most_characters(used):
    return next((most for place, most in BOUNDED.items() if used.name.startswith(place)), None)


def run_of(used, way):
    encode = isinstance(used.pattern.pattern, bytes)
    call = {"search": used.pattern.finditer, "match": used.pattern.match}.get(
        way, used.pattern.fullmatch
    )

    def run(text):
        found = call(text.encode() if encode else text)
        if way == "search":
            deque(found, maxlen=0)

    return run


@pytest.fixture(scope="module")
def yardstick():
    return yardstick_s()


def is_slow(run, make, most, yardstick):
    text = make(most or SHORT)
    least = seconds(run, text)
    if least < FAST * yardstick:
        return False
    slow_s = SLOW * yardstick_s()
    if most is not None or least > slow_s:
        return min(least, *(seconds(run, text) for _ in range(3))) > slow_s
    return growth(run, make, longest=LONG) >= MOST_GROWTH


@pytest.mark.parametrize("used", [pytest.param(used, id=used.name) for used in used_patterns()])
def test_no_text_is_slow_for(used, yardstick):
    slow = (
        (way, case)
        for case, make in worst_cases(used.pattern).items()
        for way in ways_of(used)
        if is_slow(run_of(used, way), make, most_characters(used), yardstick)
    )
    assert next(slow, None) is None


def test_the_others_are_made_from_a_text_and_tried_with_what_uses_them():
    assert Counter(calls_within_functions()) == MADE_WHEN_NEEDED
