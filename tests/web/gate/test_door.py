import asyncio

import pytest

from smart_context.base.values import NOBODY, OWNER, PersonId
from smart_context.web.gate.access import GateSecrets
from smart_context.web.gate.client_keys import FILE_NAME, KeyFile, KeyRing, short_name
from smart_context.web.gate.door import (
    NO_KEY,
    NO_TOKEN,
    TOO_MANY,
    USED_LINK,
    WRONG_TOKEN,
    AdmittedRequest,
    Door,
    KeyGiven,
    KeyPage,
    Redirect,
)
from smart_context.web.gate.request_facts import Refusal
from smart_context.web.gate.throttle import FREE_FAILURES, MAX_QUEUE, TURNS, Throttle
from tests.patience import settled
from tests.web.let_in import let_in
from tests.web.visiting import BEARER, TOKEN, visit


def verdict(a_visit, access=None):
    return asyncio.run(Door(access or GateSecrets(TOKEN), Throttle()).admit(a_visit))


def link_to(access, **asked):
    return visit(query=f"token={access.new_link_token()}", **asked)


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param((), id="nothing"),
        pytest.param((("authorization", "Bearer wrong"),), id="a wrong token"),
        pytest.param((("cookie", "smart_context_8000=a.wrong"),), id="a wrong cookie"),
        pytest.param((("x-smart-context-key", "wrong"),), id="a wrong key"),
        pytest.param((BEARER, BEARER), id="the token twice"),
    ],
)
@pytest.mark.parametrize("scheme", ["http", "ws"])
def test_without_the_secret_nobody_is_let_in(headers, scheme):
    for path in ("/", "/ws", "/api/commands/x.y", "/static/app.js", "/healthz/x", "//healthz"):
        assert verdict(visit(*headers, path=path, scheme=scheme)) in {NO_TOKEN, WRONG_TOKEN}


@pytest.mark.parametrize("asked", [{"method": "POST"}, {"scheme": "ws"}, {"path": "/chats/x"}])
def test_a_program_is_let_in_by_its_token(asked):
    assert verdict(visit(BEARER, **asked)) == AdmittedRequest(person=OWNER)


def test_health_is_open_but_no_socket():
    assert verdict(visit(path="/healthz")) == AdmittedRequest(person=NOBODY)
    assert verdict(visit(path="/healthz", scheme="ws")) == NO_TOKEN


EVERYTHING = pytest.mark.parametrize(
    ("asked", "alone"),
    [
        pytest.param({"path": "/"}, KeyPage(), id="the first page"),
        pytest.param({"path": "/chats/x"}, KeyPage(), id="a chat"),
        pytest.param({"path": "/chats/x/messages"}, KeyPage(), id="messages"),
        pytest.param({"path": "/chats/x", "method": "HEAD"}, KeyPage(), id="a look at it"),
        pytest.param({"path": "/panels/word_count/"}, KeyPage(), id="a panel"),
        pytest.param({"path": "/chats/x", "method": "POST"}, NO_KEY, id="a form"),
        pytest.param({"path": "/api/commands/x.y", "method": "POST"}, NO_KEY, id="a command"),
        pytest.param({"path": "/api/files", "method": "POST"}, NO_KEY, id="an upload"),
        pytest.param({"path": "/api/files/abc"}, NO_KEY, id="a file"),
        pytest.param({"path": "/api/anything"}, NO_KEY, id="whatever the API has"),
        pytest.param({"path": "/api/session", "method": "POST"}, NO_KEY, id="the key itself"),
        pytest.param({"path": "/ws", "scheme": "ws"}, NO_KEY, id="a socket"),
        pytest.param({"path": "/static/x.js", "scheme": "ws"}, NO_KEY, id="a socket elsewhere"),
    ],
)


@EVERYTHING
def test_the_cookie_alone_opens_nothing_that_is_the_vaults(asked, alone):
    access = GateSecrets(TOKEN)
    assert verdict(visit(("cookie", let_in(access).cookie), **asked), access) == alone


@EVERYTHING
def test_a_wrong_key_does_not_even_open_the_key_page(asked, alone):
    access = GateSecrets(TOKEN)
    browser, other = let_in(access), let_in(access)
    for key in ("", "guess", other.key):
        headers = ("cookie", browser.cookie), ("x-smart-context-key", key)
        assert verdict(visit(*headers, **asked), access) == NO_KEY


@pytest.mark.parametrize(
    "asked", [{"path": "/chats/x"}, {"path": "/api/x", "method": "POST"}, {"path": "/api/files/a"}]
)
def test_cookie_and_key_open_everything(asked):
    access = GateSecrets(TOKEN)
    browser = let_in(access)
    found = verdict(visit(*browser.headers, **asked), access)
    assert found == AdmittedRequest(
        person=OWNER, session_id=browser.login.id, file_pass=access.file_pass(browser.login)
    )


def test_a_socket_brings_the_key_as_a_subprotocol():
    access = GateSecrets(TOKEN)
    browser = let_in(access)
    offered = ("sec-websocket-protocol", f"smart-context, smart-context.key.{browser.key}")
    asked = visit(("cookie", browser.cookie), offered, scheme="ws", path="/ws")
    assert isinstance(verdict(asked, access), AdmittedRequest)


def test_the_key_without_the_cookie_opens_nothing():
    access = GateSecrets(TOKEN)
    assert verdict(visit(("x-smart-context-key", let_in(access).key)), access) == NO_TOKEN


@pytest.mark.parametrize(
    "path", ["/static/pages/chat-page.js", "/favicon.ico", "/panels/word_count/panel.js"]
)
def test_what_a_page_loads_by_itself_needs_the_cookie_only(path):
    access = GateSecrets(TOKEN)
    found = verdict(visit(("cookie", let_in(access).cookie), path=path), access)
    assert isinstance(found, AdmittedRequest)
    assert verdict(visit(path=path), access) == NO_TOKEN


def test_an_attached_file_needs_the_pass_that_its_page_holds():
    access = GateSecrets(TOKEN)
    browser, other = let_in(access), let_in(access)
    cookie = ("cookie", browser.cookie)
    query = f"pass={access.file_pass(browser.login)}"
    found = verdict(visit(cookie, path="/api/files/a", query=query), access)
    assert isinstance(found, AdmittedRequest)
    assert verdict(visit(path="/api/files/a", query=query), access) == NO_TOKEN
    assert verdict(visit(cookie, path="/api/commands/a", query=query), access) == NO_KEY
    for wrong in ("pass=", "pass=x", f"pass={access.file_pass(other.login)}"):
        assert verdict(visit(cookie, path="/api/files/a", query=wrong), access) == NO_KEY


def test_a_wrong_token_is_not_made_good_by_a_browsers_session():
    access = GateSecrets(TOKEN)
    wrong = ("authorization", "Bearer wrong")
    assert verdict(visit(*let_in(access).headers, wrong), access) == WRONG_TOKEN


def test_a_start_link_sets_the_cookie_and_leads_to_the_clean_address():
    access = GateSecrets()
    query = f"a=1&token={access.new_link_token()}&b=%C3%A9"
    found = verdict(visit(path="/chats/c 1", query=query), access)
    location, _, code = found.location.partition("#enter=")
    assert location == "/chats/c%201?a=1&b=%C3%A9"
    claim = visit(
        ("cookie", found.cookie.split(";")[0]),
        ("x-smart-context-code", code),
        path="/api/session",
        method="POST",
    )
    assert isinstance(verdict(claim, access), KeyGiven)
    assert verdict(claim, access) == NO_KEY


def test_a_used_start_link_leads_on_the_browser_that_used_it_and_no_other():
    access = GateSecrets()
    opened = link_to(access)
    cookie = verdict(opened, access).cookie.split(";")[0]
    again = visit(("cookie", cookie), query=opened.query)
    assert verdict(again, access) == Redirect(location="/")
    assert verdict(opened, access) == USED_LINK


def test_a_link_without_a_token_in_it_leads_on_who_was_let_in():
    access = GateSecrets(TOKEN)
    cookie = ("cookie", let_in(access).cookie)
    assert verdict(visit(cookie, query="token="), access) == Redirect(location="/")
    assert verdict(visit(query="token="), access) == USED_LINK


def test_the_users_token_makes_no_start_link():
    assert verdict(visit(query=f"token={TOKEN}")) == USED_LINK


def test_a_link_on_another_site_is_known_as_that():
    access = GateSecrets()
    site = ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")
    assert not verdict(link_to(access), access).is_from_elsewhere
    query = f"token={access.new_link_token()}"
    assert verdict(visit(*site, query=query), access).is_from_elsewhere


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
    access = GateSecrets()
    query = f"token={access.new_link_token()}"
    asked = dict(asked)
    headers = [("sec-purpose", asked.pop("purpose"))] if "purpose" in asked else []
    assert isinstance(verdict(visit(*headers, query=query, **asked), access), Refusal)
    assert isinstance(verdict(visit(query=query), access), Redirect)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"headers": [("authorization", "Bearer wrong")]}, id="tokens"),
        pytest.param({"query": "token=wrong"}, id="start links"),
    ],
)
def test_guesses_from_one_address_keep_no_other_out(wrong, caplog):
    asked = dict(wrong)
    headers = asked.pop("headers", [])

    async def scenario():
        door = Door(GateSecrets(TOKEN), Throttle(first_delay_s=1000))
        guess = visit(*headers, **asked, peer="10.0.0.1")
        enough = FREE_FAILURES + TURNS + MAX_QUEUE
        guesses = [asyncio.create_task(door.admit(guess)) for _ in range(enough)]
        await settled()
        assert await door.admit(guess) == TOO_MANY
        assert await door.admit(visit(BEARER, peer="10.0.0.2")) == AdmittedRequest(person=OWNER)
        for task in guesses:
            task.cancel()
        await asyncio.gather(*guesses, return_exceptions=True)

    asyncio.run(scenario())
    assert len(caplog.records) == 1
    assert "10.0.0.1" in caplog.text


def test_each_refusal_says_in_short_words_what_to_do():
    for refusal in (NO_TOKEN, USED_LINK, NO_KEY):
        assert refusal.command == "smart-context sessions link"
        assert "terminal" in refusal.advice


def test_a_key_is_its_persons_and_nobodys_once_its_record_can_not_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr("smart_context.web.gate.client_keys.LOOK_AGAIN_S", 0.0)
    file = KeyFile(tmp_path)
    ring = KeyRing(None, file)
    key = f"Bearer {file.new('editor', PersonId('ann'))}"
    holder = asyncio.run(ring.holder_of(key))
    assert (holder.person, short_name(holder.name)) == ("ann", "editor")
    (tmp_path / FILE_NAME).unlink()
    (tmp_path / FILE_NAME).mkdir()
    assert asyncio.run(ring.holder_of(key)) is None
