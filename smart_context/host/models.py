"""The models in use, chosen by the composition root."""

from dataclasses import dataclass

from smart_context.llm.models import ChatModel, Embedder


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Who answers, who finds topics, who embeds.

    Attributes:
        chat: Answers the user.
        fast: Finds topics; `None`: the embedded extractor does.
        embedder: Turns texts into vectors.
        chat_is_embedded: No chat model is configured; `chat` quotes passages.
    """

    chat: ChatModel
    fast: ChatModel | None
    embedder: Embedder
    chat_is_embedded: bool
