"""Why an answer failed, in one sentence; the rest on demand."""

import re
from typing import get_args

import pytest

from smart_context.base.config.endpoints import EndpointSettings
from smart_context.base.resources import asset
from smart_context.llm.failures import EndpointFailure, Trouble, explained
from smart_context.web.pages.views.message_views import FOR_THE_PAGE, failure_view

AT = "The chat model gpt at http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("error", "headline", "has_more"),
    [
        pytest.param(
            f"{AT} gave no answer: no such key. Check the key.",
            "The chat model gpt gave no answer.",
            True,
            id="what the endpoint said is a detail",
        ),
        pytest.param(
            f"{AT} can't be reached: Connection refused. Is the server running?",
            "The chat model gpt can't be reached.",
            True,
            id="so is the next step",
        ),
        pytest.param(
            "Too long for this model: 11,858 of 8,192 tokens. Pick a topic, or fewer. More.",
            "Too long for this model: 11,858 of 8,192 tokens. Pick a topic.",
            True,
            id="of what is too long, the next step comes first",
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
    assert view.is_too_long == ("Pick a topic" in error)


def test_a_failure_knows_when_to_try_again():
    told = "It gets too many requests, or its quota is used up. Wait 4 s, then try again."
    assert failure_view(f"{AT} refused the request with status 429: slow. {told}").wait_s == 4
    assert failure_view(f"{AT} had a problem (500).").wait_s == 0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500])
@pytest.mark.parametrize("trouble", get_args(Trouble))
def test_no_failure_names_a_file_or_a_command(trouble, status):
    failure = EndpointFailure(trouble=trouble, status=status)
    for key in ({}, {"api_key": "k"}, {"api_key_env": "MY_KEY"}, {"connection": "x"}):
        endpoint = EndpointSettings(base_url="http://127.0.0.1:9/v1", model="gpt", **key)
        view = failure_view(str(explained(failure, endpoint, "chat model")))
        for word in (".toml", "smart-context", "base_url", "timeout_s", "with status"):
            assert word not in view.headline + view.details


def test_a_page_words_what_went_wrong_as_the_server_does():
    script = (asset("static") / "lib" / "text.js").read_text("utf-8")
    rules = re.findall(r'^  \[/(.+)/g, "(.*)"\],$', script, re.MULTILINE)
    ours = [(words.pattern, plain.replace("\\", "$")) for words, plain in FOR_THE_PAGE]
    assert rules == ours
