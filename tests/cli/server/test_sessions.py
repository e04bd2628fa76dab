import json
import re

import pytest

from tests.serving import TOKEN, Browser, serving


@pytest.fixture
def env(tmp_path):
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


def ids(smart_context):
    code, out, _ = smart_context("sessions", "list", "--format", "json")
    assert code == 0
    return [session["id"] for session in json.loads(out)]


def test_browsers_are_listed_and_ended(smart_context, vault, env):
    code, out, _ = smart_context("sessions")
    assert (code, out) == (
        0,
        "No browser has been let in. For a start link: smart-context sessions link\n",
    )
    with serving(vault, env=env) as server:
        Browser(server.link)
        for _ in range(2):
            Browser(smart_context("sessions", "link")[1].strip())
        one, other, third = ids(smart_context)
        out = smart_context("sessions", "list")[1]
        assert re.search(
            rf"^{one}  A program +\d{{4}}-\d\d-\d\d \d\d:\d\d +{vault}$", out, re.MULTILINE
        )
        assert smart_context("sessions", "end", one)[:2] == (0, "Ended 1 session.\n")
        assert set(ids(smart_context)) == {other, third}
        assert smart_context("sessions", "end", "--all")[:2] == (0, "Ended 2 sessions.\n")
        assert ids(smart_context) == []
    record = (vault.parent / "config/smart-context/sessions.json").read_text()
    assert TOKEN not in record


@pytest.mark.parametrize("arguments", [[], ["x", "--all"]])
def test_which_sessions_end_has_to_be_said(smart_context, arguments):
    code, _, err = smart_context("sessions", "end", *arguments)
    assert code == 2
    assert "--all" in err


def test_an_unknown_session_is_told_and_none_is_ended(smart_context, vault, env):
    with serving(vault, env=env) as server:
        Browser(server.link)
        (known,) = ids(smart_context)
        code, _, err = smart_context("sessions", "end", known, "nobody")
        assert (code, "'nobody'" in err) == (1, True)
        assert ids(smart_context) == [known]


def test_a_link_is_of_the_server_that_was_asked_for(smart_context, vault, env, tmp_path):
    other_vault = tmp_path / "other"
    other_vault.mkdir()
    code, _, err = smart_context("sessions", "link")
    assert (code, "smart-context serve" in err) == (1, True)
    with serving(vault, env=env) as server, serving(other_vault, env=env) as other:
        link = smart_context("sessions", "link", other_vault)[1].strip()
        assert link.startswith(f"{other.origin}/?token=")
        Browser(link)
        both = smart_context("sessions", "link")[1]
        assert set(re.findall(r"http://[^/]+", both)) == {server.origin, other.origin}
        code, _, err = smart_context("sessions", "link", tmp_path)
        assert (code, str(tmp_path) in err) == (1, True)


def test_a_server_that_was_killed_has_neither_links_nor_sessions(smart_context, vault, env):
    with serving(vault, env=env, token=None) as server:
        Browser(server.link)
        assert ids(smart_context)
        server.process.kill()
        server.process.wait()
    assert smart_context("sessions", "link")[0] == 1
    assert ids(smart_context) == []


def test_without_a_token_sessions_end_with_the_server(smart_context, vault, env):
    with serving(vault, env=env, token=None) as server:
        browser = Browser(server.link)
        assert browser.request("GET", "/", browser.keyed)[0] in {200, 303}
        assert ids(smart_context)
        assert server.stop() == 0
    assert ids(smart_context) == []
