"""Does a small model answer worse when it is offered the tools that read files?

    python -m tests.benchmarks.bench_tools BASE_URL RESULTS [--model ID]

Twenty questions that need no notes, each asked alone and with the tools of `FileTools`, by the same
words. BASE_URL is that of the model, `python -m tests.real_model.program serve PORT` serves one;
RESULTS is a file of JSON lines: each answer is kept there, and a run that stopped goes on. A call
is run on an empty folder, and its result goes back, at most three times, as in the product.

An answer is right if it has one of the accepted spellings as whole words, and no spelling that
would be wrong ("Canberra", not "Sydney or Canberra"); case and commas in numbers don't count. None
of the questions has the accepted spelling itself. No answer needs a call, so each is one for
nothing; a call that is written as text counts, too.
"""

import argparse
import asyncio
import re
import tempfile
from pathlib import Path
from types import SimpleNamespace

from smart_context.host.request.tools import answered
from smart_context.llm.models import ToolCall
from smart_context.plugin.notes.file_tools import FileTools
from tests.benchmarks.real_answers import Kept, asked

MOST_WRITTEN = 80
MOST_ROUNDS = 3
WAYS = ("without tools", "with tools")
QUESTIONS = (
    ("What is the capital of Australia? Answer in one word.", "canberra", "sydney|melbourne"),
    ("What is 17 + 26? Answer with the number only.", "43", ""),
    ("What is 12 times 12? Answer with the number only.", "144", ""),
    ("Which planet is closest to the sun? Answer in one word.", "mercury", "venus|mars"),
    ("What is the chemical symbol of gold? Answer with the symbol only.", "au", "ag|gd|fe"),
    ("Who wrote the play Hamlet? Answer with the name only.", "shakespeare", "marlowe"),
    ("How many days does a leap year have? Answer with the number only.", "366", "365"),
    ("Translate 'good morning' into French. Answer with the translation only.", "bonjour", ""),
    ("What is the opposite of 'hot'? Answer in one word.", "cold", ""),
    ("Which language is spoken most in Brazil? Answer in one word.", "portuguese", "spanish"),
    ("What is the square root of 81? Answer with the number only.", "9|nine", ""),
    ("How many minutes are in three hours? Answer with the number only.", "180", ""),
    ("What is the plural of 'mouse', the animal? Answer in one word.", "mice", "mouses"),
    ("In which year did the Second World War end? Answer with the year only.", "1945", "1944|1946"),
    ("Which gas do plants take from the air? Answer in two words.", "carbon dioxide|co2", "oxygen"),
    ("Write the word 'stone' in capital letters. Answer with the word only.", "STONE", ""),
    ("Which is larger, 0.9 or 0.11? Answer with the number only.", "0.9|.9", "0.11"),
    ("Sort these words by alphabet, with commas: pear, apple, fig.", "apple,? fig,? pear", ""),
    ("What does print(len('hello')) print in Python? Answer with the number only.", "5|five", ""),
    ("Write 5 March 2024 in the form YYYY-MM-DD. Answer with the date only.", "2024-03-05", ""),
)
"""Each with what is right and what is wrong, as regular expressions."""

_OWN_CASE = {"STONE", "au"}
"""Right only as they are asked for; `au` is `Au`."""

_CALL = re.compile(r"""["']arguments["']\s*:""")


def is_right(text, right, wrong):
    """True if an answer is right; see above."""
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    flags = re.IGNORECASE
    if right in _OWN_CASE:
        right, flags = {"au": "Au"}.get(right, right), re.NOFLAG
    has = rf"(?<![\w.])(?:{right})(?![\w])(?!\.\d)"
    if not re.search(has, text, flags):
        return False
    return not (wrong and re.search(rf"(?<!\w)(?:{wrong})(?!\w)", text, re.IGNORECASE))


def offered(folder):
    """What the product offers, on a folder."""

    async def nearest(_query, _most):
        return ()

    async def attached(_key):
        return None

    return FileTools(
        root=Path(folder),
        without=(),
        nearest=nearest,
        attached=attached,
        mode="auto",
        models=lambda: SimpleNamespace(chat_is_embedded=False),
    ).for_turn()


def answer(given, question, tools):
    """The answers of one turn, the last one to the question."""
    messages = [{"role": "user", "content": question}]
    schemas = [tool.schema() for tool in tools]
    answers = []
    for _ in range(MOST_ROUNDS):
        found = asked(
            given.base_url, given.model, messages, most_tokens=MOST_WRITTEN, tools=schemas
        )
        answers.append(found)
        if not found.calls:
            break
        calls = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in found.calls
        ]
        messages.append({"role": "assistant", "content": found.text, "tool_calls": calls})
        for call in found.calls:
            part = asyncio.run(answered(ToolCall(**call), tools))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": part["result"]})
    return answers


def measure(given, kept, tools):
    """Ask each question; first all without tools, so that a server's cache serves each way."""
    for way in WAYS:
        for question, right, wrong in QUESTIONS:
            if kept.has(question, way):
                continue
            answers = answer(given, question, tools if way == "with tools" else ())
            last = answers[-1]
            calls = [call for each in answers for call in each.calls]
            kept.add(
                *(question, way),
                right=is_right(last.text, right, wrong),
                made=[f"{call['name']}({call['arguments']})" for call in calls],
                of_all={
                    "read": sum(each.read for each in answers),
                    "cached": sum(each.cached for each in answers),
                    "seconds": sum(each.seconds for each in answers),
                },
                answer=last,
            )
            row = kept.rows[-1]
            text = " ".join(last.text.split())
            print(f"{way}: {row['right']} {row['made']} {question} | {text}", flush=True)


def show(rows):
    """Print the figures of questions that were asked in both ways."""
    found = {way: {r["key"][0]: r for r in rows if r["key"][1] == way} for way in WAYS}
    both = [question for question in found[WAYS[0]] if question in found[WAYS[1]]]
    print(f"{len(both)} questions")
    for way in WAYS if both else ():
        mine = [found[way][question] for question in both]
        called = sum(bool(row["made"]) for row in mine)
        written = sum(bool(_CALL.search(row["text"])) for row in mine)
        read, cached, seconds = (
            sum(row["of_all"][key] for row in mine) / len(mine)
            for key in ("read", "cached", "seconds")
        )
        print(
            f"{way:14}{sum(row['right'] for row in mine):3} right, {called} with a call, "
            f"{written} with one written as text; {read:.0f} tokens, {cached:.0f} of them "
            f"cached; {seconds:.1f} s"
        )
    for question in both:
        one, other = (found[way][question] for way in WAYS)
        if one["right"] != other["right"]:
            print(f"differ: {question} | {one['text']!r} | {other['text']!r}")


def main():
    """Ask, and print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("base_url")
    parser.add_argument("results", type=Path)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b")
    given = parser.parse_args()
    for question, right, wrong in QUESTIONS:
        assert not is_right(question, right, wrong), f"the question has its answer: {question}"
        assert not is_right("I don't know.", right, wrong), question
    kept = Kept(given.results)
    with tempfile.TemporaryDirectory() as folder:
        measure(given, kept, offered(folder))
    show(kept.rows)


if __name__ == "__main__":
    main()
