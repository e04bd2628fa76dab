"""Finds the topics of a chat with a language model."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from smart_context.base.errors import ModelFailed, SmartContextError
from smart_context.chat.messages import Message
from smart_context.llm.models import ChatModel
from smart_context.topics.clusters.keywords import Keywords
from smart_context.topics.prompting.prompt import extraction_prompt
from smart_context.topics.prompting.reply import ReplyUnusable, parsed_reply
from smart_context.topics.reconciling import reconciled
from smart_context.topics.values import MOST_READ, Extraction, Previous, Topic

NOTHING_BEFORE = Previous()

MAX_PROMPT_TOKENS = 24_000
"""Fits into the window of current small models, with room for the reply."""


class ExtractionFailed(SmartContextError):
    """No topics were found; the stored ones stay.

    Attributes:
        reason: The cause, in words for the panel.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class TopicExtractor(Protocol):
    """Finds the topics and the standing instructions of a chat."""

    async def extract(
        self,
        messages: Sequence[Message],
        *,
        previous: Previous = NOTHING_BEFORE,
        regroup: bool = False,
    ) -> Extraction:
        """The topics of the whole chat; none for a chat without text.

        Args:
            messages: All messages, oldest first.
            previous: What the last extraction left: its topics change only for a reason.
            regroup: Group the chat as if it was new; only labels are reused, where they fit.

        Raises:
            ExtractionFailed: If the model fails or its reply is unusable.
        """


class LlmTopicExtractor:
    """Asks a chat model, once, for the topics of the whole chat.

    Args:
        model: The model.
        keywords: Remembers the words of chats from one extraction to the next.
        max_prompt_tokens: What fits into the model's window.
    """

    def __init__(
        self,
        model: ChatModel,
        keywords: Keywords | None = None,
        *,
        max_prompt_tokens: int = MAX_PROMPT_TOKENS,
    ) -> None:
        self._model = model
        self._keywords = keywords or Keywords()
        self._max_prompt_tokens = max_prompt_tokens

    async def extract(
        self,
        messages: Sequence[Message],
        *,
        previous: Previous = NOTHING_BEFORE,
        regroup: bool = False,
    ) -> Extraction:
        """See `TopicExtractor`; a chat longer than the window is shortened, not cut off."""
        messages = [message for message in messages if is_readable(message)]
        if not any(message.text.strip() for message in messages):
            return Extraction()
        prompt = await asyncio.to_thread(
            extraction_prompt,
            messages,
            previous=previous.topics,
            max_tokens=self._max_prompt_tokens,
        )
        try:
            reply = await self._model.complete(prompt.messages, json_reply=True)
            found = parsed_reply(reply.text, messages, shown_share=prompt.shown_share)
        except ModelFailed as failure:
            raise ExtractionFailed(f"{self._model.name} did not answer: {failure}") from failure
        except ReplyUnusable as fault:
            words = f"{self._model.name} gave no list of topics ({fault})."
            raise ExtractionFailed(f"{words} Another model may do better.") from fault
        title = found.title
        found = await asyncio.to_thread(reconciled, found, previous, messages, regroup=regroup)
        found = replace(found, title=title)
        return await asyncio.to_thread(with_keywords, found, messages, self._keywords)


def is_readable(message: Message) -> bool:
    """True if a message can be about a topic: finished, and more than quoted passages."""
    return message.is_complete and not message.is_extracted


def with_keywords(
    extraction: Extraction, messages: Sequence[Message], keywords: Keywords
) -> Extraction:
    """The same topics with the keywords that set each one's messages apart."""
    places = {message.id: place for place, message in enumerate(messages)}
    groups = [[places[i] for i in topic.message_ids if i in places] for topic in extraction.topics]
    found = keywords.of([message.text[:MOST_READ] for message in messages], groups)
    topics = tuple(
        replace(topic, keywords=words)
        for topic, words in zip(extraction.topics, found, strict=True)
    )
    return replace(extraction, topics=topics)


__all__ = [
    "MAX_PROMPT_TOKENS",
    "NOTHING_BEFORE",
    "Extraction",
    "ExtractionFailed",
    "LlmTopicExtractor",
    "Topic",
    "TopicExtractor",
    "is_readable",
    "with_keywords",
]
