"""A browser that has followed a start link, without a server."""

import asyncio
from dataclasses import dataclass

from smart_context.web.gate.access import BrowserLogin, GateSecrets

PORT = 8000


@dataclass
class LetIn:
    """What a browser has then."""

    login: BrowserLogin
    cookie: str
    code: str
    key: str

    @property
    def headers(self):
        return (("cookie", self.cookie), ("x-smart-context-key", self.key))


def welcome_of(access: GateSecrets, link_token=None, *, previous=None, agent=""):
    """What following a start link gives."""
    return asyncio.run(
        access.follow_link(
            link_token or access.new_link_token(), user_agent=agent, previous=previous
        )
    )


def claimed(access: GateSecrets, login, code):
    """The key that a page gets for a code."""
    return asyncio.run(access.claim_key(login, code))


def let_in(access: GateSecrets, **more) -> LetIn:
    """Follow a new start link and claim the key."""
    welcome = welcome_of(access, **more)
    cookie = access.cookie(welcome.cookie, PORT, is_secure=False).split(";")[0]
    login = access.login_of([cookie.encode()], PORT)
    return LetIn(login, cookie, welcome.code, claimed(access, login, welcome.code))
