import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.errors import CommandFailed
from smart_context.web.access import Access
from smart_context.web.security import (
    Redirect,
    Refusal,
    Visit,
    check_exposure,
    clean_url,
    host_is_allowed,
    judge,
    security_headers,
)

TOKEN = "a-token-of-the-user"
BEARER = ("authorization", f"Bearer {TOKEN}")
HOST = ("host", "127.0.0.1:8000")


def visit(*headers, method="GET", path="/", query="", scheme="http", port=8000):
    if not any(name == "host" for name, _ in headers):
        headers = (HOST, *headers)
    return Visit.of(
        {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "scheme": scheme,
            "server": ("127.0.0.1", port),
            "headers": [(name.encode(), value.encode()) for name, value in headers],
        }
    )


def status_of(a_visit, allowed_hosts=(), access=None):
    verdict = judge(a_visit, access or Access.of(TOKEN), allowed_hosts)
    return verdict.status if isinstance(verdict, Refusal) else 200


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost:8000", "LocalHost:8000", "[::1]:8000", "box.lan:8000"]
)
def test_the_servers_own_names_are_answered(host):
    assert host_is_allowed(host, visit(), ["Box.lan"])


@pytest.mark.parametrize(
    "host",
    [
        pytest.param("", id="no host"),
        pytest.param("evil.example", id="another name"),
        pytest.param("evil.example:8000", id="another name with our port"),
        pytest.param("127.0.0.1", id="no port"),
        pytest.param("127.0.0.1:8001", id="another port"),
        pytest.param("127.0.0.1:8000:8000", id="two ports"),
        pytest.param("127.0.0.1:8000.evil.example", id="our name as a subdomain"),
        pytest.param("127.0.0.1:8000@evil.example", id="our name as a user"),
        pytest.param("localhost.:8000", id="a dot at the end"),
        pytest.param("127.0.0.2:8000", id="another loopback address"),
        pytest.param("192.168.1.5:8000", id="an address that was not named"),
        pytest.param("box.lan:8000", id="a name that was not named"),
    ],
)
def test_other_hosts_are_refused_even_with_the_token(host):
    assert status_of(visit(("host", host), BEARER)) == 403


def test_a_host_header_that_comes_twice_is_refused():
    assert status_of(visit(HOST, HOST, BEARER)) == 403


def test_a_request_without_host_is_refused():
    bare = Visit.of({"path": "/", "headers": [], "server": ("127.0.0.1", 8000)})
    assert status_of(bare) == 403


def test_the_port_may_be_left_out_where_it_is_the_default():
    assert status_of(visit(("host", "127.0.0.1"), BEARER, port=80)) == 200
    assert status_of(visit(("host", "localhost"), BEARER, port=443, scheme="https")) == 200
    assert status_of(visit(("host", "localhost"), BEARER, port=80, scheme="ws")) == 200
    assert status_of(visit(("host", "localhost"), BEARER, port=443, scheme="wss")) == 200
    assert status_of(visit(("host", "localhost"), BEARER, port=443)) == 403
    assert status_of(visit(("host", "evil.example"), BEARER, port=80)) == 403


def test_an_ipv6_address_is_allowed_in_brackets():
    assert status_of(visit(("host", "[fd00::1]:8000"), BEARER), ["fd00::1"]) == 200


@pytest.mark.parametrize("wildcard", ["0.0.0.0", "::"])
def test_bound_to_every_address_ip_addresses_are_answered_but_no_names(wildcard):
    for host in ("192.168.1.5:8000", "10.0.0.1:9000", "[fd00::1]:8000", "localhost:9000"):
        assert status_of(visit(("host", host), BEARER), [wildcard]) == 200
    for host in ("evil.example:8000", "1.2.3.4.evil.example:8000", "1.2.3.4:8000:8000"):
        assert status_of(visit(("host", host), BEARER), [wildcard]) == 403


@pytest.mark.parametrize("scheme", ["http", "ws"])
@pytest.mark.parametrize(
    "origin",
    [
        pytest.param("http://evil.example", id="another site"),
        pytest.param("http://127.0.0.1:8001", id="another port"),
        pytest.param("https://127.0.0.1:8000", id="another scheme"),
        pytest.param("http://127.0.0.1", id="no port"),
        pytest.param("null", id="null"),
        pytest.param("", id="empty"),
        pytest.param("127.0.0.1:8000", id="no scheme"),
    ],
)
def test_another_origin_is_refused_even_with_the_token(scheme, origin):
    method = "GET" if scheme == "ws" else "POST"
    asked = visit(("origin", origin), BEARER, method=method, scheme=scheme, path="/ws")
    assert status_of(asked) == 403


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8000", "http://localhost:8000"])
def test_our_own_origin_is_let_in(origin):
    assert status_of(visit(("origin", origin), BEARER, method="POST")) == 200
    assert status_of(visit(("origin", origin), BEARER, scheme="ws", path="/ws")) == 200


def test_over_tls_our_origin_is_https():
    own = ("origin", "https://127.0.0.1:8000")
    assert status_of(visit(own, BEARER, scheme="wss")) == 200
    assert status_of(visit(("origin", "http://127.0.0.1:8000"), BEARER, scheme="wss")) == 403


def test_bound_to_every_address_only_the_address_asked_is_our_origin():
    host = ("host", "192.168.1.5:8000")
    own, other = "http://192.168.1.5:8000", "http://6.6.6.6:8000"
    assert status_of(visit(host, ("origin", own), BEARER, method="POST"), ["0.0.0.0"]) == 200
    assert status_of(visit(host, ("origin", other), BEARER, method="POST"), ["0.0.0.0"]) == 403


@pytest.mark.parametrize(
    ("site", "mode", "method", "scheme", "status"),
    [
        pytest.param("same-origin", "cors", "POST", "http", 200, id="our page posts"),
        pytest.param("none", "navigate", "GET", "http", 200, id="the user opens a link"),
        pytest.param("cross-site", "navigate", "GET", "http", 200, id="a link on another site"),
        pytest.param("same-site", "navigate", "GET", "http", 200, id="a link on another port"),
        pytest.param("cross-site", "navigate", "POST", "http", 403, id="a form of another site"),
        pytest.param("cross-site", "no-cors", "GET", "http", 403, id="another site's script"),
        pytest.param("same-site", "no-cors", "GET", "http", 403, id="another port's image"),
        pytest.param("cross-site", "websocket", "GET", "ws", 403, id="another site's socket"),
        pytest.param("same-site", "navigate", "GET", "ws", 403, id="a socket is no page"),
    ],
)
def test_what_the_browser_says_about_the_asking_site_is_heeded(site, mode, method, scheme, status):
    fetch = (("sec-fetch-site", site), ("sec-fetch-mode", mode))
    assert status_of(visit(*fetch, BEARER, method=method, scheme=scheme)) == status


def test_programs_send_no_origin_and_are_let_in_by_their_token():
    assert status_of(visit(BEARER, method="POST")) == 200
    assert status_of(visit(BEARER, scheme="ws")) == 200


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param((), id="nothing"),
        pytest.param((("authorization", "Bearer wrong"),), id="a wrong token"),
        pytest.param((("cookie", "smart_context_8000=wrong"),), id="a wrong cookie"),
        pytest.param((BEARER, BEARER), id="the token twice"),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_without_the_secret_nobody_is_let_in(headers, scheme):
    for path in ("/", "/ws", "/api/commands/x.y", "/static/app.js", "/healthz/x", "//healthz"):
        assert status_of(visit(*headers, path=path, scheme=scheme)) == 401


def test_a_wrong_token_is_not_made_good_by_a_cookie():
    cookie = Access.of(TOKEN).cookie(8000, is_secure=False).split(";")[0]
    assert status_of(visit(("cookie", cookie))) == 200
    assert status_of(visit(("cookie", cookie), ("authorization", "Bearer wrong"))) == 401


def test_health_is_open_but_not_to_other_hosts_or_sites():
    assert status_of(visit(path="/healthz")) == 200
    assert status_of(visit(("host", "evil.example"), path="/healthz")) == 403
    assert status_of(visit(("origin", "http://evil.example"), path="/healthz")) == 403
    assert status_of(visit(path="/healthz", scheme="ws")) == 401


def test_the_host_is_judged_before_the_site_and_the_site_before_the_token():
    access = Access.of(None)
    query = f"token={access.new_link_token()}"
    evil_host, evil_site = ("host", "evil.example"), ("origin", "http://evil.example")
    assert "address" in judge(visit(evil_host, evil_site, query=query), access, ()).title
    assert "site" in judge(visit(evil_site, query=query), access, ()).title
    assert isinstance(judge(visit(query=query), access, ()), Redirect)


def test_a_start_link_sets_the_cookie_and_leads_to_the_clean_address():
    access = Access.of(None)
    query = f"a=1&token={access.new_link_token()}&b=%C3%A9"
    verdict = judge(visit(path="/chats/c 1", query=query), access, ())
    assert verdict.location == "/chats/c%201?a=1&b=%C3%A9"
    cookie = verdict.cookie.split(";")[0]
    assert judge(visit(("cookie", cookie)), access, ()) is None


def test_a_used_start_link_leads_on_the_browser_that_used_it_and_no_other():
    access = Access.of(None)
    opened = visit(query=f"token={access.new_link_token()}")
    cookie = judge(opened, access, ()).cookie.split(";")[0]
    again = visit(("cookie", cookie), query=opened.query)
    assert judge(again, access, ()) == Redirect(location="/")
    refusal = judge(opened, access, ())
    assert refusal.status == 401
    assert "once" in refusal.advice


def test_a_link_without_a_token_in_it_leads_on_who_was_let_in():
    access = Access.of(TOKEN)
    cookie = access.cookie(8000, is_secure=False).split(";")[0]
    assert judge(visit(("cookie", cookie), query="token="), access, ()) == Redirect(location="/")
    assert status_of(visit(query="token=")) == 401


def test_the_start_link_of_the_users_token_always_works():
    access = Access.of(TOKEN)
    for _ in range(2):
        assert judge(visit(query=f"token={TOKEN}"), access, ()).cookie


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param({"method": "HEAD"}, id="a look at the link"),
        pytest.param({"method": "POST"}, id="a form"),
        pytest.param({"scheme": "ws"}, id="a socket"),
        pytest.param({"purpose": "prefetch;prerender"}, id="a browser that fetches ahead"),
    ],
)
def test_only_opening_a_start_link_uses_it_up(asked):
    access = Access.of(None)
    query = f"token={access.new_link_token()}"
    asked = dict(asked)
    headers = [("sec-purpose", asked.pop("purpose"))] if "purpose" in asked else []
    assert status_of(visit(*headers, query=query, **asked), access=access) == 401
    assert isinstance(judge(visit(query=query), access, ()), Redirect)


@given(st.text(), st.text())
def test_a_start_link_never_leads_off_the_server(path, query):
    location = clean_url(visit(path="/" + path, query=query.encode("utf-8", "replace").decode()))
    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))
    assert location.isascii()


def test_the_policy_lets_nothing_in_from_elsewhere():
    policy = security_headers("/", "127.0.0.1:8000")["Content-Security-Policy"]
    directives = dict(part.split(" ", 1) for part in policy.split("; "))
    assert directives["default-src"] == "'none'"
    assert directives["connect-src"] == "'self' ws://127.0.0.1:8000"
    assert directives["frame-ancestors"] == "'none'"
    assert "unsafe" not in policy
    assert "*" not in policy


def test_only_pages_of_panels_may_be_framed_and_only_by_us():
    panel = security_headers("/panels/smart_context", "h:1", is_secure=True)
    assert "frame-ancestors 'self'" in panel["Content-Security-Policy"]
    assert "wss://h:1" in panel["Content-Security-Policy"]
    assert panel["X-Frame-Options"] == "SAMEORIGIN"
    assert security_headers("/", "h:1")["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "::1", "127.0.0.9"])
def test_loopback_needs_no_token(host):
    check_exposure(host, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "box.lan", ""])
def test_an_address_that_others_reach_needs_a_token_of_the_user(host):
    check_exposure(host, TOKEN)
    for no_token in (None, "", " \n"):
        with pytest.raises(CommandFailed, match="--token"):
            check_exposure(host, no_token)
