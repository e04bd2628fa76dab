"""What a host shares with its commands and plugins."""

from dataclasses import dataclass

from smart_context.base.processes.child import Children
from smart_context.host.access import Access
from smart_context.host.chosen_model import CurrentSettings
from smart_context.host.commands.registry import CommandRegistry
from smart_context.host.events.bus import EventBus, EventRelay
from smart_context.host.models import HistoryBuilder, Summarizer
from smart_context.host.panels import Panels
from smart_context.host.request.completion import RequestCompletion
from smart_context.host.request.tools import ToolSupport
from smart_context.host.tasks import Stops
from smart_context.storage.ports import Storage
from smart_context.vault.followed import FollowedVault
from smart_context.vault.trust.vault import VaultTrust


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The parts of a host that others use.

    Attributes:
        current: The settings and models in use now.
        bus: Carries the phases of turns.
        relay: Carries events to clients and plugins.
        commands: What clients can ask for.
        access: Decides what is whose.
        panels: What plugins show next to a chat.
        storage: The vault's chats, and what stands beside them.
        notes: The vault's notes.
        children: Processes for work that may take too long or too much memory.
        trust: What the vault may do.
        tool_support: Which models take no tools.
        completion: Completes requests before they are sent.
        build_history: Makes a history from stored messages.
        digest: Writes summaries.
        stops: What a user can stop in a chat besides its turn.
    """

    current: CurrentSettings
    bus: EventBus
    relay: EventRelay
    commands: CommandRegistry
    access: Access
    panels: Panels
    storage: Storage
    notes: FollowedVault
    children: Children
    trust: VaultTrust
    tool_support: ToolSupport
    completion: RequestCompletion
    build_history: HistoryBuilder
    digest: Summarizer
    stops: Stops
