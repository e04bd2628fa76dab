import pytest

from smart_context.base.errors import CommandFailed
from smart_context.web.gate.request_facts import (
    FOREIGN_HOST,
    FOREIGN_SITE,
    check_exposure,
    check_site,
)
from tests.web.visiting import TOKEN, visit


def status_of(a_visit, allowed_hosts=()):
    refusal = check_site(a_visit, allowed_hosts)
    return 200 if refusal is None else refusal.status


def test_the_host_is_judged_before_the_site():
    evil_host, evil_site = ("host", "evil.example"), ("origin", "http://evil.example")
    assert check_site(visit(evil_host, evil_site), ()) == FOREIGN_HOST
    assert check_site(visit(evil_site), ()) == FOREIGN_SITE


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
def test_another_origin_is_refused(scheme, origin):
    method = "GET" if scheme == "ws" else "POST"
    asked = visit(("origin", origin), method=method, scheme=scheme, path="/ws")
    assert status_of(asked) == 403


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8000", "http://localhost:8000"])
def test_our_own_origin_is_let_in(origin):
    assert status_of(visit(("origin", origin), method="POST")) == 200
    assert status_of(visit(("origin", origin), scheme="ws", path="/ws")) == 200


def test_over_tls_our_origin_is_https():
    own = ("origin", "https://127.0.0.1:8000")
    assert status_of(visit(own, scheme="wss")) == 200
    assert status_of(visit(("origin", "http://127.0.0.1:8000"), scheme="wss")) == 403


def test_bound_to_every_address_only_the_address_asked_is_our_origin():
    host = ("host", "192.168.1.5:8000")
    own, other = "http://192.168.1.5:8000", "http://6.6.6.6:8000"
    assert status_of(visit(host, ("origin", own), method="POST"), ["0.0.0.0"]) == 200
    assert status_of(visit(host, ("origin", other), method="POST"), ["0.0.0.0"]) == 403


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
    assert status_of(visit(*fetch, method=method, scheme=scheme)) == status


def test_programs_send_no_origin():
    assert status_of(visit(method="POST")) == 200
    assert status_of(visit(scheme="ws")) == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "::1", "127.0.0.9"])
def test_loopback_needs_no_token(host):
    check_exposure(host, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "box.lan", ""])
def test_an_address_that_others_reach_needs_a_token_of_the_user(host):
    check_exposure(host, TOKEN)
    for no_token in (None, "", " \n"):
        with pytest.raises(CommandFailed, match="--token"):
            check_exposure(host, no_token)


def test_a_browser_that_names_the_asking_site_twice_is_not_taken_for_a_program():
    twice = (("sec-fetch-site", "cross-site"),) * 2
    assert status_of(visit(*twice, ("sec-fetch-mode", "no-cors"))) == 403
    assert status_of(visit(*twice, method="POST")) == 403
