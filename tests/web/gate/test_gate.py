"""What the gate sets for the work that a request starts."""

import httpx2
import pytest
from starlette.responses import JSONResponse

from smart_context.base.asking import found, is_waited_for, keep_found, person_asking
from smart_context.base.values import OWNER
from smart_context.web.gate.access import Access
from smart_context.web.gate.door import Door
from smart_context.web.gate.gate import Gate
from smart_context.web.gate.throttle import Throttle
from tests.web.visiting import TOKEN

pytestmark = pytest.mark.anyio


async def test_a_request_has_a_person_is_waited_for_and_remembers_only_its_own():
    async def app(scope, receive, send):
        known = found("it")
        keep_found("it", value=True)
        told = {"person": person_asking(), "is_waited_for": is_waited_for(), "known": known}
        await JSONResponse({**told, "kept": found("it")})(scope, receive, send)

    gate = Gate(app, door=Door(Access(TOKEN), Throttle()), allowed_hosts=())
    transport = httpx2.ASGITransport(gate)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8000", headers=headers
    ) as client:
        for _ in range(2):
            answer = (await client.get("/api/x")).json()
            assert answer == {"person": OWNER, "is_waited_for": True, "known": None, "kept": True}
