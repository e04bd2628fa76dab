"""Decides who gets in, after `request_facts.py` has checked the request itself.

Authorization: Bearer TOKEN    programs: everything
Authorization: Bearer KEY      clients of the API: that, and nothing else
cookie and key                 pages of ours: everything
cookie alone                   the key page, which fetches the page with the key, and what
                               a page loads without a script's help: our styles and scripts,
                               the files of plugins' panels
a start link                   a cookie, and a code for the key
"""

import ipaddress
from dataclasses import dataclass
from posixpath import splitext
from typing import Protocol

from starlette.responses import Response

from smart_context.base.config.access import AccessSettings, person_named
from smart_context.base.values import NOBODY, OWNER, PersonId
from smart_context.web.gate.access import BrowserLogin, GateSecrets, same_text
from smart_context.web.gate.client_keys import NO_CLIENT_KEY, KeyFile, KeyRing, is_for_clients
from smart_context.web.gate.request_facts import Refusal, RequestFacts, clean_url
from smart_context.web.gate.session_record import LINK_S
from smart_context.web.gate.throttle import Throttle, TooManyAttempts, WrongSecret

OPEN_PATH = "/healthz"
"""Answers if the server is up; needs no token."""

READY_PATH = "/readyz"
"""Answers if the server can do its work; needs no token."""

CLAIM_PATH = "/api/session"
"""The address at which the page after a start link gets its key."""

CODE_HEADER = "x-smart-context-code"
FILES = "/api/files/"
NEW_LINK = "smart-context sessions link"

_PANELS = "/panels/"
_ASSETS = ("/static/", "/favicon.ico")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmittedRequest:
    """The identity of a request that is let in."""

    person: PersonId  # the person who asks
    session_id: str = ""  # the browser's session; empty for a program
    file_pass: str = ""  # the part of file addresses that opens them for this browser
    key: str = ""  # the name of a client's key; empty outside the API
    name: str = ""  # the person's name for people; empty where there is only one person
    may_log_out: bool = False  # this server, not a proxy, ends the session


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPage:
    """Let in to the key page only, which fetches the page with the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyGiven:
    """The key of a browser that has just followed a start link."""

    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """Redirect to another address of ours, maybe with a cookie."""

    location: str
    cookie: str | None = None
    # another site's link led here; after a redirect, the browser would not send a strict cookie
    is_from_elsewhere: bool = False


Verdict = AdmittedRequest | KeyPage | KeyGiven | Redirect | Refusal | Response


class AnyDoor(Protocol):
    """Decides who is let in."""

    async def admit(self, facts: RequestFacts) -> Verdict:
        """The verdict on a request."""

    async def ended(self, sessions: frozenset[str]) -> frozenset[str]:
        """The browser sessions among these that have ended, so that their sockets end, too."""


NO_TOKEN = Refusal(
    status=401,
    title="This browser has not been let in yet",
    advice=f"Open the start link that smart-context printed in the terminal. It works once, within "
    f"{LINK_S // 60} minutes. For a new one, run this in a terminal on the machine that serves the "
    "vault, and open what it prints in this browser.",
    command=NEW_LINK,
    for_programs="A program sends the token as `Authorization: Bearer`.",
    may_lack_cookie=True,
)
USED_LINK = Refusal(
    status=401,
    title="This start link no longer works",
    advice=f"It was opened before, is older than {LINK_S // 60} minutes, or is not whole. For a "
    "new one, run this in a terminal on the machine that serves the vault, and open what it prints "
    "in this browser.",
    command=NEW_LINK,
    may_lack_cookie=True,
)
NO_KEY = Refusal(
    status=401,
    title="This browser has to be let in again",
    advice="Its storage was cleared, or its session was ended. For a new start link, run this in "
    "a terminal on the machine that serves the vault, and open the link in this browser.",
    command=NEW_LINK,
)
WRONG_TOKEN = Refusal(
    status=401,
    title="Wrong token",
    advice="Send the token that smart-context was started with as `Authorization: Bearer`.",
)
TOO_MANY = Refusal(
    status=429,
    title="Too many wrong tokens from this address",
    advice="Wait a few seconds, and try again.",
    retry_after_s=5,
)


_OLD_LINK = WrongSecret("A start link that no longer works", f"For a new one: {NEW_LINK}")
_WRONG_TOKEN = WrongSecret("Wrong token", "--token or SMART_CONTEXT_TOKEN sets the right one")
_WRONG_KEY = WrongSecret("Wrong API key", "For a new one: smart-context keys new NAME")


class ClientDoor:
    """Decides on requests that are not from browsers: for the server's state, and to the API.

    Anybody may ask for the state. The API needs a key; requests are made as the key's owner.

    Args:
        access: The server's own secret; `None`: it opens nothing.
        throttle: Slows down who guesses.
        keys: Where the keys are; `None`: there are none.
    """

    def __init__(
        self, access: GateSecrets | None, throttle: Throttle, keys: KeyFile | None
    ) -> None:
        self._ring = KeyRing(access, keys)
        self._throttle = throttle

    async def admit(self, facts: RequestFacts) -> Verdict | None:
        """The verdict on a request for the state, or to the API; `None` for any other."""
        if facts.is_socket:
            return None
        if facts.path in (OPEN_PATH, READY_PATH):
            return AdmittedRequest(person=NOBODY)
        return await self._by_key(facts) if is_for_clients(facts.path) else None

    async def _by_key(self, facts: RequestFacts) -> Verdict:
        if "authorization" not in facts.headers:
            return NO_CLIENT_KEY
        try:
            async with self._throttle.attempt(facts.peer) as attempt:
                if holder := await self._ring.holder_of(facts.header("authorization")):
                    return AdmittedRequest(person=holder.person, key=holder.name)
                await attempt.fail(_WRONG_KEY)
                return NO_CLIENT_KEY
        except TooManyAttempts:
            return TOO_MANY


class Door:
    """Decides who is let in.

    Args:
        throttle: Slows down who guesses.
        keys: Where the keys of the API's clients are; `None`: there are none.
    """

    def __init__(
        self, access: GateSecrets, throttle: Throttle, keys: KeyFile | None = None
    ) -> None:
        self._access = access
        self._clients = ClientDoor(access, throttle, keys)
        self._throttle = throttle

    async def admit(self, facts: RequestFacts) -> Verdict:
        """The verdict on a request; this uses up a start link."""
        if (verdict := await self._clients.admit(facts)) is not None:
            return verdict
        login = await self._login_of(facts)
        link_token = facts.parameter("token") if facts.method == "GET" else None
        if link_token is not None and not facts.is_socket:
            return await self._follow_link(facts, link_token, login)
        if "authorization" in facts.headers:
            return await self._check_bearer(facts)
        return NO_TOKEN if login is None else await self._check_login(facts, login)

    async def _login_of(self, facts: RequestFacts) -> BrowserLogin | None:
        cookies = facts.headers.get("cookie", ())
        login = self._access.login_of(cookies, facts.port)
        if login is None and cookies:  # another server may have let it in just now
            await self._access.look_again()
            login = self._access.login_of(cookies, facts.port)
        return login

    async def _check_bearer(self, facts: RequestFacts) -> Verdict:
        authorization = facts.header("authorization").encode("latin-1")
        try:
            async with self._throttle.attempt(facts.peer) as attempt:
                if self._access.accepts_bearer(authorization):
                    return AdmittedRequest(person=OWNER)
                await attempt.fail(_WRONG_TOKEN)
                return WRONG_TOKEN
        except TooManyAttempts:
            return TOO_MANY

    async def ended(self, sessions: frozenset[str]) -> frozenset[str]:  # noqa: ARG002 - all
        """The sessions that have ended since the last look."""
        return await self._access.book.refresh()

    async def _follow_link(
        self, facts: RequestFacts, link_token: str, login: BrowserLogin | None
    ) -> Verdict:
        # A browser may fetch a link in advance; that must not use it up.
        is_opened = "prefetch" not in facts.header("sec-purpose")
        try:
            async with self._throttle.attempt(facts.peer) as attempt:
                if is_opened and (redirect := await self._redeem(facts, link_token, login)):
                    return redirect
                if login is not None:
                    return Redirect(location=clean_url(facts))
                await attempt.fail(_OLD_LINK)
                return USED_LINK
        except TooManyAttempts:
            return TOO_MANY

    async def _redeem(
        self, facts: RequestFacts, link_token: str, login: BrowserLogin | None
    ) -> Redirect | None:
        agent = facts.header("user-agent")
        welcome = await self._access.follow_link(link_token, user_agent=agent, previous=login)
        if welcome is None:
            return None
        return Redirect(
            # What follows `#` stays in the browser: only the page that is shown next reads it.
            location=f"{clean_url(facts)}#enter={welcome.code}",
            cookie=self._access.cookie(welcome.cookie, facts.port, is_secure=facts.is_secure),
            is_from_elsewhere=facts.header("sec-fetch-site") == "cross-site",
        )

    async def _check_login(self, facts: RequestFacts, login: BrowserLogin) -> Verdict:
        if facts.method == "POST" and facts.path == CLAIM_PATH:
            key = await self._access.claim_key(login, facts.header(CODE_HEADER))
            return NO_KEY if key is None else KeyGiven(key=key)
        self._access.book.mark_seen([login.id])
        file_pass = self._access.file_pass(login)
        if facts.key is not None:
            has_key = self._access.accepts_key(login, facts.key)
            let_in = AdmittedRequest(person=OWNER, session_id=login.id, file_pass=file_pass)
            return let_in if has_key else NO_KEY
        if not facts.is_read:
            return NO_KEY
        if needs_no_key(facts.path) or has_pass(facts, file_pass):
            return AdmittedRequest(person=OWNER, session_id=login.id)
        return NO_KEY if facts.path.startswith("/api/") else KeyPage()


def needs_no_key(path: str) -> bool:
    """True for files that a page loads without a script: styles, scripts, parts of panels."""
    is_part = path.startswith(_PANELS) and bool(splitext(path)[1])
    return path.startswith(_ASSETS) or is_part


def has_pass(facts: RequestFacts, file_pass: str) -> bool:
    """True if a request is for a file and has the browser's pass."""
    given = facts.parameter("pass") or ""
    return facts.path.startswith(FILES) and same_text(given, file_pass)


NOT_NAMED = Refusal(
    status=401,
    title="The proxy has not said who you are",
    advice="Open Smart Context at your company's address, where you log in. For whoever runs it: "
    "the header that `[access]` names must come once, from an address that it trusts.",
)


@dataclass(eq=False)
class ProxyDoor:
    """Decides who is let in."""

    settings: AccessSettings  # the header, and the addresses of the proxy
    clients: ClientDoor  # decides on requests that are not from browsers

    def __post_init__(self) -> None:
        self._header = self.settings.header.lower()

    async def admit(self, facts: RequestFacts) -> Verdict:
        """The verdict on a request."""
        if (verdict := await self.clients.admit(facts)) is not None:
            return verdict
        values = facts.headers.get(self._header, ())
        if len(values) != 1 or not self._is_proxy(facts.address):
            return NOT_NAMED
        try:
            name = values[0].decode()
        except UnicodeDecodeError:
            return NOT_NAMED
        person = person_named(name, self.settings.owner)
        return NOT_NAMED if person is None else AdmittedRequest(person=person, name=name)

    async def ended(self, sessions: frozenset[str]) -> frozenset[str]:  # noqa: ARG002 - none here
        """No sessions: the proxy keeps them, not this server."""
        return frozenset()

    def _is_proxy(self, address: str) -> bool:
        try:
            peer = ipaddress.ip_address(address)
        except ValueError:
            return False
        mapped = peer.ipv4_mapped if isinstance(peer, ipaddress.IPv6Address) else None
        return any((mapped or peer) in network for network in self.settings.trusted)
