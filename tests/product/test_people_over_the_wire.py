"""Who gets in where a proxy names people, or where they log in at a provider."""

import json
import re
import time
from contextlib import contextmanager

import httpx2
import pytest
from joserfc.jwk import RSAKey

from tests.fake_openai import FakeOpenAI, Reply
from tests.oidc_provider import CLIENT, SECRET, providing
from tests.patience import PATIENCE_S
from tests.serving import TOKEN, serving
from tests.vaults import KEY, settings_text

PROXY = '[access]\nmode = "proxy"\nheader = "X-User"\ntrusted = ["127.0.0.1", "10.0.0.0/8"]\n'
PAGE = {"Accept": "text/html"}


def vault_with(folder, settings):
    folder.mkdir(exist_ok=True)
    (folder / ".vault.toml").write_text(settings)
    return folder


@pytest.fixture(scope="module")
def proxied(tmp_path_factory):
    vault = vault_with(tmp_path_factory.mktemp("proxied"), PROXY + 'hosts = ["team.example:443"]\n')
    with serving(vault, env={"SMART_CONTEXT_USER": ""}) as server:
        yield server


@contextmanager
def as_person(server, *headers, address="127.0.0.1"):
    transport = httpx2.HTTPTransport(local_address=address)
    with httpx2.Client(
        base_url=server.origin, headers=list(headers), transport=transport
    ) as client:
        yield client


def call(client, name, /, **params):
    return client.post(f"/api/commands/{name}", json=params)


def test_a_person_is_whom_the_proxy_names(proxied):
    with (
        as_person(proxied, ("X-User", "alice")) as alice,
        as_person(proxied, ("X-User", "bob")) as bob,
    ):
        call(alice, "memory.save_chat", chat_id="of-alice", data={"title": "Plans"})
        assert [row["id"] for row in call(alice, "memory.list_chats").json()["result"]["chats"]]
        assert call(bob, "memory.list_chats").json()["result"]["chats"] == []
        page = alice.get("/new", headers=PAGE, follow_redirects=True)
        assert page.status_code == 200
        assert "alice" in page.text
        assert "Log out" not in page.text


def test_what_of_a_shared_chat_is_its_persons_is_shown_to_others_as_theirs(proxied):
    with (
        as_person(proxied, ("X-User", "alice")) as alice,
        as_person(proxied, ("X-User", "bob")) as bob,
    ):
        call(alice, "memory.save_chat", chat_id="for-all", data={"title": "Plans"})
        call(alice, "memory.share_chat", chat_id="for-all", shared=True)
        hers, his = (each.get("/chats/for-all", headers=PAGE).text for each in (alice, bob))
        call(alice, "memory.delete_chat", chat_id="for-all")
    for name in ("data-open-instructions", 'data-chat-menu="model"', 'data-chat-menu="private"'):
        for page, is_locked in ((hers, False), (his, True)):
            (button,) = re.findall(f"<button[^>]*{name}[^>]*>", page)
            assert (" disabled" in button) is is_locked
    assert "Set by whoever shared this chat" in his
    assert "Set by whoever shared this chat" not in hers


def test_nobody_is_offered_what_only_another_may_do(proxied):
    with (
        as_person(proxied, ("X-User", "alice")) as alice,
        as_person(proxied, ("X-User", "bob")) as bob,
    ):
        for person, chat in ((alice, "hers"), (alice, "hers-shared"), (bob, "his")):
            call(person, "memory.save_chat", chat_id=chat, data={"title": "Plans"})
        call(alice, "memory.share_chat", chat_id="hers-shared", shared=True)
        hers, his = (each.get("/chats", headers=PAGE).text for each in (alice, bob))
        page = bob.get("/chats/his", headers=PAGE).text
        for person, chat in ((alice, "hers"), (alice, "hers-shared"), (bob, "his")):
            call(person, "memory.delete_chat", chat_id=chat)
    offered = [
        re.findall(r'data-chat-id="([^"]*)"(?:(?!</li>).)*data-chat-action', listed, re.DOTALL)
        for listed in (hers, his)
    ]
    assert [set(ids) >= {"hers", "hers-shared"} for ids in offered] == [True, False]
    assert "his" in offered[1]
    assert 'data-chat-id="hers-shared"' in his
    assert "hers-shared" not in offered[1]
    assert "data-guest" in page


def test_settings_that_are_not_ones_own_are_refused_in_words(proxied):
    with as_person(proxied, ("X-User", "alice")) as alice:
        page = alice.get("/settings", headers=PAGE)
    assert page.status_code == 404
    assert "Only the owner of this installation" in page.text


@pytest.mark.parametrize(
    ("headers", "address"),
    [
        pytest.param([], "127.0.0.1", id="no header"),
        pytest.param([("X-User", "")], "127.0.0.1", id="an empty one"),
        pytest.param([("X-User", "alice"), ("X-User", "alice")], "127.0.0.1", id="two"),
        pytest.param([("X-User", "alice"), ("x-user", "bob")], "127.0.0.1", id="two spellings"),
        pytest.param([("X_User", "alice")], "127.0.0.1", id="an underscore"),
        pytest.param([("X-User", "owner")], "127.0.0.1", id="the owner of the installation"),
        pytest.param([("X-User", "a" * 300)], "127.0.0.1", id="a long one"),
        pytest.param([("X-User", b"\xff")], "127.0.0.1", id="no text"),
        pytest.param([("X-User", "alice")], "127.0.0.2", id="from elsewhere"),
        pytest.param(
            [("X-User", "alice"), ("X-Forwarded-For", "127.0.0.1")], "127.0.0.2", id="pretending"
        ),
        pytest.param([("Authorization", f"Bearer {TOKEN}")], "127.0.0.1", id="the token"),
    ],
)
def test_who_is_not_named_by_the_proxy_is_not_let_in(proxied, headers, address):
    with as_person(proxied, *headers, address=address) as client:
        for path in ("/", "/chats", "/static/images/icons.svg", "/api/files/x"):
            assert client.get(path).status_code == 401
        assert call(client, "memory.list_chats").status_code == 401
        assert client.get("/v1/models").status_code == 401
        assert client.get("/healthz").status_code == 200


def test_names_are_exact(proxied):
    with as_person(proxied, ("X-User", "carol")) as one:
        call(one, "memory.save_chat", chat_id="of-carol", data={"title": "x"})
    for other in ("Carol", "carol,bob", "carol bob"):
        with as_person(proxied, ("X-User", other)) as client:
            assert call(client, "memory.list_chats").json()["result"]["chats"] == []


def test_a_public_name_is_taken_in_host_and_origin_and_no_other_port_or_scheme_of_it(proxied):
    named = ("X-User", "alice")
    with as_person(proxied, named) as client:
        for host, origin, status in (
            ("team.example", "https://team.example", 200),
            ("team.example:443", "https://team.example:443", 200),
            ("team.example", "http://team.example", 403),
            ("team.example", "https://evil.example", 403),
            ("team.example:8443", None, 403),
            ("evil.example", None, 403),
        ):
            sent = {"Host": host} | ({"Origin": origin} if origin else {})
            answer = client.post("/api/commands/memory.list_chats", headers=sent, json={})
            assert answer.status_code == status, (host, origin)


def test_a_key_belongs_to_who_made_it(proxied):
    with as_person(proxied, ("X-User", "alice")) as alice:
        call(alice, "memory.save_chat", chat_id="alices-plans", data={"title": "Plans"})
    with as_person(proxied, ("X-User", "dora")) as dora:
        key = call(dora, "system.new_client_key", client="laptop").json()["result"]["key"]
    with as_person(proxied, ("Authorization", f"Bearer {key}"), ("X-User", "alice")) as client:
        asked = {"messages": [{"role": "user", "content": "Hello there"}]}
        assert client.post("/v1/chat/completions", json=asked).status_code == 200
        other = {"X-Smart-Context-Chat": "alices-plans"}
        answer = client.post("/v1/chat/completions", json=asked, headers=other)
        assert answer.status_code == 404
    with as_person(proxied, ("X-User", "dora")) as dora:
        assert len(call(dora, "memory.list_chats").json()["result"]["chats"]) == 1
    with as_person(proxied, ("Authorization", f"Bearer {key}")) as client:
        assert call(client, "memory.list_chats").status_code == 401


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """Two processes of one vault whose people log in at a provider."""
    with providing() as provider:
        vault = vault_with(
            tmp_path_factory.mktemp("logged"),
            f'[access]\nmode = "oidc"\nissuer = "{provider.origin}"\nclient_id = "{CLIENT}"\n'
            'client_secret_env = "OIDC_SECRET"\n',
        )
        env = {"OIDC_SECRET": SECRET}
        with serving(vault, env=env) as one, serving(vault, env=env) as other:
            yield provider, one, other


class Browser(httpx2.Client):
    """A browser: follows links of the provider, keeps cookies, and the key of its pages."""

    def log_in(self, provider, path="/chats"):
        to_provider = self.get(path, headers=PAGE)
        assert to_provider.status_code == 303
        back = httpx2.get(to_provider.headers["Location"])
        return self.come_back(back.headers["Location"])

    def come_back(self, address):
        page = self.get(address, headers=PAGE)
        if code := re.search(r"#enter=([\w-]+)", page.text):
            sent = {"X-Smart-Context-Code": code[1]}
            given = self.post("/api/session", headers=sent)
            self.headers["X-Smart-Context-Key"] = given.json()["key"]
        return page


@pytest.fixture
def browser(logged):
    with Browser(base_url=logged[1].origin) as browser:
        yield browser


def test_who_logs_in_is_let_in_on_every_process_and_after_logging_out_on_none(logged, browser):
    provider, one, other = logged
    provider.sub = "alice"
    page = browser.log_in(provider)
    assert page.status_code == 200
    asked = provider.asked[-1]
    assert asked["code_challenge_method"] == "S256"
    assert {"state", "nonce", "code_challenge"} <= asked.keys()
    call(browser, "memory.save_chat", chat_id="of-alice", data={"title": "Plans"})
    for server in (one, other):
        answer = browser.post(f"{server.origin}/api/commands/memory.list_chats", json={})
        assert [row["id"] for row in answer.json()["result"]["chats"]] == ["of-alice"]
    page = browser.get("/new", headers=PAGE, follow_redirects=True)
    assert "Alice" in page.text
    assert "Log out" in page.text
    kept = dict(browser.cookies)

    out = browser.post("/auth/logout")
    assert out.status_code == 303
    assert "You have logged out" in browser.get(out.headers["Location"]).text
    browser.cookies.update(kept)
    assert call(browser, "memory.list_chats").status_code == 401
    looked_until = time.monotonic() + PATIENCE_S
    while True:  # another process looks again every two seconds
        answer = browser.post(f"{other.origin}/api/commands/memory.list_chats", json={})
        if answer.status_code == 401 or time.monotonic() > looked_until:
            break
    assert answer.status_code == 401


def test_the_cookie_alone_which_other_ports_see_opens_nothing(logged, browser):
    browser.log_in(logged[0])
    del browser.headers["X-Smart-Context-Key"]
    assert call(browser, "memory.list_chats").status_code == 401
    assert "chat" not in browser.get("/chats", headers=PAGE).text.lower().replace("smart", "")[:200]
    browser.headers["X-Smart-Context-Key"] = "guessed"
    assert call(browser, "memory.list_chats").status_code == 401


def test_the_token_opens_nothing(logged, browser):
    browser.headers["Authorization"] = f"Bearer {TOKEN}"
    assert call(browser, "memory.list_chats").status_code == 401
    for path in ("/v1/models", "/metrics"):
        assert browser.get(path).status_code == 401


def test_a_login_counts_only_in_the_browser_that_began_it(logged, browser):
    one = logged[1]
    with Browser(base_url=one.origin) as attacker:
        began = attacker.get("/chats", headers=PAGE)
    lured = httpx2.get(began.headers["Location"]).headers["Location"]
    answer = browser.come_back(lured)
    assert answer.status_code == 400
    assert "X-Smart-Context-Key" not in browser.headers
    for state in ("", "x", "%00"):
        assert browser.get(f"/auth/callback?code=x&state={state}").status_code == 400


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"aud": "another"},
        {"iss": "http://another.example"},
        {"exp": 1},
        {"sub": "owner"},
        {"sub": ""},
    ],
)
def test_a_token_that_is_not_for_this_login_lets_nobody_in(logged, browser, claims):
    provider = logged[0]
    provider.claims = claims
    try:
        assert browser.log_in(provider).status_code in {403, 502}
    finally:
        provider.claims = {}
    assert "X-Smart-Context-Key" not in browser.headers


def test_a_token_of_another_signer_lets_nobody_in(logged, browser):
    provider = logged[0]
    provider.signs_with = RSAKey.generate_key(2048, parameters={"kid": "one"})
    try:
        assert browser.log_in(provider).status_code == 502
    finally:
        provider.signs_with = provider.key


@pytest.mark.parametrize("next_", ["//evil.example", "https://evil.example", "/\\evil.example"])
def test_after_logging_in_one_is_on_this_server(logged, browser, next_):
    began = browser.get("/auth/login", params={"next": next_}, headers=PAGE)
    page = browser.come_back(httpx2.get(began.headers["Location"]).headers["Location"])
    (address,) = re.findall(r'url=([^"]+)"', page.text)
    assert re.match(r"/(?![/\\])", address)


def test_another_site_can_log_nobody_out(logged, browser):
    browser.log_in(logged[0])
    lured = {"Origin": "https://evil.example"}
    assert browser.post("/auth/logout", headers=lured).status_code == 403
    assert browser.get("/auth/logout", headers=PAGE).status_code == 405
    assert call(browser, "memory.list_chats").status_code == 200


def test_cookies_are_strict_but_for_the_one_that_comes_back_from_the_provider(logged, browser):
    began = browser.get("/chats", headers=PAGE)
    assert "SameSite=Lax" in began.headers["Set-Cookie"]
    assert "Path=/auth/callback" in began.headers["Set-Cookie"]
    page = browser.come_back(httpx2.get(began.headers["Location"]).headers["Location"])
    session = next(c for c in page.headers.get_list("Set-Cookie") if "Max-Age=43200" in c)
    assert "SameSite=Strict" in session
    assert "HttpOnly" in session


def key_of(server, person):
    with as_person(server, ("X-User", person)) as page:
        return call(page, "system.new_client_key", client="laptop").json()["result"]["key"]


def response_of(provider, name, path, **more):
    body = {"id": name, "object": "response", "status": "completed", "output": [], **more}
    provider.reply_with(Reply(body=json.dumps(body).encode()), path=path)


def test_a_response_that_a_provider_holds_is_its_persons_alone(tmp_path):
    """The provider has one key for all people, so it would give anybody's to anybody."""
    with FakeOpenAI() as provider:
        settings = PROXY + settings_text(provider.base_url)
        env = {**KEY, "SMART_CONTEXT_USER": "", "XDG_CONFIG_HOME": str(tmp_path / "config")}
        with serving(vault_with(tmp_path / "vault", settings), env=env) as server:
            keys = {person: key_of(server, person) for person in ("alice", "bob")}

            def ask(person, method, path, **body):
                named = ("Authorization", f"Bearer {keys[person]}")
                with as_person(server, named) as client:
                    return client.request(method, f"/v1{path}", json=body or None)

            aside = "### Task: a title"  # of a program, which is in no chat
            begun = {"conversation": {"id": "conv_of_alice"}}  # by the provider
            for name, asked in (("resp_of_alice", "Where to?"), ("resp_beside", aside)):
                response_of(provider, name, "/responses", **begun)
                assert ask("alice", "POST", "/responses", input=asked).json()["id"] == name

            count = len(provider.requests)
            for given in ("conv_of_alice", {"id": "conv_of_alice"}, ["conv_of_alice"], "conv_no"):
                for path in ("/responses", "/responses/input_tokens"):
                    assert ask("bob", "POST", path, input="", conversation=given).status_code == 404
            for name in ("resp_of_alice", "resp_beside", "resp_of_nobody"):
                refused = [
                    ask("bob", "GET", f"/responses/{name}"),
                    ask("bob", "GET", f"/responses/{name}/input_items"),
                    ask("bob", "DELETE", f"/responses/{name}"),
                    ask("bob", "POST", "/responses/compact", previous_response_id=name),
                    ask("bob", "POST", "/responses", input="And?", previous_response_id=name),
                ]
                assert {answer.status_code for answer in refused} == {404}
                assert len({answer.text for answer in refused}) == 1
            new = provider.requests[count:]
            assert not [each for each in new if each.path.startswith("/responses")]

            for name in ("resp_of_alice", "resp_beside"):
                response_of(provider, name, f"/responses/{name}")
                assert ask("alice", "GET", f"/responses/{name}").json()["id"] == name
            response_of(provider, "resp_held", "/responses", **begun)
            assert ask("alice", "POST", "/responses", input="And?", **begun).status_code == 200
            response_of(provider, "resp_more", "/responses")
            goes_on = {"input": "And?", "previous_response_id": "resp_of_alice"}
            assert ask("alice", "POST", "/responses", **goes_on).json()["id"] == "resp_more"
