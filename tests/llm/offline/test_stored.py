import pytest

from smart_context.llm.offline.stored import MARK, StoredAnswer, guide_in, stored_answer

GUIDE = {"question": "How long?", "answer": "Half an hour."}


def test_a_stored_answer_is_for_the_guides_question_alone():
    assert stored_answer({"guide": GUIDE}, " How long? ") == "Half an hour."
    assert not stored_answer({"guide": GUIDE}, "How long is it?")


def test_what_is_no_guide_is_none():
    for wrong in (True, {"question": "How long?"}, {"question": 1, "answer": "a"}, None):
        assert guide_in({"guide": wrong}) == {}
        assert not stored_answer({"guide": wrong}, "")


@pytest.mark.anyio
async def test_a_stored_answer_says_that_no_model_wrote_it():
    model = StoredAnswer("Half an hour.")
    assert (await model.complete([])).text == f"{MARK}\n\nHalf an hour."
    assert model.parameters(streamed=True) == {}
