"""Sessions of people who logged in, and what a browser that is not theirs may send for one."""

import pytest

from smart_context.base.errors import StoreFailed
from smart_context.web.gate.oidc.signed_sessions import (
    LONGEST_LOCATION,
    LOOK_AGAIN_S,
    SESSION_S,
    PersonSession,
    SignedSessions,
)
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio

BEGUN_S = 1_000_000.0


class Clock:
    now_s = BEGUN_S

    def __call__(self):
        return self.now_s


@pytest.fixture
def documents():
    return memory_storage().vault_documents


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def sessions(documents, clock):
    made = SignedSessions(documents, "of a provider", clock=clock)
    await made.open()
    return made


async def test_processes_that_begin_at_the_same_time_know_each_others_sessions(documents):
    class Late:
        """Looks for the secret before the other process has made it."""

        def __init__(self):
            self.has_looked = False

        def read(self, kind, key):
            found = documents.read(kind, key) if self.has_looked else None
            self.has_looked = True
            return found

        def __getattr__(self, name):
            return getattr(documents, name)

    first, late = (SignedSessions(each, "of a provider") for each in (documents, Late()))
    await first.open()
    session = first.new_session("alice", "Alice")
    await late.open()
    cookie = f"{late.cookie_name}={late.session_cookie(session)}".encode()
    assert await first.session_in([cookie]) == session


@pytest.mark.parametrize(
    "code",
    [
        "",
        "-",
        "x",
        f"{'9' * 10_000}-x",
        f"{10**12}-ü",
        "\N{SUPERSCRIPT TWO}-x",
        f"-{10**12}-x",
    ],
)
async def test_what_is_no_code_of_a_session_is_refused(sessions, code):
    session = sessions.new_session("alice", "Alice")
    assert sessions.accepts_code(session, sessions.new_code(session))
    assert not sessions.accepts_code(session, code)
    assert not sessions.accepts_code(sessions.new_session("alice", "Alice"), code)


async def test_a_code_is_of_one_session_and_a_minute(sessions, clock):
    session = sessions.new_session("alice", "Alice")
    code = sessions.new_code(session)
    assert not sessions.accepts_code(sessions.new_session("alice", "Alice"), code)
    clock.now_s += 61
    assert not sessions.accepts_code(session, code)


async def test_a_login_is_known_by_its_own_state_only(sessions):
    login = sessions.new_login("/chats")
    cookie = sessions.login_cookie(login)
    named = f"{sessions.login_cookie_name(login.state)}={cookie}".encode()
    assert sessions.login_in([named], login.state) == login
    other = f"{sessions.login_cookie_name('ü')}={cookie}".encode()
    assert sessions.login_in([other], "ü") is None


@pytest.mark.parametrize("location", ["/chats?" + "q" * LONGEST_LOCATION, "/" + "ü" * 900])
async def test_a_location_that_no_cookie_holds_leads_to_the_first_page(sessions, location):
    login = sessions.new_login(location)
    assert login.location == "/"
    longest = sessions.new_login("/" + "q" * (LONGEST_LOCATION - 1))
    assert len(longest.location) == LONGEST_LOCATION
    assert len(sessions.login_cookie(longest)) < 4_000


async def test_ended_sessions_are_forgotten_when_they_would_be_over(sessions, documents, clock):
    for _ in range(3):
        await sessions.end(sessions.new_session("alice", "Alice"))
    assert len(documents.keys("ended")) == 3
    clock.now_s += SESSION_S + 1
    await sessions.end(sessions.new_session("alice", "Alice"))
    assert len(documents.keys("ended")) == 1


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param({}, id="no secret"),
        pytest.param({"secret": ""}, id="an empty one"),
        pytest.param({"secret": None}, id="nothing in its place"),
        pytest.param({"secret": "short"}, id="one that can be guessed"),
    ],
)
async def test_without_a_secret_no_session_is_signed(documents, stored):
    documents.write("", "session-secret", stored)
    sessions = SignedSessions(documents, "of a provider")
    with pytest.raises(StoreFailed, match="session-secret"):
        await sessions.open()
    forged = PersonSession(id="0" * 32, sub="alice", name="Alice", expires_at=int(2e9))
    with pytest.raises(StoreFailed):
        await sessions.session_in([f"{sessions.cookie_name}=x.{forged.id}".encode()])


async def test_a_session_stays_ended_though_nobody_knows_until_when(sessions, documents, clock):
    session = sessions.new_session("alice", "Alice")
    await sessions.end(session)
    documents.write("ended", session.id, {})
    clock.now_s += 3 * LOOK_AGAIN_S
    other = SignedSessions(documents, "of a provider", clock=clock)
    await other.open()
    await other.end(other.new_session("bob", "Bob"))
    assert await other.is_over(session.id)
