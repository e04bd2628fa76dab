"""Who may come in, and what is refused (contract A10, A11; DESIGN: security)."""

import json
import urllib.error
import urllib.request

import pytest
from websockets.sync.client import connect

from tests.serving import TOKEN, cookie_opener, lasting_port, serving


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A server of an empty vault; the tests leave it as it is, and share it."""
    with serving(tmp_path_factory.mktemp("vault")) as running:
        yield running


def test_the_start_link_opens_the_page_and_the_cookie_outlives_a_restart(vault):
    port = lasting_port()
    with serving(vault, port=port) as server:
        opener = cookie_opener()
        with opener.open(server.link) as page:
            assert page.status == 200
            assert "token" not in page.url
    with serving(vault, port=port) as again, opener.open(again.origin + "/") as page:
        assert page.status == 200


def test_without_a_token_there_is_only_the_health_check(bare):
    status, _ = bare.request("GET", "/healthz", headers={"Authorization": ""})
    assert status == 200
    for path in ("/", "/chats/x", "/panels/smart_context"):
        assert bare.request("GET", path, headers={"Authorization": ""})[0] == 401
    refused = bare.request(
        "POST", "/api/commands/system.commands", b"{}", headers={"Authorization": "Bearer no"}
    )
    assert refused[0] == 401


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({"Host": "evil.example"}, id="another name for this address"),
        pytest.param({"Origin": "https://evil.example"}, id="a page of another site"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, id="a request that another site began"),
    ],
)
def test_a_request_that_another_site_could_have_made_is_refused(bare, headers):
    assert bare.request("POST", "/api/commands/system.commands", b"{}", headers=headers)[0] in {
        400,
        403,
        421,
    }


@pytest.mark.parametrize(
    ("name", "body", "status"),
    [
        pytest.param("memory.list_chats", b"{}", 200, id="a command"),
        pytest.param("no.such", b"{}", 404, id="no such command"),
        pytest.param("memory.load_chat", b"{}", 422, id="a missing parameter"),
        pytest.param("memory.load_chat", b'{"chat_id": 3}', 422, id="an ill-typed parameter"),
        pytest.param("memory.list_chats", b'{"x": 1}', 422, id="an unknown parameter"),
        pytest.param("memory.list_chats", b"[]", 400, id="not an object"),
        pytest.param("memory.list_chats", b"{", 400, id="not JSON"),
        pytest.param("memory.list_chats", b'{"a": "\xff"}', 400, id="not UTF-8"),
        pytest.param("memory.list_chats", b"[" * 100_000, 400, id="absurdly nested"),
        pytest.param("memory.list_chats", b" " * (8 * 2**20 + 1), 413, id="too large"),
    ],
)
def test_the_gateway_answers_with_a_fitting_status(bare, name, body, status):
    found, answer = bare.request("POST", f"/api/commands/{name}", body)
    assert found == status
    assert set(answer) == {"result" if status == 200 else "error"}


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        pytest.param("{", -32700, id="not JSON"),
        pytest.param("[]", -32600, id="a batch"),
        pytest.param('{"id": 1}', -32600, id="no method"),
        pytest.param('{"jsonrpc": "2.0", "id": 1, "method": "no.such"}', -32601, id="no command"),
        pytest.param(
            '{"jsonrpc": "2.0", "id": 1, "method": "memory.load_chat", "params": {}}',
            -32602,
            id="bad parameters",
        ),
        pytest.param(
            '{"jsonrpc": "2.0", "id": 1, "method": "chat.open", "params": {"chat_id": "../x"}}',
            None,
            id="a refused id",
        ),
    ],
)
def test_the_socket_answers_with_a_fitting_code(bare, frame, code):
    url = bare.origin.replace("http", "ws") + "/ws"
    with connect(url, additional_headers={"Authorization": f"Bearer {TOKEN}"}) as socket:
        socket.send(frame)
        answer = next(m for m in map(json.loads, socket) if "error" in m)
    assert answer["error"]["code"] == code or (code is None and answer["error"]["code"] < -32600)
    assert "Traceback" not in answer["error"]["message"]


def test_pages_send_a_strict_policy_and_run_no_inline_script(bare):
    request = urllib.request.Request(
        bare.origin + "/chats/x", headers={"Authorization": f"Bearer {TOKEN}"}
    )
    with urllib.request.urlopen(request) as page:
        policy = page.headers["Content-Security-Policy"]
        text = page.read().decode()
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "<script>" not in text
    assert "http://" not in text.replace(bare.origin, "").replace("http://www.w3.org", "")


def test_static_files_are_served_and_nothing_beside_them(bare):
    assert bare.request("GET", "/static/../pyproject.toml")[0] in {400, 404}
    assert bare.request("GET", "/static/%2e%2e/pyproject.toml")[0] in {400, 404}
