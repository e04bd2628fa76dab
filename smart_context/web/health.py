"""Whether the server can do its work, and figures about it for Prometheus."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from smart_context import __version__
from smart_context.base.errors import StoreFailed
from smart_context.web.gate.door import READY_PATH

_NO_STORE = {"Cache-Control": "no-store"}
_UNAVAILABLE = 503
_STATUS = Path("/proc/self/statm")


class HealthHost(Protocol):
    """What is asked of the host."""

    async def check_storage(self) -> None:
        """Return if the storage answers; raises `StoreFailed` if not."""

    def figures(self) -> Mapping[str, tuple[str, float]]:
        """Figures by name, each with what it is."""


class Listened(Protocol):
    """The clients of the socket."""

    def __len__(self) -> int:
        """Their number."""


class HealthRoutes:
    """`/readyz` for anybody, `/metrics` for those who are let in."""

    def __init__(self, host: HealthHost, clients: Listened) -> None:
        self._host = host
        self._clients = clients

    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route(READY_PATH, self.ready, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
        ]

    async def ready(self, request: Request) -> Response:  # noqa: ARG002 - an endpoint's form
        """Answer anybody whether requests can be served now; the log says why not."""
        try:
            await self._host.check_storage()
        except StoreFailed:
            return PlainTextResponse("storage away\n", _UNAVAILABLE, _NO_STORE)
        return PlainTextResponse("ready\n", headers=_NO_STORE)

    async def metrics(self, request: Request) -> Response:  # noqa: ARG002 - an endpoint's form
        """Figures in the text format of Prometheus."""
        figures = {
            "clients": ("Clients that are connected to the socket", float(len(self._clients))),
            "cpu_seconds": ("Processor time that this process has taken", time.process_time()),
            "resident_bytes": ("Memory that this process holds", _resident_bytes()),
            **self._host.figures(),
        }
        lines = [
            "# HELP smart_context_info The version of the server",
            "# TYPE smart_context_info gauge",
            f'smart_context_info{{version="{__version__}"}} 1',
        ]
        for name, (meaning, value) in figures.items():
            lines += (
                f"# HELP smart_context_{name} {meaning}",
                f"# TYPE smart_context_{name} gauge",
                f"smart_context_{name} {value:g}",
            )
        body = "\n".join(lines) + "\n"
        return Response(body, headers=_NO_STORE, media_type="text/plain; version=0.0.4")


def _resident_bytes() -> float:
    """Memory that this process holds; 0 where the system does not say."""
    try:
        pages = int(_STATUS.read_text(encoding="ascii").split()[1])
    except OSError:
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))
