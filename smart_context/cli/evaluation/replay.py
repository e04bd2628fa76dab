"""Replays dialogues turn by turn, with the extractor that a vault without a model has."""

from collections.abc import Sequence
from dataclasses import replace

from smart_context.chat.messages import Message
from smart_context.cli.evaluation.data.dialogues import Dialogue
from smart_context.cli.evaluation.measures.agreement import agreement
from smart_context.cli.evaluation.measures.growth import Growth, growth_of, narrowest
from smart_context.topics.extraction import TopicExtractor
from smart_context.topics.identity import with_ids
from smart_context.topics.values import Extraction, Previous, Topic


async def replayed(dialogue: Dialogue, extractor: TopicExtractor, *, start: int = 0) -> Growth:
    """The measures of a dialogue that grows by one question with its answers at a time.

    Args:
        start: The number of messages at the beginning.
    """
    steps = await steps_of(dialogue.messages, extractor, start=start)
    found = growth_of(steps)
    subjects = dialogue.groups or dialogue.segments
    if not subjects or not steps:
        return found
    whole = with_ids((await extractor.extract(dialogue.messages)).topics)
    ids = [message.id for message in dialogue.messages]
    grown, fresh = (
        agreement(ids, [frozenset(t.message_ids) for t in narrowest(topics)], [], subjects)
        for topics in (steps[-1], whole)
    )
    return replace(found, gained=(grown.adjusted_rand - fresh.adjusted_rand,))


async def steps_of(
    messages: Sequence[Message], extractor: TopicExtractor, *, start: int = 0
) -> list[tuple[Topic, ...]]:
    """The topics after each question with its answers; the first time after `start` messages."""
    ends = [n for n, message in enumerate(messages) if n > 0 and message.role == "user"]
    previous = Previous()
    steps: list[tuple[Topic, ...]] = []
    for end in (*(end for end in ends if end >= start), len(messages)):
        found: Extraction = await extractor.extract(messages[:end], previous=previous)
        topics = with_ids(found.topics, previous.topics)
        previous = Previous(topics=topics, seen=messages[end - 1].id)
        steps.append(topics)
    return steps
