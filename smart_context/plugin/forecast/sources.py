"""The sources of the texts of a request: for each text its part, and its topic if it has one."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from smart_context.base.values import JsonObject, text_in
from smart_context.host.request.tokens import texts_of
from smart_context.llm.models import PromptMessage
from smart_context.plugin.forecast.costs import HISTORY_PARTS
from smart_context.plugin.forecast.forecasts import Forecast
from smart_context.plugin.forecast.plan import TurnPlan

_AHEAD = 3
"""A text that is in none of so many messages was changed on its way; it is passed over."""


class SourcedPart(NamedTuple):
    """A text of a request with its source."""

    text: str
    part: str  # a key of `PART_NAMES`
    topic: str = ""  # empty for none


def sources_of(forecast: Forecast, plan: TurnPlan) -> list[list[JsonObject]]:
    """The sources of each message of a complete plan; see `sources_in`."""
    return sources_in(plan.prompt, _parts(forecast, plan))


def sources_in(
    prompt: Sequence[PromptMessage], parts: Iterable[SourcedPart]
) -> list[list[JsonObject]]:
    """The sources of each message's text, and the position at which each begins.

    What the host adds, such as the result of a tool, belongs to the message before it.

    Args:
        parts: The texts in the order in which they are sent.
    """
    texts = ["\n\n".join(texts_of(message)) for message in prompt]
    found: list[list[JsonObject]] = [[] for _ in prompt]
    place = start = 0
    for part in parts:
        text = part.text.strip()
        for ahead, later in enumerate(islice(texts, place, place + _AHEAD) if text else ()):
            at = later.find(text, 0 if ahead else start)
            if at < 0:
                continue
            place, start = place + ahead, at + len(text)
            source = {"part": part.part, "topic": part.topic}
            if not found[place] or found[place][-1] | {"at": 0} != source | {"at": 0}:
                found[place].append(source | {"at": at if found[place] else 0})
            break
    before: list[JsonObject] = []
    for text, sources in zip(texts, found, strict=True):
        if text and not sources and before and before[-1]["part"] == "history":
            sources.append(before[-1] | {"at": 0})
        before = sources
    return found


def _parts(forecast: Forecast, plan: TurnPlan) -> Iterator[SourcedPart]:
    """The texts of a request in the order in which they are sent."""
    reasons = forecast.decision.selection.reasons
    if forecast.own_system:  # of another program, whose system message ours follows
        yield SourcedPart(forecast.own_system, "system")
    texts = plan.system, *plan.briefing.texts, plan.added.tools_prompt
    names = "system", "instructions", "role", "contexts", "recalls", "tools"
    yield from map(SourcedPart, texts, names)
    for position in reasons.is_in.nonzero()[0].tolist():
        part = HISTORY_PARTS[forecast.costs.parts[position]]
        topic = forecast.sent_topics.get(position, "")
        for each in forecast.decision.candidates[position].parts:
            yield SourcedPart(text_in(each.get("text")), part, topic)
    written, attached, after = plan.briefing.message.partition(plan.attached or "\0")
    yield SourcedPart(written, "message")
    yield SourcedPart(attached, "attachments")
    yield SourcedPart(after, "message")
