"""What a server asks of an OpenID provider."""

import asyncio

import pytest

from smart_context.base.config.access import AccessSettings
from smart_context.web.gate.oidc.provider import LoginProvider, ProviderFailed

pytestmark = pytest.mark.anyio


async def test_a_provider_that_hangs_is_asked_once_for_all_who_wait():
    asked, breaks = [], asyncio.Event()

    async def answer(reader, writer):
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        await breaks.wait()
        writer.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    settings = AccessSettings(mode="oidc", issuer=f"http://127.0.0.1:{port}", client_id="x")
    provider = LoginProvider(settings, "")

    def logging_in():
        return asyncio.create_task(provider.login_address("http://x/", "state", "nonce", "v"))

    async with server:
        waiting = [logging_in() for _ in range(5)]
        while not asked:
            await asyncio.sleep(0)
        waiting.pop(0).cancel()
        breaks.set()
        failed = await asyncio.gather(*waiting, return_exceptions=True)
        assert [type(error) for error in failed] == [ProviderFailed] * 4
        assert len(asked) == 1
        with pytest.raises(ProviderFailed):  # who comes later asks again
            await logging_in()
        assert len(asked) == 2
