"""README and docs/ as one text, and what tests look up in it."""

import re
import tempfile
from pathlib import Path

from tests.serving import serving

ROOT = Path(__file__).resolve().parents[2]
FILES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
PAGES = "\n\n".join(path.read_text(encoding="utf-8") for path in FILES)


def block(name):
    """The first code block after the comment that names it."""
    match = re.search(rf"<!-- {name} -->\n```\w+\n(.*?)```", PAGES, re.DOTALL)
    assert match, name
    return match.group(1)


def rows(heading):
    """The cells of the table whose head begins with `heading`."""
    table = PAGES[PAGES.index(f"| {heading} |") :].split("\n\n")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]
    ]


def command_rows():
    """Every command that a served vault has, as docs/wire.md lists them."""
    with tempfile.TemporaryDirectory() as folder, serving(folder) as server:
        commands = server.ask("system.commands")["commands"]
    return [
        [f"`{command['name']}`", _parameters(command["params"]), command["description"]]
        for command in commands
    ]


def _parameters(schema):
    required = schema.get("required", ())
    names = (name if name in required else f"{name}?" for name in schema["properties"])
    return ", ".join(f"`{name}`" for name in names) or "none"


if __name__ == "__main__":
    print("| command | parameters | does |\n|---|---|---|")
    for row in command_rows():
        print(f"| {' | '.join(row)} |")
