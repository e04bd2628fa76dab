"""The filter over a scripted embedder, with its numbers in plain sight."""

import asyncio
import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.errors import ModelFailed
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.host.request.window import Window
from smart_context.plugin.choices.sidecars import ChatSidecar
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.selection.decision import ChatView
from smart_context.plugin.selection.pinned import with_pinned_restored
from smart_context.plugin.selection.selector import (
    MAX_KEPT_MESSAGES,
    ContextSelector,
    kept_of_chats,
)
from smart_context.plugin.selection.window_budget import WindowBudget
from smart_context.plugin.settings import FilterSettings
from smart_context.relevance.judge.calibrate import DEFAULT_THRESHOLD
from smart_context.relevance.reasons import ReasonKind
from smart_context.relevance.scorer import RelevanceScorer
from smart_context.relevance.vectors.cache import EmbeddingCache
from smart_context.storage.memory import MemoryVectors

pytestmark = pytest.mark.anyio

PLAIN = FilterSettings(relevance="plain", recent_messages=0, keep_pairs=False)


class AxisEmbedder:
    """Puts a text at the cosine that stands in it: "0.6 of cats" lies 0.6 along "cats"."""

    name = "axes"
    axes = ("cats", "boats")

    def __init__(self, *, fails=False):
        self.fails = fails

    async def embed(self, texts):
        if self.fails:
            raise ModelFailed("the embedder is down")
        return np.array([self._vector(text) for text in texts], dtype=np.float32)

    def _vector(self, text):
        vector = np.zeros(len(self.axes) + 1)
        for axis, name in enumerate(self.axes):
            if text == name:
                vector[axis] = 1
            elif name in text:
                vector[axis] = float(text.split()[0])
        vector[-1] = np.sqrt(max(0.0, 1 - (vector**2).sum()))
        return vector


def said(*texts, roles="user"):
    return tuple(
        Message(
            id=MessageId(f"m{n}"), role=roles if isinstance(roles, str) else roles[n], content=t
        )
        for n, t in enumerate(texts)
    )


def view_of(messages, *, state=None, sticky=(), history=None):
    topics = [{"label": "cats", "count": 2}, {"label": "boats", "count": 1}]
    if sticky:
        topics.append(
            {"label": "Instructions & Preferences", "sticky": True, "message_ids": sticky}
        )
    return ChatView(
        chat_id=ChatId("chat"),
        messages=messages,
        history=messages if history is None else history,
        topics=tuple(topics),
        sidecar=ChatSidecar(state=state or FilterState()),
    )


@pytest.fixture
def selector():
    def make(settings=PLAIN, *, embedder=None, **options):
        cache = EmbeddingCache(MemoryVectors(), embedder or AxisEmbedder())
        scorer = RelevanceScorer(cache, mode=settings.relevance)
        return ContextSelector(scorer, settings, logging.getLogger("test"), **options)

    return make


def kept(decision):
    return [message.id for message in decision.messages]


async def test_nothing_selected_sends_the_full_history(selector):
    decision = await selector().decide(view_of(said("0.9 cats", "0.1 cats")))
    assert kept(decision) == ["m0", "m1"]
    assert not decision.selection.fell_back


async def test_a_score_equal_to_the_threshold_is_kept(selector):
    view = view_of(
        said(f"{DEFAULT_THRESHOLD} cats", f"{DEFAULT_THRESHOLD - 0.01} cats"),
        state=FilterState().select(["cats"]),
    )
    assert kept(await selector().decide(view)) == ["m0"]


async def test_a_message_counts_by_its_closest_topic(selector):
    view = view_of(said("0.1 cats", "0.8 boats"), state=FilterState().select(["cats", "boats"]))
    decision = await selector().decide(view)
    assert kept(decision) == ["m1"]
    assert decision.selection.reasons.at(1).topic == "boats"


async def test_nothing_reaches_the_threshold_so_everything_stays_and_it_is_said(selector):
    view = view_of(said("0.1 cats", "0.2 cats"), state=FilterState().select(["cats"]))
    decision = await selector().decide(view)
    assert kept(decision) == ["m0", "m1"]
    assert decision.selection.fell_back


async def test_a_standing_instruction_does_not_prevent_the_fallback(selector):
    view = view_of(
        said("0.9 cats", "0.1 cats"), state=FilterState().select(["cats"]), sticky=["m0"]
    )
    assert (await selector().decide(view)).selection.fell_back


async def test_a_standing_instruction_that_fell_out_of_the_history_comes_back_in_its_place(
    selector,
):
    messages = said("be brief", "0.9 cats", "0.1 cats", "0.8 cats")
    view = view_of(
        messages, history=messages[1:], state=FilterState().select(["cats"]), sticky=["m0"]
    )
    assert kept(await selector().decide(view)) == ["m0", "m1", "m3"]


async def test_without_a_filter_too_it_comes_back_once(selector):
    messages = said("be brief", "one", "two")
    view = view_of(messages, history=messages[1:], sticky=["m0"])
    assert kept(await selector().decide(view)) == ["m0", "m1", "m2"]


async def test_with_similarity_off_the_selection_has_no_effect(selector):
    state = FilterState(active_topics=("cats",), embedding_search=False)
    assert kept(await selector().decide(view_of(said("0.9 cats", "0.1 cats"), state=state))) == [
        "m0",
        "m1",
    ]


async def test_the_setting_decides_until_the_user_touches_the_switch(selector):
    off = FilterSettings(relevance="plain", embedding_search=False)
    messages = said("0.9 cats", "0.1 cats", "0.1 cats", "0.1 cats")
    untouched = FilterState().select(["cats"])
    assert len((await selector(off).decide(view_of(messages, state=untouched))).messages) == 4
    touched = untouched.switch(enabled=True)
    assert len((await selector(off).decide(view_of(messages, state=touched))).messages) < 4


async def test_the_newest_messages_stay_whatever_they_score(selector):
    settings = FilterSettings(relevance="plain", recent_messages=2, keep_pairs=False)
    messages = said("0.9 cats", "0.1 cats", "0.1 cats", "0.1 cats")
    decision = await selector(settings).decide(
        view_of(messages, state=FilterState().select(["cats"]))
    )
    assert kept(decision) == ["m0", "m2", "m3"]


async def test_a_kept_answer_brings_its_question(selector):
    settings = FilterSettings(relevance="plain", recent_messages=0, keep_pairs=True)
    messages = said("why?", "0.9 cats", "and?", "0.1", roles=["user", "assistant"] * 2)
    decision = await selector(settings).decide(
        view_of(messages, state=FilterState().select(["cats"]))
    )
    assert kept(decision) == ["m0", "m1"]
    assert decision.selection.reasons.at(0).kind is ReasonKind.QUESTION


async def test_pinned_comes_in_and_hidden_goes_out(selector):
    state = FilterState().select(["cats"]).pin([MessageId("m1")]).hide([MessageId("m2")])
    view = view_of(said("0.9 cats", "0.1 cats", "0.8 cats"), state=state)
    assert kept(await selector().decide(view)) == ["m0", "m1"]


async def test_a_leading_system_message_and_a_summary_always_stay(selector):
    messages = (
        Message(id=MessageId("s"), role="system", content="You are a sailor."),
        Message(id=MessageId("z"), role="assistant", content="So far: sails", is_summary=True),
        *said("0.9 cats", "0.1 cats"),
    )
    view = view_of(messages, state=FilterState().select(["cats"]))
    assert kept(await selector().decide(view)) == ["s", "z", "m0"]


async def test_what_another_plugin_put_into_the_history_stays(selector):
    messages = said("0.9 cats", "0.1 cats")
    added = Message(id=MessageId("weather"), role="system", content="It rains.")
    view = view_of(messages, history=(*messages, added), state=FilterState().select(["cats"]))
    assert kept(await selector().decide(view)) == ["m0", "weather"]


async def test_a_failing_embedder_costs_the_filter_and_not_the_turn(selector):
    view = view_of(said("0.9 cats", "0.1 cats"), state=FilterState().select(["cats"]))
    decision = await selector(embedder=AxisEmbedder(fails=True)).decide(view)
    assert kept(decision) == ["m0", "m1"]
    assert "the embedder is down" in decision.problem


async def test_an_embedder_that_does_not_answer_in_time_costs_the_filter(selector):
    class Silent(AxisEmbedder):
        async def embed(self, texts):
            await asyncio.Event().wait()

    view = view_of(said("0.9 cats", "0.1 cats"), state=FilterState().select(["cats"]))
    decision = await selector(embedder=Silent(), patience_s=0.01).decide(view)
    assert kept(decision) == ["m0", "m1"]
    assert decision.problem.startswith("The embedding model did not answer within")


async def test_what_is_sent_is_decided_once_for_each_state_and_window(selector):
    known = [Window(tokens=1_000, model="m", count=len)]
    filter_of = selector(budget=WindowBudget(window=lambda: known[0]))
    cats = FilterState(active_topics=("cats",))
    view = view_of(said("0.6 of cats", "x" * 500, "x" * 500), state=cats)
    decided = await filter_of.decide(view)
    assert await filter_of.decide(view) is decided
    for changed in (
        view_of(said("0.6 of cats", "x" * 500), state=cats),
        view_of(view.messages, state=FilterState()),
    ):
        assert await filter_of.decide(changed) is not decided
    everything = await filter_of.decide(view_of(view.messages))
    known[0] = Window(tokens=100, model="m", count=len)
    assert len(kept(await filter_of.decide(view_of(view.messages)))) < len(kept(everything))


async def test_another_threshold_can_be_tried_without_setting_it(selector):
    view = view_of(said("0.9 cats", "0.5 cats"), state=FilterState().select(["cats"]))
    decide = selector().decide
    assert kept(await decide(view, threshold=0.8)) == ["m0"]
    assert kept(await decide(view)) == ["m0", "m1"]


places = st.sets(st.integers(0, 11), max_size=12)


@given(history=places, wanted=places, failed=places)
def test_what_fell_out_comes_back_once_and_in_order(history, wanted, failed):
    chat = tuple(
        Message(
            id=MessageId(f"m{n:02}"), role="user", content=str(n), error="no" if n in failed else ""
        )
        for n in range(12)
    )
    merged = with_pinned_restored(
        [chat[n] for n in sorted(history)], chat, [chat[n].id for n in wanted]
    )
    places = [int(message.content) for message in merged]
    assert places == sorted(history | (wanted - failed))


def test_calls_and_results_come_back_together_or_not_at_all():
    call = {"type": "tool_call", "tool_call_id": "c1"}
    chat = (
        Message(id=MessageId("asks"), role="assistant", content=(call,)),
        Message(id=MessageId("told"), role="tool", content="9", extra={"tool_call_id": "c1"}),
        Message(id=MessageId("last"), role="user", content="Thanks"),
    )
    for wanted in (["told"], ["asks"], ["asks", "told"]):
        assert with_pinned_restored(chat[2:], chat, wanted) == chat
    assert with_pinned_restored(chat[1:], chat[1:], ["told"]) == chat[1:]
    assert with_pinned_restored(chat[2:], chat[1:], ["told"]) == chat[2:]


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        pytest.param(0, 16, id="empty chats"),
        pytest.param(1_000, 16, id="short ones"),
        pytest.param(MAX_KEPT_MESSAGES // 4, 4, id="long ones"),
        pytest.param(MAX_KEPT_MESSAGES * 2, 1, id="longer ones than may be kept"),
    ],
)
def test_of_long_chats_fewer_are_kept(messages, kept):
    cache = kept_of_chats(16, len)
    for number in range(40):
        cache[number] = range(messages)
    assert [*cache] == [*range(40 - kept, 40)]
