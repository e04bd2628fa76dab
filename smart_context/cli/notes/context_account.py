"""The report about a context: its items at each depth, and those left out and why."""

from collections.abc import Iterator, Sequence
from typing import Any

from smart_context.base.text.names import shown
from smart_context.base.text.scores import counted
from smart_context.cli.terminal.output import table
from smart_context.contexts import Compiled, ContextOptions, Snapshot
from smart_context.llm.tokens import count_tokens

MAX_NAMED = 50
"""The most names of a kind that are shown; of the others, only the number."""


def account_of(
    snapshot: Snapshot, compiled: Compiled, options: ContextOptions, model: str
) -> dict[str, Any]:
    """The report as JSON; sizes in characters, and in tokens as `model` counts them."""
    skipped, truncated = set(compiled.stats.skipped_items), set(compiled.stats.truncated_items)
    return {
        "items": [
            {
                "depth": depth,
                "item": key,
                "characters": len(text),
                "of_characters": snapshot.lengths.get(key, len(text)),
                "tokens": count_tokens(text, model or None),
                "truncated": key in truncated,
            }
            for depth, texts in sorted(snapshot.items.items())
            for key, text in texts.items()
            if key not in skipped
        ],
        "skipped": [
            {"item": key, "characters": snapshot.lengths.get(key)}
            for key in compiled.stats.skipped_items
        ],
        "missing": list(snapshot.missing_items),
        "ambiguous": [
            {"item": source, "link": link, "taken": found[0], "or": found[1:]}
            for source, link, found in snapshot.ambiguous_links
        ],
        "excluded_headings": dict(snapshot.exclusions),
        "characters": compiled.stats.final_length,
        "max_len": options.max_len or None,
        "tokens": count_tokens(compiled.context, model or None),
    }


def account_as_text(account: dict[str, Any]) -> str:
    """The report as a table with remarks."""
    rows = [
        (row["depth"], row["characters"], row["tokens"], _state(row), shown(row["item"]))
        for row in account["items"]
    ]
    blocks = [table(("DEPTH", "CHARACTERS", "TOKENS", "IN", "ITEM"), rows)] if rows else []
    if remarks := remarks_on(account):
        blocks.append("\n".join(remarks))
    return "\n\n".join([*blocks, sum_of(account)])


def remarks_on(account: dict[str, Any]) -> list[str]:
    """The items left out and why, and ambiguous links; one line each."""
    limit = account["max_len"]
    return [
        *_named([f"missing: {shown(name)}: not found, or not text" for name in account["missing"]]),
        *_named([_skipped(row, limit) for row in account["skipped"]]),
        *_named(
            [
                f"ambiguous: [[{shown(row['link'])}]] in {shown(row['item'])} was read as "
                f"{shown(row['taken'])}, not {', '.join(map(shown, row['or']))}"
                for row in account["ambiguous"]
            ]
        ),
        *(
            f"excluded: {counted(count, 'section')} headed '{shown(pattern)}'"
            for pattern, count in account["excluded_headings"].items()
        ),
    ]


def sum_of(account: dict[str, Any]) -> str:
    """The total, in one line."""
    count, out = len(account["items"]), len(account["skipped"])
    limit = f" of {account['max_len']:,}" if account["max_len"] else ""
    left = f", {out:,} skipped" if out else ""
    return (
        f"{counted(count, 'item')}{left} · "
        f"{account['characters']:,}{limit} characters · {account['tokens']:,} tokens"
    )


def _state(row: dict[str, Any]) -> str:
    return f"cut from {row['of_characters']:,}" if row["truncated"] else "whole"


def _skipped(row: dict[str, Any], limit: int | None) -> str:
    length = "" if row["characters"] is None else f"{row['characters']:,} characters "
    room = "" if limit is None else f" of --max-len {limit:,}"
    return f"skipped: {shown(row['item'])}: {length}exceed the rest{room}"


def _named(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:MAX_NAMED]
    if len(lines) > MAX_NAMED:
        kind = lines[0].partition(":")[0]
        yield f"{kind}: and {len(lines) - MAX_NAMED:,} more"
