"""Names mean one thing each, and a file is one concept from its first line to its last."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

import smart_context
from tests.docs.pages import rows

PACKAGE = Path(smart_context.__file__).parent
SOURCES = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}

OF_TWO_SYSTEMS = {"ProcessGroup"}
"""Classes that a file defines once for each operating system."""

OFTEN = 5
"""So many classes end in one word before the word needs a line in the glossary."""


def classes(source):
    """The names of a module's classes, without underscores at their beginning."""
    nodes = ast.walk(ast.parse(source))
    return [node.name.lstrip("_") for node in nodes if isinstance(node, ast.ClassDef)]


def late_lines(source):
    """The lines with an import or a logger after the first function or class of a module."""
    body = ast.parse(source).body
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    begun = next((n for n, node in enumerate(body) if isinstance(node, kinds)), len(body))
    for node in body[begun:]:
        is_import = isinstance(node, ast.Import | ast.ImportFrom)
        if is_import or (isinstance(node, ast.Assign) and "getLogger(" in ast.unparse(node.value)):
            yield node.lineno
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield node.lineno


def named():
    """The files that define each class name, once for each definition."""
    found = defaultdict(list)
    for file, path in SOURCES.items():
        for name in classes(path.read_text(encoding="utf-8")):
            found[name].append(file)
    return found


def last_words():
    """The classes whose names end in each word."""
    found = defaultdict(set)
    for name in named():
        found[re.findall("[A-Z][a-z0-9]*", name)[-1]].add(name)
    return found


def glossary():
    return {row.strip("`"): meaning for row, meaning in rows("a class's last word | means")}


def test_no_two_classes_have_one_name():
    assert {name for name, files in named().items() if len(files) > 1} == OF_TWO_SYSTEMS


def test_each_word_in_which_many_names_end_is_in_the_glossary():
    often = {word for word, names in last_words().items() if len(names) >= OFTEN}
    assert often - glossary().keys() == set()


def test_the_glossary_has_no_word_that_few_names_end_in():
    words = last_words()
    assert {word for word in glossary() if len(words[word]) < OFTEN} == set()


def test_imports_and_loggers_stand_before_the_first_function():
    late = {file: [*late_lines(path.read_text(encoding="utf-8"))] for file, path in SOURCES.items()}
    assert {file: lines for file, lines in late.items() if lines} == {}


@pytest.mark.parametrize(
    "second",
    [
        "import re",
        "from re import sub",
        "_log = logging.getLogger(__name__)",
        "if TYPE_CHECKING:\n    import re",
    ],
)
def test_a_second_beginning_is_noticed(second):
    assert [*late_lines(f"import logging\n\ndef f(): ...\n\n{second}\n")] == [5]
    assert not [*late_lines(f"import logging\n{second}\n\ndef f(): ...\n")]


def test_a_class_within_a_class_has_a_name_too():
    assert classes("class _A:\n    class B: ...") == ["A", "B"]
