"""Summaries, by a model and without one."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.messages import Message, MessageId
from smart_context.errors import ModelFailed
from smart_context.llm.scripted import ScriptedChatModel
from smart_context.llm.tokens import estimate
from smart_context.topics.digest import MAX_PARTS, PART_TOKENS, digest
from smart_context.topics.quotes import MOST_SENTENCES, quoted

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
    assert await digest([said("When do we sail?")], "Before.", model) == WRITTEN
    (asked,) = model.asked
    assert asked.json_reply
    assert asked.messages[1]["content"].startswith("Notes so far:\n\nBefore.\n\nThe chat:\n\n")
    assert json.dumps({"role": "user", "text": "When do we sail?"}) in asked.messages[1]["content"]


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
    assert text.startswith("*Summary of 1 message, made without a language model (")
    assert "We sail on Sunday." in text


async def test_without_a_model_sentences_are_quoted_and_that_is_said():
    messages = [
        said("Always answer in British English."),
        said("The boat is called Ida. The boat sails on Sunday.", "assistant"),
        said("What will the weather be on Sunday?"),
    ]
    text = await digest(messages, "What came before.", None)
    assert text.startswith(
        "*Summary of 3 messages, made without a language model: these are sentences of the chat.*"
    )
    assert "What came before." in text
    assert "### Standing instructions\n\n- Always answer in British English." in text
    assert "### Open questions\n\n- What will the weather be on Sunday?" in text
    assert "Assistant: The boat sails on Sunday." in text


def test_quotes_are_few_chronological_and_different():
    messages = [said(f"The boat number {n} sails on Sunday.") for n in range(200)]
    lines = [line for line in quoted(messages).splitlines() if line.startswith("- ")]
    assert 0 < len(lines) <= MOST_SENTENCES
    assert len(set(lines)) == len(lines)


def test_east_asian_sentences_are_told_apart():
    text = quoted(
        [said("我们星期天早上九点出发去海边航行。天气预报说会有大风。船叫伊达，非常结实可靠。")]
    )
    assert "天气预报" not in text or "我们星期天早上九点出发去海边航行。天气" not in text


@given(st.lists(st.text(max_size=80), max_size=8))
def test_any_chat_can_be_quoted(texts):
    assert isinstance(quoted([said(text) for text in texts]), str)
