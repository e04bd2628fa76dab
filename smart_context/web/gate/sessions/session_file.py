"""The file of the browsers' sessions, in the user's folder."""

from pathlib import Path

from pydantic import TypeAdapter

from smart_context.base.disk.places import Place
from smart_context.base.disk.shared_file import SharedFile
from smart_context.web.gate.sessions.browser_sessions import SessionRecord

FILE_NAME = "sessions.json"
SessionFile = SharedFile[SessionRecord]
_RECORD = TypeAdapter(SessionRecord)


def session_file(folder: Path) -> SessionFile:
    """The record in the user's folder for settings, which several servers and commands share.

    A damaged one reads as empty, so nobody gets in by it.
    """
    place = Place(folder, (FILE_NAME,))
    return SharedFile(place=place, adapter=_RECORD, empty=SessionRecord())
