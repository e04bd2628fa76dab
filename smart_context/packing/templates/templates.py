"""Renders allowed templates by name."""

from collections.abc import Callable, Mapping
from traceback import extract_tb
from typing import Any

from jinja2 import BaseLoader, StrictUndefined
from jinja2.exceptions import SecurityError, TemplateError, TemplateNotFound
from jinja2.sandbox import ImmutableSandboxedEnvironment

from smart_context.base.resources import asset
from smart_context.packing.fences import Markup
from smart_context.packing.templates.allowed import ALLOWED_TEMPLATES, check_allowed
from smart_context.packing.templates.own import OwnTemplates

MAX_PROMPT_CHARACTERS = 16 << 20


class _Allowed(BaseLoader):
    """Loads only allowed templates, for `extends` and `include` as well."""

    def __init__(self, own: OwnTemplates) -> None:
        self._own = own

    def get_source(
        self, _environment: Any, template: str
    ) -> tuple[str, str | None, Callable[[], bool] | None]:
        if template not in ALLOWED_TEMPLATES:
            raise TemplateNotFound(template, f"{template!r} is not an allowed template")
        if problem := self._own.problems.get(template):
            raise TemplateError(problem)
        source = self._own.sources.get(template)
        if source is None:
            shipped = asset("templates") / "prompts" / template
            source = shipped.read_text(encoding="utf-8")
        return source, template, None


def prompt_environment(own: OwnTemplates) -> ImmutableSandboxedEnvironment:
    """The Jinja environment of the shipped templates, with own versions before them.

    A template can't reach Python's internals, change values or read other files. Its time and
    memory are not limited here: `costly` renders the user's templates.
    """
    environment = ImmutableSandboxedEnvironment(
        loader=_Allowed(own), undefined=StrictUndefined, autoescape=False
    )
    environment.filters["truncate_lines"] = truncate_lines
    environment.filters["format_diff"] = format_diff
    return environment


def failure_of(name: str, error: Exception) -> str:
    """Why a template failed: its line and the error."""
    if isinstance(error, RecursionError):
        return f"The template {name} failed: it calls or includes itself endlessly"
    line = line_of(error)
    place = f" at line {line}" if line else ""
    return f"The template {name} failed{place}: {type(error).__name__}: {error}"


def line_of(error: Exception) -> int | None:
    """The line at which a template failed; `None` if unknown."""
    if line := getattr(error, "lineno", None):
        return int(line)
    lines = [f.lineno for f in extract_tb(error.__traceback__) if f.filename.endswith(".j2")]
    return lines[-1] if lines else None


def render(own: OwnTemplates, name: str, values: Mapping[str, Any]) -> str:
    """Render a template.

    Raises:
        ValueError: If the name is not on the list.
        jinja2.TemplateError: If it can't be loaded, lacks a variable, or makes too long a prompt.
    """
    check_allowed(name)
    template = prompt_environment(own).get_template(name)
    pieces: list[str] = []
    length = 0
    for piece in template.generate(dict(values)):
        length += len(piece)
        if length > MAX_PROMPT_CHARACTERS:
            raise SecurityError(f"the prompt is longer than {MAX_PROMPT_CHARACTERS:,} characters")
        pieces.append(piece)
    return "".join(pieces)


def truncate_lines(text: str, count: int) -> str:
    """The first `count` lines, and the number of lines left out."""
    lines = text.removesuffix("\n").split("\n")
    left_out = len(lines) - max(count, 0)
    if left_out <= 0:
        return text
    return "\n".join([*lines[: max(count, 0)], f"[Truncated {left_out} lines]"])


def format_diff(text: str) -> str:
    """A diff in a fence that it can't close; empty for an empty diff."""
    return "".join(Markup().block(text, "diff")) if text.strip() else ""
