"""Visits for tests of what decides about them."""

from smart_context.web.gate.request_facts import RequestFacts

TOKEN = "a-token-of-the-user"
BEARER = ("authorization", f"Bearer {TOKEN}")
HOST = ("host", "127.0.0.1:8000")


def visit(*headers, method="GET", path="/", query="", scheme="http", port=8000, peer="127.0.0.1"):
    if not any(name == "host" for name, _ in headers):
        headers = (HOST, *headers)
    return RequestFacts.of(
        {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "scheme": scheme,
            "server": ("127.0.0.1", port),
            "client": (peer, 50_000),
            "headers": [(name.encode(), value.encode()) for name, value in headers],
        }
    )
