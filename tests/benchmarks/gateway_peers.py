"""What the gateway is measured beside: a provider that costs nearly nothing, and a bare relay.

    python -m tests.benchmarks.gateway_peers provider
    python -m tests.benchmarks.gateway_peers relay http://127.0.0.1:1234/v1

Each prints its port. The provider reads a chat request without parsing it. The request's header
`OpenAI-Beta`, which relays pass on, says what it answers: `COUNT SIZE PAUSE_MS` is that many events
of that many bytes, with a pause before each. Without it the answer is a list of topics.
"""

import argparse
import asyncio
import contextlib
import json

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route

from tests.fake_openai import FakeOpenAI

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
DONE = b"data: [DONE]\n\n"
FOUND = [
    {"label": label, "count": 250, "message_ids": [f"m{n:07}" for n in range(first, 1_000, 4)]}
    for first, label in enumerate(("Graph Walks", "Old Gardens", "Node Handover", "Boats"))
]
TOPICS = {"choices": [{"message": {"role": "assistant", "content": json.dumps({"topics": FOUND})}}]}


def event(size):
    """An event of a stream, so long that its JSON has about that many bytes."""
    words = "x" * max(size - 60, 1)
    delta = {"choices": [{"index": 0, "delta": {"content": words}}]}
    return f"data: {json.dumps(delta)}\n\n".encode()


def chunk(content):
    return b"%x\r\n%s\r\n" % (len(content), content)


async def serve_one(reader, writer):
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            lines = head.split("\r\n")
            fields = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
            body = await reader.readexactly(int(fields.get("content-length", 0)))
            if "/embeddings" in lines[0]:
                writer.write(embedded(body))
            elif "openai-beta" in fields:
                await stream(writer, fields["openai-beta"])
            else:
                writer.write(answered(TOPICS))
            await writer.drain()
    writer.close()


async def stream(writer, plan):
    count, size, pause_ms = map(int, plan.split())
    writer.write(HEAD)
    piece = chunk(event(size))
    for _ in range(count):
        if pause_ms:
            await asyncio.sleep(pause_ms / 1000)
        writer.write(piece)
        await writer.drain()
    writer.write(chunk(DONE) + b"0\r\n\r\n")


def embedded(body):
    given = json.loads(body)["input"]
    rows = [FakeOpenAI().embed(text) for text in ([given] if isinstance(given, str) else given)]
    data = [{"index": place, "embedding": row} for place, row in enumerate(rows)]
    return answered({"data": data, "model": "e", "usage": {}})


def answered(value):
    content = json.dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(content),
        content,
    )


async def provide():
    server = await asyncio.start_server(serve_one, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def bare_relay(base_url):
    """A relay that passes everything on and does nothing else."""
    limits = httpx2.Limits(max_connections=None)
    client = httpx2.AsyncClient(trust_env=False, limits=limits, timeout=60)

    async def relay(request):
        sent = client.build_request(
            "POST",
            f"{base_url}/chat/completions",
            content=await request.body(),
            headers={
                "content-type": "application/json",
                "openai-beta": request.headers.get("openai-beta", "1 80 0"),
            },
        )
        answer = await client.send(sent, stream=True)
        return StreamingResponse(answer.aiter_raw(), answer.status_code, dict(answer.headers))

    return Starlette(routes=[Route("/v1/chat/completions", relay, methods=["POST"])])


async def run_relay(base_url):
    config = uvicorn.Config(bare_relay(base_url), port=0, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    print(server.servers[0].sockets[0].getsockname()[1], flush=True)
    await task


def main():
    parser = argparse.ArgumentParser()
    peers = parser.add_subparsers(dest="peer", required=True)
    peers.add_parser("provider")
    peers.add_parser("relay").add_argument("base_url")
    given = parser.parse_args()
    asyncio.run(provide() if given.peer == "provider" else run_relay(given.base_url))


if __name__ == "__main__":
    main()
