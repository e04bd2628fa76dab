"""A real server process, and a client that speaks its wire, for tests that use it as users do."""

import http.client
import itertools
import json
import os
import queue
import random
import re
import signal
import socket
import subprocess
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.patience import PATIENCE_S
from tests.preloaded import Program, start
from tests.trusting import trust

TOKEN = "a-token-for-tests-0123456789"
OWN_PORTS = range(20_000, 30_000)
"""Ports that no system gives away unasked, unlike those that port 0 finds."""


@dataclass
class Server:
    """A running `smart-context serve`.

    Attributes:
        browser: Who has followed the link, which works once, for the pages of a real one.
    """

    process: Program
    link: str
    vault: Path
    errors: list[str] = field(default_factory=list)
    browser: "Browser | None" = None

    @property
    def origin(self):
        return re.match(r"https?://[^/]+", self.link).group()

    def command(self, name, /, **params):
        """Call a command over HTTP; gives the status and the JSON answer."""
        return self.request("POST", f"/api/commands/{name}", json.dumps(params).encode())

    def ask(self, name, /, **params):
        """The result of a command over HTTP; fails the test when it is an error."""
        status, answer = self.command(name, **params)
        assert status == 200, answer
        return answer["result"]

    def request(self, method, path, body=None, headers=None):
        request = urllib.request.Request(
            self.origin + path,
            data=body,
            method=method,
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
            | (headers or {}),
        )
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
                return response.status, _decoded(response)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, _decoded(error)

    def connect(self):
        return WireClient(self.origin.replace("http", "ws") + "/ws")

    def stop(self, sig=signal.SIGTERM):
        """End the process by a signal and give its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        return self.process.wait(PATIENCE_S)


def lasting_port():
    """A free port that is still free after a server on it has ended and another begins."""
    for port in random.sample(OWN_PORTS, len(OWN_PORTS)):
        if is_free(port):
            return port
    raise AssertionError("every port is taken")


def is_free(port):
    """True if nobody listens on a port."""
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) != 0


def _decoded(response):
    raw = response.read()
    if "json" in response.headers.get("Content-Type", ""):
        return json.loads(raw)
    return raw.decode()


@contextmanager
def serving(vault, *, env=None, args=(), port=0, descriptors=None, token=TOKEN, trusted=True):
    """Serve a vault in a process of its own, on a free port, until the block ends.

    The vault is trusted as it is then, as its user would have done, unless it is not to be.
    """
    if trusted:
        trust(vault, (env or {}).get("XDG_CONFIG_HOME"))
    secret = ["--token", token] if token else []
    command = ["serve", vault, "--port", port, *secret, "--no-browser", *args]
    process = start(command, env={**os.environ, **(env or {})}, descriptors=descriptors)
    errors: list[str] = []
    readers = [threading.Thread(target=lambda: errors.extend(process.stderr), daemon=True)]
    readers[0].start()
    try:
        link = next(
            (m.group() for line in process.stdout if (m := re.search(r"http\S+", line))), ""
        )
        assert link, "the server did not start:\n" + "".join(errors)
        readers.append(threading.Thread(target=lambda: list(process.stdout), daemon=True))
        readers[1].start()
        yield Server(process=process, link=link, vault=Path(vault), errors=errors)
    finally:
        _end(process)
        for reader in readers:
            reader.join(PATIENCE_S)
        process.stdout.close()
        process.stderr.close()


def _end(process):
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class WireClient:
    """A client of `/ws`: calls, notifications, and the events that were pushed."""

    def __init__(self, url):
        self.connection = connect(
            url,
            additional_headers={"Authorization": f"Bearer {TOKEN}"},
            max_size=64 * 2**20,
            open_timeout=PATIENCE_S,
            ping_timeout=None,
        )
        self.socket = self.connection.__enter__()
        self.ids = itertools.count(1)
        self.replies: dict[int, queue.Queue] = {}
        self.events: list[tuple[str, dict]] = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.__exit__(None, None, None)
        self.reader.join(PATIENCE_S)

    def _read(self):
        try:
            for frame in self.socket:
                message = json.loads(frame)
                if "method" in message:
                    with self.changed:
                        self.events.append((message["method"], message["params"]))
                        self.changed.notify_all()
                elif message.get("id") in self.replies:
                    self.replies[message["id"]].put(message)
        except ConnectionClosed as error:
            with self.changed:
                self.events.append(("closed", {"reason": str(error)}))
                self.changed.notify_all()

    def start(self, method, **params):
        """Send a request without waiting; gives a function that waits for its reply."""
        number = next(self.ids)
        self.replies[number] = queue.Queue()
        self.socket.send(
            json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        )
        return lambda: self.replies[number].get(timeout=PATIENCE_S)

    def call(self, method, **params):
        """The result of a command; fails the test when it is an error."""
        reply = self.start(method, **params)()
        assert "result" in reply, reply
        return reply["result"]

    def fail(self, method, **params):
        """The error of a command; fails the test when there is none."""
        reply = self.start(method, **params)()
        assert "error" in reply, reply
        return reply["error"]

    def wait_for(self, name, *, after=0, such_that=lambda _: True, **matching):
        """The first event of that name, from position `after` on, with these values."""

        def found():
            return next(
                (
                    params
                    for event, params in self.events[after:]
                    if event == name
                    and all(params.get(k) == v for k, v in matching.items())
                    and such_that(params)
                ),
                None,
            )

        with self.changed:
            if not self.changed.wait_for(lambda: found() is not None, PATIENCE_S):
                raise AssertionError(f"no {name} {matching} among {self.events[after:]}")
            return found()

    def wait_for_words(self, words):
        """Wait until the first answer has come as far as these words; its pieces may be joined."""
        heard = ""
        while not heard.endswith(words):
            heard += self.wait_for("chat.token", offset=len(heard))["text"]


class Browser:
    """What a browser keeps of a start link: a cookie, and the key of the pages of this origin."""

    def __init__(self, link):
        opened = urlsplit(link)
        self.authority = opened.netloc
        self.cookie = self.key = ""
        status, headers, _ = self.request("GET", f"{opened.path}?{opened.query}")
        assert status == 303, status
        self.landed, _, code = headers["location"].partition("#enter=")
        self.cookie = headers["set-cookie"].split(";")[0]
        claim = {"X-Smart-Context-Code": code}
        self.claim = lambda: self.request("POST", "/api/session", claim)
        self.key = json.loads(self.claim()[2])["key"]

    @property
    def keyed(self):
        """What its pages' scripts send; the cookie goes by itself."""
        return {"X-Smart-Context-Key": self.key}

    def request(self, method, path, headers=None, body=None):
        """Ask as a page's `fetch` does, with the cookie but without the key."""
        connection = http.client.HTTPConnection(self.authority, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body, {"Cookie": self.cookie, **(headers or {})})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return response.status, found, response.read().decode()
        finally:
            connection.close()

    def connect(self, *protocols, **headers):
        """Open a socket as `new WebSocket(url, protocols)` does."""
        return connect(
            f"ws://{self.authority}/ws",
            additional_headers={"Cookie": self.cookie, **headers},
            subprotocols=protocols or None,
            open_timeout=PATIENCE_S,
        )
