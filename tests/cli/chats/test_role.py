"""`smart-context role`: the roles of a chat from the command line, over the demonstration vault."""

import json

import pytest

CHAT = "agent-debugging"


def test_a_role_is_listed_chosen_seen_in_the_prompt_and_taken_away(smart_context, vault):
    code, out, err = smart_context("role", CHAT, "reviewer", "--target", "Start here.md", cwd=vault)
    assert code == 0, err
    assert "●       reviewer     shipped  Reviews a change" in out
    assert "It is about Start here.md." in out
    code, out, err = smart_context("filter", CHAT, "-m", "hi", "--show-prompt", cwd=vault)
    assert code == 0, err
    assert out.startswith("[system]\nYou review a change")
    assert "### Start here.md" in out
    code, out, err = smart_context("role", CHAT, "--none", "--format", "json", cwd=vault)
    assert code == 0, err
    assert json.loads(out)["current"] == ""


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param((CHAT, "pirate"), 1, "there is no role 'pirate'", id="unknown"),
        pytest.param((CHAT, "planner", "--none"), 2, "Use --none without a name", id="both"),
        pytest.param((CHAT, "--target", "a"), 2, "--target needs the NAME", id="no name"),
        pytest.param(("no-such-chat",), 1, "There is no chat", id="no chat"),
    ],
)
def test_what_can_not_be_is_told(smart_context, vault, arguments, code, words):
    found, _, err = smart_context("role", *arguments, cwd=vault)
    assert found == code
    assert words in err
