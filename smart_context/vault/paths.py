"""The one place where a path that somebody asked for becomes a path in the vault.

Clients, models, templates and notes name files; what they name is a request, not a path. It is
refused when it is absolute, climbs with `..`, holds a NUL, names a device, or leads out of the
vault through a link. Web, packer, reader and contexts all ask here.
"""

import os
import re
import stat
from pathlib import Path

from smart_context.errors import PathRefused

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SEPARATORS = re.compile(r"[\\/]")
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])\s*(?:[.:].*)?", re.IGNORECASE
)
_SHOWN_CHARACTERS = 200


def confine(root: Path, request: str) -> Path:
    """The path below `root` that a stranger's request names.

    Args:
        root: The vault.
        request: A path relative to the vault, with `/`; `""` and `"."` name the vault itself.

    Returns:
        `root / request`, which may not exist. Links inside the vault are kept in it, so it can be
        made relative to `root` again; where they lead was checked.

    Raises:
        PathRefused: If the request is absolute, holds `..` or a NUL, names a device, is no
            possible file name, or leads out of the vault through a link.
    """
    _confine(root, request)
    return root / request


def status_of(root: Path, request: str) -> os.stat_result:
    """What `confine(root, request).stat()` gives, for those who ask for thousands.

    Raises:
        PathRefused: As `confine`.
        OSError: If there is no such file.
    """
    _confine(root, request)
    return os.stat(f"{root}{os.sep}{request}")  # noqa: PTH116 — a path costs more than its stat


def _confine(root: Path, request: str) -> None:
    if "\0" in request:
        raise PathRefused(_refusal(request, "it holds a NUL character"))
    if request.startswith(("/", "\\")) or _DRIVE.match(request):
        raise PathRefused(_refusal(request, "it is absolute; name it relative to the vault"))
    parts = _SEPARATORS.split(request)
    if ".." in parts:
        raise PathRefused(_refusal(request, "it climbs with '..'"))
    if any(_DEVICE.fullmatch(part) for part in parts):
        raise PathRefused(_refusal(request, "it names a device"))
    if _may_lead_elsewhere(root, request) and not is_inside(root, root / request):
        raise PathRefused(_refusal(request, "it leads out of the vault"))


def _may_lead_elsewhere(root: Path, request: str) -> bool:
    """Whether any part is a link, or can't be looked at; most requests need no more than that."""
    if "\\" in request:  # a separator on some systems
        return True
    path = str(root)
    for part in request.split("/"):
        path = f"{path}{os.sep}{part}"
        try:
            if stat.S_ISLNK(os.lstat(path).st_mode):
                return True
        except (OSError, ValueError):
            return True
    return False


def is_inside(root: Path, path: Path) -> bool:
    """Whether `path`, with all its links followed, is `root` or below it.

    Neither needs to exist. A path that can't be looked at (too long, not encodable) is outside.
    """
    try:
        real_root, real_path = os.path.realpath(root), os.path.realpath(path)
    except (OSError, ValueError):
        return False
    return real_path == real_root or real_path.startswith(real_root.rstrip(os.sep) + os.sep)


def _refusal(request: str, reason: str) -> str:
    shown = request if len(request) <= _SHOWN_CHARACTERS else f"{request[:_SHOWN_CHARACTERS]}…"
    return f"The path {shown!r} was refused: {reason}."
