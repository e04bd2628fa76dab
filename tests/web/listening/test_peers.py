import pytest

from smart_context.web.addresses import NOWHERE, peer_of


@pytest.mark.parametrize(
    ("address", "peer"),
    [
        pytest.param(("192.168.1.5", 4711), "192.168.1.5", id="IPv4"),
        pytest.param(("::ffff:192.168.1.5", 4711, 0, 0), "192.168.1.5", id="IPv4 within IPv6"),
        pytest.param(("2001:db8:1:2::5", 4711, 0, 0), "2001:db8:1:2::/64", id="IPv6"),
        pytest.param(("2001:db8:1:2:9::", 1, 0, 0), "2001:db8:1:2::/64", id="of the same network"),
        pytest.param(("::1", 4711, 0, 0), "::/64", id="loopback"),
        pytest.param(("", 0), NOWHERE, id="no address"),
        pytest.param("/run/socket", NOWHERE, id="a path"),
        pytest.param(None, NOWHERE, id="nothing"),
    ],
)
def test_connections_are_counted_by_address(address, peer):
    assert peer_of(address) == peer
