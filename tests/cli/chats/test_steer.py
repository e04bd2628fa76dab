"""`smart-context recall`, `topics assign` and `chats private`, over the demonstration vault."""

import json

import pytest

CHAT = "agent-debugging"


def recall(smart_context, vault, *arguments):
    code, out, err = smart_context("recall", CHAT, *arguments, "--format", "json", cwd=vault)
    assert code == 0, err
    return json.loads(out)


def test_what_was_said_is_recalled_listed_sent_and_forgotten(smart_context, vault):
    made = recall(smart_context, vault, "--query", "sourdough bread", "--max-tokens", "600")
    assert {*made} == {"recall_id", "label", "chats", "messages", "tokens", "left_out"}
    assert 0 < made["tokens"] <= 600
    assert made["left_out"] > 0
    again = recall(smart_context, vault, "--from", "gartenjahr")
    assert again["label"] == "Gartenjahr"
    _, out, _ = smart_context("recall", CHAT, "--list", cwd=vault)
    assert made["recall_id"] in out
    _, out, _ = smart_context("filter", CHAT, "-m", "hi", "--show-prompt", cwd=vault)
    assert '<said in="A year of side projects"' in out
    left = recall(smart_context, vault, "--forget", made["recall_id"])["recalls"]
    assert [row["recall_id"] for row in left] == [again["recall_id"]]
    code, out, _ = smart_context("recall", CHAT, "--forget", again["recall_id"], cwd=vault)
    assert (code, out.strip()) == (0, "This chat recalls nothing.")


def test_a_topic_of_a_chat_is_recalled_by_its_label(smart_context, vault):
    arguments = ("--from", "year-of-projects", "--topic", "Sourdough Bread")
    assert recall(smart_context, vault, *arguments)["label"] == "Sourdough Bread"


def test_a_private_chat_is_not_recalled(smart_context, vault):
    for arguments, code in ((("--off",), 0), ((), 1)):
        assert smart_context("chats", "private", "gartenjahr", *arguments, cwd=vault)[0] == 0
        assert smart_context("recall", CHAT, "--from", "gartenjahr", cwd=vault)[0] == code


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param((CHAT,), 2, "Give --query", id="nothing"),
        pytest.param((CHAT, "--list", "--query", "x"), 2, "Give --query", id="two deeds"),
        pytest.param((CHAT, "--query", "x", "--from", "a"), 2, "Give one of", id="two sources"),
        pytest.param((CHAT, "--topic", "a", "--topic", "b"), 2, "Give one of", id="two topics"),
        pytest.param((CHAT, "--list", "--max-tokens", "9"), 2, "Give --query", id="no budget"),
        pytest.param((CHAT, "--query", "x", "--max-tokens", "0"), 2, "--max-tokens", id="zero"),
        pytest.param((CHAT, "--forget", "nothing"), 1, "no recall 'nothing'", id="no recall"),
        pytest.param((CHAT, "--from", "no-such-chat"), 1, "can't be recalled", id="no source"),
        pytest.param(("no-such-chat", "--list"), 1, "There is no chat", id="no chat"),
    ],
)
def test_what_can_not_be_is_told(smart_context, vault, arguments, code, words):
    found, _, err = smart_context("recall", *arguments, cwd=vault)
    assert found == code
    assert words in err


def test_messages_are_assigned_to_a_topic_and_listed_with_it(smart_context, vault):
    chat = "year-of-projects"

    def counts(*arguments):
        code, out, err = smart_context("topics", *arguments, "--format", "json", cwd=vault)
        assert code == 0, err
        return {t["label"]: t["count"] for t in json.loads(out)["topics"] if not t.get("sticky")}

    before = counts(chat, "--refresh")
    first, second = sorted(before, key=before.get)[:2]
    _, out, _ = smart_context("filter", chat, "-t", first, "--format", "json", cwd=vault)
    ids = [row["id"] for row in json.loads(out)["messages"] if row["topic"] == first and row["in"]]
    counts("assign", chat, *ids, "--about", second)
    assert counts(chat).get(first, 0) < before[first]
    assert counts("assign", chat, *ids, "--none").get(second, 0) <= before[second]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param(("m1",), 2, "Give --about", id="nothing"),
        pytest.param(("m1", "--about", "x", "--none"), 2, "Give --about", id="both"),
        pytest.param(("zz", "--none"), 1, "has no message 'zz'", id="no such message"),
    ],
)
def test_what_can_not_be_assigned_is_told(smart_context, vault, arguments, code, words):
    found, _, err = smart_context("topics", "assign", CHAT, *arguments, cwd=vault)
    assert (found, words in err) == (code, True), err
