"""What a small model on one's own machine has to bear: each aim, and whether it is met.

    python -m tests.benchmarks.bench_real_model [--url BASE_URL] [--only AIM...]

It fetches and serves the real model of `tests/real_model/program.py`. With `--url`, the server of
llama.cpp there is asked, except for what needs one of its own; it should serve nobody else
meanwhile. `--only` measures some of the aims, by the names of their functions.

Everything is asked of a real server of the product, as its page does, but for the names of topics:
they come from the same judge that its background asks.
"""

import argparse
import asyncio
import json
import statistics
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from smart_context.chat.messages import Message
from tests.benchmarks.bench_cache import command, settings_of
from tests.benchmarks.bench_topic_names import Chat, Recording, Remembering, judged, rand
from tests.benchmarks.real_answers import size_of, tokens_of
from tests.kinds_of_text import texts_by_kind
from tests.real_model.program import MODEL, WINDOW, install, served
from tests.serving import serving
from tests.topics.chats import chat as chat_of_lines
from tests.topics.named_chats import NAMED_CHATS
from tests.vaults import about, write_chat

DEMO_CHAT = Path(__file__).parents[2] / "smart_context/demo_vault/memory/year-of-projects.json"
SUBJECTS = {
    **dict.fromkeys(range(2, 12), "solar panels"),
    **dict.fromkeys(range(14, 24), "a database"),
    **dict.fromkeys(range(24, 34), "Japan"),
    **dict.fromkeys(range(34, 44), "bread"),
    **dict.fromkeys(range(44, 52), "the piano"),
    **dict.fromkeys(range(52, 60), "hiring"),
}
"""What each message of that chat is about, by its place."""

SHORT = "Say yes in one word."
QUESTIONS = 5
LONGER = " ".join(["All the bread of the town is baked here."] * 90)
NAMING_BEGINS_S = 600
IN_TURN = """\
{%- set said = messages[1:] if messages[0].role == 'system' else messages -%}
{%- for message in said -%}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) -%}
{{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
{%- endif -%}
{%- endfor -%}
{%- for message in messages -%}
{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}{%- endif -%}
"""
NO_SYSTEM = """\
{%- if messages[0].role == 'system' -%}
{{ raise_exception('System role not supported') }}
{%- endif -%}
"""
TEMPLATES = (IN_TURN, NO_SYSTEM + IN_TURN)
"""They take what those of Mistral and Gemma take."""

THOUGHT, SAID = "She wants a number. Two and two.", "Four."
THOUGHTS = (
    f"{THOUGHT}\n</think>\n\n{SAID}",
    f"<think>\n{THOUGHT}\n</think>\n\n{SAID}",
    f"<thinking>\n{THOUGHT}\n</thinking>\n\n{SAID}",
    f"[THINK]{THOUGHT}[/THINK]{SAID}",
    f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>{SAID}",
)


@dataclass(frozen=True, kw_only=True)
class Aim:
    """What is wanted, and what was found."""

    name: str
    figure: str
    wanted: str
    is_met: bool


@contextmanager
def product(base_url: str, *, has_fast: bool = False, **chats: list[dict]) -> Iterator:
    """A server of the product, with a vault that has these chats."""
    given = SimpleNamespace(base_url=base_url, model=MODEL)
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work) / "vault"
        folder.mkdir()
        (folder / ".vault.toml").write_text(settings_of(given, has_fast), encoding="utf-8")
        for chat_id, messages in chats.items():
            write_chat(folder, chat_id, messages)
        with serving(folder, env={"XDG_CONFIG_HOME": str(folder.parent / "config")}) as server:
            yield server


def demo_messages() -> list[dict]:
    """Sixty messages about six subjects."""
    messages = json.loads(DEMO_CHAT.read_text(encoding="utf-8"))["messages"]
    return [{key: each[key] for key in ("id", "role", "content")} for each in messages]


def answer_of(server, chat_id: str, message: str) -> dict:
    """The answer to a message, as it is stored."""
    with suppress(urllib.error.HTTPError):  # what failed is stored, too
        command(server, "chat.send", chat_id=chat_id, message=message)
    return command(server, "memory.load_chat", chat_id=chat_id)["messages"][-1]


def is_answered(answer: dict) -> bool:
    """True for an answer without an error."""
    return bool(answer["role"] == "assistant" and answer["content"] and not answer.get("error"))


def seconds_of(server, chat_id: str) -> float:
    """How long the answer to a short question takes."""
    begun = time.monotonic()
    command(server, "chat.send", chat_id=chat_id, message=SHORT)
    return time.monotonic() - begun


def next_question(base_url: str) -> Iterator[Aim]:
    """Pairs of short questions: one while the same model names topics, and one right after it."""
    ratios = []
    with product(base_url, has_fast=True, c=demo_messages()) as server:
        seconds_of(server, "c")  # the model reads the chat
        for _ in range(QUESTIONS):
            until = time.monotonic() + NAMING_BEGINS_S
            while not is_busy(base_url):
                assert time.monotonic() < until, "the model is not asked for the names of topics"
                time.sleep(0.2)
            ratios.append(seconds_of(server, "c") / seconds_of(server, "c"))
    ratio = statistics.median(ratios)
    yield Aim(
        name="next question while the model names topics",
        figure=f"{ratio:.2f} x, at most {max(ratios):.2f} x",
        wanted="1.5 x at most, mostly",
        is_met=ratio <= 1.5,
    )


def is_busy(base_url: str) -> bool:
    """True while the server answers somebody."""
    with urllib.request.urlopen(f"{base_url.removesuffix('/v1')}/slots") as slots:
        return any(slot["is_processing"] for slot in json.load(slots))


def chats_of_subjects() -> dict[str, Chat]:
    """The demonstration's chat, and written ones in six languages."""
    messages = [Message.from_dict(each) for each in demo_messages()]
    chats = {"demonstration": Chat.of(messages, [SUBJECTS.get(n, "-") for n in range(60)])}
    for name, written in NAMED_CHATS.items():
        chats[name] = Chat.of(*chat_of_lines(written.text))
    return chats


def topics(base_url: str) -> Iterator[Aim]:
    """The topics with and without the model, and what it is asked."""
    model = Recording(base_url, MODEL)

    async def indexes():
        embedder = Remembering()
        for chat in chats_of_subjects().values():
            found, named = await judged(chat, model, embedder)
            yield rand(chat, found.topics), rand(chat, named.topics)

    async def listed():
        return [each async for each in indexes()]

    pairs = asyncio.run(listed())
    worst = min(after - before for before, after in pairs)
    without, with_model = (statistics.mean(side) for side in zip(*pairs, strict=True))
    sizes = [size_of(base_url, reply.asked) for reply in model.replies]
    yield Aim(
        name="topics, adjusted Rand",
        figure=f"{without:.3f} without, {with_model:.3f} with, worst chat {worst:+.3f}",
        wanted="no chat worse by .02",
        is_met=worst >= -0.02,
    )
    yield Aim(
        name="tokens of the request for names",
        figure=f"{sizes[0]} for sixty messages, at most {max(sizes)}",
        wanted="535 for sixty at most",
        is_met=sizes[0] <= 535,
    )


def window(base_url: str) -> Iterator[Aim]:
    """The window that is known before anything was asked."""
    with product(base_url, c=demo_messages()) as server:
        command(server, "smart_context.preview", chat_id="c", message=SHORT)
        known = command(server, "smart_context.preview", chat_id="c", message=SHORT)["window"]
    yield Aim(
        name="window that is known",
        figure=f"{known}",
        wanted=f"{WINDOW}",
        is_met=known == WINDOW,
    )


def long_chat(base_url: str) -> Iterator[Aim]:
    """A chat that is longer than the window."""
    texts = [f"{number} {LONGER}" for number in range(15)]
    whole = sum(size_of(base_url, [each]) for each in about(*texts))
    with product(base_url, c=about(*texts[:-1])) as server:
        answer = answer_of(server, "c", SHORT)
        used = command(server, "smart_context.receipt", chat_id="c").get("usage") or {}
    read = used.get("prompt", 0)
    is_met = is_answered(answer) and 0 < read <= WINDOW < whole
    how = "answered" if is_answered(answer) else f"not answered: {answer.get('error')}"
    yield Aim(
        name="chat longer than the window",
        figure=f"{whole:,} tokens: {how}, {read:,} read",
        wanted="answered",
        is_met=is_met,
    )


def counts(base_url: str) -> Iterator[Aim]:
    """The tokens that are shown for a message before anything was asked."""
    shares = {}
    with product(base_url, c=[]) as server:
        for kind, text in texts_by_kind():
            preview = command(server, "smart_context.preview", chat_id="c", message=text)
            shares[kind] = preview["parts"]["message"] / tokens_of(base_url, text)
    low, high = (pick(shares, key=shares.__getitem__) for pick in (min, max))
    yield Aim(
        name="tokens shown / counted, eight kinds of text",
        figure=f"{shares[low]:.2f} ({low}) to {shares[high]:.2f} ({high})",
        wanted=".95 to 1.25",
        is_met=shares[low] >= 0.95 and shares[high] <= 1.25,
    )


def turns(_: str) -> Iterator[Aim]:
    """Chats with messages of one role in a row, where roles have to alternate."""
    answers = [answer for template in TEMPLATES for answer in answers_in_turn(template)]
    count = sum(map(is_answered, answers))
    yield Aim(
        name="templates that want roles in turn",
        figure=f"{count} of {len(answers)} answered",
        wanted="all",
        is_met=count == len(answers),
    )


def answers_in_turn(template: str) -> list[dict]:
    """Answers with a topic picked, after a turn that failed, and in one the assistant began."""
    said = demo_messages()[:16]
    failed = {"id": "x", "role": "user", "content": "Is that so?"}
    chats = {"picked": said, "failed": [*said[:4], failed], "begun": said[1:6]}
    assert chats["begun"][0]["role"] == "assistant"
    with tempfile.TemporaryDirectory() as work, ExitStack() as stack:
        file = Path(work) / "in-turn.jinja"
        file.write_text(template, encoding="utf-8")
        install()
        own = stack.enter_context(served("--jinja", "--chat-template-file", str(file)))
        server = stack.enter_context(product(own, **chats))
        command(server, "smart_context.set_filter", chat_id="picked", topics=["solar panels"])
        return [answer_of(server, chat_id, SHORT) for chat_id in chats]


def thoughts(base_url: str) -> Iterator[Aim]:
    """Answers with thoughts, which this model writes when it is asked to repeat some."""
    hidden = repeated = 0
    with product(base_url) as server:
        for text in THOUGHTS:
            chat_id = command(server, "chat.new")["chat_id"]
            wish = f"Repeat this text exactly, with all its marks, and add nothing:\n\n{text}"
            answer = answer_of(server, chat_id, wish)
            repeated += THOUGHT in json.dumps(answer)
            is_hidden = Message.from_dict(answer).text.strip() == SAID
            hidden += is_hidden and not goes_back(server, chat_id)
    yield Aim(
        name="thoughts in five spellings",
        figure=f"{hidden} of {repeated} that it repeated",
        wanted=f"{len(THOUGHTS)}",
        is_met=hidden == len(THOUGHTS),
    )


def goes_back(server, chat_id: str) -> bool:
    """True if a thought is in the answers that the next request has."""
    shown = command(server, "smart_context.preview", chat_id=chat_id, message=SHORT)
    said = [message for message in shown["prompt"] if message["role"] == "assistant"]
    assert said, "the answer does not go along"
    return THOUGHT in json.dumps(said)


AIMS: Sequence[Callable[[str], Iterator[Aim]]] = (
    next_question,
    topics,
    window,
    long_chat,
    counts,
    turns,
    thoughts,
)


def main() -> None:
    """Measure each aim, and print it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", default="")
    parser.add_argument("--only", nargs="+", choices=[each.__name__ for each in AIMS])
    given = parser.parse_args()
    with ExitStack() as stack:
        base_url = given.url
        if not base_url:
            install()
            base_url = stack.enter_context(served())
        for measure in AIMS:
            if given.only and measure.__name__ not in given.only:
                continue
            for aim in measure(base_url):
                is_met = "met" if aim.is_met else "MISSED"
                print(f"{aim.name:45}{aim.figure:50}{aim.wanted:24}{is_met}", flush=True)


if __name__ == "__main__":
    main()
