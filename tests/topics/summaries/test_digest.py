"""Summaries, by a model and without one."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.errors import ModelFailed
from smart_context.chat.messages import Message, MessageId
from smart_context.llm.estimating import estimate
from smart_context.topics.summaries.digest import (
    MAX_PARTS,
    MOST_SENTENCES,
    PART_TOKENS,
    DigestLimits,
    digest,
    quoted,
)
from smart_context.topics.values import MOST_READ
from tests.scripted import ScriptedChatModel

pytestmark = pytest.mark.anyio


def said(text, role="user"):
    return Message(id=MessageId("m"), role=role, content=text)


NOTES = {
    "overview": "They plan a trip.",
    "decisions": ["Sail on Sunday\nat nine."],
    "open_questions": [],
    "facts": [{"boat": "Ida"}],
    "standing_instructions": ["Answer in German."],
}
WRITTEN = """\
*Summary of 1 message, written by small.*

They plan a trip.

### Decisions

- Sail on Sunday at nine.

### Facts

- {"boat": "Ida"}

### Standing instructions

- Answer in German."""


async def test_a_model_writes_a_structured_summary():
    model = ScriptedChatModel([f"Here:\n```json\n{json.dumps(NOTES)}\n```"], name="small")
    told = "When do we sail on the boat Ida? On Sunday at nine? Answer in German."
    assert await digest([said(told)], "Before.", model) == WRITTEN
    (asked,) = model.asked
    assert asked.json_reply
    assert asked.messages[1]["content"].startswith("Notes so far:\n\nBefore.\n\nThe chat:\n\n")
    assert json.dumps({"role": "user", "text": told}) in asked.messages[1]["content"]


async def test_a_reply_that_is_no_object_is_taken_as_it_is():
    model = ScriptedChatModel(["They plan a trip."], name="small")
    assert (await digest([said("Hi")], "", model)).endswith("\n\nThey plan a trip.")


async def test_a_long_chat_is_shown_in_parts_each_with_the_notes_so_far():
    model = ScriptedChatModel(lambda _: f"Notes {len(model.asked)}.", name="small")
    messages = [said(f"{n} " + "word " * 400) for n in range(60)]
    text = await digest(messages, "", model)
    assert 1 < len(model.asked) <= MAX_PARTS
    assert "Notes so far:\n\nNotes 1." in model.asked[1].messages[1]["content"]
    assert text.endswith(f"Notes {len(model.asked)}.")


async def test_an_endless_chat_is_shortened_from_everywhere():
    model = ScriptedChatModel(lambda _: "Notes.", name="small")
    messages = [said(f"number-{n} " + "word " * 4000) for n in range(300)]
    await digest(messages, "", model)
    assert len(model.asked) <= MAX_PARTS
    prompts = [asked.messages[1]["content"] for asked in model.asked]
    assert all(estimate(prompt) < 1.2 * PART_TOKENS + 1000 for prompt in prompts)
    assert "number-0 " in prompts[0]
    assert any(f"number-{n} " in prompts[-1] for n in range(250, 300))


@pytest.mark.parametrize("reply", [ModelFailed("It broke."), " "])
async def test_a_model_that_fails_is_replaced_by_quotes_and_that_is_said(reply):
    text = await digest([said("We sail on Sunday.")], "", ScriptedChatModel([reply], name="small"))
    assert text.startswith("*Summary of 1 message, extracted from the chat, no model used (")
    assert "We sail on Sunday." in text


async def test_a_model_that_comes_to_no_end_is_replaced_by_quotes_and_that_is_said():
    model = ScriptedChatModel([json.dumps({"overview": "again " * 999})], name="small")
    text = await digest([said("We sail on Sunday.")], "", model, DigestLimits(summary_tokens=100))
    assert "no model used (small came to no end)" in text
    assert "We sail on Sunday." in text


INVENTED = [f"It cost {1_987 + n} euros." for n in range(10)]


@pytest.mark.parametrize(
    ("facts", "start"),
    [
        (["We sail on Sunday."], "*Summary of 1 message, written by small.*"),
        (
            ["We sail on Sunday.", *INVENTED[:2]],
            "*Summary of 1 message, written by small. Not found in what was said: 1987, 1988.*",
        ),
        (
            ["We sail on Sunday.", *INVENTED],
            "*Summary of 1 message, extracted from the chat, no model used (small wrote 10 things ",
        ),
        (
            ["We sail on Sunday."] * 11 + INVENTED,
            "*Summary of 1 message, written by small. Not found in what was said: ",
        ),
    ],
    ids=["true", "a claim of its own", "mostly its own", "much, and little of its own"],
)
async def test_a_summary_says_what_nobody_said_and_is_not_used_if_that_is_much(facts, start):
    model = ScriptedChatModel([json.dumps({"facts": facts})], name="small")
    text = await digest([said("We sail on Sunday.")], "", model)
    assert text.startswith(start)


async def test_what_an_earlier_summary_has_was_said():
    model = ScriptedChatModel([json.dumps({"facts": INVENTED})], name="small")
    text = await digest([said("We sail on Sunday.")], " ".join(INVENTED), model)
    assert text.startswith("*Summary of 1 message, written by small.*")


@pytest.mark.parametrize(
    "text",
    [pytest.param("word " * 100, id="English"), pytest.param("我们坐船。" * 60, id="Chinese")],
)
async def test_no_request_is_more_than_a_small_model_takes_and_what_was_read_is_said(text):
    model = ScriptedChatModel(lambda _: json.dumps({"overview": "说" * 500}), name="small")
    limits = DigestLimits(part_tokens=800, summary_tokens=300)
    written = await digest([said(f"{n} {text}") for n in range(10_000)], "", model, limits)
    assert 1 < len(model.asked) <= MAX_PARTS
    for asked in model.asked:
        system, chat = (message["content"] for message in asked.messages)
        assert estimate(chat) <= 800 + 300 + 40
        assert estimate(system) < 500
    read = int(re.match(r"\*Summary of 10,000 messages, of which ([0-9]+) were read,", written)[1])
    assert 20 < read < 500
    assert '"text": "0 ' in model.asked[0].messages[1]["content"]
    assert '"text": "9999 ' in model.asked[-1].messages[1]["content"]
    assert estimate(written) < 400


async def test_what_was_summed_up_before_keeps_half_of_the_room_without_a_model():
    limits = DigestLimits(summary_tokens=200)
    messages = [said(f"The boat number {n} sails on Sunday at {n}.") for n in range(50)]
    before = "*Summary of 9 messages, written by small.*\n\n" + "What came before. " * 100
    text = await digest(messages, before, None, limits)
    assert text.count("Summary of") == 1
    assert text.split("\n\n")[1].startswith("What came before.")
    assert "The boat number" in text
    assert estimate(text) < 260


async def test_without_a_model_sentences_are_quoted_and_that_is_said():
    messages = [
        said("Always answer in British English."),
        said("The boat is called Ida. The boat sails on Sunday.", "assistant"),
        said("What will the weather be on Sunday?"),
    ]
    text = await digest(messages, "What came before.", None)
    assert text.startswith("*Summary of 3 messages, extracted from the chat, no model used.*")
    assert "What came before." in text
    assert "### Standing instructions\n\n- Always answer in British English." in text
    assert "### Open questions\n\n- What will the weather be on Sunday?" in text
    assert "Assistant: The boat sails on Sunday." in text


def test_quotes_are_few_chronological_and_different():
    messages = [said(f"The boat number {n} sails on Sunday.") for n in range(200)]
    lines = [line for line in quoted(messages).splitlines() if line.startswith("- ")]
    assert 0 < len(lines) <= MOST_SENTENCES
    assert len(set(lines)) == len(lines)


def test_a_point_within_a_word_or_a_number_ends_no_sentence():
    text = quoted([said("Please use Python 3.11 here. Then call `asyncio.timeout(5)` around it!")])
    assert "- You: Please use Python 3.11 here.\n" in text
    assert "- You: Then call `asyncio.timeout(5)` around it!" in text


def test_sentences_are_quoted_from_the_beginning_of_a_huge_message():
    beginning = "The boat is ready. ".ljust(MOST_READ, "\n")
    assert quoted([said(f"{beginning}Is it raining on the lake?")]).endswith("The boat is ready.")


def test_what_a_message_only_quotes_is_not_quoted_again():
    answer = Message(
        id=MessageId("a"),
        role="assistant",
        content="> Is the garden ready?\n\nIt will be ready in May.",
    )
    found = quoted([answer])
    assert "It will be ready in May." in found
    assert "Is the garden ready" not in found


def test_east_asian_sentences_are_told_apart():
    text = quoted([said("我们星期天早上九点出发。天气预报有大风。船叫伊达，非常结实可靠。好。")])
    assert [line for line in text.splitlines() if line.startswith("- ")] == [
        "- You: 我们星期天早上九点出发。",
        "- You: 天气预报有大风。",
        "- You: 船叫伊达，非常结实可靠。",
    ]


@given(st.lists(st.text(max_size=80), max_size=8))
def test_any_chat_can_be_quoted(texts):
    assert isinstance(quoted([said(text) for text in texts]), str)


def with_file(number):
    file = {"name": f"plan {number}.md", "storage_key": f"key-{number}"}
    link = {"title": f"Club {number}", "url": "https://example.org"}
    return Message(id=MessageId("m"), role="user", content="Hm", files=(file,), links=(link,))


async def test_what_was_attached_stays_known_from_one_summary_to_the_next():
    model = ScriptedChatModel(lambda _: "Notes.", name="small")
    first = await digest([with_file(1)], "", model)
    assert first.endswith(
        'Notes.\n\n### Attached\n\n- plan 1.md (FILE_KEY="key-1")\n- Club 1: https://example.org'
    )
    second = await digest([said("No file here.")], first, model)
    assert second.count("### Attached") == 1
    assert second.endswith(first[first.index("### Attached") :])
    assert "### Attached" not in model.asked[-1].messages[1]["content"]
    quotes = await digest([with_file(2)], second, None)
    assert quotes.count("### Attached") == 1
    assert 'FILE_KEY="key-1"' in quotes
    assert 'FILE_KEY="key-2"' in quotes


async def test_only_the_newest_attachments_are_named():
    text = await digest([with_file(n) for n in range(50)], "", None)
    assert text.count("FILE_KEY") + text.count("Club") == 10
    assert "### Attached" not in await digest([said("Nothing attached at all.")], "", None)


async def test_a_former_summary_that_is_a_list_is_no_list_of_attachments():
    text = await digest([said("We sail on Sunday.")], "- The boat is called Ida.", None)
    assert "### Attached" not in text
    assert "The boat is called Ida." in text
