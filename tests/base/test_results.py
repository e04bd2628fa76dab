"""The scripts know the results of commands: their types are made from those of the program.

After a change of results, `pytest --update-golden tests/base/test_results.py` makes them again;
then `tsc` names each script that reads a field by its former name.
"""

import inspect
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import pytest

from smart_context.app.composition import running_host
from smart_context.app.following import TrustCommands
from smart_context.base import results

TYPES = Path(__file__).parents[1] / "js" / "results.d.ts"
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", NoneType: "null"}
HEAD = "/** The results of commands, made by tests/base/test_results.py. */\n\n"


def as_script(hint):
    """A type of Python as one of TypeScript."""
    origin, parts = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        return hint.__name__
    if origin is Literal:
        return " | ".join(f'"{part}"' for part in parts)
    inner = [as_script(part) for part in parts]
    if origin in {Union, UnionType}:
        return " | ".join(inner)
    if origin is None:
        return PLAIN[hint]
    return f"{inner[0]}[]" if origin is list else f"Record<{', '.join(inner)}>"


def interface(result):
    hints = get_type_hints(result, include_extras=True)
    lines = [f"/** {inspect.getdoc(result).partition(chr(10))[0]} */"] if result.__doc__ else []
    lines.append(f"interface {result.__name__} {{")
    for name, hint in hints.items():
        is_optional = get_origin(hint) is NotRequired
        given = get_args(hint)[0] if is_optional else hint
        lines.append(f"  {name}{'?' if is_optional else ''}: {as_script(given)};")
    return "\n".join([*lines, "}"])


def typed_results():
    return [each for each in vars(results).values() if is_typeddict(each)]


async def commands_with_results(vault):
    """The commands whose result has a type, with it."""
    async with running_host(vault) as host:
        TrustCommands(host, follower=None).register()  # which only a served vault has
        handlers = {name: each.handler for name, each in host.commands._commands.items()}
    typed = ((name, get_type_hints(handler).get("return")) for name, handler in handlers.items())
    return {name: result for name, result in sorted(typed) if is_typeddict(result)}


@pytest.mark.anyio
async def test_the_scripts_know_the_types_of_results(tmp_path, request):
    commands = await commands_with_results(tmp_path)
    assert commands["smart_context.set_filter"] is results.FilterResult
    listed = "".join(f'  "{name}": {each.__name__};\n' for name, each in commands.items())
    last = f"/** The results of commands, by name. */\ninterface CommandResults {{\n{listed}}}\n"
    text = HEAD + "\n\n".join([*map(interface, typed_results()), last])
    if request.config.getoption("--update-golden"):
        TYPES.write_text(text, encoding="utf-8")
    assert text == TYPES.read_text(encoding="utf-8")


def test_a_field_that_may_be_missing_is_optional_in_the_scripts():
    class Sample(results.TypedDict):
        """A sample."""

        here: dict[str, list[int]]
        maybe: NotRequired[float | None]
        state: Literal["on", "off"]

    assert interface(Sample).splitlines()[1:] == [
        "interface Sample {",
        "  here: Record<string, number[]>;",
        "  maybe?: number | null;",
        '  state: "on" | "off";',
        "}",
    ]
