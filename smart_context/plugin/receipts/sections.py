"""The sections of a receipt: the parts of the request other than messages, and why they are in."""

from collections import Counter
from collections.abc import Iterator, Sequence

from smart_context.base.text.scores import counted
from smart_context.plugin.briefing.briefing import Briefing
from smart_context.plugin.briefing.recall_prompt import RecallShare
from smart_context.plugin.briefing.role_part import RolePart
from smart_context.plugin.forecast.costs import NO_TOKENS, TokensByPart
from smart_context.plugin.notes.context_prompt import ContextShare
from smart_context.plugin.receipts.receipt import ReceiptSection

MAX_PATHS = 200
"""The maximum number of a role's files that a receipt names."""


def sections_of(
    briefing: Briefing, system_tokens: int, tokens: TokensByPart = NO_TOKENS
) -> tuple[ReceiptSection, ...]:
    """The parts of a request in the order in which they are sent.

    Args:
        system_tokens: The tokens of the system prompt without role and contexts.
        tokens: The tokens of the request, for its tools and their results.
    """
    return tuple(_sections(briefing, system_tokens, tokens))


def _sections(
    briefing: Briefing, system_tokens: int, tokens: TokensByPart
) -> Iterator[ReceiptSection]:
    if system_tokens:
        yield ReceiptSection(name="System prompt", is_in=True, why="always", tokens=system_tokens)
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
