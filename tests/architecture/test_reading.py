"""Pages and the gateway's edge ask for a caller, and nobody asks the context who that is."""

import ast
from pathlib import Path

import smart_context

PACKAGE = Path(smart_context.__file__).parent
DOORS = ("web", "gateway/edge")
STORES = {"store", "storage", "files", "documents", "listing", "trash"}
"""What the host and the ports call what is kept."""

PUTTING_TOGETHER = {
    ("gateway/edge/gateway.py", "storage"): "hands the turns of clients what is their person's",
}


def reached(source):
    """The names of what is kept that a module reaches through a host or its services."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in STORES:
            owner = ast.unparse(node.value)
            if owner.rpartition(".")[2].lstrip("_") in {"host", "services"}:
                yield node.attr


def test_no_page_or_route_goes_past_the_one_who_asks():
    found = {
        (path.relative_to(PACKAGE).as_posix(), name)
        for door in DOORS
        for path in (PACKAGE / door).rglob("*.py")
        for name in reached(path.read_text(encoding="utf-8"))
    }
    assert found == PUTTING_TOGETHER.keys()


def test_a_way_past_is_noticed():
    source = "class P:\n def f(self):\n  return self._host.store.load('c'), host.services.storage"
    assert sorted(reached(source)) == ["storage", "store"]


WHO_ASKS = {"PersonId", "Caller", "Client", "Storage", "Turn"}
"""Types of values that say, or are only for, the person who asks."""


def in_context(source):
    """The names in the types of a module's context variables; all must be annotated."""
    for node in ast.walk(ast.parse(source)):
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if isinstance(value, ast.Call) and ast.unparse(value.func).endswith("ContextVar"):
            held = node.annotation if isinstance(node, ast.AnnAssign) else None
            assert held is not None, "annotate the context variable"
            yield {name.id for name in ast.walk(held) if isinstance(name, ast.Name)}


def test_no_variable_of_the_context_says_who_asks():
    held = [
        names
        for path in PACKAGE.rglob("*.py")
        if "ContextVar" in (source := path.read_text(encoding="utf-8"))
        for names in in_context(source)
    ]
    assert len(held) > 3
    assert not [names for names in held if names & WHO_ASKS], "pass it on, as `for_person` does"
    assert {"PersonId"} < next(in_context('_p: ContextVar[PersonId | None] = ContextVar("p")'))
