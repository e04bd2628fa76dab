import asyncio
import json
import re

import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient, WebSocketDenialResponse

from smart_context.web.application import create_web_app
from smart_context.web.gate.access import GateSecrets
from smart_context.web.gate.door import TOO_MANY
from smart_context.web.gate.refusals import refuse
from smart_context.web.gate.request_facts import RequestFacts
from smart_context.web.limits import MAX_FRAME_BYTES
from tests.web.small_host import TOKEN, SmallHost, StrictCommands

BASE = "http://127.0.0.1:8000"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def client():
    with TestClient(
        create_web_app(SmallHost(), access=GateSecrets(TOKEN)), base_url=BASE
    ) as client:
        client.headers.update(BEARER)
        yield client


def run(client, name, body=b"", **options):
    response = client.post(f"/api/commands/{name}", content=body, **options)
    assert response.headers["content-type"] == "application/json"
    return response.status_code, response.json()


def test_a_command_gets_its_parameters_and_gives_its_result(client):
    body = json.dumps({"text": "日本", "number": 2}).encode()
    assert run(client, "test.echo", body) == (200, {"result": {"text": "日本", "number": 2}})


def test_a_long_result_comes_in_pieces_and_is_the_same(client):
    text = "日本 and more " * 200_000
    body = json.dumps({"text": text, "number": 2}).encode()
    assert run(client, "test.echo", body) == (200, {"result": {"text": text, "number": 2}})
    assert "content-length" not in client.post("/api/commands/test.echo", content=body).headers


def test_an_empty_body_stands_for_no_parameters(client):
    assert run(client, "test.echo") == (200, {"result": {"text": "", "number": 0}})


def test_a_client_over_http_has_no_open_chat(client):
    assert run(client, "chat.open", b'{"chat_id": "a"}') == (200, {"result": {}})
    assert run(client, "test.who") == (200, {"result": {"chat_id": "nobody"}})


@pytest.mark.parametrize(
    ("name", "body", "status", "code"),
    [
        pytest.param("test.echo", b"{", 400, -32700, id="not JSON"),
        pytest.param("test.echo", b'{"text": "\xff"}', 400, -32700, id="not UTF-8"),
        pytest.param("test.echo", b'{"number": NaN}', 400, -32700, id="NaN"),
        pytest.param("test.echo", b"[]", 400, -32600, id="an array"),
        pytest.param("test.echo", b"null", 400, -32600, id="null"),
        pytest.param("test.echo", b"[" * 9999 + b"]" * 9999, 400, -32600, id="nested too deeply"),
        pytest.param("test.nothing", b"", 404, -32601, id="no such command"),
        pytest.param("test/echo", b"", 404, -32601, id="a name with a slash"),
        pytest.param("日本.x", b"", 404, -32601, id="a name that is not ASCII"),
        pytest.param("test.echo", b'{"text": 3}', 422, -32602, id="a parameter of another type"),
        pytest.param("test.echo", b'{"other": 3}', 422, -32602, id="an unknown parameter"),
        pytest.param("test.refuse", b"{}", 422, -32602, id="a missing parameter"),
        pytest.param("test.refuse", b'{"chat_id": "../x"}', 422, -32602, id="a bad chat id"),
        pytest.param("test.fail", b"", 500, -32603, id="a command that fails"),
        pytest.param("test.crash", b"", 500, -32603, id="a command with a fault"),
        pytest.param("test.odd", b"", 500, -32603, id="a result that is not JSON"),
    ],
)
def test_what_goes_wrong_has_its_status_and_code(client, name, body, status, code):
    found, answer = run(client, name, body)
    assert (found, answer["error"]["code"]) == (status, code)
    assert answer["error"]["message"]
    assert "secret detail" not in json.dumps(answer)
    assert "Traceback" not in json.dumps(answer)


def test_a_failure_is_told_in_its_own_words(client):
    assert run(client, "test.fail")[1] == {"error": {"code": -32603, "message": "the disk is full"}}


def test_what_commands_must_not_raise_is_still_an_answer(caplog):
    host = SmallHost()
    host.commands = StrictCommands()
    with TestClient(
        create_web_app(host, access=GateSecrets(TOKEN)), base_url=BASE, headers=BEARER
    ) as client:
        assert run(client, "params")[0] == 422
        status, answer = run(client, "other")
        assert status == 500
        assert "secret detail" not in answer["error"]["message"]
        assert "secret detail" in caplog.text


def test_a_body_at_the_limit_is_taken_and_a_larger_one_refused(client):
    head, tail = b'{"text": "', b'"}'
    fits = head + b"a" * (MAX_FRAME_BYTES - len(head) - len(tail)) + tail
    assert run(client, "test.echo", fits)[0] == 200
    assert run(client, "test.echo", fits + b" ")[0] == 413


def test_a_body_of_unannounced_length_is_counted_while_it_comes(client):
    chunks = (b" " * 2**20 for _ in range(9))
    assert run(client, "test.echo", chunks)[0] == 413


def test_a_body_that_announces_too_much_is_not_read():
    async def body_is_read():
        raise AssertionError

    scope = {
        "type": "http", "method": "POST", "path": "/api/commands/test.echo", "scheme": "http",
        "query_string": b"", "server": ("127.0.0.1", 8000), "root_path": "",
        "headers": [(b"host", b"127.0.0.1:8000"), (b"content-length", b"99999999"),
                    (b"authorization", BEARER["Authorization"].encode())],
    }  # fmt: skip
    messages = []

    async def send(message):
        messages.append(message)

    app = create_web_app(SmallHost(), access=GateSecrets(TOKEN))
    with pytest.raises(StopIteration):
        app(scope, body_is_read, send).send(None)
    assert messages[0]["status"] == 413


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_commands_are_posted_only(client, method):
    response = client.request(method, "/api/commands/test.echo")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"
    message = "Method Not Allowed. This address takes POST."
    assert response.json()["error"] == {"code": 405, "message": message}


def test_another_site_cannot_run_a_command_with_the_browsers_cookie(client):
    key = enter(client)
    assert run(client, "test.echo", headers=key)[0] == 200
    assert run(client, "test.echo")[0] == 401
    status, answer = run(client, "test.echo", headers=key | {"Origin": "http://evil.example"})
    assert (status, answer["error"]["code"]) == (403, 403)


def test_without_the_token_no_command_is_run(client):
    status, answer = run(client, "test.echo", headers={"Authorization": "Bearer wrong"})
    assert (status, answer["error"]["code"]) == (401, 401)
    del client.headers["Authorization"]
    assert run(client, "test.echo")[0] == 401


def test_health_is_told_to_anybody(client):
    del client.headers["Authorization"]
    response = client.get("/healthz")
    assert (response.status_code, response.text) == (200, "ok\n")
    assert client.head("/healthz").status_code == 200


def test_a_start_link_lets_the_browser_in():
    app = create_web_app(SmallHost(), access=GateSecrets(), pages=[Route("/", page)])
    with TestClient(app, base_url=BASE) as client:
        link = f"/?token={app.state.access.new_link_token()}"
        assert client.get("/").status_code == 401
        key = enter(client, link)
        assert client.get("/", headers=key).text == "a page"
        assert run(client, "test.echo", headers=key)[0] == 200
        assert client.get(link, headers=key).text == "a page"
        client.cookies.clear()
        assert client.get(link).status_code == 401


def test_the_cookie_alone_gets_a_page_that_fetches_the_one_that_was_asked_for():
    app = create_web_app(SmallHost(), access=GateSecrets(), pages=[Route("/", page)])
    with TestClient(app, base_url=BASE) as client:
        enter(client)
        entrance = client.get("/")
        assert entrance.status_code == 200
        assert "a page" not in entrance.text
        assert re.search(r'<script src="/static/pages/enter.js\?v=\w+"></script>\n$', entrance.text)
        assert entrance.headers["cache-control"] == "no-store"
        assert_guarded(entrance)


def test_from_another_site_a_start_link_leads_on_in_a_way_that_strict_cookies_follow():
    with TestClient(create_web_app(SmallHost(), access=GateSecrets()), base_url=BASE) as client:
        link = f"/?token={client.app.state.access.new_link_token()}"
        elsewhere = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        opened = client.get(link, headers=elsewhere)
        assert opened.status_code == 200
        assert "set-cookie" in opened.headers
        assert re.search(r'http-equiv="refresh" content="0; url=/#enter=[\w-]+"', opened.text)


def test_too_many_wrong_tokens_are_told_when_to_come_back():
    answer = refuse(RequestFacts.of({"path": "/", "headers": []}), TOO_MANY)
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "5")


def test_a_client_that_leaves_while_it_sends_is_no_fault(caplog):
    async def leaves():
        return {"type": "http.disconnect"}

    scope = {
        "type": "http", "method": "POST", "path": "/api/commands/test.echo", "scheme": "http",
        "query_string": b"", "server": ("127.0.0.1", 8000), "root_path": "",
        "headers": [(b"host", b"127.0.0.1:8000"), (b"content-length", b"10"),
                    (b"authorization", BEARER["Authorization"].encode())],
    }  # fmt: skip
    messages = []

    async def send(message):
        messages.append(message)

    asyncio.run(create_web_app(SmallHost(), access=GateSecrets(TOKEN))(scope, leaves, send))
    assert messages[0]["status"] == 499
    assert not caplog.records


def enter(client, link=None):
    """Follow a start link as a browser does; gives the header that its pages send."""
    client.headers.pop("Authorization", None)
    link = link or f"/?token={client.app.state.access.new_link_token()}"
    opened = client.get(link, follow_redirects=False)
    assert opened.status_code == 303
    location, _, code = opened.headers["location"].partition("#enter=")
    assert location == "/"
    given = client.post("/api/session", headers={"X-Smart-Context-Code": code})
    return {"X-Smart-Context-Key": given.json()["key"]}


async def page(request):
    return PlainTextResponse("a page")


async def broken(request):
    raise ZeroDivisionError("secret detail")


def test_a_browser_that_is_refused_gets_a_page_that_says_what_to_do():
    with TestClient(
        create_web_app(SmallHost(), access=GateSecrets(TOKEN)), base_url=BASE
    ) as client:
        response = client.get('/chats/"><script>', headers={"Accept": "text/html"})
        assert response.status_code == 401
        assert response.headers["content-type"].startswith("text/html")
        assert response.headers["www-authenticate"].startswith("Bearer")
        assert "start link" in response.text
        assert "<script>" not in response.text
        assert "style-src 'sha256-" in response.headers["content-security-policy"]
        assert 'href="/chats/%22%3E%3Cscript%3E"' in response.text


def test_an_unknown_address_gets_a_page_for_people_and_json_for_programs(client):
    people = client.get("/nothing", headers={"Accept": "text/html"})
    assert people.status_code == 404
    assert 'href="/"' in people.text
    programs = client.get("/nothing")
    assert (programs.status_code, programs.json()["error"]["code"]) == (404, 404)


def test_the_page_for_unknown_addresses_can_be_designed():
    async def designed(request):
        return PlainTextResponse(f"no {request.url.path}", 404)

    app = create_web_app(SmallHost(), access=GateSecrets(TOKEN), not_found=designed)
    with TestClient(app, base_url=BASE, headers=BEARER) as client:
        assert client.get("/x", headers={"Accept": "text/html"}).text == "no /x"
        assert client.get("/x").json()["error"]["code"] == 404


def test_a_fault_in_a_page_is_told_without_its_details(caplog):
    app = create_web_app(SmallHost(), access=GateSecrets(TOKEN), pages=[Route("/broken", broken)])
    client = TestClient(app, base_url=BASE, headers=BEARER, raise_server_exceptions=False)
    response = client.get("/broken", headers={"Accept": "text/html"})
    assert response.status_code == 500
    assert "secret detail" not in response.text
    assert "secret detail" in caplog.text
    assert_guarded(response)


@pytest.mark.parametrize("path", ["/healthz", "/nothing", "/api/commands/test.echo", "/?token=x"])
def test_every_response_has_the_security_headers(client, path):
    assert_guarded(client.get(path))
    assert_guarded(client.get(path, headers={"Host": "evil.example"}))


def assert_guarded(response):
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert "evil" not in response.headers["content-security-policy"]
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["cross-origin-opener-policy"] == "same-origin"
    assert "cache-control" in response.headers


def test_a_page_may_bring_a_policy_of_its_own():
    async def own(request):
        return PlainTextResponse("x", headers={"Content-Security-Policy": "default-src 'self'"})

    app = create_web_app(SmallHost(), access=GateSecrets(TOKEN), pages=[Route("/own", own)])
    with TestClient(app, base_url=BASE, headers=BEARER) as client:
        response = client.get("/own")
        assert response.headers.get_list("content-security-policy") == ["default-src 'self'"]


def test_a_page_for_another_host_has_no_link(client):
    response = client.get("/", headers={"Host": "evil.example", "Accept": "text/html"})
    assert response.status_code == 403
    assert "<a " not in response.text


SOCKET = "ws://127.0.0.1:8000/ws"


def test_a_socket_opens_for_who_is_let_in(client):
    with client.websocket_connect(SOCKET, headers=BEARER) as opened:
        assert opened.receive_json()["method"] == "ui.register_panel"


def test_a_socket_is_refused_with_a_reason(client):
    del client.headers["Authorization"]
    with pytest.raises(WebSocketDenialResponse) as caught, client.websocket_connect(SOCKET):
        pass
    assert caught.value.status_code == 401
    assert caught.value.json()["error"]["code"] == 401


def test_a_socket_is_refused_where_no_reason_can_be_given():
    scope = {
        "type": "websocket", "path": "/ws", "scheme": "ws", "query_string": b"",
        "server": ("127.0.0.1", 8000), "headers": [(b"host", b"127.0.0.1:8000")],
    }  # fmt: skip
    messages = []

    async def send(message):
        messages.append(message)

    with pytest.raises(StopIteration):
        create_web_app(SmallHost(), access=GateSecrets(TOKEN))(scope, None, send).send(None)
    assert messages == [{"type": "websocket.close", "code": 1008}]


def test_the_host_is_started_before_the_first_request_and_stopped_after_the_last():
    happened = []

    class Watched(SmallHost):
        async def start(self):
            happened.append(f"start with {len(self.listeners)} listening")

        async def stop(self):
            happened.append(f"stop with {len(self.listeners)} listening")

    host = Watched()
    with TestClient(create_web_app(host, access=GateSecrets(TOKEN)), base_url=BASE) as client:
        happened.append(client.get("/healthz").text)
    assert happened == ["start with 1 listening", "ok\n", "stop with 1 listening"]
    assert host.listeners == []
