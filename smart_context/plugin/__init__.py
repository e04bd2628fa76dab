"""Smart Context itself: the plugin that the host loads through plugin.toml."""

from smart_context.plugin.composition import SmartContextPlugin

__all__ = ["SmartContextPlugin"]
