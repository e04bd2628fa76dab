"""Builds the history of each turn from the stored messages (contract E), as the settings say."""

from collections.abc import Callable, Sequence

from smart_context.chat.attachments import AttachmentResolver
from smart_context.chat.compaction import compaction_points
from smart_context.chat.history import ContextBuilderOptions, build_context
from smart_context.chat.messages import Message
from smart_context.config import VaultConfig


class Histories:
    """Makes histories; satisfies `HistoryBuilder`.

    Args:
        files: Reads attachments.
        config: Gives the settings in use now.
    """

    def __init__(self, files: AttachmentResolver, config: Callable[[], VaultConfig]) -> None:
        self._files = files
        self._config = config

    async def __call__(self, messages: Sequence[Message]) -> list[Message]:
        """What a turn sends of these messages, the current one last."""
        config = self._config()
        return await build_context(
            messages,
            ContextBuilderOptions(
                attachment_resolver=self._files,
                compaction_points=compaction_points(messages),
                model_support_tool_use_for_file=_reads_files(config),
            ),
        )


def _reads_files(config: VaultConfig) -> bool:
    settings = config.plugins.get("smart_context", {})
    offers = settings.get("enabled") is True and settings.get("file_tools") != "off"
    return offers and config.chat is not None
