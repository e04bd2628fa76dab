"""Packs files, changes and a task into one prompt that keeps to a budget (contract C, seed 001)."""

from smart_context.packing.packer import ContextPacker
from smart_context.packing.roles import RoleConfig, RoleContext, RoleLoader

__all__ = ["ContextPacker", "RoleConfig", "RoleContext", "RoleLoader"]
