"""What a model is asked about groups that were found without it."""

import json
import re

import numpy as np
import pytest

from smart_context.chat.messages import Message
from smart_context.topics.judgement import lines_of, parsed_judgement, question

GROUPS = [("Bread & Flour", ["How much flour?"]), ("Loop", ["Does it end?", "And a task?"])]


def test_a_model_answers_by_the_number_and_the_words_of_each_group():
    asked = question(GROUPS, statements=["I bake on Sundays."])
    keys = ["1 Bread & Flour", "2 Loop", "title", "sticky_message_ids"]
    assert list(asked.schema["properties"]) == asked.schema["required"] == keys
    shown = asked.messages[-1]["content"]
    assert shown.startswith("Group 1 Bread & Flour:\n- How much flour?\n\nGroup 2 Loop:\n")


@pytest.mark.parametrize(
    ("code", "told"), [("en", "English"), ("de", "German"), ("", "the language of the messages")]
)
def test_a_model_is_told_last_how_long_names_are_and_in_which_language(code, told):
    last = question(GROUPS, language=code).messages[-1]["content"].splitlines()[-1]
    assert last.endswith(f"headings of 2 to 4 words in {told}.")


@pytest.mark.parametrize(
    ("name", "is_taken"),
    [
        ("Insurance Claim", True),
        ("C++ & Go", True),
        ("川菜学习", True),
        ("The rash is on both arms and itches", False),
        ("What is it?", False),
        ("\u6709\u4ec0\u4e48\uff1f", False),
        ("", False),
    ],
)
def test_a_name_has_a_few_words_by_the_schema_already(name, is_taken):
    pattern = question(GROUPS).schema["properties"]["1 Bread & Flour"]["pattern"]
    assert bool(re.match(pattern, name)) == is_taken


def test_lines_are_the_words_that_carry_meaning():
    texts = ["How much flour is in it?", "And is it the same for bread with rye?", "我想学做豆腐"]
    messages = [Message(id=text, role="user", content=text) for text in texts]
    assert lines_of(messages, np.eye(3, dtype=np.float32)) == ["flour", "bread rye?", texts[2]]


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(("1 Bread & Flour", "2 Loop"), id="as they were shown"),
        pytest.param(("1", "2"), id="without the words"),
        pytest.param(("1: flour", "2. Loops"), id="with other words"),
    ],
)
def test_a_name_is_read_by_the_number_that_its_key_begins_with(keys):
    reply = {keys[0]: "Baking", keys[1]: "Python Tasks", "title": "Both", "12 Eggs": "Eggs"}
    judgement = parsed_judgement(json.dumps(reply), groups=2)
    assert judgement.names == {1: "Baking", 2: "Python Tasks"}
    assert judgement.title == "Both"


@pytest.mark.parametrize("title", ["Group 1 Tacos & Party", "1 Tacos & Party"])
def test_a_title_that_repeats_the_heading_of_a_group_is_none(title):
    reply = {"1 Tacos & Party": "Taco Party", "title": title}
    assert parsed_judgement(json.dumps(reply), groups=1).title == ""
