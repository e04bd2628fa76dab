"""How many tokens a local server reads again in ten turns, and why.

    python -m tests.benchmarks.bench_cache BASE_URL RESULTS [--turns 10] [--model ID]
        [--ways relay plain picked note extraction]

BASE_URL is that of the model, `python -m tests.real_model.program serve PORT` serves one: it has to
count what it had cached (`usage.prompt_tokens_details`, as llama.cpp does), and nobody else should
ask it meanwhile. RESULTS is a file of JSON lines: each way is kept there when it is done, and a run
that stopped goes on with the next.

Each way asks the same questions, about two subjects, in a chat of its own:

- `relay`: all messages in a row, by a program that adds and leaves out nothing.
- `plain`: a vault of the product's, without a model for topics.
- `picked`: from the fifth turn on, a topic is picked; from the eighth on, none.
- `note`: from the fifth turn on, a note is attached.
- `extraction`: after each answer, the same model finds the topics.

Of each turn are shown the tokens of the request; those that the server read; those that are at the
beginning of the request before it, as the product's cost line has them; the first message that
differs from that request, with the words before and after; and the reread tokens: what the server
read besides the last answer and the new question, which each program must let it read. Where a turn
has reread tokens though its request only continues the one before, the server has dropped it for
another program's request.
"""

import argparse
import json
import tempfile
import time
import urllib.request
from pathlib import Path

from smart_context.llm.tokens import count_tokens
from tests.benchmarks.real_answers import LONGEST_WAIT_S, Kept, asked
from tests.serving import TOKEN, serving

WAYS = ("relay", "plain", "picked", "note", "extraction")
BRIEF = "Answer in one short sentence. "
QUESTIONS = (
    "How long does a sourdough bread rise at room temperature?",
    "Which language is easier for a beginner, Spanish or Finnish?",
    "And how hot should the oven be for that bread?",
    "How many cases does the Finnish language have?",
    "Which sourdough flour gives the strongest dough?",
    "What does a steel pan do for the crust of the bread?",
    "How do I know that the bread is baked through?",
    "How many words of Spanish does one need for a simple talk?",
    "Why do Spanish verbs have two forms of the past?",
    "How should I store a sourdough bread overnight?",
)
PICK_AT, CLEAR_AT = 4, 7
TOPIC = "sourdough bread"
NOTE = f"# Bread, by the log of {time.time_ns()}\n\n" + "\n".join(
    f"- Loaf {number}: {300 + 10 * number} g of flour, {200 + 5 * number} g of water, "
    f"{number + 4} hours of rest."
    for number in range(1, 13)
)
"""Another one in each run: a server remembers what it has read."""

MOST_WRITTEN = 60
MARKS = 16
"""The most tokens that a template puts around an answer and a question."""


def settings_of(given, has_fast):
    """A vault's settings, with the model for topics or without."""
    fast = f'fast = "{given.model}"\n' if has_fast else ""
    return (
        f'[llm]\nbase_url = "{given.base_url}"\ntimeout_s = {LONGEST_WAIT_S}\nmax_retries = 0\n'
        f'[llm.categories]\nchat = "{given.model}"\n{fast}'
    )


def command(server, name, /, **params):
    """The result of a command, however long it takes."""
    request = urllib.request.Request(
        f"{server.origin}/api/commands/{name}",
        data=json.dumps(params).encode(),
        headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=LONGEST_WAIT_S) as response:
        return json.loads(response.read())["result"]


def relayed(given):
    """Each turn of a program that adds nothing."""
    messages = []
    for question in QUESTIONS[: given.turns]:
        messages.append({"role": "user", "content": f"{BRIEF}{question}"})
        found = asked(given.base_url, given.model, messages, most_tokens=MOST_WRITTEN)
        yield turn(list(messages), found.read, found.cached, found.written, {})
        messages.append({"role": "assistant", "content": found.text})


def served(given, way, folder):
    """Each turn of a chat of the product's."""
    (folder / ".vault.toml").write_text(settings_of(given, way == "extraction"), encoding="utf-8")
    (folder / "Bread.md").write_text(NOTE, encoding="utf-8")
    env = {"XDG_CONFIG_HOME": str(folder.parent / "config")}
    with serving(folder, env=env) as server:
        chat_id = command(server, "chat.new")["chat_id"]
        for number, question in enumerate(QUESTIONS[: given.turns]):
            steer(server, way, number, chat_id)
            command(server, "chat.send", chat_id=chat_id, message=f"{BRIEF}{question}")
            receipt = command(server, "smart_context.receipt", chat_id=chat_id)
            used = receipt["usage"]
            yield turn(
                receipt["prompt"],
                *(used["prompt"], used.get("cached", 0), used["completion"]),
                receipt["cost"],
            )
            if way == "extraction":
                command(server, "smart_context.refresh_topics", chat_id=chat_id, wait=True)


def steer(server, way, number, chat_id):
    """What the user does before a turn."""
    if way == "picked" and number in {PICK_AT, CLEAR_AT}:
        topics = [TOPIC] if number == PICK_AT else []
        command(server, "smart_context.set_filter", chat_id=chat_id, topics=topics)
    if way == "note" and number == PICK_AT:
        command(server, "smart_context.save_context", key="Bread", items=["Bread.md"])
        command(server, "smart_context.attach_context", chat_id=chat_id, key="Bread")


def turn(prompt, read, cached, written, cost):
    """A turn, as it is kept."""
    return {
        "prompt": [[message["role"], message.get("content") or ""] for message in prompt],
        "read": read,
        "cached": cached,
        "written": written,
        "cost": {key: cost.get(key) for key in ("unchanged", "reread")} if cost else {},
    }


def difference(before, now):
    """Where a request no longer is the one before: the message's number, and the words."""
    for place, (old, new) in enumerate(zip(before, now, strict=False)):
        if old != new:
            return place, f"{new[0]}: {start(old[1])!r} became {start(new[1])!r}"
    if len(now) < len(before):
        return len(now), "it is shorter"
    return len(before), ""


def start(text):
    """The first words of a text."""
    words = " ".join(text.split())
    return words if len(words) <= 40 else f"{words[:40]}…"


def show(way, turns):
    """Print a way's turns, and give the tokens that were read again."""
    print(f"{way}\n  turn  tokens    read  reread  as before  reason")
    total, before = 0, None
    for number, each in enumerate(turns, 1):
        fresh = each["read"] - each["cached"]
        again, why = 0, "the first request"
        if before is not None:
            place, why = difference(before["prompt"], each["prompt"])
            question = count_tokens(f"{BRIEF}{QUESTIONS[number - 1]}", None)
            again = max(0, fresh - before["written"] - question - MARKS)
            if why:
                why = f"from message {place + 1} of {len(each['prompt'])} on, {why}"
            elif again:
                why = "it continues the one before, which the server no longer had"
        total += again
        line = each["cost"].get("unchanged", "")
        print(f"  {number:4}{each['read']:8}{fresh:8}{again:8}{line!s:>11}  {why}")
        before = each
    return total


def main():
    """Talk in each way, and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("base_url")
    parser.add_argument("results", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    parser.add_argument("--turns", type=int, default=len(QUESTIONS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    given = parser.parse_args()
    kept = Kept(given.results)
    for way in given.ways:
        if kept.has(way, given.turns):
            continue
        with tempfile.TemporaryDirectory() as work:
            folder = Path(work) / "vault"
            folder.mkdir()
            turns = relayed(given) if way == "relay" else served(given, way, folder)
            kept.add(way, given.turns, turns=list(turns))
        print(f"{way}: done", flush=True)
    totals = {row["key"][0]: show(row["key"][0], row["turns"]) for row in kept.rows}
    print("reread in all: " + ", ".join(f"{way} {total}" for way, total in totals.items()))


if __name__ == "__main__":
    main()
