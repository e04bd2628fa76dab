import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.packing.budget import CUT_NOTICE, Meter, PromptSection, cut, joined, keep_within


def section(key: str, size: int, *, protected: bool = False) -> PromptSection:
    return PromptSection(key=key, pieces=("x" * size,), is_protected=protected)


SECTIONS = [
    section("must", 40, protected=True),
    section("a", 40),
    section("b", 4),
    section("c", 40),
]


@pytest.mark.parametrize(
    ("tokens", "kept"),
    [
        pytest.param(33, "must a b c", id="all fit: 124 and three blank lines are 130"),
        pytest.param(32, "must a b", id="the last goes first"),
        pytest.param(21, "must a", id="then the one before it"),
        pytest.param(20, "must", id="also when a smaller one behind it would fit"),
        pytest.param(1, "must", id="what is protected stays"),
        pytest.param(0, "must", id="with no budget at all"),
    ],
)
def test_sections_are_dropped_from_the_end_until_the_rest_fits(tokens, kept):
    assert " ".join(s.key for s in keep_within(SECTIONS, tokens, Meter())) == kept


class _Encoding:
    def encode(self, text: str) -> list[str]:
        return text.split()

    def __call__(self, text: str) -> dict[str, list[str]]:
        return {"input_ids": text.split(), "attention_mask": []}


@pytest.mark.parametrize(
    "tokenizer",
    [
        pytest.param(lambda text: len(text.split()), id="that counts"),
        pytest.param(str.split, id="that gives the tokens"),
        pytest.param(_Encoding(), id="as libraries have them"),
    ],
)
def test_a_tokenizer_measures_exactly(tokenizer):
    words = [PromptSection(key=word, pieces=(f"{word} {word} {word}",)) for word in "ab"]
    assert len(keep_within(words, 6, Meter(tokenizer))) == 2
    assert len(keep_within(words, 5, Meter(tokenizer))) == 1


def test_tokens_are_rounded_up():
    assert Meter().tokens(["abcd", "e"]) == 2
    assert Meter(len).tokens(["abcd", "e"]) == 5


def test_a_text_that_exactly_fits_beside_the_notice_is_cut_there():
    ending = "\n\n" + CUT_NOTICE
    assert cut("x" * 80, len(CUT_NOTICE), Meter(len)) == CUT_NOTICE
    assert cut("x" * 80, len(ending), Meter(len)) == ending
    assert cut("x" * 80, len(ending) + 3, Meter(len)) == "xxx" + ending


@pytest.mark.parametrize(
    ("text", "tokens", "expected"),
    [
        pytest.param("x" * 40, 10, "x" * 40, id="fits"),
        pytest.param("x" * 80, 15, "x" * 20 + "\n\n" + CUT_NOTICE, id="cut"),
        pytest.param("x" * 80, 10, "\n\n" + CUT_NOTICE, id="room for the notice alone"),
        pytest.param("x" * 80, 1, "xxxx", id="no room for the notice"),
        pytest.param("x" * 3 + "y" * 80, 9, "xxx" + "y" * 33, id="one character too few for it"),
        pytest.param("x" * 80, 0, "", id="no room at all"),
    ],
)
def test_a_text_is_cut_to_its_budget(text, tokens, expected):
    assert cut(text, tokens, Meter()) == expected


_sections = st.lists(
    st.builds(
        PromptSection,
        key=st.text("abc", min_size=1, max_size=2),
        pieces=st.tuples(st.text(max_size=30), st.text(max_size=30)),
        is_protected=st.booleans(),
    ),
    max_size=6,
)
_meters = st.sampled_from([Meter(), Meter(len), Meter(lambda text: len(text.encode()))])


@given(_sections, st.integers(0, 60), _meters)
def test_the_budget_is_kept_unless_only_protected_sections_are_left(sections, tokens, meter):
    kept = keep_within(sections, tokens, meter)
    assert [s for s in sections if s.is_protected] == [s for s in kept if s.is_protected]
    assert meter.size(joined(kept)) <= meter.limit(tokens) or all(s.is_protected for s in kept)


@given(st.text(max_size=200), st.integers(0, 60), _meters)
def test_a_cut_text_is_within_its_budget(text, tokens, meter):
    assert meter.size([cut(text, tokens, meter)]) <= meter.limit(tokens)
