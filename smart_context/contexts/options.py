"""The options of a context, and how they override each other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

Order = Literal["shortest", "listed"]


@dataclass(frozen=True, slots=True)
class Template:
    """The text before and after an item; either may be empty."""

    before: str = ""
    after: str = ""


_NO_TEMPLATES: Mapping[int, Template] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """The options of a snapshot and of its text; see docs/contexts.md.

    Attributes:
        link_depth: How many links to follow from the items.
        inlinks: Also include notes that link to an item.
        excluded_headings: Globs; sections whose heading matches are left out.
        max_len: The maximum characters in total; 0 is no limit.
        follow_links_in_excluded: Follow links in what was left out.
        order: Within a depth, shortest first or as listed.
        templates: By depth; -1 is around the whole text.
        max_links_per_item: The maximum number of links followed from one item; 0 is no limit.
        expand_embeds: Put the text of `![[embeds]]` in their place; see `embeds`.
    """

    link_depth: int = 0
    inlinks: bool = False
    excluded_headings: tuple[str, ...] = ()
    max_len: int = 0
    follow_links_in_excluded: bool = True
    order: Order = "shortest"
    templates: Mapping[int, Template] = field(default_factory=lambda: _NO_TEMPLATES)
    max_links_per_item: int = 0
    expand_embeds: bool = False

    def override(self, changes: Mapping[str, Any] | None) -> "ContextOptions":
        """These options, overridden by others; `None` overrides nothing.

        Templates are replaced depth by depth, the list of headings as a whole.

        Raises:
            TypeError: If an option is unknown.
            ValueError: If a value is of the wrong kind.
        """
        values: dict[str, Any] = {}
        for name, value in (changes or {}).items():
            if name not in _READERS:
                raise TypeError(f"no option {name!r}; there are {', '.join(sorted(_READERS))}")
            if value is not None:
                values[name] = _READERS[name](name, value)
        if not values:
            return self
        if "templates" in values:
            values["templates"] = MappingProxyType({**self.templates, **values["templates"]})
        return replace(self, **values)


def stored_options(changes: Mapping[str, Any] | None) -> dict[str, Any]:
    """The set options as JSON values, checked.

    Raises:
        TypeError: As `ContextOptions.override`.
        ValueError: As `ContextOptions.override`.
    """
    options = ContextOptions().override(changes)
    stored: dict[str, Any] = {}
    for name in (name for name, value in (changes or {}).items() if value is not None):
        value = getattr(options, name)
        stored[name] = list(value) if isinstance(value, tuple) else value
    if "templates" in stored:
        stored["templates"] = {
            str(depth): {"before": template.before, "after": template.after}
            for depth, template in stored["templates"].items()
        }
    return stored


def _count(name: str, value: object) -> int:
    if value is False:  # accepted as 0
        return 0
    if not isinstance(value, int) or value is True or value < 0:
        raise ValueError(f"{name}: expected a whole number of 0 or more, found {value!r}")
    return value


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool | int):
        raise ValueError(f"{name}: expected true or false, found {value!r}")  # noqa: TRY004 — one kind for all values
    return bool(value)


def _patterns(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
        raise ValueError(f"{name}: expected a list of patterns, found {value!r}")
    return tuple(value)


def _order(name: str, value: object) -> str:
    if value not in ("shortest", "listed"):
        raise ValueError(f"{name}: expected 'shortest' or 'listed', found {value!r}")
    return str(value)


def _templates(name: str, value: object) -> dict[int, Template]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name}: expected templates by depth, found {value!r}")  # noqa: TRY004 — as above
    return {
        _depth(name, depth): _template(name, template)
        for depth, template in value.items()
        if template is not None
    }


def _depth(name: str, value: object) -> int:
    try:
        depth = int(value) if isinstance(value, int | str) else -2
    except ValueError:
        depth = -2
    if depth < -1:
        raise ValueError(f"{name}: expected a depth of -1 or more, found {value!r}")
    return depth


def _template(name: str, value: object) -> Template:
    if isinstance(value, Template):
        return value
    if isinstance(value, Mapping) and value.keys() <= {"before", "after"}:
        before, after = (value.get(part) or "" for part in ("before", "after"))
        if isinstance(before, str) and isinstance(after, str):
            return Template(before, after)
    raise ValueError(f"{name}: expected {{'before': …, 'after': …}}, found {value!r}")


_READERS: Mapping[str, Callable[[str, object], Any]] = MappingProxyType(
    {
        "link_depth": _count,
        "inlinks": _flag,
        "excluded_headings": _patterns,
        "max_len": _count,
        "follow_links_in_excluded": _flag,
        "order": _order,
        "templates": _templates,
        "max_links_per_item": _count,
        "expand_embeds": _flag,
    }
)
