"""A sandbox for templates that also stops what would not end or would fill the memory.

Jinja's sandbox keeps templates from Python's inside and from changing values. Here loops, calls
and operations are counted besides, and nothing may grow far beyond the size of a prompt.
"""

import functools
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from typing import Any, cast

from jinja2 import BaseLoader, StrictUndefined, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

MAX_PROMPT_CHARACTERS = 64 << 20
MAX_STEPS = 1_000_000
MAX_RENDER_S = 10.0
MAX_NUMBER = 100_000
MAX_EXPONENT = 1000

_WIDE_FIELD = re.compile(r"\{[^{}]*\d{6,}|%[-+ #0.\d]*\d{6,}|%[-+ #0]*\*")
_SIZED_FILTERS = (
    "batch",
    "center",
    "format",
    "indent",
    "join",
    "replace",
    "slice",
    "tojson",
    "truncate",
    "wordwrap",
)
_COUNTED = "counted"
_CONCATENATED = "concatenated"


class PromptEnvironment(ImmutableSandboxedEnvironment):
    """Where templates of prompts are rendered: strict, not escaping, counted.

    Attributes:
        clock: Seconds that only grow.
    """

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, loader: BaseLoader, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(loader=loader, undefined=StrictUndefined, autoescape=False)
        self.clock = clock
        self._steps = 0
        self._deadline = float("inf")
        self.filters[_COUNTED] = self._counted
        self.filters[_CONCATENATED] = _concatenated
        for name in _SIZED_FILTERS:
            self.filters[name] = _guarded(name, self.filters[name])

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
            _check_call(function.__name__, owner, [*args, *kwargs.values()])
        return super().call(context, function, *args, **kwargs)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Computes what does not grow beyond bounds."""
        self.step()
        if operator == "**":
            _check_numbers((left, right), at_most=MAX_EXPONENT)
        elif operator == "%" and isinstance(left, str):
            _check_width(left)
        elif operator == "+":
            _check_size(_size(left) + _size(right))
        elif operator == "*":
            _check_size(_factor(left) * _factor(right))
        return super().call_binop(context, operator, left, right)

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template = super()._parse(source, name, filename)
        return cast("nodes.Template", _Counting().visit(template))

    def _counted(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self.step()
            yield value


class _Counting(NodeTransformer):
    """Sends what loops run over, and what `~` joins, through a filter that counts."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802  named by Jinja
        self.generic_visit(node)
        node.iter = _filtered(cast("nodes.Expr", node.iter), _COUNTED)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802  named by Jinja
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), _CONCATENATED)


def _filtered(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _concatenated(values: Sequence[Any]) -> str:
    texts = [str(value) for value in values]
    _check_size(sum(map(len, texts)))
    return "".join(texts)


def _guarded(name: str, render_filter: Callable[..., Any]) -> Callable[..., Any]:
    """The filter, refusing what would make a text of a size that nobody needs."""

    @functools.wraps(render_filter)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        # Filters that are given the environment have it first, before the value.
        value, *rest = args if not isinstance(args[0], PromptEnvironment) else args[1:]
        if name == "join":
            _check_call(name, str(rest[0]) if rest else str(kwargs.get("d", "")), [value])
        else:
            _check_call(name, str(value), [*rest, *kwargs.values()])
        return render_filter(*args, **kwargs)

    return guarded


def _check_call(name: str, text: str, arguments: Sequence[Any]) -> None:
    """Refuses a text's method, or the filter of that name, whose result would be too large."""
    _check_numbers(arguments)
    if name in {"format", "format_map"}:
        _check_width(text)
    elif name == "join" and arguments:
        _check_size(_factor(arguments[0]) * len(text))
    elif name == "replace" and len(arguments) > 1:
        _check_size((len(text) + 1) * _factor(arguments[1]))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _size(value: object) -> int:
    return len(value) if isinstance(value, Sized) else 0


def _factor(value: Any) -> float:
    """By how much a value makes another one longer: its length, or itself."""
    if isinstance(value, Sized):
        return len(value)
    return abs(value) if _is_number(value) else 1


def _check_numbers(values: Iterable[Any], at_most: int = MAX_NUMBER) -> None:
    for value in values:
        if _is_number(value) and abs(value) > at_most:
            raise SecurityError(f"a number is larger than {at_most}, which no prompt needs")


def _check_size(size: float) -> None:
    if size > MAX_PROMPT_CHARACTERS:
        raise SecurityError(f"a value grows beyond {MAX_PROMPT_CHARACTERS} characters")


def _check_width(text: str) -> None:
    if _WIDE_FIELD.search(text):
        raise SecurityError("a format asks for too wide a field")
