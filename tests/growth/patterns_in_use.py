"""Every regular expression of the package, and how each is used."""

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import smart_context

_FOLDER = Path(smart_context.__file__).parent
_SEARCHING = frozenset({"search", "finditer", "findall", "sub", "subn", "split"})
_METHODS = _SEARCHING | {"match", "fullmatch"}
_DEEPEST = 3


class UsedPattern(NamedTuple):
    """A pattern by the name of the module's variable that holds it, and all who hold it."""

    name: str
    pattern: re.Pattern
    holders: frozenset[tuple[str, str]]

    @property
    def methods(self) -> frozenset[str]:
        """`search`, `match`, …; none if no use is seen."""
        methods = _methods_by_place()
        places = {*self.holders, *(("", variable) for _, variable in self.holders)}
        return frozenset().union(*(methods.get(place, frozenset()) for place in places))


def used_patterns() -> list[UsedPattern]:
    """All that a module holds, in collections too.

    How they are used is read from the sources only when a test asks: to list them costs little.
    """
    found: dict[int, UsedPattern] = {}
    for module in _modules():
        for variable, place, pattern in _patterns_of(module):
            name = f"{module.__name__.removeprefix('smart_context.')}.{place}"
            known = found.get(id(pattern), UsedPattern(name, pattern, frozenset()))
            holders = known.holders | {(module.__name__, variable)}
            found[id(pattern)] = known._replace(holders=holders)
    return list(found.values())


def calls_within_functions() -> list[str]:
    """The files in which an expression is made or used other than by a variable of a module."""
    return [
        path.relative_to(_FOLDER).as_posix()
        for path, tree in _trees()
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in {*_METHODS, "compile"}
    ]


def _modules() -> Iterator:
    for found in pkgutil.walk_packages(smart_context.__path__, "smart_context."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def _patterns_of(module) -> Iterator[tuple[str, str, re.Pattern]]:
    for name, value in vars(module).items():
        if not name.startswith("__"):
            yield from ((name, place, pattern) for place, pattern in _held(name, value, _DEEPEST))


def _held(place: str, value, depth: int) -> Iterator[tuple[str, re.Pattern]]:
    if isinstance(value, re.Pattern):
        yield place, value
    entries = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list | tuple):
        entries = enumerate(value)
    for key, entry in entries if depth else ():
        yield from _held(f"{place}[{key!r}]", entry, depth - 1)


@cache
def _trees() -> list[tuple[Path, ast.Module]]:
    paths = sorted(_FOLDER.rglob("*.py"))
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


@cache
def _methods_by_place() -> dict[tuple[str, str], frozenset[str]]:
    """How each variable of a module is used there, or as an attribute of the module elsewhere."""
    methods = defaultdict(frozenset)
    for path, tree in _trees():
        module = ".".join(("smart_context", *path.relative_to(_FOLDER).with_suffix("").parts))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in _METHODS:
                way = "search" if node.attr in _SEARCHING else node.attr
                if isinstance(node.value, ast.Name):
                    methods[module.removesuffix(".__init__"), node.value.id] |= {way}
                elif isinstance(node.value, ast.Attribute):
                    methods["", node.value.attr] |= {way}
    return methods
