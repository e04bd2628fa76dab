"""What a real model makes of our prompt for summaries, and what the check of claims finds in it.

    python -m tests.benchmarks.bench_summaries FILE... BASE_URL RESULTS [--chats 10] [--seed 1]
        [--messages 40] [--window 8192] [--model ID] [--read]

Each FILE has dialogues in a format of `smart-context eval`; BASE_URL is that of the model,
`python -m tests.real_model.program serve PORT` serves one. Of each chat the first `--messages` are
summed up as the product does it in such a window, except that the model may take its time. RESULTS
is a file of JSON lines: each summary is kept there, and a run that stopped goes on. The data stays
outside of the repository.

Printed are the tokens before and after, the claims of each summary, those that the check marks as
said by no message, and how many summaries keep to the prompt. With `--read`, each marked claim is
shown with its sentence and the three messages that share most words with it; the answer `y` keeps
it as really wrong, and the share of these is printed. How many faults the check finds at all is
measured by `bench_claims`, which plants them.
"""

import argparse
import asyncio
import json
import random
import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed
from smart_context.base.text.words import content_words
from smart_context.cli.evaluation.dialogues import read_dialogues
from smart_context.host.request.window import DIGEST_PART_SHARE, SUMMARY_SHARE
from smart_context.llm.openai.models import OpenAIChatModel
from smart_context.llm.tokens import count_tokens
from smart_context.topics.summaries.claims import unsupported
from smart_context.topics.summaries.digest import DigestLimits, digest, without_head
from tests.benchmarks.real_answers import LONGEST_WAIT_S, Kept

SHOWN = 3


class Recording:
    """A chat model whose last reply is kept."""

    def __init__(self, model):
        self._model, self.reply = model, ""

    def __getattr__(self, name):
        return getattr(self._model, name)

    async def complete(self, messages, **wishes):
        """The model's reply."""
        found = await self._model.complete(messages, **wishes)
        self.reply = found.text
        return found


def chats_in(given):
    """As many beginnings of dialogues, from all files in turn."""
    pick, hands = random.Random(given.seed), []
    for path in given.files:
        hand = [replace(each, name=f"{path.stem} {each.name}") for each in read_dialogues(path)[1]]
        pick.shuffle(hand)
        hands.append(hand)
    rounds = range(max(map(len, hands)))
    dealt = [hand[n] for n in rounds for hand in hands if n < len(hand)]
    return [(each.name, each.messages[: given.messages]) for each in dealt[: given.chats]]


async def sum_up(given, kept):
    """Sum up the chats that are not in the results."""
    settings = EndpointSettings(
        base_url=given.base_url, model=given.model, timeout_s=LONGEST_WAIT_S, max_retries=0
    )
    model = Recording(OpenAIChatModel(settings))
    limits = DigestLimits(
        part_tokens=int(DIGEST_PART_SHARE * given.window),
        summary_tokens=int(SUMMARY_SHARE * given.window),
    )
    for name, messages in chats_in(given):
        if kept.has(name, len(messages)):
            continue
        began = time.monotonic()
        try:
            text = await digest(messages, "", model, limits, or_quotes=False)
        except ModelFailed as failure:
            print(f"{name}: {failure}", flush=True)
            continue
        notes = without_head(text)
        marked = unsupported(notes, messages)
        kept.add(
            *(name, len(messages)),
            before=sum(count_tokens(message.text, None) for message in messages),
            after=count_tokens(notes, None),
            seconds=time.monotonic() - began,
            is_json=is_object(model.reply),
            claims=len(unsupported(notes, [])),
            marked=marked,
            summary=notes,
            near={claim: near(claim, notes, messages) for claim in marked},
        )
        row = kept.rows[-1]
        print(f"{name}: {row['before']} -> {row['after']} tokens, marked {marked}", flush=True)


def is_object(reply):
    """True if a reply is the JSON object that the prompt asks for, in a fence or bare."""
    bare = re.sub(r"\A\s*```(?:json)?\n|\n```\s*\Z", "", reply)
    try:
        return isinstance(json.loads(bare), dict)
    except ValueError:
        return False


def near(claim, notes, messages):
    """The line of a claim, and the messages that share most words with it."""
    line = next((line for line in notes.splitlines() if claim in " ".join(line.split())), claim)
    wanted = set(content_words(line))
    by_words = sorted(messages, key=lambda m: -len(wanted & set(content_words(m.text))))
    return [line, *(message.text for message in by_words[:SHOWN])]


def read(kept, path):
    """Ask a reader which of the marked claims are really wrong; keeps the verdicts in RESULTS."""
    for row in kept.rows:
        verdicts = row.setdefault("wrong", {})
        for claim in row["marked"]:
            if claim not in verdicts:
                line, *said = row["near"][claim]
                print(f"\nThe summary: {line}\n" + "\n".join(f"  said: {text}" for text in said))
                verdicts[claim] = input(f"Is {claim!r} wrong? [y/n] ").strip().lower() == "y"
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in kept.rows]
    path.write_text("".join(lines), encoding="utf-8")


def show(rows):
    """Print the figures."""
    sums = Counter()
    for row in rows:
        sums.update({key: row[key] for key in ("before", "after", "claims", "is_json")})
        sums["marked"] += len(row["marked"])
        sums["chats with marks"] += bool(row["marked"])
        sums["longer"] += row["after"] >= row["before"]
        sums["read"] += len(row.get("wrong", {}))
        sums["wrong"] += sum(row.get("wrong", {}).values())
    print(f"{len(rows)} chats: {sums['before']} tokens before, {sums['after']} after")
    print(f"not shorter than the messages: {sums['longer']}")
    print(f"replies that are the object asked for: {sums['is_json']}")
    print(
        f"claims: {sums['claims']}; marked: {sums['marked']}, in {sums['chats with marks']} chats"
    )
    if sums["read"]:
        print(f"marked claims that a reader judged: {sums['read']}; wrong: {sums['wrong']}")


def main():
    """Sum up, and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("base_url")
    parser.add_argument("results", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--chats", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--messages", type=int, default=40)
    parser.add_argument("--window", type=int, default=8192)
    parser.add_argument("--read", action="store_true")
    given = parser.parse_args()
    kept = Kept(given.results)
    asyncio.run(sum_up(given, kept))
    if given.read:
        read(kept, given.results)
    show(kept.rows)


if __name__ == "__main__":
    main()
