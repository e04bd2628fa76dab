"""The parts that a vault wants to use, the user's grants, and the endpoints they allow. Pure."""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from smart_context.base.config import (
    CATEGORIES,
    Connection,
    EndpointSettings,
    UserConfig,
    VaultConfig,
)
from smart_context.base.config.access import BY_TOKEN, AccessSettings
from smart_context.base.config.storage import IN_FILES, StorageSettings

TrustKind = Literal[
    "endpoint", "plugins", "roles", "instructions", "agents", "storage", "access", "git"
]


class Pin(NamedTuple):
    """The exact content that consent is given to."""

    kind: TrustKind  # the kind of the part
    content: str = ""  # the digest of its files, or the address of the endpoint
    api_key_env: str = ""  # the environment variable with the endpoint's key
    category: str = ""  # the category of models that the endpoint is asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSet:
    """The files of a part as they are now."""

    digest: str  # of all names and contents
    # the digest of each file, by its path with `/`
    files: Mapping[str, str] = field(default_factory=dict)
    # files that can't be trusted: links, special files, too large or unreadable ones
    refused: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """True if there is nothing to trust."""
        return not (self.files or self.refused)


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultPart:
    """A part of a vault that can act, reviewed and granted as a whole.

    An endpoint that is used for another category, too, keeps its grant for the reviewed ones.
    """

    pin: Pin  # its content; of an endpoint, without a category
    # the categories of models of an endpoint, or the plugins that are turned on
    used_for: tuple[str, ...] = ()
    # the models of an endpoint, each with its category before it
    models: tuple[tuple[str, str], ...] = ()
    files: FileSet | None = None  # the files of plugins and roles
    text: str = ""  # the text of instructions
    is_in_use: bool = True  # True if something is missing while it is off

    @property
    def id(self) -> str:
        """The part's id on the page and in commands; changes with its content."""
        return " ".join(filter(None, self.pin))

    @property
    def pins(self) -> frozenset[Pin]:
        """The pins that consent is given to; for an endpoint, one for each category."""
        if self.pin.kind != "endpoint":
            return frozenset({self.pin})
        return frozenset(self.pin._replace(category=category) for category in self.used_for)

    @property
    def refused(self) -> tuple[str, ...]:
        """Files that keep the part from being trusted."""
        return self.files.refused if self.files else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The user's grants to a vault."""

    pins: frozenset[Pin] = frozenset()  # the trusted contents
    granted_at: str = ""  # when consent was last given, as ISO 8601; empty for never

    def covers(self, part: VaultPart) -> bool:
        """True if the part is trusted as it is now."""
        return part.pins <= self.pins and not part.refused

    def was_for(self, part: VaultPart) -> bool:
        """True if the part was trusted with another content, or an endpoint for other models."""
        return any(pin.kind == part.pin.kind for pin in self.pins) and not self.covers(part)


NOTHING_GRANTED = Grant()


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The parts that a vault wants to use, compared with its grants."""

    parts: tuple[VaultPart, ...] = ()
    grant: Grant = NOTHING_GRANTED

    @property
    def restricted(self) -> tuple[VaultPart, ...]:
        """The parts that are off."""
        return tuple(part for part in self.parts if not self.grant.covers(part))

    @property
    def missed(self) -> tuple[VaultPart, ...]:
        """The parts that are off although they are in use."""
        return tuple(part for part in self.restricted if part.is_in_use)

    @property
    def digest(self) -> str:
        """A digest of all parts, so that only reviewed parts are granted."""
        listed = [[*sorted(part.pins), *part.refused, *part.models] for part in self.parts]
        return hashlib.sha256(json.dumps(listed).encode()).hexdigest()

    def part(self, kind: TrustKind) -> VaultPart | None:
        """The part of a kind, if there is one."""
        return next((part for part in self.parts if part.pin.kind == kind), None)


def parts_of(pins: Iterable[Pin]) -> list[VaultPart]:
    """The parts that were pinned; the categories of one endpoint are one part."""
    used_for: dict[Pin, list[str]] = {}
    for pin in pins:
        categories = used_for.setdefault(pin._replace(category=""), [])
        categories += [pin.category] if pin.category else []
    return [VaultPart(pin=pin, used_for=tuple(categories)) for pin, categories in used_for.items()]


def granted_after(review: Review, chosen: Collection[VaultPart], *, granted_at: str) -> Grant:
    """The grant after the user chose parts; drops pins that the vault no longer has."""
    wanted = frozenset(pin for part in review.parts if not part.refused for pin in part.pins)
    added = frozenset(pin for part in chosen for pin in part.pins)
    return Grant(pins=(wanted & review.grant.pins) | added, granted_at=granted_at)


def files_by_folder(names: Sequence[str]) -> Mapping[str, list[str]]:
    """Paths by their first folder; paths without a folder are under an empty name."""
    grouped: dict[str, list[str]] = {}
    for name in names:
        folder, slash, _ = name.partition("/")
        grouped.setdefault(folder if slash else "", []).append(name)
    return grouped


AGENTS_PIN = Pin("agents")
"""The pin of a vault's setting that agents may change filters."""


def admitted(
    config: VaultConfig,
    user: UserConfig,
    grant: Grant,
    environ: Mapping[str, str],
    stored_key: Callable[[str], str | None] = lambda _: None,
) -> VaultConfig:
    """The settings with the endpoints in use, each with its key.

    An endpoint that the vault names overrides the user's own, in the categories that it is trusted
    for, and so do its connections. The key of an untrusted one is never looked up. A vault that
    wants an embedded model gets it. Where no chat model is named, the first connection with a model
    answers.

    Args:
        stored_key: Returns the key that the user entered for a base URL.
    """
    restricted = frozenset(
        category
        for category, endpoint in config.named.items()
        if endpoint is not None and endpoint_pin(category, endpoint) not in grant.pins
    )
    chosen = {
        **user.endpoints,
        **{name: named for name, named in config.named.items() if name not in restricted},
    }
    admitted_connections = {
        key: named
        for key, named in config.named_connections.items()
        if connection_pin(named) in grant.pins
    }
    connections = {
        key: replace(one, endpoint=one.endpoint.with_key(environ, stored_key))
        for key, one in {**user.connections, **admitted_connections}.items()
    }
    in_use = {
        category: (found := chosen.get(category)) and found.with_key(environ, stored_key)
        for category in CATEGORIES
    }
    if "chat" not in chosen:
        chosen_last = (one.endpoint for one in connections.values() if one.endpoint.model)
        in_use["chat"] = next(chosen_last, None)
    named = config.named_instructions
    is_told = not named or instructions_pin(named) in grant.pins
    return replace(
        config,
        instructions=named if named and is_told else user.instructions,
        agents_may_write=_may_agents_write(config, user, grant),
        chat=in_use["chat"],
        fast=in_use["fast"],
        embedding=in_use["embedding"],
        user_roles=user.roles,
        connections=connections,
        restricted=restricted,
        restricted_connections=frozenset(config.named_connections) - admitted_connections.keys(),
        prices=config.prices if config.prices.by_pattern else user.prices,
        storage=_storage(config, user, grant),
        cache_ttl_s=user.cache_ttl_s if config.cache_ttl_s is None else config.cache_ttl_s,
        access=_access(config, user, grant),
    )


def _may_agents_write(config: VaultConfig, user: UserConfig, grant: Grant) -> bool:
    """The user's setting; a vault may forbid it, but allow it only if it is trusted with that."""
    named = config.named_agents_may_write
    if named is None:
        return user.agents_may_write
    return named and (user.agents_may_write or AGENTS_PIN in grant.pins)


def _storage(config: VaultConfig, user: UserConfig, grant: Grant) -> StorageSettings:
    """The storage that a trusted vault names, else the user's."""
    named = config.named_storage
    return named if named != IN_FILES and storage_pin(named) in grant.pins else user.storage


def storage_pin(storage: StorageSettings) -> Pin:
    """The pin of the database that a vault names, without its password."""
    return Pin("storage", storage.shown)


def _access(config: VaultConfig, user: UserConfig, grant: Grant) -> AccessSettings:
    """The access settings of a trusted vault, else the user's.

    An untrusted vault may name a proxy on this machine, but no provider and no other machine; and
    only if the user has set nothing.
    """
    named = config.named_access
    if named is None:
        return user.access
    if access_pin(named) in grant.pins:
        return named
    return named.from_this_machine if user.access == BY_TOKEN else user.access


def access_part(config: VaultConfig, grant: Grant) -> VaultPart | None:
    """The vault's access settings as a part; `None` if they need no trust and have none.

    They need trust if they reach beyond this machine, or override the user's.
    """
    named = config.named_access
    if named is None:
        return None
    part = VaultPart(pin=access_pin(named))
    needs_none = named == named.from_this_machine and config.access in (named, BY_TOKEN)
    return part if not needs_none or grant.covers(part) else None


def access_pin(access: AccessSettings) -> Pin:
    """The pin of a vault's access settings."""
    return Pin("access", access.digest)


def endpoint_pin(category: str, endpoint: EndpointSettings) -> Pin:
    """The pin of an endpoint for one category of models."""
    return Pin("endpoint", endpoint.base_url, endpoint.api_key_env, category)


def connection_pin(connection: Connection) -> Pin:
    """The pin of a connection: chats may choose its models to answer."""
    return endpoint_pin("chat", connection.endpoint)


def instructions_pin(text: str) -> Pin:
    """The pin of the instructions that a vault brings."""
    return Pin("instructions", hashlib.sha256(text.encode()).hexdigest())
