"""Reloads a served vault when its settings or the user's trust change, and lets the page review it.

Three files are checked each second: `.vault.toml`, the user's `config.toml`, and the record of
what the user trusts. The pinned files of the vault are checked less often, so that all pages
show a changed part as off, not only the ones that try to use it.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path

from smart_context.app.composition import models_of, read_user, read_vault, settings_files
from smart_context.base.config import CONFIG_NAME, UserConfig, VaultConfig, environment
from smart_context.base.errors import CommandFailed, ConfigInvalid, Fault
from smart_context.base.results import TrustResult
from smart_context.host.access import EVERYBODY
from smart_context.host.commands.registry import Caller, check_owner
from smart_context.host.events.events import TRUST_CHANGED
from smart_context.host.host import Host
from smart_context.llm.openai.connection import EndpointClient
from smart_context.vault.trust.parts import admitted
from smart_context.vault.trust.views import review_view

LOOK_EACH_S = 1.0
PARTS_EACH = 4
"""Checks of the settings per check of the pinned files."""

_FRESH_NS = 1_000_000_000

Stamps = tuple[tuple[int, int, int] | None, ...]

_logger = logging.getLogger(__name__)


@dataclass(eq=False)
class Follower:
    """Follows the settings of one served vault."""

    host: Host
    stamps: Stamps  # stamps of the settings files, from before the settings were read
    client: EndpointClient  # asks endpoints, also for models that are made later
    replaced: AsyncExitStack  # closes such models at the end
    _: KW_ONLY
    each_s: float = LOOK_EACH_S  # seconds between checks
    _user: UserConfig = field(default_factory=read_user, init=False)
    _changing: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _seen: TrustResult | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._root = self.host.config.root

    async def run(self) -> None:
        """Check for changes until cancelled; failures are logged."""
        looks = 0
        while True:
            await asyncio.sleep(self.each_s)
            looks += 1
            try:
                await self._look(at_parts=looks % PARTS_EACH == 0)
            except Exception:
                _logger.exception("changed settings could not be loaded")

    async def view(self) -> TrustResult:
        """The parts that the vault asks for and those that are granted, as pages show them."""
        return await self._view_under(self.host.config)

    async def load_now(self) -> None:
        """Load the current settings and trust."""
        async with self._changing:
            await self._load(await self._stamps_now())

    async def _look(self, *, at_parts: bool) -> None:
        async with self._changing:
            stamps = await self._stamps_now()
            if stamps == self.stamps:
                if at_parts:
                    await self._look_at_parts(stamps)
            elif not _is_being_written(stamps):
                await self._load(stamps)

    async def _look_at_parts(self, stamps: Stamps) -> None:
        view, seen = await self.view(), self._seen
        self._seen = view
        if seen is None or view == seen:
            return
        if view["digest"] == seen["digest"]:
            self.host.emit(TRUST_CHANGED, view, EVERYBODY)
        else:
            await self._load(stamps)

    async def _load(self, stamps: Stamps) -> None:
        self.stamps = stamps
        config, faults = await self._read()
        self._withhold(config)
        # A change while plugins start is seen by the next check.
        self._seen = await self._view_under(config)
        if _ask_the_same(config, self.host.config):
            await self.host.reload(config)
        else:
            models = models_of(config, self.host.notes, self.client)
            await self.host.reload(config, await self.replaced.enter_async_context(models))
        if faults:  # last, since a reload reports that the settings were read
            self.host.report_faults(faults)
        else:
            _logger.info("settings loaded from %s", config.path or config.root)
        self.host.emit(TRUST_CHANGED, await self.view(), EVERYBODY)

    def _withhold(self, config: VaultConfig) -> None:
        """Send nothing more to endpoints that are no longer trusted, not even for running turns."""
        before = self.host.config
        revoked = {e.base_url for name in config.restricted if (e := getattr(before, name))}
        restricted = before.connections.keys() & config.restricted_connections
        revoked |= {before.connections[name].endpoint.base_url for name in restricted}
        in_use = {endpoint.base_url for endpoint in config.endpoints}
        self.client.withheld = (self.client.withheld | revoked) - in_use

    async def _stamps_now(self) -> Stamps:
        return await asyncio.to_thread(stamps_of, settings_files(self._root))

    async def _read(self) -> tuple[VaultConfig, Sequence[Fault]]:
        """The current settings; if they have faults, the previous ones without untrusted parts."""
        try:
            config = await asyncio.to_thread(read_vault, self._root)
            self._user = await asyncio.to_thread(read_user)
        except ConfigInvalid as error:
            grant = await asyncio.to_thread(self.host.services.trust.grant)
            previous = admitted(self.host.config, self._user, grant, environment())
            return previous, tuple(_placed(error))
        return config, ()

    async def _view_under(self, config: VaultConfig) -> TrustResult:
        review = await asyncio.to_thread(self.host.services.trust.review, config)
        return review_view(review, self._root)


def stamps_of(paths: Iterable[Path]) -> Stamps:
    """Stamps that change when the files do; the files are not read."""
    return tuple(_stamp(path) for path in paths)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _is_being_written(stamps: Stamps) -> bool:
    """True if a file was emptied just now, as some editors do before they write it."""
    now = time.time_ns()
    return any(stamp and not stamp[1] and 0 <= now - stamp[0] < _FRESH_NS for stamp in stamps)


def _ask_the_same(one: VaultConfig, other: VaultConfig) -> bool:
    """True if both have the same models and the same restricted parts."""
    return (one.chat, one.fast, one.embedding, one.restricted) == (
        other.chat,
        other.fast,
        other.embedding,
        other.restricted,
    )


def _placed(error: ConfigInvalid) -> Iterable[Fault]:
    """The faults, naming their file if it is not the vault's."""
    if error.path.name == CONFIG_NAME:
        return error.faults
    return (replace(fault, message=f"{fault.message} (in {error.path})") for fault in error.faults)


@dataclass(eq=False)
class TrustCommands:
    """The page's commands about trust."""

    host: Host
    follower: Follower  # loads changed trust

    def register(self) -> None:
        """Register the commands."""
        for name in ("trust", "grant_trust", "revoke_trust"):
            self.host.commands.register(f"system.{name}", getattr(self, name))

    async def trust(self) -> TrustResult:
        """Give what the vault asks for, what is trusted, and what is off."""
        return await self.follower.view()

    async def grant_trust(
        self, digest: str, caller: Caller, parts: list[str] | None = None
    ) -> TrustResult:
        """Trust what was reviewed; other parts stay as they are.

        Args:
            digest: The digest that `system.trust` gave with what was reviewed.
            caller: The person who asks; must be the owner of the installation.
            parts: The ids of the parts to trust; all by default.
        """
        check_owner(caller.person)
        await asyncio.to_thread(self._grant, digest, parts)
        await self.follower.load_now()
        return await self.follower.view()

    async def revoke_trust(self, caller: Caller) -> TrustResult:
        """Revoke the vault's trust: all that it asks for is off."""
        check_owner(caller.person)
        await asyncio.to_thread(self.host.services.trust.revoke)
        await self.follower.load_now()
        return await self.follower.view()

    def _grant(self, digest: str, parts: list[str] | None) -> None:
        trust = self.host.services.trust
        review = trust.review(read_vault(self.host.config.root))
        if review.digest != digest:
            raise CommandFailed(
                "This vault asks for other things: it changed since you looked. Review it."
            )
        chosen = review.restricted if parts is None else review.parts
        trust.trust(review, tuple(p for p in chosen if parts is None or p.id in parts))
