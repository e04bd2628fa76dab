"""What a chat's next message would send, kept for a moment."""

import pytest

from smart_context.base.values import OWNER
from smart_context.plugin.briefing.briefing import Briefing
from smart_context.plugin.briefing.chat_roles import RolePart
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.forecast.forecasts import BRIEFING_AGE_S, ForecastMemory, Forecasts

pytestmark = pytest.mark.anyio


CHOSEN = FilterState(role="reviewer")


class Reading:
    """Counts how often notes and files are read."""

    def __init__(self, problem=""):
        self.times = 0
        self.problems = (problem,) if problem else ()

    async def of(self, _chat_id, _message, _state):
        self.times += 1
        return Briefing(role=RolePart(text=str(self.times), problems=self.problems))

    async def with_message(self, briefing, _message):
        return briefing


@pytest.mark.parametrize(
    ("seconds", "problem", "times"),
    [
        pytest.param(BRIEFING_AGE_S - 0.1, "", 1, id="keystrokes read nothing"),
        pytest.param(
            BRIEFING_AGE_S + 0.1, "", 2, id="git add sends no event, so they are read again"
        ),
        pytest.param(0, "unreadable", 2, id="what failed is tried again"),
    ],
)
async def test_how_old_the_notes_and_files_of_a_preview_may_be(seconds, problem, times):
    now, reading = [100.0], Reading(problem)
    forecasts = Forecasts(
        person=OWNER,
        memory=ForecastMemory(),
        chats=None,
        sidecars=None,
        chat_filter=None,
        selector=None,
        briefings=reading,
        ledger=None,
        count_tokens=len,
        as_text=bool,
        clock=lambda: now[0],
    )
    await forecasts.briefing("c", "h", CHOSEN)
    now[0] += seconds
    shown = await forecasts.briefing("c", "hi", CHOSEN)
    assert reading.times == times
    assert shown.role.text == str(times)
