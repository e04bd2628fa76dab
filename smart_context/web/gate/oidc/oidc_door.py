"""Lets in people who have logged in at an OpenID provider: `[access] mode = "oidc"`.

A page without a session leads to the provider, which leads back to `/auth/callback` with a code.
State, nonce and PKCE tie that code to the browser that began. The session's cookie is strict, so
the callback answers with a page that leads on by itself: only then does the browser send it. As
with start links, the cookie alone opens nothing of the vault; the key that pages send does.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from urllib.parse import quote

from starlette.responses import RedirectResponse, Response

from smart_context.base.config.access import AccessSettings, person_named
from smart_context.web.gate.access import new_cookie, same_text
from smart_context.web.gate.door import (
    CLAIM_PATH,
    CODE_HEADER,
    AdmittedRequest,
    ClientDoor,
    KeyGiven,
    KeyPage,
    Verdict,
    has_pass,
    needs_no_key,
)
from smart_context.web.gate.oidc.provider import LoginProvider, ProviderFailed
from smart_context.web.gate.oidc.signed_sessions import (
    LOGIN_S,
    SESSION_S,
    Login,
    PersonSession,
    SignedSessions,
)
from smart_context.web.gate.plain_page import forward, plain_page
from smart_context.web.gate.request_facts import Hosts, Refusal, RequestFacts, address_of, clean_url
from smart_context.web.gate.throttle import Throttle, TooManyAttempts, WrongSecret

_log = logging.getLogger(__name__)

AUTH = "/auth/"
LOGIN_PATH, CALLBACK_PATH = "/auth/login", "/auth/callback"
LOGOUT_PATH, OUT_PATH = "/auth/logout", "/auth/logged-out"

_NO_STORE = {"Cache-Control": "no-store"}
_NOT_FOR_PAGES = ("/api/", "/static/", "/panels/", "/favicon.ico", "/metrics")

NOT_LOGGED_IN = Refusal(
    status=401,
    title="You are not logged in",
    advice="Open Smart Context in the browser, and log in.",
)
NO_KEY = Refusal(
    status=401,
    title="Log in again",
    advice="This browser's storage was cleared, or Smart Context has another address now.",
)
NOT_BEGUN = Refusal(
    status=400,
    title="This login was not begun in this browser, or took too long",
    advice="Open Smart Context and log in again.",
)
TOO_MANY = Refusal(
    status=429,
    title="Too many logins from this address failed",
    advice="Wait a few seconds, and try again.",
    retry_after_s=5,
)

_FAILED_LOGIN = WrongSecret(
    "A login that was not begun here, or failed", "Log in again at the address of Smart Context"
)


@dataclass(eq=False)
class OidcDoor:
    """Decides who is let in."""

    settings: AccessSettings  # the provider, and who owns this installation
    provider: LoginProvider  # tells who logged in
    sessions: SignedSessions  # the sessions of people who logged in
    _: KW_ONLY
    clients: ClientDoor  # decides on requests that are not from browsers
    hosts: Hosts  # names and addresses that the server goes by
    throttle: Throttle  # slows down guessing

    async def admit(self, facts: RequestFacts) -> Verdict:
        """The verdict on a request."""
        if (verdict := await self.clients.admit(facts)) is not None:
            return verdict
        if facts.path.startswith(AUTH) and not facts.is_socket:
            return await self._auth(facts)
        session = await self.sessions.session_in(facts.headers.get("cookie", ()))
        if session is None:
            return await self._begin(facts, clean_url(facts)) if _is_page(facts) else NOT_LOGGED_IN
        return self._check(facts, session)

    async def ended(self, sessions: frozenset[str]) -> frozenset[str]:
        """The sessions among these that were ended."""
        return frozenset([each for each in sessions if await self.sessions.is_over(each)])

    def _check(self, facts: RequestFacts, session: PersonSession) -> Verdict:
        person = person_named(session.sub, self.settings.owner)
        if person is None:
            return _not_a_person(session.sub)
        if facts.method == "POST" and facts.path == CLAIM_PATH:
            return self._claim(facts, session)
        file_pass = self.sessions.file_pass(session)
        let_in = AdmittedRequest(
            person=person,
            session_id=session.id,
            file_pass=file_pass,
            name=session.name,
            may_log_out=True,
        )
        if facts.key is not None:
            has_key = same_text(facts.key, self.sessions.key_of(session))
            return let_in if has_key else self._without_key(facts)
        if facts.is_read and (needs_no_key(facts.path) or has_pass(facts, file_pass)):
            return let_in
        is_page = facts.is_read and not facts.path.startswith("/api/")
        return KeyPage() if is_page else NO_KEY

    def _claim(self, facts: RequestFacts, session: PersonSession) -> Verdict:
        is_right = self.sessions.accepts_code(session, facts.header(CODE_HEADER))
        return KeyGiven(key=self.sessions.key_of(session)) if is_right else NO_KEY

    def _without_key(self, facts: RequestFacts) -> Verdict:
        if not _is_page(facts):
            return NO_KEY
        link = f"{LOGIN_PATH}?next={quote(clean_url(facts))}"
        return plain_page(NO_KEY.title, NO_KEY.advice, (link, "Log in"), 401)

    async def _auth(self, facts: RequestFacts) -> Verdict:
        answers: Mapping[tuple[str, str], Callable[[RequestFacts], Awaitable[Verdict]]] = {
            ("GET", CALLBACK_PATH): self._finish,
            ("GET", LOGIN_PATH): self._log_in,
            ("POST", LOGOUT_PATH): self._log_out,
            ("GET", OUT_PATH): _logged_out,
        }
        answer = answers.get((facts.method, facts.path))
        if answer is not None:
            return await answer(facts)
        if facts.path == LOGOUT_PATH:
            return Refusal(status=405, title="This address takes POST", advice="Use the menu.")
        return Refusal(status=404, title="Page not found", advice="It may have been moved.")

    async def _log_in(self, facts: RequestFacts) -> Verdict:
        return await self._begin(facts, _own_path(facts.parameter("next") or "/"))

    async def _begin(self, facts: RequestFacts, location: str) -> Verdict:
        await self.sessions.open()
        login = self.sessions.new_login(location)
        try:
            address = await self.provider.login_address(
                self._redirect_uri(facts),
                login.state,
                self.sessions.nonce_of(login),
                self.sessions.verifier_of(login),
            )
        except ProviderFailed as error:
            return _failed(error)
        response = RedirectResponse(address, 303, _NO_STORE)
        name, value = (
            self.sessions.login_cookie_name(login.state),
            self.sessions.login_cookie(login),
        )
        # Lax, not strict: the provider's page leads back here.
        self._set(facts, response, name, value, path=CALLBACK_PATH, same_site="Lax", age_s=LOGIN_S)
        return response

    async def _finish(self, facts: RequestFacts) -> Verdict:
        try:
            async with self.throttle.attempt(facts.peer) as attempt:
                verdict, is_failure = await self._finished(facts)
                if is_failure:
                    await attempt.fail(_FAILED_LOGIN)
                return verdict
        except TooManyAttempts:
            return TOO_MANY

    async def _finished(self, facts: RequestFacts) -> tuple[Verdict, bool]:
        """The answer to a browser that comes back, and True if it may be guessing."""
        await self.sessions.open()
        cookies = facts.headers.get("cookie", ())
        login = self.sessions.login_in(cookies, facts.parameter("state") or "")
        if login is None or not self.provider.is_issuer(facts.parameter("iss")):
            return NOT_BEGUN, True
        code = facts.parameter("code")
        if not code:
            return _failed(Exception("the provider refused the login")), False
        try:
            sub, name = await self.provider.person(
                code,
                self._redirect_uri(facts),
                self.sessions.nonce_of(login),
                self.sessions.verifier_of(login),
            )
        except ProviderFailed as error:
            return _failed(error), True
        person = person_named(sub, self.settings.owner)
        if person is None:
            return _not_a_person(sub), False
        await self.sessions.note_name(person, name)
        before = await self.sessions.session_in(cookies)
        if before is not None:
            await self.sessions.end(before)
        session = self.sessions.new_session(sub, name)
        response = forward(f"{login.location}#enter={self.sessions.new_code(session)}")
        self._set(
            facts,
            response,
            self.sessions.cookie_name,
            self.sessions.session_cookie(session),
            age_s=SESSION_S,
        )
        self._drop(facts, response, login)
        return response, False

    async def _log_out(self, facts: RequestFacts) -> Verdict:
        session = await self.sessions.session_in(facts.headers.get("cookie", ()))
        if session is not None:
            await self.sessions.end(session)
        response = RedirectResponse(OUT_PATH, 303, _NO_STORE)
        self._set(facts, response, self.sessions.cookie_name, "", age_s=0)
        return response

    def _drop(self, facts: RequestFacts, response: Response, login: Login) -> None:
        name = self.sessions.login_cookie_name(login.state)
        self._set(facts, response, name, "", path=CALLBACK_PATH, same_site="Lax", age_s=0)

    def _set(
        self,
        facts: RequestFacts,
        response: Response,
        name: str,
        value: str,
        *,
        age_s: int,
        path: str = "/",
        same_site: str = "Strict",
    ) -> None:
        is_secure = address_of(facts, self.hosts).startswith("https:")
        cookie = new_cookie(
            name, value, age_s=age_s, is_secure=is_secure, path=path, same_site=same_site
        )
        response.headers.append("Set-Cookie", cookie)

    def _redirect_uri(self, facts: RequestFacts) -> str:
        return f"{address_of(facts, self.hosts)}{CALLBACK_PATH}"


async def _logged_out(_facts: RequestFacts) -> Verdict:
    advice = "Close this browser's windows if others use it, too."
    return plain_page("You have logged out", advice, ("/", "Log in again"))


def _is_page(facts: RequestFacts) -> bool:
    """True if a browser asks for one of our pages, which may lead to the provider."""
    if not facts.is_read or facts.path.startswith(_NOT_FOR_PAGES):
        return False
    return facts.header("sec-fetch-mode") in {"", "navigate"} or facts.key is not None


def _own_path(text: str) -> str:
    """A path of this server, for any address that was given."""
    path = "/" + text.lstrip("/\\")
    return path if path.isprintable() and "\\" not in path else "/"


def _failed(error: Exception) -> Response:
    _log.warning("A login failed: %s", error)
    return plain_page("The login failed", f"It says: {error}.", (LOGIN_PATH, "Try again"), 502)


def _not_a_person(sub: str) -> Refusal:
    _log.warning("The provider named somebody %r, who can't use this vault", sub[:80])
    return Refusal(
        status=403,
        title="Your name at the provider can't be used here",
        advice="Ask whoever runs Smart Context: the name is reserved, too long, or empty.",
    )
