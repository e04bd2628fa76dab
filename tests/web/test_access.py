import pytest

from smart_context.web.access import Access

TOKEN = "a-token-of-the-user"


def value_of(cookie):
    return cookie.split(";")[0].encode()


def test_a_random_link_works_once():
    access = Access.of(None)
    link_token = access.new_link_token()
    assert access.redeem(link_token)
    assert not access.redeem(link_token)


def test_each_random_link_works_by_itself():
    access = Access.of(None)
    first, second = access.new_link_token(), access.new_link_token()
    assert first != second
    assert access.redeem(second)
    assert access.redeem(first)


@pytest.mark.parametrize("guess", ["", "x", "\ud800", "日本"])
def test_a_guessed_link_does_not_work(guess):
    access = Access.of(None)
    access.new_link_token()
    assert not access.redeem(guess)
    assert not Access.of(TOKEN).redeem(guess)


def test_a_link_of_the_users_token_works_as_often_as_it_is_opened():
    access = Access.of(TOKEN)
    assert access.new_link_token() == TOKEN
    assert access.redeem(TOKEN)
    assert access.redeem(TOKEN)


def test_a_link_token_is_no_bearer_token():
    access = Access.of(None)
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
    assert Access.of(TOKEN).accepts_bearer(authorization) is is_accepted


def test_blanks_around_a_token_do_not_count():
    assert Access.of(f" {TOKEN}\n").accepts_bearer(f"Bearer {TOKEN}".encode())
    assert not Access.of(" \n").accepts_bearer(b"Bearer ")


def test_a_token_need_not_be_ascii():
    assert Access.of("日本").accepts_bearer("Bearer 日本".encode())


def test_the_cookie_goes_on_working_after_a_restart_with_the_same_token():
    cookie = Access.of(TOKEN).cookie(8000, is_secure=False)
    assert Access.of(TOKEN).accepts_cookie([value_of(cookie)], 8000)


def test_the_cookie_of_another_token_is_not_accepted():
    cookie = Access.of("another token").cookie(8000, is_secure=False)
    assert not Access.of(TOKEN).accepts_cookie([value_of(cookie)], 8000)


def test_without_a_token_each_start_has_another_cookie():
    cookie = Access.of(None).cookie(8000, is_secure=False)
    assert not Access.of(None).accepts_cookie([value_of(cookie)], 8000)
    assert not Access.of("").accepts_cookie([value_of(cookie)], 8000)


def test_the_cookie_is_found_among_others():
    access = Access.of(TOKEN)
    cookie = value_of(access.cookie(8000, is_secure=False))
    stale = b"smart_context_8000=stale"
    assert access.accepts_cookie([b"a=b; " + stale + b"; " + cookie + b"; c"], 8000)
    assert access.accepts_cookie([stale, cookie], 8000)
    assert not access.accepts_cookie([b"a=b", stale, b"=", b""], 8000)


def test_servers_on_two_ports_keep_their_cookies_apart():
    access = Access.of(TOKEN)
    assert not access.accepts_cookie([value_of(access.cookie(8000, is_secure=False))], 8001)


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites():
    lasting = Access.of(TOKEN).cookie(8000, is_secure=False)
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(lasting.split("; "))
    assert "Max-Age=" in lasting
    assert "Secure" not in lasting
    assert TOKEN not in lasting
    passing = Access.of(None).cookie(8000, is_secure=True)
    assert "Max-Age=" not in passing
    assert "Secure" in passing.split("; ")
