"""The options of a named context as options of a verb."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from smart_context.base.errors import CommandFailed

_OPTIONS = (
    click.option(
        "--depth", "link_depth", type=click.IntRange(0), help="Follow links this many steps."
    ),
    click.option("--inlinks/--no-inlinks", default=None, help="Also follow links to a note."),
    click.option(
        "--exclude-heading",
        "excluded_headings",
        multiple=True,
        metavar="PATTERN",
        help="Leave out sections with this heading; * is any text. Repeat.",
    ),
    click.option("--max-len", type=click.IntRange(0), help="The most characters; 0 is no limit."),
    click.option(
        "--order", type=click.Choice(["shortest", "listed"]), help="The order within a depth."
    ),
    click.option(
        "--expand-embeds/--no-expand-embeds",
        default=None,
        help="Put the text of ![[embeds]] in their place.",
    ),
    click.option(
        "--max-links",
        "max_links_per_item",
        type=click.IntRange(0),
        help="The most links followed from one note.",
    ),
    click.option(
        "--follow-excluded/--no-follow-excluded",
        "follow_links_in_excluded",
        default=None,
        help="Follow links in sections left out by --exclude-heading. Default: yes.",
    ),
    click.option(
        "--template-file",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        metavar="FILE",
        help='JSON by depth, as {"0": {"before": "…", "after": "…"}}; -1 wraps the whole.',
    ),
)
NAMES = (
    "link_depth",
    "inlinks",
    "excluded_headings",
    "max_len",
    "order",
    "expand_embeds",
    "max_links_per_item",
    "follow_links_in_excluded",
)


def context_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a named context to a verb; options not given are not set."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def options_given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The given options of a context, as it takes them.

    Raises:
        CommandFailed: If the file of templates can't be used.
    """
    given = {name: options[name] for name in NAMES if options[name] not in {None, ()}}
    if options["template_file"] is not None:
        given["templates"] = _templates(options["template_file"])
    return given


def _templates(path: Path) -> Any:
    from smart_context.contexts.options import stored_options  # noqa: PLC0415  only for a file

    try:
        return stored_options({"templates": json.loads(path.read_bytes())})["templates"]
    except (ValueError, RecursionError) as error:
        raise CommandFailed(
            f'{path}: expected {{"0": {{"before": "…", "after": "…"}}}}, found {error}.'
        ) from error
