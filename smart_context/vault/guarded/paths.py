"""Turns requested paths into paths in the vault.

Clients, models, templates and notes name files. A request is refused if it is absolute, contains
`..` or a NUL, names a device, or leads out of the vault through a link. Web, packer, reader and
contexts all use this module.
"""

import os
import re
from pathlib import Path

from smart_context.base.disk.folders import leads_elsewhere, names_inside
from smart_context.base.disk.places import place_below
from smart_context.base.errors import PathRefused
from smart_context.base.text.names import names_device

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SEPARATORS = re.compile(r"[\\/]")
_ENDS = re.compile(r"[^/. \\][. ]+(?=[\\/]|$)")
_SHOWN_CHARACTERS = 200


def as_typed(request: str, separator: str = os.sep) -> str:
    r"""A path that a person typed, with `/` in place of the system's separator, such as `\`.

    The part after a `#`, which names a heading or a block, is not changed.
    """
    path, sign, part = request.partition("#")
    return path.replace(separator, "/") + sign + part


def confine(root: Path, request: str) -> Path:
    """The path below `root` that an untrusted request names.

    Args:
        request: A path relative to the vault, with `/`; `""` and `"."` name the vault itself.

    Returns:
        `root / request`, which may not exist. Links are kept in it, so it can be made relative
        to `root` again; their targets were checked.

    Raises:
        PathRefused: The request is absolute, contains `..` or a NUL, names a device, can't be a
            file name, has a part that ends in a dot or a space and that no folder lists, or leads
            out of the vault through a link.
    """
    _check_words(request)
    _check_ends(root, request)
    if _plain_status(root, request) is None:
        _check_links(root, request)
    return root / request


def status_of(root: Path, request: str) -> os.stat_result:
    """The result of `confine(root, request).stat()`, faster.

    Raises:
        PathRefused: As `confine`.
        OSError: If there is no such file.
    """
    _check_words(request)
    _check_ends(root, request)
    status = _plain_status(root, request)
    if status is not None:
        return status
    _check_links(root, request)
    return os.stat(f"{root}{os.sep}{request}")  # noqa: PTH116 — a path costs more than its stat


def _check_words(request: str) -> None:
    if "\0" in request:
        raise PathRefused(_refusal(request, "it holds a NUL character"))
    if request.startswith(("/", "\\")) or _DRIVE.match(request):
        raise PathRefused(_refusal(request, "it is absolute; name it relative to the vault"))
    if ".." in request and ".." in _SEPARATORS.split(request):
        raise PathRefused(_refusal(request, "it climbs with '..'"))
    if any(map(names_device, _SEPARATORS.split(request))):
        raise PathRefused(_refusal(request, "it names a device"))


def _check_ends(root: Path, request: str) -> None:
    """Refuse `name.` and `name `, which Windows opens as `name`, unless there is such a name."""
    for found in _ENDS.finditer(request):
        above, _, name = request[: found.end()].rpartition("/")
        if os.sep != "/" or not _lists(root, above, name):
            raise PathRefused(_refusal(request, f"{name!r} ends in a dot or a space"))


def _lists(root: Path, folder: str, name: str) -> bool:
    try:
        return name in names_inside(place_below(root, root / folder))
    except ValueError:  # no folder can have the name: a lone surrogate
        return False


def _check_links(root: Path, request: str) -> None:
    if not is_inside(root, root / request):
        raise PathRefused(_refusal(request, "it leads out of the vault"))


def _plain_status(root: Path, request: str) -> os.stat_result | None:
    """The status of a file reached without a link; `None` also if the system refuses.

    Enough for most requests.
    """
    if "\\" in request:  # a separator on some systems
        return None
    path = str(root)
    status = None
    for part in request.split("/"):
        path = f"{path}{os.sep}{part}"
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            return None
        if leads_elsewhere(status):
            return None
    return status


def is_inside(root: Path, path: Path) -> bool:
    """True if `path`, with all links followed, is `root` or below it.

    Neither needs to exist. A path that can't be resolved (too long, not encodable) is outside.
    """
    try:
        real_root, real_path = os.path.realpath(root), os.path.realpath(path)
    except (OSError, ValueError):
        return False
    return real_path == real_root or real_path.startswith(real_root.rstrip(os.sep) + os.sep)


def _refusal(request: str, reason: str) -> str:
    shown = request if len(request) <= _SHOWN_CHARACTERS else f"{request[:_SHOWN_CHARACTERS]}…"
    return f"The path {shown!r} was refused: {reason}."
