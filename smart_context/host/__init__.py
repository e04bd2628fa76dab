"""The plugin host: bus, commands, pipeline, plugins."""
