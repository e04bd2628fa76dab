"""Folders that fold names as those of Windows and macOS do."""

import unicodedata

from smart_context.base.disk.folders import Folder


def _folded(name):
    return unicodedata.normalize("NFC", name).casefold().rstrip(". ")


class FoldingFolder(Folder):
    """A folder that opens a file by any spelling of its name, and lists the one it was made by."""

    __slots__ = ()

    def status(self, name):
        return super().status(self._real(name))

    def folder(self, name, *, make=False):
        return super().folder(self._real(name), make=make)

    def _open(self, name, *flags_and_mode):
        return super()._open(self._real(name), *flags_and_mode)

    def _real(self, name):
        return next((each for each in self.names() if _folded(each) == _folded(name)), name)
