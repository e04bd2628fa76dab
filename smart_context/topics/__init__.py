"""The topics of a chat, and its standing instructions."""

from smart_context.topics.embedded import EmbeddedTopicExtractor
from smart_context.topics.extraction import ExtractionFailed, LlmTopicExtractor, TopicExtractor
from smart_context.topics.stored import to_stored
from smart_context.topics.values import STICKY_LABEL, Extraction, Topic

__all__ = [
    "STICKY_LABEL",
    "EmbeddedTopicExtractor",
    "Extraction",
    "ExtractionFailed",
    "LlmTopicExtractor",
    "Topic",
    "TopicExtractor",
    "to_stored",
]
