"""Smart Context itself: the plugin that the host loads through plugin.toml."""
