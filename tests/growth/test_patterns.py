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
MUCH = 20
"""How many times as long as that one text takes where others need not be tried."""

SLOWEST = 5
"""How many texts of a pattern get that closer look."""

PASSED_ON = {
    "base.config.document": "match",
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
    "base/text/hidden.py": 1,
    "base/text/marks.py": 1,
    "base/text/names.py": 1,
    "packing/files/secret_kinds.py": 2,
    "relevance/evidence/lexical.py": 2,
    "topics/naming/acceptance.py": 4,
    "topics/naming/words.py": 1,
    "topics/standing/standing.py": 1,
    "vault/assigns.py": 1,
    "vault/guarded/ignore.py": 1,
    "web/gate/session_record.py": 1,
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


def slow_case(used, yardstick):
    """A text that a pattern is too slow for, if there is one.

    A text that takes the square of its length takes by far the longest of all short ones already,
    so of those only the slowest are tried with a long one.
    """
    most, timed = most_characters(used), []
    for case, make in worst_cases(used.pattern).items():
        for way in ways_of(used):
            run = run_of(used, way)
            least = seconds(run, make(most or SHORT))
            if least >= FAST * yardstick:
                timed.append((least, way, case, run, make))
        if timed and timed[-1][0] > MUCH * SLOW * yardstick:
            break  # others would take as long, and one is enough
    timed.sort(key=lambda one: one[0], reverse=True)
    for least, way, case, run, make in timed[:SLOWEST]:
        slow_s = SLOW * yardstick_s()
        if most is not None or least > slow_s:
            text = make(most or SHORT)
            is_slow = min(least, *(seconds(run, text) for _ in range(3))) > slow_s
        else:
            is_slow = growth(run, make, longest=LONG) >= MOST_GROWTH
        if is_slow:
            return [(used.name, way, case)]  # others would be waited for, and one is enough
    return []


@pytest.fixture(scope="module")
def yardstick():
    """What tells which texts get a closer look; by a new one each of them is judged."""
    return yardstick_s()


@pytest.mark.parametrize("used", used_patterns(), ids=lambda used: used.name)
def test_no_text_is_slow_for_a_pattern(used, yardstick):
    assert slow_case(used, yardstick) == []


def test_the_others_are_made_from_a_text_and_tried_with_what_uses_them():
    assert Counter(calls_within_functions()) == MADE_WHEN_NEEDED
