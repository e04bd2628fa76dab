"""Building the history of a long chat, beside LangChain's `trim_messages` and one pass.

    python -m tests.benchmarks.bench_history [--messages 10000] [--rounds 15]

"One pass" counts the tokens of each message that is kept, at four characters a token, which is
what `trim_messages` is told to do. Both run in turn; medians in milliseconds. The goals are at
most 0.2 times `trim_messages`, when langchain-core is installed, and at most twice one pass.
"""

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Callable

from smart_context.chat.history import CompactionPoint, ContextBuilderOptions, build_context
from smart_context.chat.messages import Message

try:
    from langchain_core import messages as langchain
except ImportError:
    langchain = None

TEXT = "What we said about the garden, the budget and the plan of last year. " * 3
KEPT = {"90 %": 0.9, "5 %": 0.05}


class NothingStored:
    async def read(self, id):  # noqa: A002  the seed's name
        return None


def chat(count: int, *, with_tools: bool = False) -> list[Message]:
    return [
        Message(
            id=f"m{number}",
            role="assistant" if number % 2 else "user",
            content=parts(number) if with_tools and number % 10 == 1 else TEXT,
        )
        for number in range(count)
    ]


def parts(number: int) -> tuple[dict[str, str], ...]:
    call = {"type": "tool_call", "state": "result", "tool_call_id": f"c{number}", "result": "x"}
    return ({"type": "text", "text": TEXT}, call)


def tokens(messages) -> int:
    return sum(len(message.content) // 4 for message in messages)


def langchain_trim(messages, count: int) -> Callable[[], object]:
    kinds = {"user": langchain.HumanMessage, "assistant": langchain.AIMessage}
    theirs = [kinds[message.role](message.content) for message in messages]
    return lambda: langchain.trim_messages(
        theirs, max_tokens=count * (len(TEXT) // 4), token_counter=tokens, strategy="last"
    )


def median_ms(work: Callable[[], object], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def building(messages, **fields) -> Callable[[], object]:
    loop = asyncio.new_event_loop()
    options = ContextBuilderOptions(NothingStored(), **fields)
    return lambda: loop.run_until_complete(build_context(messages, options))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    chosen = parser.parse_args()
    plain = chat(chosen.messages)
    for name, share in KEPT.items():
        count = int(chosen.messages * share)
        kept = plain[-count:]
        ours = median_ms(building(plain, max_context_message_count=count - 1), chosen.rounds)
        one_pass = median_ms(lambda kept=kept: tokens(kept), chosen.rounds)
        line = f"kept {name:>4}: ours {ours:.2f} ms, one pass {one_pass:.2f} ms"
        if langchain:
            theirs = median_ms(langchain_trim(plain, count), chosen.rounds)
            line += f", trim_messages {theirs:.2f} ms, ratio {ours / theirs:.2f}"
        sys.stdout.write(line + "\n")
    middle = f"m{chosen.messages // 2}"
    points = (CompactionPoint(middle, middle, 0),)
    for name, work in {
        "a tool call in every tenth message": building(chat(chosen.messages, with_tools=True)),
        "compacted in the middle": building(plain, compaction_points=points),
    }.items():
        sys.stdout.write(f"{name}: ours {median_ms(work, chosen.rounds):.2f} ms\n")


if __name__ == "__main__":
    main()
