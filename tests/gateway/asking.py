"""A client of the gateway over HTTP, byte by byte, and a vault whose provider is a fake one."""

import http.client
import json
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.fake_openai import FakeOpenAI
from tests.patience import PATIENCE_S
from tests.serving import TOKEN, serving
from tests.vaults import KEY, settings_text


@dataclass
class Answer:
    status: int
    headers: dict
    raw: bytes

    @property
    def json(self):
        return json.loads(self.raw)

    @property
    def text(self):
        return self.json["choices"][0]["message"]["content"]

    @property
    def chat(self):
        return self.headers["x-smart-context-chat"]

    @property
    def receipt(self):
        return self.headers["x-smart-context-receipt"]


class ApiClient:
    """Asks one server with one key."""

    def __init__(self, server, key=TOKEN):
        self.address = urlsplit(server.origin)
        self.key = key

    def request(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(self.address.netloc, timeout=PATIENCE_S)
        try:
            raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            names = {name.replace("_", "-"): value for name, value in headers.items()}
            sent = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
            connection.request(method, path, raw, {**sent, **names})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def chat(self, *messages, headers=None, **fields):
        body = {"model": "gpt-4o", "messages": messages, **fields}
        return self.request("POST", "/v1/chat/completions", body, **(headers or {}))

    def respond(self, given, headers=None, **fields):
        body = {"model": "gpt-4o", "input": given, **fields}
        return self.request("POST", "/v1/responses", body, **(headers or {}))


@contextmanager
def provided_vault(folder, *, settings=None, **plugin_settings):
    """A server of a vault whose models are at a fake provider; gives both."""
    vault = folder / "vault"
    vault.mkdir()
    with FakeOpenAI() as provider:
        text = settings_text(provider.base_url, **plugin_settings)
        # Topics are found without a model, which would take the answers that a test scripts.
        text = text.replace('fast = "gpt-4o-mini"', 'fast = "embedded"')
        (vault / ".vault.toml").write_text(settings(text) if settings else text, encoding="utf-8")
        env = {**KEY, "XDG_CONFIG_HOME": str(folder / "config")}
        with serving(vault, env=env) as server:
            yield server, provider
