"""Renders the user's templates in a child process, which is killed if they loop."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from smart_context.base.environment import environment
from smart_context.base.processes.needed import needs
from smart_context.packing.templates.templates import OwnTemplates, check_allowed, shipped

if TYPE_CHECKING:  # 15 ms, and only templates that are not ours need it
    from smart_context.base.processes.child import Child

RENDER_DEADLINE_S = 2.0
"""The most processor time for a template."""

Render = Callable[[str, Mapping[str, Any]], str]
"""Makes a prompt by the name of a template and its values."""

_PLAIN_ERRORS = {"SecurityError", "TemplateError", "TemplateRuntimeError", "UndefinedError"}


@contextmanager
def renderer(own: OwnTemplates, child: "Child | None") -> Iterator[Render]:
    """A function that renders a template by name; own versions come first.

    Args:
        child: The process that renders them; `None` starts one early, so that it is ready when
            needed.
    """
    if own.is_empty:
        from smart_context.packing.templates.templates import render  # noqa: PLC0415  50 ms

        yield partial(render, own)
        return
    from smart_context.base.processes.child import Child, ChildFailed  # noqa: PLC0415  15 ms

    with ExitStack() as closing:
        ready = child or closing.enter_context(Child(environ=environment()))
        with suppress(ChildFailed):  # rendering reports it
            ready.start()
        yield partial(render_in, ready, own)


def render_in(
    child: "Child",
    own: OwnTemplates,
    name: str,
    values: Mapping[str, Any],
    *,
    deadline_s: float = RENDER_DEADLINE_S,
) -> str:
    """The rendered template, as `templates.render` makes it.

    Raises:
        ValueError: If the name is not on the list.
        jinja2.TemplateError: If it can't be loaded, lacks a variable, or does too much.
        RecursionError: If it includes itself.
    """
    from smart_context.base.processes.child import ChildFailed  # noqa: PLC0415  15 ms

    check_allowed(name)
    try:
        complete = own.before(shipped())  # the child can't read them
        outcome = child.run(_outcome, complete, name, dict(values), deadline_s=deadline_s)
    except ChildFailed as failure:
        raise _error("SecurityError", f"the template does too much: {failure}") from failure
    except ValueError as unsendable:
        raise _error("TemplateRuntimeError", f"a value is not plain data: {unsendable}") from None
    if "prompt" in outcome:
        return str(outcome["prompt"])
    raise _error(str(outcome["error"]), str(outcome["message"]), outcome["line"])


@needs(
    "smart_context.packing.templates.templates", "jinja2.*", "html", "pprint", "random", "textwrap"
)
def _outcome(own: OwnTemplates, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """In the child: the prompt, or the error as plain data."""
    from smart_context.packing.templates import templates  # noqa: PLC0415 - 50 ms that the parent is spared

    try:
        return {"prompt": templates.render(own, name, values)}
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a template is code: it may fail in any way
        return {
            "error": type(error).__name__,
            "message": getattr(error, "message", None) or str(error),
            "line": templates.line_of(error),
        }


def _error(kind: str, message: str, line: int | None = None) -> Exception:
    """The exception that the template raised, or the closest one."""
    from jinja2 import exceptions  # noqa: PLC0415 - 50 ms, and only when it fails

    error: Exception
    if kind == "RecursionError":
        error = RecursionError(message)
    elif kind == "TemplateNotFound":
        error = exceptions.TemplateNotFound(None, message)
    elif kind in {"TemplateSyntaxError", "TemplateAssertionError"}:
        error = exceptions.TemplateSyntaxError(message, line or 1)
        error.translated = True  # its text is the message alone
    elif kind in _PLAIN_ERRORS:
        error = getattr(exceptions, kind)(message)
    else:
        error = exceptions.TemplateRuntimeError(f"{kind}: {message}")
    error.__dict__["lineno"] = line
    return error
