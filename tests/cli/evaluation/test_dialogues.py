import json

import pytest

from smart_context.base.errors import CommandFailed
from smart_context.cli.evaluation.dialogues import read_dialogues
from tests.cli.evaluation.files import CHAT, FACTS, FOLLOW_UPS, QUESTIONS, SEGMENTS, write


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        pytest.param(QUESTIONS, "questions", id="questions"),
        pytest.param(SEGMENTS, "segments", id="segments"),
        pytest.param(FACTS, "facts", id="facts"),
        pytest.param(FOLLOW_UPS, "follow-ups", id="follow-ups"),
        pytest.param(CHAT, "chat", id="a chat"),
    ],
)
def test_what_a_file_holds_is_told_by_its_keys(tmp_path, document, kind):
    found, dialogues = read_dialogues(write(tmp_path / "talk.json", document))
    assert found == kind
    assert len(dialogues) == 1


def test_sessions_are_read_in_the_order_of_their_numbers_with_names_and_evidence(tmp_path):
    _, (talk,) = read_dialogues(write(tmp_path / "talk.json", QUESTIONS))
    assert [(m.id, m.role, m.extra["name"]) for m in talk.messages] == [
        ("D1:1", "user", "Ada"),
        ("D1:2", "assistant", "Ben"),
        ("D2:1", "user", "Ada"),
    ]
    assert [(q.text, q.evidence) for q in talk.questions] == [
        ("Who sewed a kite?", {"D1:1", "D2:1"})
    ]


def test_segments_are_stretches_of_the_utterances(tmp_path):
    _, (talk,) = read_dialogues(write(tmp_path / "talk.json", SEGMENTS))
    assert [message.role for message in talk.messages] == ["user", "assistant"] * 2
    assert talk.segments == ({"u0", "u1"}, {"u2", "u3"})


def test_facts_are_said_before_the_turns_that_need_them(tmp_path):
    _, (talk,) = read_dialogues(write(tmp_path / "talk.json", FACTS))
    assert [message.id for message in talk.messages] == [
        "fact-1",
        "fact-2",
        "turn-0",
        "answer-0",
        "turn-1",
    ]
    assert (talk.facts.stated, talk.facts.needed) == ({"fact-1", "fact-2"}, {"fact-1"})


def test_follow_ups_name_the_turns_that_they_refer_to(tmp_path):
    _, (talk,) = read_dialogues(write(tmp_path / "talk.json", FOLLOW_UPS))
    assert talk.refers_to == {"turn-2": {"turn-1"}, "turn-3": {"turn-2"}}


def test_unfinished_messages_of_a_chat_are_left_out(tmp_path):
    _, (chat,) = read_dialogues(write(tmp_path / "chat.json", CHAT))
    assert chat.is_own
    assert "late" not in {message.id for message in chat.messages}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("{", "expected JSON", id="no JSON"),
        pytest.param("[" * 100_000, "expected JSON", id="deeper than anybody nests"),
        pytest.param("[]", "expected a dialogue file", id="nothing in it"),
        pytest.param('{"vectors": {}}', "expected a dialogue file", id="another file"),
        pytest.param("[1]", "expected a dialogue file", id="not objects"),
        pytest.param(
            json.dumps([*SEGMENTS, {"utterances": ["a"], "segments": [2]}]),
            "entry 2 .*expected segments of 1 utterances, found 2",
            id="segments that don't add up",
        ),
        pytest.param(
            json.dumps([*FOLLOW_UPS, {}]), "entry 2 .*the key 'turn' is missing", id="a gap"
        ),
        pytest.param(
            json.dumps([{"utterances": [1], "segments": [1]}]),
            "expected a text, found int",
            id="a number for a text",
        ),
        pytest.param(json.dumps([*FACTS, 5]), "entry 2", id="one entry is no object"),
        pytest.param(
            '[{"utterances": ["a", "b"], "groups": [[0, 2]]}]',
            "entry 1 is not of the kind groups: expected groups of positions below 2, found 2",
            id="a group beyond the utterances",
        ),
        pytest.param(
            '[{"typed": "Kites", "utterances": []}]',
            "entry 1 is not of the kind typed: expected utterances, found none",
            id="a typed name of nothing",
        ),
    ],
)
def test_a_file_that_is_something_else_is_refused_with_the_entry(tmp_path, text, words):
    path = tmp_path / "odd.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CommandFailed, match=words):
        read_dialogues(path)


def test_a_kind_can_be_forced(tmp_path):
    path = write(tmp_path / "talk.json", SEGMENTS)
    with pytest.raises(CommandFailed, match="not of the kind facts"):
        read_dialogues(path, "facts")
