"""README and docs/ as one text, and what tests look up in it.

`python -m tests.docs.pages` writes the lists of commands again, after one was added.
"""

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
    with tempfile.TemporaryDirectory() as folder:
        (vault := Path(folder, "vault")).mkdir()
        with serving(vault, env={"XDG_CONFIG_HOME": f"{folder}/config"}) as server:
            commands = server.ask("system.commands")["commands"]
    return [
        [f"`{command['name']}`", _parameters(command["params"]), command["description"]]
        for command in commands
    ]


def _parameters(schema):
    required = schema.get("required", ())
    names = (name if name in required else f"{name}?" for name in schema["properties"])
    return ", ".join(f"`{name}`" for name in names) or "none"


def with_commands(table, manifest, listed):
    """The page with the table of commands, and `plugin.toml`, with these commands."""
    lines = "".join(f"| {' | '.join(row)} |\n" for row in listed)
    head = r"(?m)^(\| command \| .*\n\|.*\n)(?:\|.*\n)+"
    table = re.sub(head, lambda found: found[1] + lines, table)
    names = (row[0].strip("`") for row in listed)
    own = "".join(f'  "{name}",\n' for name in names if name.startswith("smart_context."))
    return table, re.sub(r"(?m)^commands = \[\n(?:  .*\n)+", f"commands = [\n{own}", manifest)


if __name__ == "__main__":
    paths = ROOT / "docs" / "wire.md", ROOT / "plugin.toml"
    before = [path.read_text(encoding="utf-8") for path in paths]
    for path, text in zip(paths, with_commands(*before, command_rows()), strict=True):
        path.write_text(text, encoding="utf-8")
