"""The user's versions of the allowed templates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from smart_context.base.disk.folders import read_inside
from smart_context.base.disk.places import Place
from smart_context.base.resources import asset
from smart_context.packing.templates.allowed import ALLOWED_TEMPLATES

MAX_TEMPLATE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnTemplates:
    """Versions of allowed templates that replace the shipped ones."""

    sources: Mapping[str, str] = field(default_factory=dict)  # their texts, by name
    # why a version can't be used, by name
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
    """The templates of this program, which a process without files needs beside own versions."""
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
