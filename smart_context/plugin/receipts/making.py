"""Makes receipts from a turn's plan and outcome."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import pairwise
from typing import Any

from smart_context.base.text.scores import counted
from smart_context.base.values import CountTokens, JsonObject
from smart_context.chat.messages import Message, MessageId
from smart_context.host.request.prompt import tokens_as_sent
from smart_context.host.request.request import AddedTexts
from smart_context.host.request.tokens import system_tokens, tokens_of_texts
from smart_context.host.turn import Turn
from smart_context.llm.models import Usage
from smart_context.plugin.briefing.briefing import Briefing
from smart_context.plugin.briefing.chat_roles import RolePart
from smart_context.plugin.briefing.recall_prompt import RecallShare
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.forecast.costs import NO_TOKENS, TokensByPart, settled
from smart_context.plugin.forecast.forecasts import Forecast
from smart_context.plugin.forecast.plan import TurnPlan
from smart_context.plugin.notes.context_prompt import ContextShare
from smart_context.plugin.receipts.receipt import (
    TOOL,
    Receipt,
    ReceiptRow,
    ReceiptSection,
    SentRequest,
    list_name,
    parameters_of,
    rows_of,
    sent_digest,
    sent_request,
    shared_prefix_tokens,
    stored_rounds,
    tools_in,
)
from smart_context.plugin.receipts.spent import BeforeTurn, spent_tokens, with_costs
from smart_context.plugin.selection.absences import absences
from smart_context.plugin.selection.last_request import LastRequest
from smart_context.plugin.settings import FilterSettings
from smart_context.relevance.reasons import Reason, ReasonKind
from smart_context.topics.values import Topic

MAX_PATHS = 200
"""The maximum number of a role's files that a receipt names."""


def sections_of(
    briefing: Briefing, system: int, tokens: TokensByPart = NO_TOKENS
) -> tuple[ReceiptSection, ...]:
    """The parts of a request in the order in which they are sent.

    Args:
        system: The tokens of the system prompt without role and contexts.
        tokens: The tokens of the request, for its tools and their results.
    """
    return tuple(_sections(briefing, system, tokens))


def _sections(briefing: Briefing, system: int, tokens: TokensByPart) -> Iterator[ReceiptSection]:
    if system:
        yield ReceiptSection(name="System prompt", is_in=True, why="always", tokens=system)
    if briefing.instructions.text:
        yield ReceiptSection(
            name="Instructions",
            is_in=True,
            why="told in every message",
            tokens=briefing.instructions.tokens,
        )
    if briefing.role.name:
        yield _role_section(briefing.role, is_shaped=not briefing.problem)
    problems = dict(briefing.contexts.problems)
    for share in briefing.contexts.prompt.shares:
        yield _context_section(share, problems.get(share.key, ""))
    for recalled in briefing.recalls.shares:
        yield _recall_section(recalled)
    for name, why, count in (
        ("Tools", "the model can ask for more", tokens.tools),
        ("Tool results", "the model asked for them", tokens.results),
    ):
        if count:
            yield ReceiptSection(name=name, is_in=True, why=why, tokens=count)


def _role_section(role: RolePart, *, is_shaped: bool) -> ReceiptSection:
    return ReceiptSection(
        name=f"Role {role.name}",
        is_in=role.config is not None,
        why=_why_role(role, is_shaped=is_shaped),
        tokens=role.tokens,
        sent=_some([path for part in role.sections for path in part.sent]),
        left_out=_some([path for part in role.sections for path in part.left_out]),
    )


def _why_role(role: RolePart, *, is_shaped: bool) -> str:
    if role.config is None:
        return role.problem
    template = role.config.template if is_shaped else ""
    words = [f"your message is put into words by {template}"] if template else []
    dropped = [f"without {part.heading}, {part.why_not}" for part in role.sections if part.why_not]
    return "; ".join(("chosen for this chat", *words, *dropped))


def _some(paths: Sequence[str]) -> tuple[str, ...]:
    if len(paths) <= MAX_PATHS:
        return tuple(paths)
    return (*paths[:MAX_PATHS], f"and {len(paths) - MAX_PATHS:,} more")


def _recall_section(share: RecallShare) -> ReceiptSection:
    content = share.content
    counts = Counter(message.reference.chat_id for message in share.sent)
    sent = [f"{title}: {counted(counts[chat], 'message')}" for chat, title in share.titles.items()]
    words = [content.problem or ("recalled" if share.sent else "no message fits or is left")]
    if share.left_out:
        words.append(f"{share.left_out:,} left out")
    if content.missing:
        words.append(f"{counted(len(content.missing), 'chat')} missing: deleted or private")
    return ReceiptSection(
        name=f"Recalled: {content.label}",
        is_in=bool(share.sent),
        why="; ".join(words),
        tokens=share.tokens,
        sent=_some(sent),
    )


def _context_section(share: ContextShare, problem: str) -> ReceiptSection:
    if problem:
        why = problem
    elif not share.sent:
        why = "over budget" if share.left_out else "it is empty"
    elif share.left_out or share.cut:
        why = "attached; not all of it fits"
    else:
        why = "attached"
    return ReceiptSection(
        name=share.key,
        is_in=bool(share.sent),
        why=why,
        tokens=share.tokens,
        sent=share.sent,
        cut=share.cut,
        left_out=share.left_out,
    )


MAX_SYSTEM_CHARACTERS = 16_000


def settings_document(
    state: FilterState, settings: FilterSettings, briefing: Briefing | None = None
) -> dict[str, Any]:
    """The settings of a turn, as receipts store them and replays take them.

    Args:
        briefing: What was sent besides the history; of recalls, only its messages are named.
    """
    return {
        "threshold": settings.similarity_threshold,
        "relevance": settings.relevance,
        "embedding_search": settings.embedding_search,
        "topics": list(state.active_topics),
        "recent_messages": settings.recent_messages,
        "keep_pairs": settings.keep_pairs,
        "context_budget_tokens": settings.context_budget_tokens,
        "pinned": list(state.pinned),
        "hidden": list(state.hidden),
        "contexts": list(state.contexts),
        **({"recalls": _recalled(state, briefing)} if state.recalls else {}),
        "role": state.role,
        "role_targets": list(state.role_targets),
        **({} if state.file_tools is None else {"file_tools": state.file_tools}),
    }


def _recalled(state: FilterState, briefing: Briefing | None) -> list[JsonObject]:
    """The recalls to store, with only the messages that were sent; all if none were."""
    sent = {
        share.content.recall_id: {message.reference for message in share.sent}
        for share in (briefing.recalls.shares if briefing else ())
    }
    kept = (
        (recall, tuple(r for r in recall.references if r in sent.get(recall.id, ())))
        for recall in state.recalls
    )
    return [
        replace(recall, references=some or recall.references).to_dict() for recall, some in kept
    ]


def receipt_of_turn(
    turn: Turn,
    plan: TurnPlan,
    forecast: Forecast,
    *,
    requests: tuple[SentRequest, SentRequest],
    models: Mapping[str, str],
    before: BeforeTurn,
    count_tokens: CountTokens,
) -> tuple[Receipt, LastRequest | None]:
    """The receipt of a finished turn, and its request as the next one's cost needs it.

    Args:
        requests: The chat's previous request, empty if unknown, and this one.
        models: The models' names, by use.
    """
    named = _named(turn, before, models)
    said = turn.message, turn.system_prompt, turn.history
    made = _made(named, plan, forecast, *said, count_tokens)
    following = turn.client.following if turn.client else ()
    current = [
        _row(m, Reason(kind=ReasonKind.CURRENT), tokens_as_sent(m, count_tokens)) for m in following
    ]
    made = _with_topics(_with_current(made, current), forecast.view.sidecar.topics)
    made = _ended(made, turn, requests, before, count_tokens)
    head = forecast.head(plan, count_tokens)
    return with_costs(made, turn, head, forecast.left_out_tokens, before, count_tokens)


def _named(turn: Turn, before: BeforeTurn, models: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a receipt that identify its turn, with outcome and models."""
    return {
        "turn": turn.id,
        "question": turn.question.id,
        "answer": turn.answer_id,
        "at": before.at,
        "outcome": _outcome(turn),
        "models": {**models, "chat": turn.client.model} if turn.client else models,
    }


def _with_topics(made: Receipt, topics: Sequence[Topic]) -> Receipt:
    """The receipt with the topics of tool results, whose tokens are summed by topic."""
    results = {row.id for row in made.rows if row.role == TOOL and not row.topic}
    if not results:
        return made
    labels = {id_: topic.label for topic in topics for id_ in topic.message_ids if id_ in results}
    rows = tuple(
        row._replace(topic=labels[MessageId(row.id)]) if row.id in labels else row
        for row in made.rows
    )
    return replace(made, rows=rows)


def _with_current(made: Receipt, current: Sequence[ReceiptRow]) -> Receipt:
    """The receipt with the messages after the question in another program's request."""
    if not current:
        return made
    tokens = sum(row.tokens for row in current)
    parts = {**made.parts, "history": made.parts["history"] + tokens}
    return replace(made, rows=(*made.rows, *current), parts=parts)


LEFT_OUT = "The oldest messages are left out: they don't fit into the model's window."
"""The note about left-out messages in a receipt that lists no messages."""


def receipt_of_passed_on(
    turn: Turn,
    *,
    requests: tuple[SentRequest, SentRequest],
    models: Mapping[str, str],
    before: BeforeTurn,
    count_tokens: CountTokens,
) -> tuple[Receipt, None]:
    """The receipt of another program's request that was passed on unchanged.

    Nothing is known about the next request.
    """
    made = Receipt(
        **_named(turn, before, models),
        settings=settings_document(FilterState(), FilterSettings()),
        parts={
            "system": replace(turn.added, tools="", images=0).tokens_beside(count_tokens),
            "tools": count_tokens(turn.added.tools) if turn.added.tools else 0,
            "history": sum(requests[1].tokens),
        },
        problem=LEFT_OUT if turn.was_cut else "",
    )
    return _ended(made, turn, requests, before, count_tokens), None


def _ended(
    made: Receipt,
    turn: Turn,
    requests: tuple[SentRequest, SentRequest],
    before: BeforeTurn,
    count_tokens: CountTokens,
) -> Receipt:
    """A receipt completed with the turn's requests, answer and outcome."""
    usage, client = turn.usage, turn.client
    previous, sent = requests
    name = list_name(turn.bodies[-1]) if turn.bodies else ""
    if sent.messages and name == "messages":
        made = _settled(made, sum(sent.tokens), turn.added, count_tokens)
    repeated = shared_prefix_tokens(
        previous, sent, count_tokens, tools_are_behind=turn.added.tools_are_behind
    )
    unchanged = repeated or 0 if before.cached else 0
    estimates = _estimates(turn, made, sent, unchanged, count_tokens)
    return replace(
        made,
        problem="\n".join(filter(None, (made.problem, _asked_again(turn)))),
        usage=_usage(usage),
        seconds=before.seconds,
        sent=sent.digest,
        prompt=sent.stored,
        parameters=parameters_of(turn.bodies[-1]) if turn.bodies else {},
        list_name=name,
        rounds=stored_rounds(turn.bodies) if sent.stored else (),
        repeated_tokens=repeated,
        spent=spent_tokens(turn.usages, estimates),
        client=client.client if client else "",
        endpoint=client.endpoint if client else "",
        kind=client.kind if client else "turn",
    )


def _settled(made: Receipt, texts: int, added: AddedTexts, count_tokens: CountTokens) -> Receipt:
    """The receipt with parts that sum up to the tokens of the request that was sent.

    Args:
        texts: The tokens of the request's messages.
    """
    return replace(made, parts=settled(made.parts, texts + added.tokens_beside(count_tokens)))


def _usage(usage: Usage | None) -> dict[str, int]:
    if usage is None:
        return {}
    cached = {} if usage.cached_tokens is None else {"cached": usage.cached_tokens}
    return {"prompt": usage.prompt_tokens, "completion": usage.completion_tokens, **cached}


def _asked_again(turn: Turn) -> str:
    """The reason why the model was asked a second time; empty if it was not."""
    if turn.refused_above is None:
        return ""
    if turn.window is not None and turn.window.is_guess:
        return (
            "The model refused a longer request and did not say how much it takes. It was sent "
            f"what fits into {turn.refused_above:,} tokens."
        )
    return (
        f"The model takes {turn.refused_above:,} tokens and refused a longer request. It was asked "
        "once more, with less."
    )


def _estimates(
    turn: Turn, made: Receipt, last: SentRequest, unchanged: int, count_tokens: CountTokens
) -> list[tuple[int, int]]:
    """The tokens of each request of a turn, and those that it shares with the one before."""
    if len(turn.bodies) < 2:  # noqa: PLR2004 - one request, as in nearly all turns
        return [(made.tokens, unchanged) for _ in turn.bodies]
    rounds: list[SentRequest] = []
    for body in turn.bodies[:-1]:
        before = rounds[-1] if rounds else last
        rounds.append(sent_request(body["messages"], before, count_tokens, tools_in(body)))
    rounds.append(last)
    besides = made.tokens - sum(last.tokens)
    behind = turn.added.tools_are_behind
    shared = [
        shared_prefix_tokens(*pair, count_tokens, tools_are_behind=behind)
        for pair in pairwise(rounds)
    ]
    return [
        (besides + sum(request.tokens), same or 0)
        for request, same in zip(rounds, (unchanged, *shared), strict=True)
    ]


def receipt_of_replay(
    plan: TurnPlan,
    forecast: Forecast,
    *,
    original: Receipt,
    count_tokens: CountTokens,
) -> Receipt:
    """The receipt that a turn would have had under other settings."""
    system = plan.briefing.system_prompt(plan.system)
    named = {
        name: getattr(original, name) for name in ("turn", "question", "answer", "at", "models")
    }
    said = plan.briefing.message, system, plan.decision.messages
    made = _made(named | {"outcome": "replayed"}, plan, forecast, *said, count_tokens)
    current = [row for row in original.rows if row.kind is ReasonKind.CURRENT]
    texts = sum(tokens_of_texts(message, count_tokens) for message in plan.prompt)
    return replace(
        _settled(_with_current(made, current), texts, plan.added, count_tokens),
        sent=sent_digest(plan.body["messages"]),
        prompt=plan.prompt,
        parameters=parameters_of(plan.body),
        list_name=list_name(plan.body),
    )


def _made(
    named: Mapping[str, Any],
    plan: TurnPlan,
    forecast: Forecast,
    message: str,
    system_prompt: str,
    history: Sequence[Message],
    count_tokens: CountTokens,
) -> Receipt:
    briefing = plan.briefing
    rows = _rows(forecast, history, count_tokens)
    said = replace(briefing, message=message)
    decided = forecast.tokens_of(replace(plan, briefing=said), count_tokens)
    parts = decided.to_dict()
    parts["history"] = max(parts["history"] + _by_plugins(rows), 0)
    briefing_with_tokens = said.with_tokens(instructions=decided.instructions, role=decided.role)
    system = system_tokens(plan.system, count_tokens)
    return Receipt(
        **named,
        settings=settings_document(forecast.view.sidecar.state, plan.settings, briefing),
        parts=parts,
        by_topic=forecast.tokens_by_topic,
        rows=rows,
        sections=sections_of(briefing_with_tokens, system, decided),
        fell_back=forecast.decision.selection.fell_back,
        cut=forecast.decision.selection.reasons.cut,
        has_probabilities=forecast.decision.selection.reasons.has_probabilities,
        problem="\n".join(filter(None, (forecast.decision.problem, briefing.problems))),
        system=plan.system[:MAX_SYSTEM_CHARACTERS],
        instructions=briefing.instructions.text,
        hidden_places=tuple(
            place.to_dict() for place in forecast.hidden_places(system_prompt, message)
        ),
    )


def _rows(
    forecast: Forecast, history: Sequence[Message], count_tokens: CountTokens
) -> tuple[ReceiptRow, ...]:
    """Every message before the question, in the chat's order, then what plugins added."""
    decision = forecast.decision
    sent = {message.id for message in history}
    decided = _decided_rows(forecast, sent)
    rows: dict[str, ReceiptRow] = {row.id: row for row in decided}
    messages = forecast.view.messages
    absent = absences(messages, decision.candidates)
    if not absent and len(rows) == len(messages) and sent.issubset(rows):
        return tuple(decided)
    added = Reason(kind=ReasonKind.ADDED)
    gone = [m for m in messages if m.id in absent]
    others = [(m, added if m.id in sent else absent[m.id].reason) for m in gone]
    others += [(m, added) for m in history if not (m.id in absent or m.id in rows)]
    rows |= {row.id: row for row in rows_of(_fields_of(others, count_tokens))}
    return (*[rows.pop(m.id) for m in messages if m.id in rows], *rows.values())


def _fields_of(
    others: Sequence[tuple[Message, Reason]], count_tokens: CountTokens
) -> Iterator[tuple[Any, ...]]:
    """The row fields of messages that the filter did not decide about; many in a long chat."""
    tokens = [tokens_as_sent(message, count_tokens) for message, _ in others]
    for (message, why), size in zip(others, tokens, strict=True):
        yield message.id, message.role, why.kind, why.score, size, why.topic, why.detail


def _decided_rows(forecast: Forecast, sent: AbstractSet[MessageId]) -> list[ReceiptRow]:
    """The rows of messages that the filter decided about; there can be ten thousand."""
    candidates, reasons = forecast.decision.candidates, forecast.decision.selection.reasons
    kinds, scores, topics = reasons.columns()
    roles = [message.role for message in candidates]
    tokens = forecast.costs.tokens.tolist()
    details = map(forecast.other_topic, reasons.ids, kinds)
    fields = zip(reasons.ids, roles, kinds, scores, tokens, topics, details, strict=True)
    rows = list(rows_of(fields))
    if frozenset(reasons.kept) != sent:
        for place, row in enumerate(rows):
            if row.is_in != (is_sent := row.id in sent):
                reason = _as_sent(forecast.reason_at(place), is_sent=is_sent)
                rows[place] = _row(candidates[place], reason, row.tokens)
    return rows


def _row(message: Message, reason: Reason, tokens: int) -> ReceiptRow:
    return ReceiptRow(
        message.id, message.role, reason.kind, reason.score, tokens, reason.topic, reason.detail
    )


def _as_sent(reason: Reason, *, is_sent: bool) -> Reason:
    """The reason, replaced if another plugin added or removed the message afterwards."""
    if reason.is_in == is_sent:
        return reason
    return Reason(kind=ReasonKind.ADDED if is_sent else ReasonKind.TAKEN_OUT)


def _by_plugins(rows: Sequence[ReceiptRow]) -> int:
    """Tokens that other plugins added to the history, minus those that they removed."""
    signs = {ReasonKind.ADDED: 1, ReasonKind.TAKEN_OUT: -1}
    return sum([signs[row.kind] * row.tokens for row in rows if row.kind in signs])


def _outcome(turn: Turn) -> str:
    if turn.error:
        return "failed"
    if turn.aborted:
        return "aborted"
    return "stopped" if turn.stopped else "finished"
