"""The tools on stdin and stdout; nothing else is written to stdout meanwhile."""

from mcp.server.stdio import stdio_server

from smart_context.base.asking import whoever_asks
from smart_context.host.commands.registry import Caller
from smart_context.mcp_server.protocol import make_server
from smart_context.mcp_server.toolbox import Toolbox


async def serve_stdio(toolbox: Toolbox) -> None:
    """Serve one client until it closes its end."""
    server = make_server(toolbox, lambda _request: Caller(whoever_asks()))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
