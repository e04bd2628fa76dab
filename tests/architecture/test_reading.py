"""Pages and the gateway's edge ask for a caller: by commands, or by the reading service."""

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
