"""Makes receipts, from what a turn decided and what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from smart_context.chat.messages import Message, MessageId
from smart_context.host.turn import Turn
from smart_context.llm.models import PromptMessage
from smart_context.plugin.briefing.briefing import Briefing
from smart_context.plugin.briefing.chat_contexts import Assembled
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.forecast.forecasts import Look, whole
from smart_context.plugin.forecast.parts import places
from smart_context.plugin.forecast.previews import absent_from
from smart_context.plugin.notes.context_prompt import Share
from smart_context.plugin.receipts.receipt import Receipt, Row, Section, kept_prompt, sent_digest
from smart_context.plugin.receipts.unchanged import unchanged_tokens
from smart_context.plugin.selection.selector import ChatView, Decision
from smart_context.plugin.settings import FilterSettings
from smart_context.relevance.reasons import Reason, ReasonKind
from smart_context.values import CountTokens

MAX_SYSTEM_CHARACTERS = 16_000
MAX_PATHS = 200
"""Most files of a role that a receipt names."""


@dataclass(slots=True, kw_only=True)
class Draft:
    """What a turn decided, until it is over.

    Attributes:
        view: The chat as the turn found it.
        decision: What is sent of it.
        settings: What held.
        briefing: What goes with the message.
        system: The system prompt before that.
        attached: What of the message is attached texts.
    """

    view: ChatView
    decision: Decision
    settings: FilterSettings
    briefing: Briefing = field(default_factory=Briefing)
    system: str = ""
    attached: str = ""


def settings_view(state: FilterState, settings: FilterSettings) -> dict[str, Any]:
    """What decides about a turn, as receipts keep it and replays take it."""
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
        "role": state.role,
        "role_targets": list(state.role_targets),
    }


def receipt_of_turn(
    turn: Turn,
    draft: Draft,
    look: Look,
    *,
    before: Sequence[PromptMessage] = (),
    at: str,
    models: Mapping[str, str],
    count_tokens: CountTokens,
) -> Receipt:
    """The receipt of a turn that is over.

    Args:
        turn: The turn.
        draft: What it decided.
        look: The same with what it costs.
        before: The chat's request before; empty if that is not known.
        at: When, ISO 8601.
        models: Names by use.
        count_tokens: Counts for the model that was asked.
    """
    made = _made(draft, look, turn.message, turn.system_prompt, turn.history, count_tokens)
    usage = turn.usage
    return replace(
        made,
        turn=turn.id,
        question=turn.question.id,
        answer=turn.answer_id,
        at=at,
        outcome=_outcome(turn),
        models=models,
        usage={"prompt": usage.prompt_tokens, "completion": usage.completion_tokens}
        if usage
        else {},
        sent=sent_digest(turn.sent) if turn.sent else {},
        prompt=kept_prompt(turn.sent),
        unchanged=unchanged_tokens(before, turn.sent, count_tokens)
        if before and turn.sent
        else None,
    )


def receipt_of_replay(
    draft: Draft,
    look: Look,
    prompt: Sequence[PromptMessage],
    *,
    original: Receipt,
    count_tokens: CountTokens,
) -> Receipt:
    """The receipt that a turn would have under other settings."""
    system = draft.briefing.system_prompt(draft.system)
    made = _made(draft, look, draft.briefing.message, system, draft.decision.messages, count_tokens)
    return replace(
        made,
        turn=original.turn,
        question=original.question,
        answer=original.answer,
        at=original.at,
        outcome="replayed",
        models=original.models,
        sent=sent_digest(prompt),
        prompt=tuple(prompt),
    )


def _made(
    draft: Draft,
    look: Look,
    message: str,
    system_prompt: str,
    history: Sequence[Message],
    count_tokens: CountTokens,
) -> Receipt:
    briefing = draft.briefing
    rows = _rows(look, history, count_tokens)
    said = replace(briefing, message=message)
    decided = whole(look, said, count_tokens, draft.attached)
    system = max(count_tokens(system_prompt) - count_tokens(briefing.system_prompt("")), 0)
    parts = replace(decided, system=decided.system + system).to_dict()
    parts["history"] = max(parts["history"] + _by_plugins(rows), 0)
    return Receipt(
        turn="",
        question="",
        answer="",
        at="",
        outcome="",
        settings=settings_view(look.view.sidecar.state, draft.settings),
        models={},
        parts=parts,
        rows=rows,
        sections=(
            *_system_section(system),
            *_role_sections(briefing),
            *_sections(briefing.contexts),
        ),
        fell_back=look.decision.selection.fell_back,
        problem="\n".join(filter(None, (look.decision.problem, briefing.problems))),
        system=draft.system[:MAX_SYSTEM_CHARACTERS],
        unseen=tuple(places(look.decision, look.costs, system_prompt, message)),
    )


def _rows(look: Look, history: Sequence[Message], count_tokens: CountTokens) -> tuple[Row, ...]:
    """Every message before the question, in the chat's order, then what plugins added."""
    decision = look.decision
    sent = {message.id for message in history}
    rows: dict[MessageId, Row] = {}
    for position, message in enumerate(decision.candidates):
        reason = _as_sent(decision.selection.reasons.at(position), is_sent=message.id in sent)
        tokens = int(look.costs.tokens[position])
        rows[message.id] = Row(id=message.id, role=message.role, reason=reason, tokens=tokens)
    others = absent_from(look.view.messages, decision.candidates)
    known = {message.id for message, _ in others} | rows.keys()
    others += [(m, Reason(kind=ReasonKind.ADDED)) for m in history if m.id not in known]
    for message, reason in others:
        rows[message.id] = Row(
            id=message.id,
            role=message.role,
            reason=_as_sent(reason, is_sent=message.id in sent),
            tokens=count_tokens(message.text),
        )
    order = dict.fromkeys((*(message.id for message in look.view.messages), *rows))
    return tuple(rows[message_id] for message_id in order if message_id in rows)


def _as_sent(reason: Reason, *, is_sent: bool) -> Reason:
    """The reason, unless another plugin had the last word."""
    if reason.is_in == is_sent:
        return reason
    return Reason(kind=ReasonKind.ADDED if is_sent else ReasonKind.TAKEN_OUT)


def _by_plugins(rows: Sequence[Row]) -> int:
    """Tokens that other plugins added to the history, less those that they took out."""
    signs = {ReasonKind.ADDED: 1, ReasonKind.TAKEN_OUT: -1}
    return sum(signs.get(row.reason.kind, 0) * row.tokens for row in rows)


def _system_section(tokens: int) -> tuple[Section, ...]:
    if not tokens:
        return ()
    return (Section(name="System prompt", is_in=True, why="always", tokens=tokens),)


def _role_sections(briefing: Briefing) -> list[Section]:
    """The role, as one section."""
    role = briefing.role
    if not role.name:
        return []
    section = Section(
        name=f"Role {role.name}",
        is_in=role.config is not None,
        why=_why_role(briefing),
        tokens=role.tokens,
        sent=_some([path for part in role.sections for path in part.sent]),
        left_out=_some([path for part in role.sections for path in part.left_out]),
    )
    return [section]


def _why_role(briefing: Briefing) -> str:
    role = briefing.role
    if role.config is None:
        return role.problem
    template = role.config.template
    words = [f"your message is put into words by {template}"] if template else []
    dropped = [f"without {part.heading}, {part.why_not}" for part in role.sections if part.why_not]
    return "; ".join(("chosen for this chat", *(() if briefing.problem else words), *dropped))


def _some(paths: Sequence[str]) -> tuple[str, ...]:
    if len(paths) <= MAX_PATHS:
        return tuple(paths)
    return (*paths[:MAX_PATHS], f"and {len(paths) - MAX_PATHS:,} more")


def _sections(contexts: Assembled) -> list[Section]:
    problems = dict(contexts.problems)
    return [_section(share, problems.get(share.key, "")) for share in contexts.prompt.shares]


def _section(share: Share, problem: str) -> Section:
    if problem:
        why = problem
    elif not share.sent:
        why = "over budget" if share.left_out else "it is empty"
    elif share.left_out or share.cut:
        why = "attached; not all of it fits"
    else:
        why = "attached"
    return Section(
        name=share.key,
        is_in=bool(share.sent),
        why=why,
        tokens=share.tokens,
        sent=share.sent,
        cut=share.cut,
        left_out=share.left_out,
    )


def _outcome(turn: Turn) -> str:
    if turn.error:
        return "failed"
    if turn.aborted:
        return "aborted"
    return "stopped" if turn.stopped else "finished"
