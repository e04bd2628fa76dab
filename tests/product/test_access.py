"""Who may come in, and what is refused (docs/security.md)."""

import http.cookiejar
import json
import timeit
import urllib.error
import urllib.request
from functools import partial

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from smart_context.web.gate.throttle import FREE_FAILURES
from tests.patience import PATIENCE_S
from tests.preloaded import run_to_end
from tests.serving import TOKEN, Browser, lasting_port, serving


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A server of an empty vault; the tests leave it as it is, and share it."""
    with serving(tmp_path_factory.mktemp("vault")) as running:
        yield running


def test_the_start_link_opens_the_page_and_the_session_outlives_a_restart(vault):
    port = lasting_port()
    with serving(vault, port=port) as server:
        browser = Browser(server.link)
        assert TOKEN not in server.link
        assert browser.landed == "/"
    with serving(vault, port=port) as again:
        assert browser.request("GET", "/contexts", browser.keyed)[0] == 200
        with browser.connect("smart-context", f"smart-context.key.{browser.key}") as socket:
            assert json.loads(socket.recv())["method"]
        assert again.request("GET", "/contexts")[0] == 200


def test_a_client_that_only_keeps_cookies_can_follow_the_link(vault):
    jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    with serving(vault) as server:
        opener = urllib.request.build_opener(jar)
        for address in (server.link, server.origin + "/"):
            with opener.open(address) as page:
                assert page.status == 200
                assert "token" not in page.url


def test_what_goes_to_every_port_opens_nothing_of_the_vault(bare):
    """A program on another port of this machine is sent the browser's cookie, and only that."""
    secret = "nobody else's business"
    bare.ask("memory.save_chat", chat_id="x", data={"messages": [question(secret)]})
    browser = Browser(link_of(bare))
    status, _, text = browser.request("GET", "/chats/x", browser.keyed)
    assert (status, "business" in text) == (200, True)
    for path in ("/", "/chats", "/chats/x", "/chats/x/messages", "/chats/x/text?message=a",
                 "/panels/smart_context?chat_id=x", "/contexts"):  # fmt: skip
        status, _, text = browser.request("GET", path)
        assert status == 200
        assert "business" not in text
        assert "static/pages/enter.js" in text
    load = "/api/commands/memory.load_chat"
    assert browser.request("POST", load, body='{"chat_id": "x"}')[0] == 401
    assert browser.request("POST", "/api/session")[0] == 401
    assert browser.claim()[0] == 401
    for offered in ((), ("smart-context", "smart-context.key.guess")):
        with pytest.raises(InvalidStatus) as caught:
            browser.connect(*offered)
        assert caught.value.response.status_code == 401


def question(text):
    return {"id": "a", "role": "user", "content": text}


def link_of(server):
    """A new start link of a server, as its user gets one in a terminal."""
    return run("sessions", "link", server.vault).strip()


def run(*args):
    code, out, _ = run_to_end(args)
    assert code == 0
    return out


def test_a_session_that_is_ended_in_a_terminal_is_over_in_the_server(bare):
    browser = Browser(link_of(bare))
    ours = browser.cookie.partition("=")[2].partition(".")[0]
    listed = json.loads(run("sessions", "list", "--format", "json"))
    assert ours in {session["id"] for session in listed}
    with browser.connect("smart-context", f"smart-context.key.{browser.key}") as socket:
        assert run("sessions", "end", ours) == "Ended 1 session.\n"
        with pytest.raises(ConnectionClosed):
            read_to_the_end(socket)
    assert browser.request("GET", "/", browser.keyed)[0] == 401


def read_to_the_end(socket):
    while True:
        socket.recv(PATIENCE_S)


def be_refused(server, token):
    headers = {"Authorization": f"Bearer {token}"}
    assert server.request("GET", "/", headers=headers)[0] == 401


def get_a_script(server):
    assert server.request("GET", "/static/key.js")[0] == 200


def _seconds(work):
    return timeit.timeit(work, number=1)


def test_wrong_tokens_are_delayed_and_logged_without_being_told(vault):
    wrong = "a-wrong-token-0123456789"
    with serving(vault) as server:
        waited = [_seconds(partial(be_refused, server, wrong)) for _ in range(FREE_FAILURES + 2)]
        assert sum(waited) > 0.25 + 0.5
        shortest = min(_seconds(partial(get_a_script, server)) for _ in range(5))
        assert shortest < waited[-1]  # and a wrong one would wait for twice as long now
    told = "".join(server.errors)
    assert "Wrong token from 127.0.0.1; attempts: 1. --token or" in told
    assert wrong not in told


def test_an_old_start_link_is_logged_with_the_command_for_a_new_one(vault):
    with serving(vault) as server:
        for _ in range(2):
            assert server.request("GET", "/?token=old", headers={"Authorization": ""})[0] == 401
    (told,) = [line for line in server.errors if "start link" in line]
    assert "A start link that no longer works from 127.0.0.1; attempts: 1." in told
    assert "smart-context sessions link" in told


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
        bare.origin + "/new", headers={"Authorization": f"Bearer {TOKEN}"}
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
