import pytest

from smart_context.web.gate.access import CLAIM_S, GateSecrets
from smart_context.web.gate.session_record import LINK_S
from tests.web.let_in import PORT, claimed, let_in, welcome_of

TOKEN = "a-token-of-the-user"


class Clock:
    def __init__(self):
        self.now = 1_800_000_000.0

    def __call__(self):
        return self.now


tokens = pytest.mark.parametrize("token", [None, TOKEN], ids=["no token", "a token"])


@tokens
def test_a_start_link_works_once(token):
    access = GateSecrets(token)
    link_token = access.new_link_token()
    assert welcome_of(access, link_token)
    assert welcome_of(access, link_token) is None


def test_each_start_link_works_by_itself_and_holds_nothing_of_the_token():
    access = GateSecrets(TOKEN)
    first, second = access.new_link_token(), access.new_link_token()
    assert len({first, second, TOKEN}) == 3
    assert TOKEN not in first
    assert welcome_of(access, second)
    assert welcome_of(access, first)


def test_a_start_link_works_for_a_while():
    clock = Clock()
    access = GateSecrets(clock=clock)
    in_time, late = access.new_link_token(), access.new_link_token()
    clock.now += LINK_S
    assert welcome_of(access, in_time)
    clock.now += 1
    assert welcome_of(access, late) is None


@tokens
@pytest.mark.parametrize("guess", ["x", "\ud800", "日本", TOKEN])
def test_a_guessed_link_does_not_work(guess, token):
    access = GateSecrets(token)
    access.new_link_token()
    assert welcome_of(access, guess) is None


def test_a_link_token_is_no_bearer_token():
    access = GateSecrets()
    assert not access.accepts_bearer(b"Bearer " + access.new_link_token().encode())


@pytest.mark.parametrize(
    ("authorization", "is_accepted"),
    [
        pytest.param(f"Bearer {TOKEN}".encode(), True, id="the token"),
        pytest.param(f"bearer  {TOKEN} ".encode(), True, id="as loosely as HTTP allows"),
        pytest.param(b"Bearer wrong", False, id="another token"),
        pytest.param(f"Bearer {TOKEN}x".encode(), False, id="more than the token"),
        pytest.param(b"Bearer", False, id="no token"),
        pytest.param(b"", False, id="nothing"),
        pytest.param(f"Basic {TOKEN}".encode(), False, id="another scheme"),
        pytest.param(b"Bearer \xff\xfe", False, id="not ASCII"),
    ],
)
def test_only_the_token_is_accepted_as_bearer(authorization, is_accepted):
    assert GateSecrets(TOKEN).accepts_bearer(authorization) is is_accepted


def test_blanks_around_a_token_do_not_count():
    assert GateSecrets(f" {TOKEN}\n").accepts_bearer(f"Bearer {TOKEN}".encode())
    assert not GateSecrets(" \n").accepts_bearer(b"Bearer ")


def test_a_token_need_not_be_ascii():
    assert GateSecrets("日本").accepts_bearer("Bearer 日本".encode())


def test_each_browser_has_secrets_of_its_own():
    access = GateSecrets(TOKEN)
    one, other = let_in(access), let_in(access)
    assert len({one.cookie, other.cookie, one.key, other.key, TOKEN}) == 5
    assert access.accepts_key(one.login, one.key)
    assert not access.accepts_key(one.login, other.key)
    assert not access.accepts_key(one.login, "")
    assert access.file_pass(one.login) != access.file_pass(other.login)


def test_a_key_is_given_out_once_and_only_with_the_cookie_it_belongs_to():
    access = GateSecrets()
    welcome = welcome_of(access)
    cookie = access.cookie(welcome.cookie, PORT, is_secure=False).split(";")[0]
    login = access.login_of([cookie.encode()], PORT)
    stranger = let_in(access).login
    assert claimed(access, stranger, welcome.code) is None
    assert claimed(access, login, "guess") is None
    assert claimed(access, login, welcome.code)
    assert claimed(access, login, welcome.code) is None


def test_a_key_that_is_not_claimed_soon_is_not_given_out():
    clock = Clock()
    access = GateSecrets(clock=clock)
    welcome = welcome_of(access)
    cookie = access.cookie(welcome.cookie, PORT, is_secure=False).split(";")[0]
    login = access.login_of([cookie.encode()], PORT)
    clock.now += CLAIM_S + 1
    assert claimed(access, login, welcome.code) is None


def test_a_browser_that_is_let_in_again_has_one_session():
    access = GateSecrets()
    before = let_in(access)
    after = let_in(access, previous=before.login)
    assert access.login_of([before.cookie.encode()], PORT) is None
    assert access.login_of([after.cookie.encode()], PORT)


def test_a_session_under_another_token_is_none():
    access = GateSecrets(TOKEN)
    browser = let_in(access)
    again = GateSecrets(TOKEN, access.book)
    assert again.accepts_key(again.login_of([browser.cookie.encode()], PORT), browser.key)
    assert (
        GateSecrets("another-token-of-the-user", access.book).login_of(
            [browser.cookie.encode()], PORT
        )
        is None
    )


def test_the_cookie_is_found_among_others():
    access = GateSecrets(TOKEN)
    cookie = let_in(access).cookie.encode()
    stale = b"smart_context_8000=stale.stale"
    assert access.login_of([b"a=b; " + stale + b"; " + cookie + b"; c"], PORT)
    assert access.login_of([stale, cookie], PORT)
    assert not access.login_of([b"a=b", stale, b"=", b"", b"smart_context_8000=\xff.\xff"], PORT)


def test_servers_on_two_ports_keep_their_cookies_apart():
    access = GateSecrets(TOKEN)
    assert not access.login_of([let_in(access).cookie.encode()], PORT + 1)


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites():
    lasting = GateSecrets(TOKEN).cookie("value", PORT, is_secure=False)
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(lasting.split("; "))
    assert "Max-Age=" in lasting
    assert "Secure" not in lasting
    passing = GateSecrets().cookie("value", PORT, is_secure=True)
    assert "Max-Age=" not in passing
    assert "Secure" in passing.split("; ")
