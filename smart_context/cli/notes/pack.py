"""`smart-context pack`: files, changes and a task as one prompt, and a report about it."""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from smart_context.base.disk.places import relative_or_whole
from smart_context.base.environment import user_folder
from smart_context.base.errors import CommandFailed
from smart_context.base.text.names import encodable, one_line, shown
from smart_context.base.text.scores import counted
from smart_context.cli.terminal.arguments import with_options
from smart_context.cli.terminal.failures import FAILED
from smart_context.cli.terminal.output import deliver, say, show_json, table, write_to
from smart_context.packing.plan import PackPlan
from smart_context.packing.request import (
    NO_BUDGET,
    REPOMIX_USES,
    STYLES,
    Freshness,
    PackRequest,
    freshness,
    plan_of,
    read_record,
    record_file,
    record_of,
    record_path,
)
from smart_context.vault.guarded.paths import as_typed

MAX_NAMED = 20
"""The most files that are named; of the others, only the number is shown."""


_TEMPLATES = ("planning.j2", "implement.j2", "review_strict.j2")
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_SPECIAL = str.maketrans({special: f"\\{special}" for special in "\\*?[]!#"})

_QUOTED = re.compile(rb'"(?P<path>(?:[^"\\]|\\.)++)"')
_ESCAPE = re.compile(rb"\\(?P<escaped>[0-3][0-7]{2}|.)")
_ESCAPES = {
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"n": b"\n",
    b"r": b"\r",
    b"t": b"\t",
    b"v": b"\v",
}

_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_SIZE = re.compile(r"(\d{1,15})\s*([kmg]?)(?:i?b)?", re.IGNORECASE)


def _bytes(_context: click.Context, _option: click.Parameter, size: str | None) -> int | None:
    """A number of bytes, from a size such as `500k` or `20MiB`."""
    if size is None:
        return None
    found = _SIZE.fullmatch(size.strip())
    if found is None:
        raise click.BadParameter(f"expected a size such as 500k, 20MiB or 0, found {size!r}.")
    return int(found[1]) * _UNITS[found[2].lower()]


_OPTIONS = (
    click.option(
        "--role", default="", help="planner, implementer, reviewer, or your own in roles/."
    ),
    click.option("--task", default="", help="The task in words; - reads it from stdin."),
    click.option(
        "--target",
        "targets",
        multiple=True,
        help="A file or folder that the task is about; repeat.",
    ),
    click.option("--template", default="", help=f"{', '.join(_TEMPLATES)}. Default: none."),
    click.option("--template-dir", type=_FOLDER, help="Your own versions of these templates."),
    click.option("--token-budget", type=click.IntRange(0), help="Default: the role's."),
    click.option("--model", default="", help="Count tokens as this model; else 4 characters each."),
    click.option("--style", type=click.Choice(STYLES), default=STYLES[0], show_default=True),
    click.option(
        "--include", multiple=True, metavar="PATTERN", help="Files in addition to the role's."
    ),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="Files to leave out."),
    click.option("--stdin", "from_stdin", is_flag=True, help="Also include the paths on stdin."),
    click.option(
        "--max-file-size",
        metavar="SIZE",
        callback=_bytes,
        help="Largest file, such as 5MiB. Default: 1MiB; 0: any.",
    ),
    click.option(
        "--max-total-size",
        metavar="SIZE",
        callback=_bytes,
        help="All files together. Default: 10MiB; 0: no limit.",
    ),
    click.option("--allow-secrets", is_flag=True, help="Also pack files with keys or tokens."),
    click.option(
        "--repomix",
        type=click.Choice(REPOMIX_USES),
        default=REPOMIX_USES[0],
        show_default=True,
        help="Let Repomix pack the patterns' files: if it is installed, or fetched by npx.",
    ),
    click.option(
        "--repo", type=_FOLDER, default=".", help="The folder to pack. Default: this folder."
    ),
    click.option(
        "-o",
        "--output",
        "target_file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Write the prompt there, not to stdout.",
    ),
    click.option(
        "--copy", "to_clipboard", is_flag=True, help="Copy to the clipboard, not to stdout."
    ),
    click.option("--token-tree", is_flag=True, help="Show the tokens of each folder and file."),
    click.option("--fail-over-budget", is_flag=True, help="Fail instead of leaving something out."),
    click.option(
        "--check",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Check whether FILE is up to date.",
    ),
    click.option("--format", "form", type=click.Choice(["text", "json"]), default="text"),
)


@click.command()
@with_options(_OPTIONS)
def pack(**options: Any) -> None:
    """Pack files, changes and a task into one prompt.

    The prompt goes to stdout, a report to stderr: each section with its tokens, whether it is in,
    and why not. Paths and patterns are relative to --repo; patterns work as in a .gitignore. With
    -o FILE, the sources are recorded in FILE.sources.json, and --check FILE later tells whether
    the prompt is out of date (exit code 1).
    """
    if options["check"] is not None:
        _check(options["check"], options)
        return
    request = _request(options)
    plan = _planned(request)
    _report(plan, options)
    if options["fail_over_budget"] and not plan.is_whole:
        raise CommandFailed(
            "Over the budget: the request does not fit into the token budget of "
            f"{plan.token_budget}, so nothing was written. Raise --token-budget, or ask for less."
        )
    _deliver(plan, request, options)


def _request(options: dict[str, Any]) -> PackRequest:
    if options["from_stdin"] and options["task"] == "-":
        raise click.UsageError("--stdin and --task - both read stdin; give the task in words.")
    repo: Path = options["repo"].resolve()
    task = _stdin().decode("utf-8", "replace") if options["task"] == "-" else options["task"]
    listed = _listed_paths(repo) if options["from_stdin"] else ()
    target_file: Path | None = options["target_file"]
    written = () if target_file is None else _patterns_of(target_file.resolve(), repo)
    request = PackRequest(
        repo=repo,
        role=options["role"],
        task=os.fsencode(task).decode("utf-8", "replace"),
        targets=tuple(_relative(path, repo) for path in options["targets"]),
        template=options["template"],
        template_dir=options["template_dir"] and options["template_dir"].resolve(),
        token_budget=options["token_budget"],
        style=options["style"],
        include=(*map(as_typed, options["include"]), *listed),
        exclude=(*map(as_typed, options["exclude"]), *written),
        allow_secrets=options["allow_secrets"],
        repomix=options["repomix"],
        model=options["model"],
        max_file_size=options["max_file_size"],
        max_total_size=options["max_total_size"],
    )
    if request.is_empty and not options["from_stdin"]:
        raise click.UsageError(
            "Say what to pack: a --role, a --task, a --target, or --include '**' for everything."
        )
    return request


def _stdin() -> bytes:
    return sys.stdin.buffer.read()


def _listed_paths(repo: Path) -> tuple[str, ...]:
    """The paths on stdin, one per line or ended by NULs as from `git ls-files -z`."""
    listed = _stdin()
    paths = listed.split(b"\0") if b"\0" in listed else map(_unquoted, listed.split(b"\n"))
    relative = (_relative(os.fsdecode(path), repo) for path in paths if path.strip())
    # After `./`, even a name that looks like a `$NAME` or a `!pattern` is a path.
    return tuple(path if path.startswith("/") else f"./{path}" for path in relative)


def _unquoted(line: bytes) -> bytes:
    """A path as git quotes it: in quotes and with escapes if it has unusual characters."""
    line = line.removesuffix(b"\r")
    quoted = _QUOTED.fullmatch(line)
    return line if quoted is None else _ESCAPE.sub(_unescaped, quoted["path"])


def _unescaped(found: re.Match[bytes]) -> bytes:
    escaped = found["escaped"]
    return bytes([int(escaped, 8)]) if escaped.isdigit() else _ESCAPES.get(escaped, escaped)


def _relative(path: str, repo: Path) -> str:
    """Make an absolute path inside the repository relative to it."""
    if os.path.isabs(path):  # noqa: PTH117  by its letters
        relative = relative_or_whole(path, repo)
        path = path if relative.startswith(os.pardir) else relative
    return path.replace(os.sep, "/")


def _patterns_of(prompt: Path, repo: Path) -> tuple[str, ...]:
    """Patterns that keep the stored prompt and its record out of the next one."""
    return tuple(
        "/" + path.relative_to(repo).as_posix().translate(_SPECIAL)
        for path in (prompt, record_path(prompt))
        if path.is_relative_to(repo)
    )


def _planned(request: PackRequest) -> PackPlan:
    try:
        return plan_of(request, _user_roles() if request.role else None)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--template") from error


def _user_roles() -> Path:
    folder = user_folder()
    if not (folder / "config.toml").exists():
        return folder / "roles"
    from smart_context.base.config import read_user_config  # noqa: PLC0415  16 ms, and few have one

    return read_user_config(folder).roles


def _report(plan: PackPlan, options: dict[str, Any]) -> None:
    if options["form"] == "text":
        say(as_text(plan, with_tree=options["token_tree"]), err=True)


def _deliver(plan: PackPlan, request: PackRequest, options: dict[str, Any]) -> None:
    target_file: Path | None = options["target_file"]
    is_elsewhere = target_file is not None or options["to_clipboard"]
    if target_file is not None:
        _store(plan, request, target_file)
    if options["to_clipboard"]:
        from smart_context.cli.terminal.clipboard import copy  # noqa: PLC0415  only for --copy

        say(f"Copied by {copy(plan.render())}.", err=True)
    if options["form"] == "json":
        document = as_document(plan, with_tree=options["token_tree"])
        show_json(document if is_elsewhere else {"prompt": plan.render(), **document})
    elif not is_elsewhere:
        deliver(plan.render())


def _store(plan: PackPlan, request: PackRequest, target: Path) -> None:
    from smart_context.base.disk.files import atomic_write  # noqa: PLC0415  only for -o

    write_to(target, plan.render())
    if target.is_file():  # a device or a pipe gets no record
        target = target.resolve()
        atomic_write(record_path(target), record_file(record_of(request, plan), target))


def _check(prompt: Path, options: dict[str, Any]) -> None:
    prompt = prompt.resolve()
    record = read_record(prompt)
    if record.request.repomix != options["repomix"]:
        raise CommandFailed(
            f"{shown(prompt.name)} was packed with --repomix {record.request.repomix}; repeat with "
            "that option: a file alone may not start a program."
        )
    if not record.request.repo.is_dir():
        repo = shown(record.request.repo)
        raise CommandFailed(f"{shown(prompt.name)} was made from {repo}, which no longer exists.")
    found = freshness(record, prompt.read_bytes(), _planned(record.request))
    if options["form"] == "json":
        show_json(check_as_document(found))
    else:
        say(check_as_text(prompt.name, found, len(record.sources)))
    if found.is_stale:
        sys.exit(FAILED)


def as_text(plan: PackPlan, *, with_tree: bool = False) -> str:
    """The sections as a table, the files left out and why, and the total."""
    rows = [
        (
            section.heading,
            section.tokens,
            _kept_as_text(section.is_kept, section.is_protected),
            section.reason,
        )
        for section in plan.sections
    ]
    blocks = [table(("SECTION", "TOKENS", "IN", "WHY NOT"), rows)] if rows else []
    if with_tree:
        tree = [(tokens, shown(path)) for path, tokens in plan.token_tree()]
        blocks.append(table(("TOKENS", "PATH"), tree))
    named = {why for _, why in _left_out(plan)}
    warnings = [warning for warning in plan.warnings if warning not in named]
    notes = [f"warning: {one_line(warning)}" for warning in (*warnings, *_warnings_of(plan))]
    notes += [f"size limit: {note}" for note in _size_notes(plan)]
    notes += _named([f"left out: {shown(path)}: {one_line(why)}" for path, why in _left_out(plan)])
    if notes:
        blocks.append("\n".join(notes))
    return "\n\n".join([*blocks, _total(plan)])


def as_document(plan: PackPlan, *, with_tree: bool = False) -> dict[str, Any]:
    """The report as JSON."""
    document: dict[str, Any] = {
        "sha256": plan.digest(),
        "tokens": plan.tokens,
        "token_budget": None if plan.token_budget == NO_BUDGET else plan.token_budget,
        "is_whole": plan.is_whole,
        "sections": [
            {
                "key": section.key,
                "heading": section.heading,
                "tokens": section.tokens,
                "in": section.is_kept,
                "protected": section.is_protected,
                "reason": section.reason,
            }
            for section in plan.sections
        ],
        "files": [
            {
                "path": encodable(file.path),
                "section": file.section,
                "tokens": file.tokens,
                "in": file.is_kept,
                "reason": file.reason,
            }
            for file in plan.files()
        ],
        "warnings": [one_line(warning) for warning in (*plan.warnings, *_warnings_of(plan))],
        "size_limits": [one_line(note) for note in _size_notes(plan)],
        "sources": {encodable(path): digest for path, digest in plan.sources().items()},
    }
    if with_tree:
        tree = plan.token_tree()
        document["token_tree"] = [
            {"path": encodable(path), "tokens": tokens} for path, tokens in tree
        ]
    return document


def check_as_text(name: str, found: "Freshness", count: int) -> str:
    """The state of a stored prompt: up to date, or what has changed."""
    files = counted(count, "file")
    if not found.is_stale:
        told = f"{shown(name)} is up to date ({files})."
    else:
        told = f"{shown(name)} is out of date. Pack it again."
    changes = [
        *(f"changed: {shown(path)}" for path in found.changed),
        *(f"new: {shown(path)}" for path in found.added),
        *(f"gone: {shown(path)}" for path in found.gone),
    ]
    if found.is_stale and not changes:
        changes = ["changed: the role, the template, the tree or the staged changes"]
    if found.is_edited:
        changes.append(f"{shown(name)} itself was edited since it was packed")
    return "\n".join([told, *(f"  {line}" for line in _named(changes))])


def check_as_document(found: "Freshness") -> dict[str, Any]:
    """The same as JSON."""
    return asdict(found)


def _kept_as_text(is_kept: bool, is_protected: bool) -> str:
    if not is_kept:
        return "dropped"
    return "always" if is_protected else "yes"


def _warnings_of(plan: PackPlan) -> Iterator[str]:
    if not plan.sections:
        yield "nothing matched the request, so the prompt is empty"
    if plan.is_cut or plan.is_over_budget:
        fate = "the end was cut off" if plan.is_cut else "they were kept whole"
        yield f"required sections are over the token budget of {plan.token_budget}; {fate}"


_LIFTED_BY = {
    "file": "--max-file-size",
    "total": "--max-total-size",
    "required": "--max-total-size",
}


def _size_notes(plan: PackPlan) -> Iterator[str]:
    """The number of files over each size limit, and how to raise it."""
    files = [file for section in plan.sections for file in section.files if file.limit]
    for (limit, words), count in Counter((file.limit, file.detail) for file in files).items():
        subject = "1 file is" if count == 1 else f"{count:,} files are"
        yield f"{subject} {words}; raise {_LIFTED_BY[limit or 'file']} (0 = no limit)"


def _left_out(plan: PackPlan) -> Iterator[tuple[str, str]]:
    for section in plan.sections:
        yield from ((file.path, file.detail) for file in section.files if file.detail)


def _named(lines: Sequence[str]) -> list[str]:
    left = len(lines) - MAX_NAMED
    return [*lines[:MAX_NAMED], *([f"and {left} more"] if left > 0 else [])]


def _total(plan: PackPlan) -> str:
    budget = "" if plan.token_budget == NO_BUDGET else f" of {plan.token_budget}"
    count = sum(1 for _ in plan.kept_texts())
    files = counted(count, "file")
    return f"{plan.tokens}{budget} tokens, {files}"
