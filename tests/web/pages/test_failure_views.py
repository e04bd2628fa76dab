"""Why an answer failed, in one sentence; the rest on demand."""

import pytest

from smart_context.web.pages.views.message_views import failure_view

AT = "The chat model gpt at http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("error", "headline", "has_more"),
    [
        pytest.param(
            f"{AT} refused the request with status 401: no such key. Check the key.",
            "The chat model gpt refused the request with status 401.",
            True,
            id="what the endpoint said is a detail",
        ),
        pytest.param(
            f"{AT} can't be reached: Connection refused. Is the server running?",
            "The chat model gpt can't be reached.",
            True,
            id="so is the next step",
        ),
        pytest.param("The disk is full.", "The disk is full.", False, id="one sentence"),
        pytest.param("It broke", "It broke.", False, id="no full stop"),
        pytest.param("", "This answer failed.", False, id="nothing is known"),
    ],
)
def test_a_failure_has_one_sentence_and_the_rest_below(error, headline, has_more):
    view = failure_view(error)
    assert view.headline == headline
    assert view.details == (error if has_more else "")


def test_a_failure_knows_when_to_try_again():
    told = "It gets too many requests, or its quota is used up. Wait 4 s, then try again."
    assert failure_view(f"{AT} refused the request with status 429: slow. {told}").wait_s == 4
    assert failure_view(f"{AT} had a problem (500).").wait_s == 0
