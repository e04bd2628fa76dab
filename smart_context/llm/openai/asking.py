"""Asks a server about a model: its window, and the counts of its tokenizer.

`/models` belongs to the API and every server is asked for it. Other questions, to llama.cpp, vLLM,
LM Studio and Ollama, go only to servers on this machine that look like the program, at the
endpoint's own origin.
"""

import asyncio
import json
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from smart_context.base.config import EndpointSettings
from smart_context.base.config.addresses import is_loopback
from smart_context.llm.estimating import SAMPLES, TokenParts, factors_by
from smart_context.llm.failures import EndpointFailure, RequestFailed
from smart_context.llm.openai.connection import EndpointClient, bounded, decoded
from smart_context.llm.told import (
    ToldByServer,
    from_listing,
    from_lm_studio,
    from_ollama,
    from_props,
    from_tokenizer,
)

LONGEST_S = 15.0
"""The longest wait for one answer; no user waits for these."""

_LARGEST = 8 << 20
_WITH_TOKENIZER = frozenset({"llama.cpp", "vLLM"})


class ServerInformant:
    """Asks servers of models; satisfies the host's `Informant`."""

    def __init__(self, client: EndpointClient) -> None:
        self._client = client

    async def told(self, endpoint: EndpointSettings, /) -> ToldByServer:
        """The facts about a model from its server; raises `RequestFailed` if it does not answer."""
        hurried = replace(endpoint, timeout_s=min(endpoint.timeout_s, LONGEST_S))
        listing = await self._asked(hurried, "/models")
        told = from_listing(listing, endpoint.model, endpoint.base_url)
        self._client.programs[endpoint.base_url] = told.program
        if not _is_here(endpoint):
            return told
        server = replace(hurried, base_url=_origin(endpoint.base_url))
        try:
            more = await self._more(server, told)
        except RequestFailed:
            more = told
        found = more if more.window is None else replace(more, program=told.program)
        return replace(found, factors=await self._factors(server, found))

    async def _more(self, server: EndpointSettings, told: ToldByServer) -> ToldByServer:
        """The facts from the program's own routes beyond the API."""
        model = server.model
        if told.program == "llama.cpp" and not told.is_in_use:
            return from_props(await self._asked(server, "/props"))
        if told.program == "LM Studio":
            return from_lm_studio(await self._asked(server, "/api/v0/models"), model)
        if told.program == "Ollama":
            running = await self._asked(server, "/api/ps")
            shown = await self._asked(server, "/api/show", {"model": model})
            return from_ollama(running, shown, model)
        return told

    async def _factors(self, server: EndpointSettings, told: ToldByServer) -> TokenParts | None:
        """The factors for the tokenizer of llama.cpp or vLLM."""
        if told.program not in _WITH_TOKENIZER and (told.program or not told.is_in_use):
            return None
        counts: list[int] = []
        for text in SAMPLES.values():
            # each program reads its own fields
            body = {"model": server.model, "content": text, "prompt": text}
            no_more = {"add_special": False, "add_special_tokens": False}
            try:
                count = from_tokenizer(await self._asked(server, "/tokenize", {**body, **no_more}))
            except RequestFailed:
                return None
            if count is None:
                return None
            counts.append(count)
        return factors_by(counts)

    async def _asked(self, server: EndpointSettings, path: str, body: Any = None) -> Any:
        """The parsed answer to one request; `None` if it is not JSON."""
        content = None if body is None else json.dumps(body).encode()
        try:
            async with asyncio.timeout(server.timeout_s):
                whole = await self._whole(server, path, content)
        except TimeoutError:
            raise RequestFailed(EndpointFailure(trouble="slow")) from None
        try:
            return await asyncio.to_thread(json.loads, whole)
        except (ValueError, RecursionError):
            return None

    async def _whole(self, server: EndpointSettings, path: str, content: bytes | None) -> bytes:
        response = await self._client.ask(server, path, content)
        try:
            async with aclosing(bounded(decoded(response), _LARGEST)) as chunks:
                return b"".join([chunk async for chunk in chunks])
        finally:
            await response.aclose()


def _is_here(endpoint: EndpointSettings) -> bool:
    return is_loopback(urlsplit(endpoint.base_url).hostname or "")


def _origin(base_url: str) -> str:
    parts = urlsplit(base_url)
    return urlunsplit((parts.scheme, parts.netloc, "", "", ""))
