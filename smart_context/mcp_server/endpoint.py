"""`/mcp`: the tools by streamable HTTP, behind the server's gate."""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from smart_context.base.installed import how_to_add
from smart_context.host.commands.registry import Caller
from smart_context.mcp_server.toolbox import Toolbox

if TYPE_CHECKING:  # an extra
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

NOT_RUNNING = "MCP does not run. Ask again; the server's log says why if it still does not."

_STOP_S = 1.0

_logger = logging.getLogger(__name__)


class McpEndpoint:
    """Answers MCP clients; requests are independent, so none can use another's session.

    Args:
        caller_of: Returns the caller by the request's scope, as the gate admitted them.
    """

    def __init__(self, toolbox: Toolbox, caller_of: Callable[[Scope], Caller]) -> None:
        self._toolbox = toolbox
        self._caller_of = caller_of
        self._manager: StreamableHTTPSessionManager | None = None
        self._stopping = asyncio.Event()
        self._running: asyncio.Task[None] | None = None
        self._tried = asyncio.Event()

    def routes(self) -> list[BaseRoute]:
        """The only route."""
        return [Route("/mcp", self)]

    async def close(self) -> None:
        """End the current requests."""
        self._stopping.set()
        if self._running is not None:
            await asyncio.wait([self._running], timeout=_STOP_S)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; 404 with a hint without the SDK, 503 if it does not start."""
        if self._running is None or self._running.done():
            try:
                manager = self._new_manager()
            except ImportError:
                added = await asyncio.to_thread(how_to_add, "mcp")
                hint = f"MCP is not installed. To add it: {added}"
                await JSONResponse({"error": {"message": hint}}, 404)(scope, receive, send)
                return
            self._tried = asyncio.Event()
            self._running = asyncio.create_task(self._run(manager, self._tried))
        await self._tried.wait()
        if self._manager is None:
            await JSONResponse({"error": {"message": NOT_RUNNING}}, 503)(scope, receive, send)
            return
        await self._manager.handle_request(scope, receive, send)

    def _new_manager(self) -> "StreamableHTTPSessionManager":
        from mcp.server.streamable_http_manager import (  # noqa: PLC0415 - an extra
            StreamableHTTPSessionManager,
        )

        from smart_context.mcp_server.protocol import make_server  # noqa: PLC0415 - as above

        server = make_server(self._toolbox, lambda request: self._caller_of(request.scope))
        return StreamableHTTPSessionManager(server, json_response=True, stateless=True)

    async def _run(self, manager: "StreamableHTTPSessionManager", tried: asyncio.Event) -> None:
        """Answer until the server stops; after a failure the next request tries again."""
        try:
            async with manager.run():
                self._manager = manager
                tried.set()
                await self._stopping.wait()
        except Exception:
            _logger.exception("MCP does not run")
        finally:
            self._manager = None
            tried.set()
