"""Renders the templates of prompts, by name from a list of allowed ones (contract C)."""

from collections.abc import Callable, Mapping
from pathlib import Path
from traceback import extract_tb
from typing import Any

from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader
from jinja2.exceptions import SecurityError, TemplateNotFound, TemplateSyntaxError

from smart_context.packing.allowed_templates import ALLOWED_TEMPLATES
from smart_context.packing.fences import Markup
from smart_context.packing.sandbox import MAX_PROMPT_CHARACTERS, PromptEnvironment
from smart_context.resources import asset


class _Allowed(BaseLoader):
    """Passes on only the names that are allowed, also for `extends` and `include`."""

    def __init__(self, loader: BaseLoader) -> None:
        self._loader = loader

    def get_source(
        self, environment: Any, template: str
    ) -> tuple[str, str | None, Callable[[], bool] | None]:
        if template not in ALLOWED_TEMPLATES:
            raise TemplateNotFound(template, f"{template!r} is not an allowed template")
        return self._loader.get_source(environment, template)


def prompt_environment(template_dir: Path | None) -> PromptEnvironment:
    """The environment of the shipped templates, with `template_dir`'s versions before them."""
    own = [] if template_dir is None else [FileSystemLoader(template_dir)]
    shipped = FileSystemLoader(asset("templates") / "prompts")
    environment = PromptEnvironment(_Allowed(ChoiceLoader([*own, shipped])))
    environment.filters["truncate_lines"] = truncate_lines
    environment.filters["format_diff"] = format_diff
    return environment


def check_allowed(name: str) -> None:
    """Refuses a template that is not on the list.

    Raises:
        ValueError: If it is not.
    """
    if name not in ALLOWED_TEMPLATES:
        known = ", ".join(sorted(ALLOWED_TEMPLATES))
        raise ValueError(f"The template {name!r} is not allowed; allowed are {known}.")


def failure_of(name: str, error: Exception) -> str:
    """Why a template failed, in words: at which of its lines, and what went wrong."""
    if isinstance(error, RecursionError):
        return f"The template {name} failed: it calls or includes itself without end"
    frames = extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename.endswith(".j2")]
    line = error.lineno if isinstance(error, TemplateSyntaxError) else (lines or [None])[-1]
    place = f" at line {line}" if line else ""
    return f"The template {name} failed{place}: {type(error).__name__}: {error}"


def render(environment: PromptEnvironment, name: str, values: Mapping[str, Any]) -> str:
    """The rendered template.

    Raises:
        ValueError: If the name is not on the list.
        jinja2.TemplateError: If it can't be loaded, lacks a variable, or does too much.
    """
    check_allowed(name)
    environment.start()
    template = environment.get_template(name)
    pieces: list[str] = []
    length = 0
    for piece in template.generate(dict(values)):
        length += len(piece)
        if length > MAX_PROMPT_CHARACTERS:
            raise SecurityError(f"the prompt is longer than {MAX_PROMPT_CHARACTERS} characters")
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
