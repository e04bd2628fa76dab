"""Puts the parts together: storage, models, host. Knows every implementation."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from smart_context.base.caches import Caches
from smart_context.base.config import (
    CONFIG_NAME,
    USER_CONFIG_NAME,
    EndpointSettings,
    SettingSpec,
    UserConfig,
    VaultConfig,
    read_config,
    read_user_config,
    user_folder,
)
from smart_context.base.config.access import USER_VARIABLE, command_line_person
from smart_context.base.config.files import NOTHING
from smart_context.base.config.provider_keys import FILE_NAME as KEYS_NAME
from smart_context.base.config.provider_keys import provider_keys
from smart_context.base.config.storage import StorageSettings, no_driver, storage_in
from smart_context.base.environment import environment
from smart_context.base.errors import CommandFailed
from smart_context.base.installed import how_to_add
from smart_context.base.processes.child import Child, Children
from smart_context.base.values import OWNER, PersonId
from smart_context.chat.compaction import compaction_points
from smart_context.chat.files.attached_file import ReadText, reading_in
from smart_context.chat.files.attachments import AttachmentResolver
from smart_context.chat.files.file_text import text_of
from smart_context.chat.history import ContextBuilderOptions, build_context
from smart_context.chat.messages import Message
from smart_context.host.host import Host, HostOptions
from smart_context.host.models import NO_TEXTS, Models
from smart_context.host.plugins.loader import declared_settings
from smart_context.host.request.shortening import with_results_within
from smart_context.host.request.window import (
    ATTACHED_SHARE,
    DIGEST_PART_SHARE,
    SUMMARY_SHARE,
    Window,
    window_of,
)
from smart_context.llm.estimating import utf8_bytes
from smart_context.llm.models import ChatModel, Embedder
from smart_context.llm.offers import Offers
from smart_context.llm.offline.every_language import EveryLanguageEmbedder
from smart_context.llm.offline.responder import PassageResponder
from smart_context.llm.openai.asking import ServerInformant
from smart_context.llm.openai.connection import EndpointClient
from smart_context.llm.openai.models import OpenAIChatModel, OpenAIEmbedder
from smart_context.llm.openai.trial import asked_models
from smart_context.storage.files.caches import FileCaches
from smart_context.storage.files.storage import file_storage
from smart_context.storage.guarded.storage import SharedStorage, guarded
from smart_context.storage.ports import Events, Storage
from smart_context.topics.summaries.digest import PART_TOKENS, SUMMARY_TOKENS, DigestLimits, digest
from smart_context.vault.followed import FollowedVault
from smart_context.vault.trust.parts import admitted
from smart_context.vault.trust.vault import RECORD_NAME, TrustRecord, VaultTrust

_SAFELY = 0.95

WindowOf = Callable[[EndpointSettings | None], Window | None]
"""Gives the window of a model; `None` if unknown."""


@dataclass(eq=False)
class WindowedHistoryBuilder:
    """Builds the history of a turn; satisfies `HistoryBuilder`."""

    config: Callable[[], VaultConfig]  # returns the current settings
    window: WindowOf = window_of

    async def __call__(
        self,
        messages: Sequence[Message],
        /,
        *,
        files: AttachmentResolver,
        unstored: Mapping[str, str] = NO_TEXTS,
    ) -> list[Message]:
        """The messages that a turn sends, the current one last."""
        config = self.config()
        window = self.window(config.chat)
        built = await build_context(
            messages,
            ContextBuilderOptions(
                attachment_resolver=_Overlay(unstored, files) if unstored else files,
                compaction_points=compaction_points(messages),
                model_support_tool_use_for_file=_reads_files(config),
                fit_attachments=None if window is None else partial(_fitting, window),
            ),
        )
        return built if window is None else with_results_within(built, window)


@dataclass(eq=False)
class _Overlay:
    """Reads texts that are not stored yet, then the stored ones."""

    unstored: Mapping[str, str]
    stored: AttachmentResolver

    async def read(self, id: str) -> str | None:  # noqa: A002 - the name in the protocol
        return self.unstored.get(id) or await self.stored.read(id)


def _fitting(window: Window, texts: Sequence[str]) -> list[int]:
    """The number of characters to send of each text, to keep all within their share."""
    left = window.share_of_room(ATTACHED_SHARE)
    lengths: list[int] = []
    for text in texts:
        tokens = utf8_bytes(text)
        if tokens > left:
            tokens = window.count(text)
        if tokens > left:
            length, tokens = int(len(text) * left / tokens * _SAFELY), left
        else:
            length = len(text)
        lengths.append(length)
        left -= tokens
    return lengths


def _reads_files(config: VaultConfig) -> bool:
    settings = config.plugins.get("smart_context", {})
    offers = settings.get("enabled") is True and settings.get("file_tools") != "off"
    return offers and config.chat is not None


class WindowedSummarizer:
    """Writes summaries; satisfies `Summarizer`.

    Args:
        config: Returns the current settings.
        window: Gives the window of a model.
    """

    def __init__(self, config: Callable[[], VaultConfig], window: WindowOf = window_of) -> None:
        self._config = config
        self._window = window

    async def __call__(
        self,
        messages: Sequence[Message],
        previous: str,
        model: ChatModel | None,
        /,
        *,
        instructions: str = "",
        or_quotes: bool = True,
    ) -> str:
        """A summary in Markdown; see `digest`."""
        limits = self._limits()
        return await digest(
            messages, previous, model, limits, instructions=instructions, or_quotes=or_quotes
        )

    def _limits(self) -> DigestLimits:
        config = self._config()
        answerer = self._window(config.chat)
        reader = self._window(config.fast) if config.fast else answerer
        windows = [window for window in (reader, answerer) if window is not None]
        part = reader.share(DIGEST_PART_SHARE) if reader else PART_TOKENS
        summary = min((window.share(SUMMARY_SHARE) for window in windows), default=SUMMARY_TOKENS)
        return DigestLimits(
            part_tokens=min(part, PART_TOKENS), summary_tokens=min(summary, SUMMARY_TOKENS)
        )


FILE_READERS = (
    *("smart_context.chat.files.file_text", "fontTools.cffLib"),
    *("pypdf", "pypdf.filters", "pypdf._encryption", "pypdf._crypt_providers", "pypdf.*"),
)
"""The modules that the child for attached files imports in advance."""

FORMATTERS = (
    *("smart_context.web.pages.markup.message_html", "bisect"),
    *("pygments.lexers", "pygments.formatters.html", "pygments.*", "latex2mathml.converter"),
    *("smart_context.packing.templates.costly", "smart_context.packing.templates.templates"),
    *("jinja2.*", "html", "pprint", "random", "textwrap"),
)
"""The modules that the child for formatting and templates imports in advance.

The list must be complete: a process that imports more later has to be replaced.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultParts:
    """The parts that a vault's settings require."""

    config: VaultConfig
    storage: Storage  # all of it; its `for_person` gives what one person may use
    people: SharedStorage | None = None  # guards a storage of several people; `None` for one person
    children: Children
    notes: FollowedVault
    models: Models
    # asks endpoints, for models and the gateway
    client: EndpointClient = field(default_factory=EndpointClient)


def read_vault(root: Path) -> VaultConfig:
    """The settings of the vault at `root`, checked against its plugins' declarations.

    Endpoints that the user does not trust are left out.

    Raises:
        ConfigInvalid: With every fault of `.vault.toml`, of the user's `config.toml`, or of the
            environment.
    """
    declared = declared_settings(root)
    user = read_user(declared)
    config = read_config(root, plugin_settings=user.defaults(declared))
    environ = environment()
    config = admitted(config, user, trust_of(root).grant(), environ, provider_keys().of)
    return replace(config, storage=storage_in(environ, config.storage))


def read_user(declared: Mapping[str, Mapping[str, SettingSpec]] = NOTHING) -> UserConfig:
    """The user's settings for all vaults, with those settings of plugins that are declared.

    Raises:
        ConfigInvalid: With every fault.
    """
    return read_user_config(user_folder(), declared)


def open_storage(root: Path) -> Storage:
    """The storage of the vault at `root`, for the command line's person; reads nothing yet.

    Raises:
        CommandFailed: If `SMART_CONTEXT_USER` names nobody.
    """
    config = read_vault(root)
    storage = storage_of(config)
    people = people_of(config, storage)
    if people is None:
        return storage
    return people.storage.for_person(command_line_person(environment(), config.access))


def has_people(config: VaultConfig) -> bool:
    """True if several people may have chats in a vault."""
    return config.access.has_people or bool(environment().get(USER_VARIABLE))


def people_of(config: VaultConfig, storage: Storage) -> SharedStorage | None:
    """The guards in front of a storage that several people share; `None` for one person's."""
    return guarded(storage) if has_people(config) else None


def storage_of(config: VaultConfig, read_text: ReadText = text_of) -> Storage:
    """The storage that a vault's settings name; reads and writes nothing yet.

    Raises:
        CommandFailed: If the database needs something that is not installed.
    """
    if not config.storage.url:
        return file_storage(config.memory, read_text=read_text, has_people=has_people(config))
    caches = FileCaches(config.memory, makes_folder=True)
    return database_storage(config.storage, caches, read_text=read_text)


def database_storage(
    settings: StorageSettings, caches: Caches, *, read_text: ReadText = text_of
) -> Storage:
    """The storage in a database; imports its driver only when called.

    Raises:
        CommandFailed: If a driver is not installed.
    """
    try:
        from smart_context.storage.postgres.storage import postgres_storage  # noqa: PLC0415
    except ImportError as error:
        raise CommandFailed(no_driver()) from error
    events = _redis(settings.events) if settings.events else None
    return postgres_storage(settings.url, caches, read_text=read_text, events=events)


def _redis(url: str) -> Callable[[Callable[[], Awaitable[str]]], Events]:
    try:
        from smart_context.storage.redis_events import RedisEvents  # noqa: PLC0415
    except ImportError as error:
        raise CommandFailed(
            f"Redis needs a driver that is not installed here. To add it: {how_to_add('team')}"
        ) from error
    return partial(RedisEvents, url)


def notes_of(config: VaultConfig, caches: Caches) -> FollowedVault:
    """The vault's notes; reads nothing yet."""

    def is_trusted() -> bool:
        return not trust_of(config.root).review(config).restricted

    return FollowedVault(config.root, config.memory_dir, caches=caches, may_keep_words=is_trusted)


@asynccontextmanager
async def models_of(
    config: VaultConfig, notes: FollowedVault, client: EndpointClient
) -> AsyncIterator[Models]:
    """The configured models; their own resources are closed at the end.

    Args:
        notes: Quoted in answers when no chat model is configured.
    """
    async with AsyncExitStack() as closing:
        embedder = _embedder(config.embedding, client, closing)
        chat: ChatModel
        if config.chat is None:
            chat = PassageResponder(embedder, notes, is_restricted="chat" in config.restricted)
        else:
            chat = OpenAIChatModel(config.chat, client)

        @cache
        def other(endpoint: EndpointSettings) -> ChatModel:
            return OpenAIChatModel(endpoint, client)

        yield Models(
            chat=chat,
            fast=None if config.fast is None else OpenAIChatModel(config.fast, client),
            embedder=embedder,
            chat_is_embedded=config.chat is None,
            embedder_is_embedded=config.embedding is None,
            other=other,
        )


@asynccontextmanager
async def composed(config: VaultConfig) -> AsyncIterator[VaultParts]:
    """Storage and models of a vault; no plugin runs."""
    children = _children()
    stored = storage_of(config, reading_in(children.files))
    people = people_of(config, stored)
    storage = people.storage if people else stored
    notes = notes_of(config, storage.caches)
    client = EndpointClient()
    async with models_of(config, notes, client) as models:
        try:
            yield VaultParts(
                config=config,
                storage=storage,
                people=people,
                children=children,
                notes=notes,
                client=client,
                models=models,
            )
        finally:
            await client.aclose()
            children.close()
            await storage.chats.close()
            storage.close()


@asynccontextmanager
async def running_host(root: Path) -> AsyncIterator[Host]:
    """A host that runs the vault's plugins, for one use on the command line.

    Raises:
        ConfigInvalid: If `.vault.toml` has faults.
    """
    async with composed(read_vault(root)) as parts:
        access, has_people = parts.config.access, parts.people is not None
        person = command_line_person(environment(), access) if has_people else OWNER
        host = make_host(parts, person=person)
        await host.start()
        try:
            yield host
        finally:
            await host.stop()


def make_host(parts: VaultParts, *, repairs: bool = False, person: PersonId = OWNER) -> Host:
    """The host of a vault, not started yet; a server's also `repairs` chats after crashes.

    Args:
        person: Who uses it without a gate, as on the command line.
    """

    def window(endpoint: EndpointSettings | None) -> Window | None:
        return host.window_of(endpoint)

    host = Host(
        config=parts.config,
        storage=parts.storage,
        models=parts.models,
        notes=parts.notes,
        trust=trust_of(parts.config.root),
        build_history=WindowedHistoryBuilder(lambda: host.config, window),
        options=HostOptions(
            digest=WindowedSummarizer(lambda: host.config, window),
            repairs=repairs,
            people=parts.people,
            person=person,
            informant=ServerInformant(parts.client),
            offers=Offers(asked_models, parts.client.answered),
            person_writes=parts.client.traffic.person_writes,
            children=parts.children,
        ),
    )
    return host


async def plugin_states(root: Path) -> list[dict[str, Any]]:
    """The state of each plugin when the vault is served."""
    async with running_host(root) as host:
        plugins: list[dict[str, Any]] = (
            await host.commands.call("system.plugins", {}, host.caller)
        )["plugins"]
        return plugins


def trust_of(root: Path) -> VaultTrust:
    """The user's trust in the vault at `root`."""
    return VaultTrust(root, trust_record())


def trust_record() -> TrustRecord:
    """The record of what the user trusts."""
    return TrustRecord(user_folder() / RECORD_NAME)


def settings_files(root: Path) -> tuple[Path, ...]:
    """The files with the settings and the trust of the vault at `root`; any may be missing."""
    folder = user_folder()
    names = (USER_CONFIG_NAME, RECORD_NAME, KEYS_NAME)
    return root / CONFIG_NAME, *(folder / name for name in names)


def _children() -> Children:
    environ = environment()
    return Children(
        files=Child(FILE_READERS, environ=environ), texts=Child(FORMATTERS, environ=environ)
    )


def _embedder(
    endpoint: EndpointSettings | None, client: EndpointClient, closing: AsyncExitStack
) -> Embedder:
    embedder = EveryLanguageEmbedder() if endpoint is None else OpenAIEmbedder(endpoint, client)
    closing.push_async_callback(embedder.aclose)
    return embedder
