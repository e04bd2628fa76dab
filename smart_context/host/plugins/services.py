"""The parts of a host that its plugins and its server use."""

from collections.abc import Callable
from dataclasses import dataclass

from smart_context.base.processes.child import Children
from smart_context.host.access import Access
from smart_context.host.commands.registry import CommandRegistry
from smart_context.host.events.bus import EventBus, EventRelay
from smart_context.host.models import (
    CurrentSettings,
    HistoryBuilder,
    Summarizer,
)
from smart_context.host.panels import Panels
from smart_context.host.tasks import StoppableTasks
from smart_context.host.turns.pipeline import Pipeline
from smart_context.llm.offers import Offers
from smart_context.storage.ports import Storage
from smart_context.vault.followed import FollowedVault
from smart_context.vault.trust.vault import VaultTrust


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of a host that others use."""

    current: CurrentSettings  # the settings and models in use now
    bus: EventBus  # carries the phases of turns
    relay: EventRelay  # carries events to clients and plugins
    commands: CommandRegistry  # the commands for clients and plugins
    access: Access  # decides who may use what
    panels: Panels  # the panels that plugins show next to a chat
    storage: Storage  # the vault's chats, with the documents and files that belong to them
    notes: FollowedVault  # the vault's notes
    children: Children  # processes for work that may take too long or too much memory
    trust: VaultTrust  # the rights of the vault
    pipeline: Pipeline  # takes turns through their phases
    build_history: HistoryBuilder  # makes a history from stored messages
    digest: Summarizer  # writes summaries
    offers: Offers  # the models that connections offer
    stops: StoppableTasks  # work in a chat, besides its turn, that a user can stop
    person_writes: Callable[[], None]  # called when a message is being written
