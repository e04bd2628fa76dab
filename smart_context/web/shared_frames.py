"""Frames that are made once and written to many sockets."""

from collections.abc import Callable, Mapping
from typing import Any

from starlette.types import Scope
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode

EXTENSION = "smart_context.shared_frames"

WriteShared = Callable[[bytes], bool]
"""Write a whole frame; returns False, without writing, if it would have to wait."""


def wire_frame(text: str) -> bytes:
    """The bytes of an unmasked, uncompressed WebSocket frame that holds the text."""
    return Frame(Opcode.TEXT, text.encode()).serialize(mask=False)


def shared_writer(scope: Scope) -> WriteShared:
    """The writer of shared frames for the socket of a scope; one that refuses by default."""
    extensions: Mapping[str, Any] = scope.get("extensions") or {}
    writer: WriteShared = extensions.get(EXTENSION, {}).get("write", _never)
    return writer


class SharedFrameProtocol(WebSocketsSansIOProtocol):
    """uvicorn's protocol for WebSockets with the extension; compression must be off."""

    async def run_asgi(self) -> None:
        """Serve the app with the extension in its scope."""
        extensions = self.scope["extensions"]
        if extensions is not None:
            extensions[EXTENSION] = {"write": self.write_shared}
        await super().run_asgi()

    def write_shared(self, frame: bytes) -> bool:
        """Write a frame, unless the socket is closing or still has much to write."""
        if self.close_sent or not self.writable.is_set() or self.transport.is_closing():
            return False
        self.transport.write(frame)
        return True


def _never(_frame: bytes) -> bool:
    return False
