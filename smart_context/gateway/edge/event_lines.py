"""Line ends in a stream of events, for clients that split at more of them than the format has."""

import re

_LINE_END = re.compile(rb"\xe2\x80[\xa8\xa9]|\xc2\x85|[\x0b\x0c\x1c-\x1e]")
_HALF_LINE_END = re.compile(rb"(?:\xe2\x80?|\xc2)\Z")
_BLANK_LINE = re.compile(rb"(?:\n\r?\n|\n\r|\r\r\n?)\Z")
_TAIL = 4


class EventLines:
    """Passes bytes of a stream on, with line ends of Unicode replaced by their JSON escapes.

    JSON has such a character only within a text, where its escape means the same. The lines of an
    event end with CR or LF, but some clients split at every line end of Unicode, so a text with
    one could begin an event of its own.

    Attributes:
        rest: Bytes that may begin such a character, and wait for the next chunk.
    """

    def __init__(self) -> None:
        self.rest = b""
        self._tail = b""

    def passed(self, chunk: bytes) -> bytes:
        """The bytes to pass on."""
        came = self.rest + chunk
        half = _HALF_LINE_END.search(came, max(len(came) - 2, 0))
        self.rest = half[0] if half else b""
        whole = came[: len(came) - len(self.rest)]
        passed = _LINE_END.sub(_escaped, whole)
        self._tail = (self._tail + passed[-_TAIL:])[-_TAIL:]
        return passed

    def ended(self) -> bytes:
        """The bytes to add so that an event can follow an answer that broke off."""
        rest, self.rest = self.rest, b""
        if not rest and (not self._tail or _BLANK_LINE.search(self._tail)):
            return b""
        return rest + b"\n\n"


def _escaped(found: re.Match[bytes]) -> bytes:
    return f"\\u{ord(found[0].decode()):04x}".encode()
