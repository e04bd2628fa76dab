import re

from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.text.names import one_line
from smart_context.llm.estimating import estimate
from smart_context.plugin.notes.context_prompt import (
    ContextContent,
    NoteExcerpt,
    appended,
    contexts_prompt,
    fenced,
)

texts = st.lists(
    st.sampled_from(
        [*"ab \n`#é中\u202e", "--end-note--", "--begin-note--", "--end-note-1--", "long words "]
    )
).map("".join)
contexts = st.lists(
    st.builds(
        ContextContent,
        key=texts,
        excerpts=st.lists(st.builds(NoteExcerpt, texts, texts), max_size=4).map(tuple),
    ),
    max_size=4,
)


def prompt(gathered, budget=0):
    return contexts_prompt(gathered, budget=budget, count_tokens=estimate)


def one(key, **notes):
    return ContextContent(
        key=key, excerpts=tuple(NoteExcerpt(f"{n}.md", text) for n, text in notes.items())
    )


def test_nothing_attached_leaves_a_system_prompt_to_the_byte():
    assert appended("Be brief. \n", prompt([]).text) == "Be brief. \n"
    assert appended("", prompt([]).text) == ""


def test_contexts_stand_behind_the_system_prompt_in_their_order_with_their_sources():
    text = appended("Be brief.\n", prompt([one("First", a="alpha"), one("Second", b="beta")]).text)
    assert text.startswith("Be brief.\n\n# Attached notes")
    assert re.findall(r"^(?:## |File: ).*", text, re.MULTILINE) == [
        "## First",
        "File: a.md",
        "## Second",
        "File: b.md",
    ]
    assert text.endswith("File: b.md\n--begin-note--\nbeta\n--end-note--")


@given(texts)
def test_no_text_closes_its_own_fence(text):
    begin, *_, end = fenced(text).split("\n")
    token = begin.removeprefix("--begin-").removesuffix("--")
    assert end == f"--end-{token}--"
    assert f"--end-{token}--" not in text
    assert f"--begin-{token}--" not in text


@given(texts)
def test_a_name_takes_one_line_whatever_it_holds(text):
    assert len(one_line(text).splitlines()) <= 1
    assert "\u202e" not in one_line(text)


@given(contexts, st.integers(1, 400))
def test_the_budget_is_never_exceeded_and_every_piece_is_accounted_for(gathered, budget):
    made = prompt(gathered, budget)
    assert estimate(made.text) <= budget
    for context, share in zip(gathered, made.shares, strict=True):
        keys = sorted(excerpt.key for excerpt in context.excerpts)
        assert sorted((*share.sent, *share.left_out)) == keys
        assert set(share.cut) <= set(share.sent)


@given(contexts)
def test_without_a_budget_everything_is_in_and_the_same_twice_is_the_same(gathered):
    made = prompt(gathered)
    assert made == prompt(gathered)
    assert all(not share.left_out and not share.cut for share in made.shares)
    for excerpt in (excerpt for context in gathered for excerpt in context.excerpts):
        assert excerpt.text in made.text


def test_what_does_not_fit_is_left_out_and_smaller_ones_still_go_in():
    made = prompt([one("C", small="s" * 40, huge="h" * 9000, tiny="t")], budget=150)
    assert made.shares[0].sent == ("small.md", "tiny.md")
    assert made.shares[0].left_out == ("huge.md",)
    assert not made.shares[0].cut


def test_the_first_piece_is_cut_when_it_is_too_long_for_all():
    made = prompt([one("C", huge="word " * 9000)], budget=300)
    assert made.shares[0].cut == ("huge.md",)
    assert 200 < estimate(made.text) <= 300


def test_what_two_contexts_hold_is_sent_once():
    made = prompt([one("A", a="alpha"), one("B", a="alpha", b="beta")])
    assert made.text.count("alpha") == 1
    assert made.shares[1].sent == ("a.md", "b.md")


def test_a_context_of_which_nothing_is_sent_has_no_heading():
    made = prompt([ContextContent(key="Empty", missing=("gone.md",)), one("Full", a="alpha")])
    assert "Empty" not in made.text
    assert made.shares[0].missing == ("gone.md",)
