"""Finds the files that a file of a repository imports, and those related to it.

Python is parsed; TypeScript and JavaScript are matched by pattern. Modules from elsewhere are
skipped.
"""

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import PurePosixPath

_PYTHON = frozenset({".py", ".pyi"})
_SCRIPT = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte")
_SCRIPT_IMPORT = re.compile(
    r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'](?P<module>\.{1,2}(?:/[^"'\n]*)?)["']"""
)
_COMPILED = {".js": (".ts", ".tsx"), ".jsx": (".tsx",), ".mjs": (".mts",), ".cjs": (".cts",)}
_TEST_MARK = re.compile(
    r"^(?:test_|tests_)|(?:[_.-](?:test|tests|spec))$|(?<=[a-z])(?:Test|Spec)s?$"
)


def local_imports(path: str, text: str, files: Collection[str]) -> list[str]:
    """The files that a file imports, sorted, without itself.

    Args:
        path: The file, relative to the repository, with `/`.
        files: All files of the repository, relative to it.
    """
    suffix = PurePosixPath(path).suffix
    if suffix in _PYTHON:
        found = _python_imports(path, text, files)
    elif suffix in _SCRIPT:
        found = _script_imports(path, text, files)
    else:
        return []
    return sorted(set(found) - {path})


def related_files(
    targets: Collection[str], files: Collection[str], read: Callable[[str], str | None]
) -> list[str]:
    """The files that import a target, and the tests named after one; sorted.

    Args:
        targets: Relative to the repository.
        read: Returns the text of a file; `None` if it has none.
    """
    wanted = set(targets)
    names = {_module_name(path) for path in wanted}
    related = {path for path in files if _tested_name(path) in names}
    for path in files:
        if path in related or not path.endswith((*_PYTHON, *_SCRIPT)):
            continue
        text = read(path)
        if text is None or not any(name in text for name in names):
            continue
        if not wanted.isdisjoint(local_imports(path, text, files)):
            related.add(path)
    return sorted(related - wanted)


def _module_name(path: str) -> str:
    """The name that imports a module; for a package's own file, the folder's."""
    pure = PurePosixPath(path)
    name = pure.name.partition(".")[0]
    return pure.parent.name if name in {"__init__", "index"} and pure.parent.name else name


def _tested_name(path: str) -> str:
    """The name of the module that a test file tests; empty if it is not a test."""
    stem = PurePosixPath(path).stem
    name, marks = _TEST_MARK.subn("", stem)
    return name if marks else ""


def _python_imports(path: str, text: str, files: Collection[str]) -> Iterator[str]:
    import ast  # noqa: PLC0415  6 ms that a pack without Python targets saves

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    folders = path.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _absolute(alias.name.split("."), folders, files)
        elif isinstance(node, ast.ImportFrom):
            module = node.module.split(".") if node.module else []
            for alias in node.names:
                yield from _imported_from(node.level, [*module, alias.name], folders, files)


def _imported_from(
    level: int, names: list[str], folders: list[str], files: Collection[str]
) -> Iterator[str]:
    """The file of `from <level dots><names but the last> import <the last>`."""
    if level == 0:
        yield from _absolute(names, folders, files)
    elif level <= len(folders) + 1:
        base = folders[: len(folders) - level + 1]
        yield from _longest_module([*base, *names], len(base), files)


def _absolute(names: list[str], folders: list[str], files: Collection[str]) -> Iterator[str]:
    """Try the import from the folders above the file, then from `src` and `lib`."""
    bases = [folders[:depth] for depth in range(len(folders), -1, -1)]
    for base in [*bases, ["src"], ["lib"]]:
        found = list(_longest_module([*base, *names], len(base) + 1, files))
        if found:
            yield from found
            return


def _longest_module(parts: list[str], least: int, files: Collection[str]) -> Iterator[str]:
    """The file of the longest prefix of at least `least` parts that is a module."""
    for end in range(len(parts), least - 1, -1):
        stem = "/".join(parts[:end])
        candidates = (f"{stem}.py", f"{stem}/__init__.py", f"{stem}.pyi") if stem else ()
        for candidate in candidates:
            if candidate in files:
                yield candidate
                return


def _script_imports(path: str, text: str, files: Collection[str]) -> Iterator[str]:
    for found in _SCRIPT_IMPORT.finditer(text):
        parts = path.split("/")[:-1]
        for part in found["module"].split("/"):
            if part == ".." and parts:
                parts.pop()
            elif part not in {"", ".", ".."}:
                parts.append(part)
        stem = "/".join(parts)
        yield from (name for name in _script_candidates(stem) if name in files)


def _script_candidates(stem: str) -> Iterator[str]:
    yield stem
    suffix = PurePosixPath(stem).suffix
    for compiled in _COMPILED.get(suffix, ()):
        yield stem.removesuffix(suffix) + compiled
    for ending in _SCRIPT:
        yield stem + ending
        yield f"{stem}/index{ending}"
