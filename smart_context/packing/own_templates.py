"""A folder's own versions of the allowed templates."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from smart_context.disk.folders import read_inside
from smart_context.disk.places import Place
from smart_context.packing.allowed_templates import ALLOWED_TEMPLATES

MAX_TEMPLATE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTemplates:
    """Versions of allowed templates that take the place of the shipped ones.

    Attributes:
        sources: Their text, by name.
        problems: Why one can't be used, by name.
    """

    sources: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """True if all templates are the shipped ones."""
        return not (self.sources or self.problems)


def read_own(folder: Place | None) -> OwnTemplates:
    """The versions that a folder has now; no link in it is followed."""
    sources: dict[str, str] = {}
    problems: dict[str, str] = {}
    if folder is None:
        return OwnTemplates()
    for name in sorted(ALLOWED_TEMPLATES):
        try:
            content = read_inside(folder, name, max_bytes=MAX_TEMPLATE_BYTES)
            sources[name] = content.decode("utf-8-sig")
        except FileNotFoundError:
            continue
        except OSError as error:
            problems[name] = f"{folder / name} can't be used: {error.strerror}"
        except UnicodeDecodeError:
            problems[name] = f"{folder / name} can't be used: it is not in UTF-8"
    return OwnTemplates(sources=sources, problems=problems)
