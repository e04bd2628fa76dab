"""The file of the browsers' sessions, in the user's folder."""

from pathlib import Path

from smart_context.disk.places import Place
from smart_context.disk.shared_file import SharedFile
from smart_context.web.gate.sessions.browser_sessions import (
    SessionRecord,
    read_record,
    render_record,
)

FILE_NAME = "sessions.json"
SessionFile = SharedFile[SessionRecord]


def session_file(folder: Path) -> SessionFile:
    """The record in the user's folder for settings, which several servers and commands share."""
    place = Place(folder, (FILE_NAME,))
    return SharedFile(place=place, parse=read_record, render=render_record)
