"""`system.status`: which vault this is and which models answer, for the page to show."""

from dataclasses import asdict
from typing import Any

from smart_context import __version__
from smart_context.base.config import VaultConfig
from smart_context.host.host import Host
from smart_context.host.request.window import window_of

EMBEDDED_EXTRACTOR = "embedded topic extractor"


def register_status(host: Host) -> None:
    """Register the command."""

    async def status() -> dict[str, Any]:
        """Give the vault, its models and the state of each plugin."""
        config: VaultConfig = host.config
        models = host.models
        window = window_of(config.chat)
        return {
            "version": __version__,
            "vault": config.name,
            "chat_model": models.chat.name,
            "fast_model": models.fast.name if models.fast else EMBEDDED_EXTRACTOR,
            "embedding_model": models.embedder.name,
            "chat_is_embedded": models.chat_is_embedded,
            "chat_is_restricted": models.chat_is_embedded and "chat" in config.restricted,
            "chat_window": window.tokens if window else None,
            "chat_takes_images": config.chat is not None and config.chat.images,
            "plugins": [asdict(state) for state in host.plugins.states()],
        }

    host.commands.register("system.status", status)
