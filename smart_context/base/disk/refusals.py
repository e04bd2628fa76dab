"""Errors for users when the disk refuses."""

import errno
from pathlib import Path

from smart_context.base.disk.folders import NotPlain, TooLarge
from smart_context.base.disk.places import Place
from smart_context.base.errors import StoreFailed
from smart_context.base.text.names import shown


def could_not(verb: str, path: Path | Place, error: OSError) -> StoreFailed:
    """The error for users when a file could not be `read` or `written`."""
    name = shown(path)
    if isinstance(error, NotPlain):
        return StoreFailed(
            f"{shown(error.filename)} is {error.strerror}. Put the {error.wanted} itself there."
        )
    if isinstance(error, TooLarge):
        return StoreFailed(f"{name} {error.strerror}. Move it elsewhere or split it.")
    kept = "What was there before is unchanged." if verb == "written" else "Nothing was changed."
    reason = error.strerror or str(error)
    return StoreFailed(f"{name} could not be {verb}: {reason}. {kept} {advice(error)}")


def advice(error: Exception) -> str:
    """What the user can do when the disk refuses."""
    number = error.errno if isinstance(error, OSError) else None
    return _ADVICE.get(number or 0, "Check the folder and try again.")


_ADVICE = {
    errno.ENOSPC: "The disk is full: free some space and try again.",
    errno.EDQUOT: "Your disk quota is used up: free some space and try again.",
    errno.EFBIG: "The file would be larger than this system allows.",
    errno.EROFS: "The disk is mounted read-only.",
    errno.EACCES: "Check who may read and write the file and its folder.",
    errno.EPERM: "Check who may read and write the file and its folder.",
    errno.ELOOP: "It is a link; put the file itself there.",
}
