"""An endpoint that means harm: what it sends is written byte by byte, and may never end."""

import functools
import gzip
import itertools
import json
import socket
import socketserver
import struct
import threading
import zlib
from contextlib import contextmanager

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
BARE = HEAD + b"\r\n"
MIB = 2**20


def event(**delta):
    """One event of a stream."""
    return b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n"


def chunk(payload):
    """A chunk of a chunked body."""
    return f"{len(payload):x}\r\n".encode() + payload + b"\r\n"


def again(payload, *, after=b""):
    """Makes the first bytes, then the payload again and again."""
    return lambda: itertools.chain([after], itertools.repeat(payload))


def once(payload):
    """Makes these bytes."""
    return lambda: [payload]


def bomb(payload, times=256):
    """A gzip body that inflates to many times the payload, which is deflated once."""
    deflating = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    deflated = deflating.compress(payload) + deflating.flush(zlib.Z_FULL_FLUSH)
    head = gzip.compress(b"")[:10]
    size = (len(payload) * times) % 2**32
    check = functools.reduce(lambda crc, part: zlib.crc32(part, crc), [payload] * times, 0)
    return head + deflated * times + deflating.flush() + struct.pack("<II", check, size)


@contextmanager
def hostile_endpoint(answers):
    """The base_url of a server whose answer is named by the last line that it is asked.

    Args:
        answers: By name: what makes the parts to send, and the seconds between them.
    """
    over = threading.Event()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            head = self.rfile.readline()
            length = 0
            while (line := self.rfile.readline()) not in {b"\r\n", b""}:
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not line:  # the client has hung up
                return
            body = json.loads(self.rfile.read(length)) if head.startswith(b"POST") else {}
            make_parts, seconds = answers[_name(body)]
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for part in make_parts():
                if over.wait(seconds):
                    return
                self.request.sendall(part)

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True

        def handle_error(self, request, client_address):
            """Clients that hang up are what this is about."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            over.set()
            server.shutdown()
            thread.join()


def _name(body):
    asked = body["messages"][-1]["content"] if "messages" in body else body["input"][-1]
    return asked.splitlines()[-1].strip()
