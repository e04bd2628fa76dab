from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.llm.thoughts import MARKS, ThoughtSplitter, joined, split_thoughts


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
        pytest.param("He asks.\n</think>\n\nHello", "He asks.", "Hello", id="only closed"),
        pytest.param("</think>\n\nHello", "", "Hello", id="nothing thought, only closed"),
        pytest.param("He asks.</think>Hello", "He asks.", "Hello", id="closed after a sentence"),
        pytest.param("他问。</think>好", "他问。", "好", id="closed after one in Chinese"),
        pytest.param("he asks</think>\nHello", "he asks", "Hello", id="closed at a line's end"),
        pytest.param("He asks.\n</think>", "He asks.", "", id="closed, and nothing said"),
        pytest.param("hm[/THINK]Hello", "hm", "Hello", id="only closed in brackets"),
        pytest.param("It ends in </think>.", "", "It ends in </think>.", id="within a line"),
        pytest.param("It is `</think>`\n.", "", "It is `</think>`\n.", id="quoted"),
        pytest.param("It is </think>", "", "It is </think>", id="at the end"),
        pytest.param("A <think>\n</think>", "", "A <think>\n</think>", id="opened in the text"),
        pytest.param("```\na\n</think>\n```", "", "```\na\n</think>\n```", id="in code"),
        pytest.param("~~~\na\n</think>\n~~~", "", "~~~\na\n</think>\n~~~", id="behind tildes"),
        pytest.param("Well~~~\n</think>c", "Well~~~", "c", id="tildes that are no fence"),
        pytest.param(
            "````\n```\n</think>\n```\n````",
            "",
            "````\n```\n</think>\n```\n````",
            id="in a longer fence",
        ),
        pytest.param("````\n```\n````\n</think>c", "````\n```\n````", "c", id="after it"),
        pytest.param("<|channel|>analysis hm", "hm", "", id="in a channel, broken off"),
        pytest.param("```\nb\n```\n</think>c", "```\nb\n```", "c", id="after code"),
        pytest.param("a\n:::\nb", "", "a\n:::\nb", id="a container's end"),
        pytest.param(
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi",
            "hm",
            "Hi",
            id="in channels",
        ),
        pytest.param("<|channel|>final<|message|>Hi", "", "Hi", id="in the final channel alone"),
        pytest.param(
            "<|start|>assistant<|channel|>final<|message|>Hi<|return|>",
            "",
            "Hi",
            id="in the final channel, by name",
        ),
        pytest.param(
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>"
            "ha<|end|><|start|>assistant<|channel|>final<|message|>Hi<|end|>\n",
            "hmha",
            "Hi",
            id="in several channels",
        ),
        pytest.param(
            "<|channel|>analysis<|message|>hm<|end|>", "hm", "", id="in a channel, nothing said"
        ),
        pytest.param(
            "<|channel|>final<|message|>It is <|end|> or\n<|return|>\nthen.<|ret",
            "",
            "It is <|end|> or\n<|return|>\nthen.<|ret",
            id="marks of channels within an answer",
        ),
        pytest.param("It is <|return|>", "", "It is <|return|>", id="no channel, but its end"),
    ],
)
def test_thoughts_are_told_from_the_answer(text, thoughts, said):
    assert split_thoughts(text) == (thoughts, said)


@given(
    st.lists(
        st.sampled_from(
            [
                *("<", "think", "ing", ">", "</", "</think>", "<think>", "a", " ", "\n", ""),
                *(
                    "[THINK",
                    "]",
                    "[/THINK]",
                    ":::",
                    "thinking",
                    "```",
                    "`",
                    ".",
                    "~~~",
                    "~",
                    "````",
                ),
                *("<|end|>", "<|start|>assistant", "<|channel|>final", "<|message|>"),
                *("<|return|>", "<|channel|>commentary"),
                *("<|channel|>analysis", "<seed:", "◁", "/think▷", "</reasoning>"),
            ]
        )
    )
)
def test_an_answer_is_split_the_same_however_it_is_cut(pieces):
    thinking = ThoughtSplitter()
    told = joined([*map(thinking.split, pieces), thinking.rest()])
    assert (told.thoughts.strip(), told.said) == split_thoughts("".join(pieces))


@given(st.sampled_from(MARKS), st.data())
def test_marks_may_be_cut_at_any_place(marks, data):
    closes = data.draw(st.sampled_from(marks.closes))
    answer = f"{marks.opens[0]}Two and two.{closes}\nFour, in ```py\n{closes}\n```"
    cuts = sorted(data.draw(st.sets(st.integers(0, len(answer)))))
    pieces = [answer[a:b] for a, b in pairwise([0, *cuts, len(answer)])]
    thinking = ThoughtSplitter()
    told = joined([*map(thinking.split, pieces), thinking.rest()])
    assert told == ("Two and two.", f"Four, in ```py\n{closes}\n```", False)


@pytest.mark.parametrize("marks", MARKS, ids=lambda marks: marks.opens[0].strip())
def test_each_kind_of_marks_is_known_wherever_it_is_cut(marks):
    for closes in marks.closes:
        answer = f"{marks.opens[0]}Two and two.{closes}\nFour."
        assert split_thoughts(answer) == ("Two and two.", "Four.")
        thinking = ThoughtSplitter()
        told = joined([*map(thinking.split, answer), thinking.rest()])
        assert told == ("Two and two.", "Four.", False)


@pytest.mark.parametrize(
    "marks", [m for m in MARKS if m.close_alone], ids=lambda marks: marks.closes[0]
)
def test_an_end_without_a_beginning_takes_back_all_before_it(marks):
    thinking = ThoughtSplitter()
    assert thinking.split("Two and") == ("", "Two and", False)
    told = joined([thinking.split(f" two.\n{marks.closes[0]}\n\nFour."), thinking.rest()])
    assert (told.thoughts.strip(), told.said, told.takes_back) == ("two.", "Four.", True)


def test_space_without_end_is_passed_on_and_not_looked_through_again_and_again():
    thinking = ThoughtSplitter()
    said = [thinking.split(" ").said for _ in range(5_000)]
    assert len("".join(said)) == 5_000
    assert said[-1] == " "
