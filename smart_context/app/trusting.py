"""`system.trust` and its siblings: review what the vault wants on the page, grant it, revoke it."""

import asyncio

from smart_context.app.composition import read_vault
from smart_context.app.following import Follower
from smart_context.errors import CommandFailed
from smart_context.host.host import Host
from smart_context.values import JsonObject


class TrustCommands:
    """What the page asks about trust.

    Args:
        host: Whose vault it is about.
        follower: Takes up what was granted or revoked.
    """

    def __init__(self, host: Host, follower: Follower) -> None:
        self._host = host
        self._follower = follower

    def register(self) -> None:
        """Make the commands callable."""
        for name in ("trust", "grant_trust", "revoke_trust"):
            self._host.commands.register(f"system.{name}", getattr(self, name))

    async def trust(self) -> JsonObject:
        """What the vault wants, which of it is trusted, and what is off."""
        return await self._follower.view()

    async def grant_trust(self, digest: str, parts: list[str] | None = None) -> JsonObject:
        """Trust what was reviewed; parts that are not named are left as they are.

        Args:
            digest: Of what was reviewed, as `system.trust` gave it.
            parts: The ids of the parts that are trusted from now on; all by default.
        """
        await asyncio.to_thread(self._grant, digest, parts)
        await self._follower.take_up()
        return await self._follower.view()

    async def revoke_trust(self) -> JsonObject:
        """Trust the vault no longer: all that it wants is off."""
        await asyncio.to_thread(self._host.services.trust.revoke)
        await self._follower.take_up()
        return await self._follower.view()

    def _grant(self, digest: str, parts: list[str] | None) -> None:
        trust = self._host.services.trust
        standing = trust.standing(read_vault(self._host.config.root))
        if standing.digest != digest:
            raise CommandFailed("What this vault wants has changed since you looked. Review it.")
        chosen = standing.restricted if parts is None else standing.parts
        trust.trust(standing, tuple(p for p in chosen if parts is None or p.id in parts))
