"""Packs files, changes and a task into one prompt within a token budget."""

from smart_context.packing.packer import ContextPacker
from smart_context.packing.roles import RoleConfig, RoleContext, RoleLoader

__all__ = ["ContextPacker", "RoleConfig", "RoleContext", "RoleLoader"]
