import pytest

from smart_context.web.gate.session_record import (
    IDLE_DAYS,
    MAX_SESSIONS,
    BrowserSession,
    RunningServer,
    SessionRecord,
    StartLink,
    browser_name,
)

NOW = 1_800_000_000
DAY = 86_400


def session(seen_at=NOW, server=""):
    return BrowserSession(
        vault="/v", browser="Firefox", cookie="c", key="k", created_at=0, seen_at=seen_at,
        server=server,
    )  # fmt: skip


RECORD = SessionRecord(
    sessions={"a": session(), "b": session(server="s")},
    servers={"s": RunningServer(vault="/v", address="http://127.0.0.1:1")},
    links={"d": StartLink(server="s", expires_at=NOW)},
)


def test_a_session_is_over_when_it_was_not_used_for_long():
    record = SessionRecord(
        sessions={"used": session(NOW - IDLE_DAYS * DAY), "old": session(NOW - IDLE_DAYS * DAY - 1)}
    )
    assert set(record.pruned(NOW).sessions) == {"used"}


def test_a_link_is_over_when_its_time_is():
    assert RECORD.pruned(NOW).links
    assert not RECORD.pruned(NOW + 1).links


def test_of_too_many_sessions_the_latest_used_are_kept():
    many = {str(n): session(NOW + n) for n in range(MAX_SESSIONS + 5)}
    kept = SessionRecord(sessions=many).pruned(NOW).sessions
    assert list(kept) == [str(n) for n in reversed(range(5, MAX_SESSIONS + 5))]


def test_with_a_server_go_its_links_and_the_sessions_that_end_with_it():
    rest = RECORD.without_servers(frozenset({"s"}))
    assert rest == SessionRecord(sessions={"a": session()})


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        pytest.param(
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Firefox on Linux",
            id="Firefox",
        ),
        pytest.param(
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/138.0.0.0 Safari/537.36",
            "Chrome on Windows",
            id="Chrome",
        ),
        pytest.param(
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
            "Chrome/138.0.0.0 Safari/537.36 Edg/138.0.0.0",
            "Edge on Windows",
            id="Edge",
        ),
        pytest.param(
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, "
            "like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
            "Safari on iOS",
            id="Safari",
        ),
        pytest.param("curl/8.0", "A program", id="a program"),
        pytest.param("Firefox/1 \x1b[2J", "Firefox", id="nothing of its own words"),
        pytest.param("", "A program", id="nothing"),
    ],
)
def test_a_browser_is_named_in_words_of_ours(agent, name):
    assert browser_name(agent) == name
