"""`/mcp`: the tools by streamable HTTP, behind the server's gate."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from smart_context.host.commands.registry import Caller
from smart_context.mcp_server.toolbox import Toolbox

if TYPE_CHECKING:  # an extra
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

INSTALL = "pip install 'smart-context[mcp]'"

_STOP_S = 1.0


class McpEndpoint:
    """Answers MCP clients; each request stands alone, so none can use another's session.

    Args:
        toolbox: The tools.
        caller_of: Who asks, by the request's scope, as the gate let them in.
    """

    def __init__(self, toolbox: Toolbox, caller_of: Callable[[Scope], Caller]) -> None:
        self._toolbox = toolbox
        self._caller_of = caller_of
        self._manager: StreamableHTTPSessionManager | None = None
        self._stopping = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()

    def routes(self) -> list[BaseRoute]:
        """The one route."""
        return [Route("/mcp", self)]

    async def close(self) -> None:
        """End the requests under way."""
        self._stopping.set()
        if self._running is not None:
            await asyncio.wait([self._running], timeout=_STOP_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; 404 with a hint without the SDK."""
        try:
            from mcp.server.streamable_http_manager import (  # noqa: PLC0415 - an extra
                StreamableHTTPSessionManager,
            )

            from smart_context.mcp_server.protocol import make_server  # noqa: PLC0415 - the same
        except ImportError:
            hint = f"MCP is not installed. Run: {INSTALL}"
            await JSONResponse({"error": {"message": hint}}, 404)(scope, receive, send)
            return
        if self._manager is None:
            server = make_server(self._toolbox, lambda request: self._caller_of(request.scope))
            self._manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
            self._running = asyncio.create_task(self._run(self._manager))
        await self._ready.wait()
        await self._manager.handle_request(scope, receive, send)

    async def _run(self, manager: "StreamableHTTPSessionManager") -> None:
        async with manager.run():
            self._ready.set()
            await self._stopping.wait()
