"""The pages call an act or a thing by one word, which `docs/glossary.md` lists."""

import re
from html.parser import HTMLParser

import pytest

from tests.docs.pages import ROOT, rows

READ_OUT = frozenset({"aria-label", "placeholder", "title", "alt"})
JINJA = re.compile(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", re.DOTALL)
LITERAL = re.compile(r""""([^"\\\n]+)"|'([^'\\\n]+)'|`([^`\\]+)`""")


class Words(HTMLParser):
    """Gathers the texts of a page and the attributes that people read or hear."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, _tag, attrs):
        self.found += [value for name, value in attrs if name in READ_OUT and value]

    def handle_data(self, data):
        self.found.append(data)


def literals(code):
    """The texts in quotes that are for people: those with a space that begin with a capital."""
    found = ("".join(match.groups("")) for match in LITERAL.finditer(code))
    return [text for text in found if re.match(r"[A-Z][^<>]* ", text)]


def shown(path):
    """What a template or a script shows to people."""
    source = path.read_text("utf-8")
    if path.suffix == ".js":
        return literals(re.sub(r"/\*.*?\*/|^\s*//.*$", "", source, flags=re.DOTALL | re.MULTILINE))
    words = Words()
    words.feed(JINJA.sub(" ", source))
    return [*words.found, *(text for code in JINJA.findall(source) for text in literals(code))]


@pytest.fixture(scope="module")
def texts():
    paths = [*ROOT.glob("templates/**/*.html"), *ROOT.glob("static/**/*.js")]
    return [(path.name, text) for path in paths for text in shown(path)]


@pytest.mark.parametrize(("word", "others"), [(row[0], row[2]) for row in rows("word | means")])
def test_an_act_or_a_thing_has_one_word_on_all_pages(texts, word, others):
    wrong = re.compile(rf"\b({others.replace(', ', '|')})", re.IGNORECASE)
    assert [found for found in texts if wrong.search(found[1])] == []
    assert any(re.search(rf"\b{word}", text, re.IGNORECASE) for _, text in texts)


def test_there_are_twelve_words():
    assert len(rows("word | means")) == 12
