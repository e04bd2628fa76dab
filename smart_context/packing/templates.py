"""Renders the templates of prompts, which may do nothing but render (contract C).

Only allow-listed names are loaded, in a sandbox where values can't be changed. Loops, calls,
repetitions and the output are counted, so that no template runs for ever or fills the memory.
"""

import functools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import BaseLoader, ChoiceLoader, FileSystemLoader, StrictUndefined, nodes
from jinja2.environment import Template
from jinja2.exceptions import SecurityError, TemplateNotFound
from jinja2.sandbox import ImmutableSandboxedEnvironment

from smart_context.packing.fences import Markup
from smart_context.resources import asset

ALLOWED_TEMPLATES = frozenset(
    {"_base.j2", "_output_schema.j2", "planning.j2", "implement.j2", "review_strict.j2"}
)
MAX_PROMPT_CHARACTERS = 64 << 20
MAX_STEPS = 1_000_000
MAX_RENDER_S = 10.0
MAX_NUMBER = 100_000

_LONG_NUMBER = re.compile(r"\d{6,}|\*")
_SIZED_FILTERS = ("center", "indent", "wordwrap", "batch", "slice", "truncate", "tojson", "format")


class PromptEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox that stops what would not end.

    Attributes:
        clock: Seconds that only grow.
    """

    intercepted_binops = frozenset({"*", "**", "%", "+", "~"})

    def __init__(self, loader: BaseLoader, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(loader=loader, undefined=StrictUndefined, autoescape=False)
        self.clock = clock
        self._steps = 0
        self._deadline = float("inf")
        self.filters["truncate_lines"] = truncate_lines
        self.filters["format_diff"] = format_diff
        self.filters[_COUNTED] = self._counted
        for name in _SIZED_FILTERS:
            self.filters[name] = _guarded(self.filters[name])

    def start(self) -> None:
        """Begins to count anew."""
        self._steps = 0
        self._deadline = self.clock() + MAX_RENDER_S

    def step(self) -> None:
        """Counts one more step.

        Raises:
            SecurityError: If there were too many, or it takes too long.
        """
        self._steps += 1
        if self._steps > MAX_STEPS or (self._steps % 256 == 0 and self.clock() > self._deadline):
            raise SecurityError("the template does too much: it loops or calls without end")

    def call(self, context: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Calls what the sandbox allows, counted and with arguments of a sensible size."""
        self.step()
        owner = getattr(function, "__self__", None)
        if isinstance(owner, str):
            _check_numbers((*args, *kwargs.values()))
            if function.__name__ in {"format", "format_map"}:
                _check_widths(owner)
        return super().call(context, function, *args, **kwargs)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Computes what can't grow beyond bounds."""
        self.step()
        if operator == "**":
            _check_numbers((left, right), at_most=1000)
        elif operator == "*" and not (_is_number(left) and _is_number(right)):
            _check_numbers((left, right))
            _check_product(left, right)
        elif operator == "%" and isinstance(left, str):
            _check_widths(left)
        return super().call_binop(context, operator, left, right)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template = super()._parse(source, name, filename)
        for loop in template.find_all(nodes.For):
            loop.iter = nodes.Filter(loop.iter, _COUNTED, [], [], None, None, lineno=loop.lineno)
        return template

    def _counted(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self.step()
            yield value


_COUNTED = "counted"


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
    return PromptEnvironment(_Allowed(ChoiceLoader([*own, shipped])))


def check_allowed(name: str) -> None:
    """Refuses a template that is not on the list.

    Raises:
        ValueError: If it is not.
    """
    if name not in ALLOWED_TEMPLATES:
        known = ", ".join(sorted(ALLOWED_TEMPLATES))
        raise ValueError(f"The template {name!r} is not allowed; allowed are {known}.")


def render(environment: PromptEnvironment, name: str, values: Mapping[str, Any]) -> str:
    """The rendered template.

    Raises:
        ValueError: If the name is not on the list.
        jinja2.TemplateError: If it can't be loaded, lacks a variable, or does too much.
    """
    check_allowed(name)
    environment.start()
    template: Template = environment.get_template(name)
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
    lines = text.split("\n")
    left_out = len(lines) - max(count, 0)
    if left_out <= 0:
        return text
    return "\n".join([*lines[: max(count, 0)], f"[Truncated {left_out} lines]"])


def format_diff(text: str) -> str:
    """A diff in a fence that it can't close; nothing for nothing."""
    return "".join(Markup().block(text, "diff")) if text.strip() else ""


def _guarded(render_filter: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, refusing widths and counts of a size that nobody needs."""

    @functools.wraps(render_filter)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        _check_numbers((*args, *kwargs.values()))
        if render_filter.__name__ == "do_format":
            _check_widths(str(args[0]))
        return render_filter(*args, **kwargs)

    return guarded


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _check_numbers(values: Iterable[Any], at_most: int = MAX_NUMBER) -> None:
    for value in values:
        if _is_number(value) and abs(value) > at_most:
            raise SecurityError(f"{value:.3g} is too large a number for a prompt")


def _check_product(left: Any, right: Any) -> None:
    length, times = (left, right) if hasattr(left, "__len__") else (right, left)
    if hasattr(length, "__len__") and _is_number(times) and len(length) * times > MAX_STEPS:
        raise SecurityError("a text is repeated too often")


def _check_widths(text: str) -> None:
    if _LONG_NUMBER.search(text):
        raise SecurityError("a format asks for too wide a field")
