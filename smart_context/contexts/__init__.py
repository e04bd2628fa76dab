"""Named contexts: lists of notes, folders and sections, and their text; see docs/contexts.md."""

from smart_context.contexts.options import ContextOptions, Template
from smart_context.contexts.render import Compiled, Stats
from smart_context.contexts.snapshot import Snapshot
from smart_context.contexts.store import SmartContext, SmartContexts

__all__ = [
    "Compiled",
    "ContextOptions",
    "SmartContext",
    "SmartContexts",
    "Snapshot",
    "Stats",
    "Template",
]
