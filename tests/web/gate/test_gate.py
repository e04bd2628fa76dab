"""What the gate sets for the work that a request starts."""

import httpx2
import pytest
from starlette.responses import JSONResponse

from smart_context.base.lookups import Lookups
from smart_context.base.waiting import is_waited_for
from smart_context.web.gate.access import GateSecrets
from smart_context.web.gate.door import Door
from smart_context.web.gate.gate import Gate
from smart_context.web.gate.throttle import Throttle
from tests.web.visiting import TOKEN

pytestmark = pytest.mark.anyio


async def test_a_request_is_waited_for_and_remembers_only_its_own():
    lookups = Lookups()

    async def app(scope, receive, send):
        known = lookups.get("it")
        lookups.keep("it", value=True)
        told = {"is_waited_for": is_waited_for(), "known": known}
        await JSONResponse({**told, "kept": lookups.get("it")})(scope, receive, send)

    gate = Gate(app, door=Door(GateSecrets(TOKEN), Throttle()), allowed_hosts=())
    transport = httpx2.ASGITransport(gate)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8000", headers=headers
    ) as client:
        for _ in range(2):
            answer = (await client.get("/api/x")).json()
            assert answer == {"is_waited_for": True, "known": None, "kept": True}


async def answered(method, path, *, key="a-key-of-a-client"):
    """What a client gets at a path; `app` answers who is let in."""

    async def app(scope, receive, send):
        await JSONResponse({"is_let_in": True})(scope, receive, send)

    gate = Gate(app, door=Door(GateSecrets(TOKEN), Throttle()), allowed_hosts=())
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(gate), base_url="http://127.0.0.1:8000", headers=headers
    ) as client:
        return await client.request(method, path)


@pytest.mark.parametrize(
    "path",
    [
        *("/chat/completions", "/models", "/responses", "/embeddings", "/completions"),
        *("/api/v1/chat/completions", "/openai/v1/chat/completions", "/api/models"),
        *("/v2/chat/completions", "/v1beta/openai/chat/completions", "/chat/completions/"),
        *("//v1/chat/completions", "/openai/deployments/gpt-5/chat/completions"),
    ],
)
@pytest.mark.parametrize("key", ["a-key-of-a-client", TOKEN, ""])
async def test_a_client_with_another_base_url_is_told_the_right_one(path, key):
    refused = await answered("POST", path, key=key)
    error = refused.json()["error"]
    assert refused.status_code == 404
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == "unknown_url"
    assert "The base URL ends in /v1" in error["message"]


@pytest.mark.parametrize("path", ["/chats/a/messages", "/contexts/a/models", "/api/commands/x"])
async def test_our_own_paths_are_not_taken_for_a_clients(path):
    assert (await answered("GET", path, key=TOKEN)).json() == {"is_let_in": True}
