"""What a model is asked about groups that were found without it."""

import json

import pytest

from smart_context.topics.judgement import parsed_judgement, question

GROUPS = [("Bread & Flour", ["How much flour?"]), ("Loop", ["Does it end?", "And a task?"])]


def test_a_model_answers_by_the_number_and_the_words_of_each_group():
    asked = question(GROUPS, statements=["I bake on Sundays."])
    keys = ["1 Bread & Flour", "2 Loop", "title", "sticky_message_ids"]
    assert list(asked.schema["properties"]) == asked.schema["required"] == keys
    shown = asked.messages[-1]["content"]
    assert shown.startswith("Group 1 Bread & Flour:\n- How much flour?\n\nGroup 2 Loop:\n")


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
