"""Measures what a new chat recalls of all dialogues at once, beside simple methods.

Each method puts the messages in an order. What fits into the same budget is then decided, and
worded, by the code that words requests.
"""

from collections.abc import Iterable, Sequence

from smart_context.chat.messages import ChatId, Message
from smart_context.cli.evaluation.data.dialogues import Dialogue
from smart_context.cli.evaluation.measures.measures import Baselines, RecalledEvidence
from smart_context.llm.models import Embedder
from smart_context.llm.tokens import count_tokens
from smart_context.plugin.briefing.chat_recalls import DEFAULT_TOKENS
from smart_context.plugin.briefing.recall_prompt import (
    RecallContent,
    RecalledMessage,
    recalls_prompt,
)
from smart_context.plugin.choices.recalls import Reference
from smart_context.relevance.archive.card import card_of
from smart_context.relevance.archive.ranking import Archive, ranked
from smart_context.relevance.judge.calibrate import Scale, scale_for
from smart_context.relevance.vectors.warm import key_of

_MOST_THAT_FIT = DEFAULT_TOKENS // 16


async def recalled_evidence(
    dialogues: Sequence[Dialogue], embedder: Embedder, scale: Scale | None = None
) -> list[RecalledEvidence]:
    """For each question, the share of its evidence that each method recalls.

    Args:
        dialogues: Each is one chat.
        embedder: Its vectors are those of the messages and questions.
        scale: That of its cosines; `None` as in a vault without a calibration.

    Raises:
        ModelFailed: If the embedder fails.
    """
    rows = [(dialogue, message) for dialogue in dialogues for message in dialogue.messages]
    vectors = await embedder.embed([message.text for _, message in rows])
    keys = [key_of(message.id, message.text) for _, message in rows]
    begin, cards = 0, []
    for dialogue in dialogues:
        end = begin + len(dialogue.messages)
        card = card_of(dialogue.messages, is_private=False)
        cards.append(card.with_vectors(keys[begin:end], vectors[begin:end]))
        begin = end
    archive = Archive([_id(dialogue) for dialogue in dialogues], cards)
    units = [_unit(dialogue, message, place) for place, (dialogue, message) in enumerate(rows)]
    places = {unit.reference: place for place, unit in enumerate(units)}
    simple = Baselines.of([message.text for _, message in rows], vectors, [0] * len(rows))
    found: list[RecalledEvidence] = []
    for dialogue in dialogues:
        queries = await embedder.embed([question.text for question in dialogue.questions])
        for question, query in zip(dialogue.questions, queries, strict=True):
            ranking = ranked(archive, question.text, query, scale=scale or scale_for(embedder.name))
            found_places = [places[Reference(*message)] for message in ranking.messages]
            orders: dict[str, Sequence[int]] = {"recall": found_places}
            for name, order in simple.orders(question.text, query).items():
                orders[name] = order.tolist()
            wanted = {Reference(_id(dialogue), message_id) for message_id in question.evidence}
            shares = {
                name: len(wanted & _sent(units[place] for place in order[:_MOST_THAT_FIT]))
                / len(wanted)
                for name, order in orders.items()
            }
            found.append(RecalledEvidence(dialogue=dialogue.name, shares=shares))
    return found


def _id(dialogue: Dialogue) -> ChatId:
    return ChatId(dialogue.name)


def _unit(dialogue: Dialogue, message: Message, place: int) -> RecalledMessage:
    return RecalledMessage(
        reference=Reference(_id(dialogue), message.id),
        title=dialogue.name,
        date=message.created_at[:10],
        role=message.role,
        text=message.text,
        when=("", "", place),
    )


def _sent(units: Iterable[RecalledMessage]) -> set[Reference]:
    """What a request has of these messages, the best first."""
    content = RecallContent(
        recall_id="", label="", max_tokens=DEFAULT_TOKENS, messages=tuple(units)
    )
    (share,) = recalls_prompt([content], count_tokens=count_tokens).shares
    return {message.reference for message in share.sent}
