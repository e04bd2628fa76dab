"""Renders the templates of prompts, by name from a list of allowed ones (contract C)."""

from collections.abc import Callable, Mapping
from traceback import extract_tb
from typing import Any

from jinja2 import BaseLoader, StrictUndefined
from jinja2.exceptions import SecurityError, TemplateError, TemplateNotFound
from jinja2.sandbox import ImmutableSandboxedEnvironment

from smart_context.packing.fences import Markup
from smart_context.packing.templates.allowed import ALLOWED_TEMPLATES, check_allowed
from smart_context.packing.templates.own import OwnTemplates
from smart_context.resources import asset

MAX_PROMPT_CHARACTERS = 16 << 20


class _Allowed(BaseLoader):
    """Passes on only the names that are allowed, also for `extends` and `include`."""

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
    """The environment of the shipped templates, with own versions before them.

    It keeps a template from Python's inside, from changing values and from other files. How much
    a template does is not limited: `costly_templates` renders those that are not ours.
    """
    environment = ImmutableSandboxedEnvironment(
        loader=_Allowed(own), undefined=StrictUndefined, autoescape=False
    )
    environment.filters["truncate_lines"] = truncate_lines
    environment.filters["format_diff"] = format_diff
    return environment


def failure_of(name: str, error: Exception) -> str:
    """Why a template failed, in words: at which of its lines, and what went wrong."""
    if isinstance(error, RecursionError):
        return f"The template {name} failed: it calls or includes itself without end"
    line = line_of(error)
    place = f" at line {line}" if line else ""
    return f"The template {name} failed{place}: {type(error).__name__}: {error}"


def line_of(error: Exception) -> int | None:
    """The line of a template at which it failed; `None` if that is not known."""
    if line := getattr(error, "lineno", None):
        return int(line)
    lines = [f.lineno for f in extract_tb(error.__traceback__) if f.filename.endswith(".j2")]
    return lines[-1] if lines else None


def render(own: OwnTemplates, name: str, values: Mapping[str, Any]) -> str:
    """The rendered template.

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
    """The first `count` lines, and how many were left out."""
    lines = text.removesuffix("\n").split("\n")
    left_out = len(lines) - max(count, 0)
    if left_out <= 0:
        return text
    return "\n".join([*lines[: max(count, 0)], f"[Truncated {left_out} lines]"])


def format_diff(text: str) -> str:
    """A diff in a fence that it can't close; nothing for nothing."""
    return "".join(Markup().block(text, "diff")) if text.strip() else ""
