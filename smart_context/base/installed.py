"""The installation of this copy of the program, and the commands that extend or repair it.

No command names the package index: until this program is published, its names there may be
somebody else's. A command names the folder, file or address of the copy.
"""

import importlib.util
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit
from urllib.request import url2pathname

from smart_context.base.environment import environment
from smart_context.base.values import parsed

DISTRIBUTION = "smart-context-vault"
"""The name of the distribution; its package and its command have other names."""

_PACKAGE = Path(__file__).resolve().parents[1]
_OF_EXTRA = "extra == "
_NAME = re.compile(r"[\w.-]+", re.ASCII)
_PLAIN = re.compile(r"[\w+:./\\-]+", re.ASCII)
_EXPORT = re.compile(r"\bexport (\w+)=(\S*)")
_FOLDERS_OF_POWERSHELL = 3

Tool = Literal["pip", "uv pip", "pipx", "uv tool"]
Shell = Literal["sh", "cmd", "PowerShell"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """One copy, in one environment."""

    tool: Tool  # the tool that changes the environment
    python: str  # its interpreter
    name: str = ""  # the environment's name in `pipx` or `uv tool`
    source: str = ""  # the folder, file or address of the copy; empty if unknown
    is_editable: bool = False
    # the requirements of each extra
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict)
    extras: frozenset[str] = frozenset()  # the extras whose requirements are all installed

    def adding(self, extra: str) -> list[str]:
        """The command that adds an extra; empty if there is none for this copy."""
        if self.tool == "pipx":
            return ["pipx", "inject", self.name, *needed] if (needed := self._needs(extra)) else []
        if self.source:
            # `uv tool` installs only the extras that it is given, so the present ones are repeated.
            extras = {extra, *(self.extras if self.tool == "uv tool" else ())}
            listed = f"[{','.join(sorted(extras))}]"
            is_address = "://" in self.source
            named = f"{DISTRIBUTION}{listed} @ {self.source}" if is_address else None
            return self._install(named or f"{self.source}{listed}")
        needed = self._needs(extra)
        return [*self._installer, *needed] if needed and self.tool != "uv tool" else []

    def again(self) -> list[str]:
        """The command that installs the same copy again; empty if there is none."""
        if self.tool == "pipx":
            return ["pipx", "reinstall", self.name]
        if self.tool == "uv tool":
            return ["uv", "tool", "upgrade", "--reinstall", self.name]
        if not self.source or self.is_editable:
            return []
        return self._install(self.source, "--force-reinstall", "--no-deps")

    def _needs(self, extra: str) -> list[str]:
        return list(self.needs.get(extra, ()))

    def _install(self, source: str, *options: str) -> list[str]:
        editable = ["--editable"] if self.is_editable else []
        return [*self._installer, *options, *editable, source]

    @property
    def _installer(self) -> list[str]:
        if self.tool == "uv tool":
            return ["uv", "tool", "install"]
        if self.tool == "uv pip":
            return ["uv", "pip", "install", "--python", self.python]
        return [self.python, "-m", "pip", "install"]


def how_to_add(extra: str) -> str:
    """The command that adds an extra to this copy; where there is none, an instruction."""
    command = this_copy().adding(extra)
    if not command:
        return f"install it again from where you got it, with its extra {extra!r}"
    return in_shell(command, shell_in_use())


def how_to_repair() -> str:
    """The command that installs this copy again; where there is none, the source to use."""
    command = this_copy().again()
    return in_shell(command, shell_in_use()) if command else "from where you got it"


def this_copy() -> Installed:
    """The copy that is running; blocks."""
    prefix = Path(sys.prefix)
    found = _distribution()
    needs = _needs_of(found)
    source, is_editable = _source_of(found)
    has_pip = importlib.util.find_spec("pip") is not None
    tool: Tool = "pip" if has_pip else "uv pip"
    if found is not None and (prefix / "pipx_metadata.json").is_file():
        tool = "pipx"
    elif found is not None and (prefix / "uv-receipt.toml").is_file():
        tool = "uv tool"
    return Installed(
        tool=tool,
        python=sys.executable or "python",
        name=prefix.name,
        source=source,
        is_editable=is_editable,
        needs=needs,
        extras=frozenset(extra for extra in needs if all(map(_is_there, needs[extra]))),
    )


def _distribution() -> metadata.Distribution | None:
    """The installed distribution of this package; `None` for a copy that runs uninstalled."""
    try:
        found = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None
    address = str(_direct_url(found).get("url", ""))
    places = [Path(str(found.locate_file("")))]
    if address.startswith("file:"):  # an editable installation
        places.append(_folder(address))
    return found if _PACKAGE.parent in {place.resolve() for place in places} else None


def _direct_url(found: metadata.Distribution) -> dict[str, Any]:
    """The origin of a distribution, as PEP 610 records it; empty for an index."""
    return parsed((found.read_text("direct_url.json") or "").encode()) or {}


def _source_of(found: metadata.Distribution | None) -> tuple[str, bool]:
    """The folder, file or address that this copy came from; then True if it is editable."""
    if found is None:
        top = _PACKAGE.parent
        return (str(top) if (top / "pyproject.toml").is_file() else ""), True
    recorded = _direct_url(found)
    address = str(recorded.get("url", ""))
    if address.startswith("file:"):
        path = _folder(address)
        is_there = path.is_file() or (path / "pyproject.toml").is_file()
        return (str(path) if is_there else ""), _of(recorded, "dir_info").get("editable") is True
    version = _of(recorded, "vcs_info")
    if version:
        address = f"{version.get('vcs', 'git')}+{address}@{version.get('commit_id', 'HEAD')}"
    return _without_password(address), False


def _of(recorded: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = recorded.get(name)
    return value if isinstance(value, dict) else {}


def _folder(address: str) -> Path:
    return Path(url2pathname(urlsplit(address).path))


def _without_password(address: str) -> str:
    parts = urlsplit(address)
    if parts.password is None:
        return address
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _needs_of(found: metadata.Distribution | None) -> Mapping[str, Sequence[str]]:
    """The requirements of each extra."""
    needs: dict[str, list[str]] = {}
    for line in (found.requires or ()) if found else ():
        needed, _, condition = line.partition(";")
        if condition.strip().startswith(_OF_EXTRA):
            extra = condition.strip().removeprefix(_OF_EXTRA).strip("\"'")
            needs.setdefault(extra, []).append(needed.strip())
    return needs


def _is_there(requirement: str) -> bool:
    """True if a package of the requirement's name is installed, in any version."""
    named = _NAME.match(requirement)
    try:
        return named is not None and bool(metadata.version(named[0]))
    except metadata.PackageNotFoundError:
        return False


def shell_in_use(platform: str = sys.platform, environ: Mapping[str, str] | None = None) -> Shell:
    """The shell that a command of ours is most likely typed into."""
    environ = environment() if environ is None else environ
    if platform != "win32" or "MSYSTEM" in environ:
        return "sh"
    # PowerShell puts two folders of its own before the one that all programs get.
    folders = environ.get("PSModulePath", "").split(";")
    return "PowerShell" if len(folders) >= _FOLDERS_OF_POWERSHELL else "cmd"


def in_shell(command: Sequence[str], shell: Shell) -> str:
    """A command as it is typed into a shell."""
    words = [quoted(word, shell) for word in command]
    return " ".join(words if shell != "PowerShell" or words[0] == command[0] else ["&", *words])


def quoted(word: str, shell: Shell) -> str:
    """An argument of a command as it is typed into a shell."""
    if shell == "sh":
        return shlex.quote(word)
    if _PLAIN.fullmatch(word):
        return word
    return f'"{word}"' if shell == "cmd" else "'" + word.replace("'", "''") + "'"


def settings_in_shell(lines: str, shell: Shell) -> str:
    """Lines with `export NAME=value`, in the syntax of a shell."""
    form = {"cmd": r"set \1=\2", "PowerShell": r"$env:\1 = '\2'"}.get(shell)
    return lines if form is None else _EXPORT.sub(form, lines)
