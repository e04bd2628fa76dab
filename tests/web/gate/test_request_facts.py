import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.web.gate.request_facts import RequestFacts, clean_url, named_host
from tests.web.visiting import HOST, visit


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost:8000", "LocalHost:8000", "[::1]:8000", "box.lan:8000"]
)
def test_the_servers_own_names_are_answered(host):
    assert named_host(visit(("host", host)), ["Box.lan"]) == host.lower()


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
def test_other_hosts_are_not_ours(host):
    assert named_host(visit(("host", host)), []) == ""


def test_a_host_header_that_comes_twice_is_refused():
    assert named_host(visit(HOST, HOST), []) == ""


def test_a_request_without_host_is_refused():
    bare = RequestFacts.of({"path": "/", "headers": [], "server": ("127.0.0.1", 8000)})
    assert named_host(bare, []) == ""


def test_the_port_may_be_left_out_where_it_is_the_default():
    assert named_host(visit(("host", "127.0.0.1"), port=80), []) != ""
    assert named_host(visit(("host", "localhost"), port=443, scheme="https"), []) != ""
    assert named_host(visit(("host", "localhost"), port=80, scheme="ws"), []) != ""
    assert named_host(visit(("host", "localhost"), port=443, scheme="wss"), []) != ""
    assert named_host(visit(("host", "localhost"), port=443), []) == ""
    assert named_host(visit(("host", "evil.example"), port=80), []) == ""


def test_an_ipv6_address_is_allowed_in_brackets():
    assert named_host(visit(("host", "[fd00::1]:8000")), ["fd00::1"]) != ""


@pytest.mark.parametrize("wildcard", ["0.0.0.0", "::"])
def test_bound_to_every_address_ip_addresses_are_answered_but_no_names(wildcard):
    for host in ("192.168.1.5:8000", "10.0.0.1:9000", "[fd00::1]:8000", "localhost:9000"):
        assert named_host(visit(("host", host)), [wildcard]) == host
    for host in ("evil.example:8000", "1.2.3.4.evil.example:8000", "1.2.3.4:8000:8000"):
        assert named_host(visit(("host", host)), [wildcard]) == ""


@pytest.mark.parametrize("wildcard", ["0.0.0.0", "::"])
@pytest.mark.parametrize(
    "host",
    [
        pytest.param("[::1%;script-src *;x]", id="a zone that holds a directive"),
        pytest.param("[fe80::1%eth0]:8000", id="a zone"),
        pytest.param("[::0001]:8000", id="zeros that nobody writes"),
        pytest.param("[FD00:0:0::1]:8000", id="a long form"),
        pytest.param("::1", id="no brackets"),
        pytest.param("[10.0.0.1]:8000", id="brackets around IPv4"),
        pytest.param("[::1", id="half a bracket"),
        pytest.param("010.0.0.1", id="octal"),
        pytest.param("1.2.3", id="a short form"),
        pytest.param("10.0.0.1:", id="a colon"),
        pytest.param("10.0.0.1:08000", id="a port with a zero"),
        pytest.param("10.0.0.1:99999", id="no such port"),
        pytest.param("10.0.0.1:٣", id="another script's digit"),
        pytest.param("10.0.0.1 ;script-src *", id="a directive"),
    ],
)
def test_only_the_one_way_to_write_an_address_is_taken(host, wildcard):
    assert named_host(visit(("host", host)), [wildcard]) == ""


@given(st.text(alphabet="[]:.%;* \"'019afxz-_/\\\n\u0663", max_size=30))
def test_whatever_is_asked_for_what_is_named_is_harmless(text):
    asked = visit(("host", text))
    for allowed in ([], ["0.0.0.0"], ["fd00::1", "Box.lan"]):
        assert re.fullmatch(r"[a-z0-9.\[\]:-]*", named_host(asked, allowed))


def test_a_key_comes_in_a_header_or_for_a_socket_as_a_subprotocol():
    offered = ("sec-websocket-protocol", "smart-context, smart-context.key.abc")
    assert visit().key is None
    assert visit(("x-smart-context-key", "abc")).key == "abc"
    assert visit(("x-smart-context-key", "")).key == ""
    assert visit(offered, scheme="ws").key == "abc"
    assert visit(offered).key is None
    assert visit(("sec-websocket-protocol", "other"), scheme="ws").key is None


@given(st.text(), st.text())
def test_a_start_link_never_leads_off_the_server(path, query):
    location = clean_url(visit(path="/" + path, query=query.encode("utf-8", "replace").decode()))
    assert location.startswith("/")
    assert not location.startswith(("//", "/\\"))
    assert location.isascii()
