import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.llm.thoughts import Thinking, split_thoughts, stored_thoughts


@pytest.mark.parametrize(
    ("text", "thoughts", "said"),
    [
        pytest.param("Hello", "", "Hello", id="none"),
        pytest.param("<think>hm</think>\n\nHello", "hm", "Hello", id="both"),
        pytest.param("\n<think>hm", "hm", "", id="broken off"),
        pytest.param("<think>", "", "", id="only begun"),
        pytest.param("<think>a</thin", "a</thin", "", id="broken off in the mark"),
        pytest.param("<thin", "", "<thin", id="no mark"),
        pytest.param("<think></think>Hello", "", "Hello", id="nothing thought"),
        pytest.param("I <think>so</think>", "", "I <think>so</think>", id="not at the beginning"),
        pytest.param("<think>a</think>b</think>c", "a", "b</think>c", id="closed twice"),
        pytest.param("  Hello ", "", "  Hello ", id="spaces stay"),
        pytest.param("<thinking>hm</thinking>\nHi", "hm", "Hi", id="another tag"),
        pytest.param("[THINK]hm[/THINK]Hi", "hm", "Hi", id="in brackets"),
        pytest.param(":::thinking\nhm\n:::\n\nHi", "hm", "Hi", id="behind colons"),
        pytest.param("<think>a</thinking>b</think>c", "a</thinking>b", "c", id="of another kind"),
    ],
)
def test_thoughts_are_told_from_the_answer(text, thoughts, said):
    assert split_thoughts(text) == (thoughts, said)


@given(
    st.lists(
        st.sampled_from(
            [
                *("<", "think", "ing", ">", "</", "</think>", "<think>", "a", " ", "\n", ""),
                *("[THINK", "]", "[/THINK]", ":::", "thinking"),
            ]
        )
    )
)
def test_an_answer_is_split_the_same_however_it_is_cut(pieces):
    thinking = Thinking()
    parts = [thinking.split(piece) for piece in pieces] + [thinking.rest()]
    found = tuple("".join(column) for column in zip(*parts, strict=True))
    assert found == split_thoughts("".join(pieces))


def test_space_without_end_is_passed_on_and_not_looked_through_again_and_again():
    thinking = Thinking()
    said = [thinking.split(" ")[1] for _ in range(5_000)]
    assert len("".join(said)) == 5_000
    assert said[-1] == " "


@pytest.mark.parametrize(
    ("text", "thoughts", "said"),
    [
        pytest.param("<think>\nhm\n</think>\n\nHello", "hm", "Hello", id="both"),
        pytest.param("He asks.\n</think>\n\nHello", "He asks.", "Hello", id="only closed"),
        pytest.param("</think>\n\nHello", "", "Hello", id="nothing thought, only closed"),
        pytest.param("hm\n[/THINK]Hello", "hm", "Hello", id="only closed in brackets"),
        pytest.param("It ends in </think>.", "", "It ends in </think>.", id="within a line"),
        pytest.param("A <think>\n</think>", "", "A <think>\n</think>", id="opened in the text"),
        pytest.param("```\na\n</think>\n```", "", "```\na\n</think>\n```", id="in code"),
        pytest.param("a\n:::\nb", "", "a\n:::\nb", id="a container's end"),
    ],
)
def test_a_stored_answer_may_lack_the_mark_that_opens_its_thoughts(text, thoughts, said):
    assert stored_thoughts(text) == (thoughts, said)
