"""`system.trust`, `grant_trust` and `revoke_trust`: the page reviews what the vault asks for."""

import asyncio

from smart_context.app.composition import read_vault
from smart_context.app.following import Follower
from smart_context.base.errors import CommandFailed
from smart_context.base.values import JsonObject
from smart_context.host.commands.registry import Caller, check_owner
from smart_context.host.host import Host


class TrustCommands:
    """The page's commands about trust.

    Args:
        follower: Loads what was granted or revoked.
    """

    def __init__(self, host: Host, follower: Follower) -> None:
        self._host = host
        self._follower = follower

    def register(self) -> None:
        """Register the commands."""
        for name in ("trust", "grant_trust", "revoke_trust"):
            self._host.commands.register(f"system.{name}", getattr(self, name))

    async def trust(self) -> JsonObject:
        """Give what the vault asks for, what is trusted, and what is off."""
        return await self._follower.view()

    async def grant_trust(
        self, digest: str, caller: Caller, parts: list[str] | None = None
    ) -> JsonObject:
        """Trust what was reviewed; other parts stay as they are.

        Args:
            digest: The digest that `system.trust` gave with what was reviewed.
            caller: Who asks; the owner of the installation alone may.
            parts: The ids of the parts to trust; all by default.
        """
        check_owner(caller.person)
        await asyncio.to_thread(self._grant, digest, parts)
        await self._follower.load_now()
        return await self._follower.view()

    async def revoke_trust(self, caller: Caller) -> JsonObject:
        """Revoke the vault's trust: all that it asks for is off."""
        check_owner(caller.person)
        await asyncio.to_thread(self._host.services.trust.revoke)
        await self._follower.load_now()
        return await self._follower.view()

    def _grant(self, digest: str, parts: list[str] | None) -> None:
        trust = self._host.services.trust
        review = trust.review(read_vault(self._host.config.root))
        if review.digest != digest:
            raise CommandFailed(
                "This vault asks for other things: it changed since you looked. Review it."
            )
        chosen = review.restricted if parts is None else review.parts
        trust.trust(review, tuple(p for p in chosen if parts is None or p.id in parts))
