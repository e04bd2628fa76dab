"""Renders allowed templates by name, or the user's versions of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from traceback import extract_tb
from typing import Any

from jinja2 import BaseLoader, StrictUndefined
from jinja2.exceptions import SecurityError, TemplateError, TemplateNotFound
from jinja2.sandbox import ImmutableSandboxedEnvironment

from smart_context.base.disk.folders import read_inside
from smart_context.base.disk.places import Place
from smart_context.base.resources import asset
from smart_context.packing.fences import Markup

ALLOWED_TEMPLATES = frozenset(
    {"_base.j2", "_output_schema.j2", "planning.j2", "implement.j2", "review_strict.j2"}
)

TEMPLATES_OF_ROLES = frozenset(name for name in ALLOWED_TEMPLATES if not name.startswith("_"))
"""The templates of whole prompts; the others are parts of these."""


def check_allowed(name: str) -> None:
    """Refuse a template that is not on the list; raises `ValueError` if it is not."""
    if name not in ALLOWED_TEMPLATES:
        known = ", ".join(sorted(ALLOWED_TEMPLATES))
        raise ValueError(f"The template {name!r} is not allowed; allowed are {known}.")


MAX_TEMPLATE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTemplates:
    """Versions of allowed templates that replace the shipped ones."""

    sources: Mapping[str, str] = field(default_factory=dict)  # their texts, by name
    # the reason why a version can't be used, by name
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """True if only the shipped templates are used."""
        return not (self.sources or self.problems)

    def before(self, others: "OwnTemplates") -> "OwnTemplates":
        """These versions, plus those of `others` for other templates."""
        known = {*self.sources, *self.problems}
        problems = {name: why for name, why in others.problems.items() if name not in known}
        sources = {name: text for name, text in others.sources.items() if name not in known}
        return OwnTemplates(
            sources={**sources, **self.sources}, problems={**problems, **self.problems}
        )


def read_own(folder: Place | None) -> OwnTemplates:
    """Read the versions in a folder; links in it are not followed."""
    if folder is None:
        return OwnTemplates()
    return _own(lambda name: read_inside(folder, name, max_bytes=MAX_TEMPLATE_BYTES), folder)


def shipped() -> OwnTemplates:
    """The templates of this program, for a process that can't read files."""
    return read_own(Place(asset("templates") / "prompts"))


def own_of(contents: Mapping[str, bytes], folder: Place) -> OwnTemplates:
    """The versions among files already read, by name in the folder."""

    def read(name: str) -> bytes:
        if name not in contents:
            raise FileNotFoundError(name)
        return contents[name]

    return _own(read, folder)


def _own(read: Callable[[str], bytes], folder: Place) -> OwnTemplates:
    sources: dict[str, str] = {}
    problems: dict[str, str] = {}
    for name in sorted(ALLOWED_TEMPLATES):
        try:
            sources[name] = read(name).decode("utf-8-sig")
        except FileNotFoundError:
            continue
        except OSError as error:
            problems[name] = f"{folder / name} can't be used: {error.strerror}"
        except UnicodeDecodeError:
            problems[name] = f"{folder / name} can't be used: it is not in UTF-8"
    return OwnTemplates(sources=sources, problems=problems)


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
    """The failure of a template in words: its line and the error."""
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
