"""Why a server reads again what it has read, as far as that is known before sending."""

import pytest

from smart_context.plugin.selection.last_request import LastRequest, NextRequest

HEAD = (("system", 40), ("note", 300))
SENT = ("q1", "a1", "q2", "a2", "q3")


def last(sent=SENT):
    tokens = dict.fromkeys(sent, 10)
    return LastRequest(asked_at=0.0, model="m", head=HEAD, sent=sent, tokens=tokens)


@pytest.mark.parametrize(
    ("head", "ids", "why"),
    [
        pytest.param(HEAD, (*SENT, "a3"), "", id="it goes on"),
        pytest.param(HEAD, SENT[:3], "", id="it ends earlier"),
        pytest.param(
            HEAD, ("q1", "a1", "q3"), "an earlier message is no longer sent", id="a topic is picked"
        ),
        pytest.param(
            HEAD, ("q1", "x", *SENT[1:]), "an earlier message is sent that was not", id="released"
        ),
        pytest.param(
            (*HEAD, ("other", 5)), SENT, "what stands before them has changed", id="a note more"
        ),
        pytest.param(HEAD[:1], SENT, "what stands before them is shorter", id="a note less"),
    ],
)
def test_the_reason_is_what_differs_first(head, ids, why):
    request = NextRequest(head=head, ids=ids, tokens=[10] * len(ids))
    assert request.reread_because(last()) == why


def test_an_edited_message_is_a_reason():
    request = NextRequest(head=HEAD, ids=SENT, tokens=[10, 12, 10, 10, 10])
    assert request.reread_because(last()) == "an earlier message has changed"
