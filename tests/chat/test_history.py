import time
from copy import deepcopy
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.history import CompactionPoint, ContextBuilderOptions, build_context
from smart_context.chat.messages import Message, MessageId

pytestmark = pytest.mark.anyio


class NothingStored:
    async def read(self, id: str) -> None:  # noqa: A002  the seed's name
        return None


def say(name: str, role: str = "user", content=None, **fields) -> Message:
    content = name if content is None else content
    return Message(id=MessageId(name), role=role, content=content, **fields)


def call(name: str, state: str = "call") -> dict[str, object]:
    return {"type": "tool_call", "state": state, "tool_call_id": name, "tool_name": "t", "args": {}}


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


def result(name: str, call_id: str | None = None, **fields) -> Message:
    return say(name, "tool", extra={"tool_call_id": call_id} if call_id else {}, **fields)


def options(**fields) -> ContextBuilderOptions:
    return ContextBuilderOptions(NothingStored(), **fields)


async def ids(messages, **fields) -> str:
    return " ".join(m.id for m in await build_context(messages, options(**fields)))


async def calls(messages, **fields) -> str:
    history = await build_context(messages, options(**fields))
    return " ".join(
        part["tool_call_id"] for m in history for part in m.parts if part["type"] == "tool_call"
    )


TALK = [say("s", "system"), say("u1"), say("a1", "assistant"), say("u2"), say("a2", "assistant")]


async def test_a_chat_with_nothing_to_do_comes_out_as_the_very_same_messages():
    history = await build_context(TALK, options())
    assert len(history) == len(TALK)
    assert all(sent is given for sent, given in zip(history, TALK, strict=True))


async def test_no_messages_make_no_history():
    assert await build_context([], options(max_context_message_count=3)) == []


async def test_an_unfinished_answer_is_left_out():
    assert await ids([say("u"), say("a", "assistant", generating=True)]) == "u"


@pytest.mark.parametrize(
    ("fields", "kept"),
    [
        pytest.param({"error": "timeout"}, "u", id="an error"),
        pytest.param({"error_code": 429}, "u", id="a code without words"),
        pytest.param({"error_code": "rate_limit"}, "u", id="a code that is a name"),
        pytest.param({"error": "", "error_code": 0}, "u a", id="neither set"),
        pytest.param({"error": "", "error_code": ""}, "u a", id="empty texts"),
        pytest.param({"error": None, "error_code": None}, "u a", id="null from an older file"),
    ],
)
async def test_a_failed_message_is_left_out(fields, kept):
    assert await ids([say("u"), say("a", "assistant", **fields)]) == kept


LONG = [
    say("s", "system"),
    say("u1"),
    say("a1", "assistant"),
    say("sum1", "assistant", is_summary=True),
    say("u2"),
    say("a2", "assistant"),
    say("sum2", "assistant", is_summary=True),
    say("u3"),
]
FIRST = CompactionPoint("sum1", "a1", "2026-01-01T00:00:00Z")
SECOND = CompactionPoint("sum2", "a2", "2026-01-02T00:00:00Z")


@pytest.mark.parametrize(
    ("points", "kept"),
    [
        pytest.param([], "s u1 a1 u2 a2 u3", id="no point, no summaries"),
        pytest.param([FIRST], "s sum1 u2 a2 u3", id="what follows the boundary"),
        pytest.param([SECOND, FIRST], "s sum2 u3", id="the newest, whatever their order"),
        pytest.param(
            [FIRST, CompactionPoint("gone", "a2", "2026-01-03")], "s sum1 u2 a2 u3", id="no summary"
        ),
        pytest.param(
            [FIRST, CompactionPoint("sum2", "gone", "2026-01-03")], "s sum1 u2 a2 u3", id="no end"
        ),
        pytest.param([CompactionPoint("x", "y", 3)], "s u1 a1 u2 a2 u3", id="none usable"),
        pytest.param(
            [CompactionPoint("sum2", "a2", 10), CompactionPoint("sum1", "a1", 9)],
            "s sum2 u3",
            id="times as numbers",
        ),
        pytest.param(
            [FIRST, CompactionPoint("sum2", "a2", datetime(2025, 1, 1, tzinfo=UTC))],
            "s sum1 u2 a2 u3",
            id="a time as a datetime",
        ),
        pytest.param(
            [
                CompactionPoint("sum1", "a1", "2026-01-01T12:00:00+00:00"),
                CompactionPoint("sum2", "a2", "2026-01-01T13:00:00+05:00"),
            ],
            "s sum1 u2 a2 u3",
            id="times of different zones",
        ),
        pytest.param(
            [CompactionPoint("sum1", "a1", "1 May"), CompactionPoint("sum2", "a2", "2020-01-01")],
            "s sum2 u3",
            id="a time that can't be read is the oldest",
        ),
        pytest.param(
            [CompactionPoint("sum1", "a1", 1), CompactionPoint("sum2", "a2", 1)],
            "s sum2 u3",
            id="of one time, the later in the list",
        ),
        pytest.param([CompactionPoint("sum2", "s", 1)], "s sum2 u1 a1 u2 a2 u3", id="after s"),
        pytest.param([CompactionPoint("sum2", "u3", 1)], "s sum2", id="nothing follows"),
        pytest.param([CompactionPoint("u2", "a1", 1)], "s u2 a2 u3", id="an unmarked summary"),
    ],
)
async def test_the_newest_usable_compaction_stands_for_what_is_before_it(points, kept):
    assert await ids(LONG, compaction_points=points) == kept


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"error": "x"}, id="with an error"),
        pytest.param({"error_code": 500}, id="with an error code"),
        pytest.param({"generating": True}, id="unfinished"),
    ],
)
async def test_a_summary_that_failed_falls_back_to_the_older_one(fields):
    chat = [say(m.id, m.role, is_summary=True, **fields) if m.id == "sum2" else m for m in LONG]
    assert await ids(chat, compaction_points=[FIRST, SECOND]) == "s sum1 u2 a2 u3"


async def test_a_point_counts_in_a_chat_of_plain_messages():
    assert await ids(TALK, compaction_points=[CompactionPoint("u2", "a1", 1)]) == "s u2 a2"


async def test_a_time_without_a_zone_is_that_of_utc(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    points = [
        CompactionPoint("sum1", "a1", "2026-01-01T01:00:00Z"),
        CompactionPoint("sum2", "a2", "2026-01-01T02:00:00"),
    ]
    try:
        assert await ids(LONG, compaction_points=points) == "s sum2 u3"
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_a_system_message_that_does_not_lead_is_compacted_like_any_other():
    chat = [say("u1"), say("s", "system"), say("sum", "assistant", is_summary=True), say("u2")]
    assert await ids(chat, compaction_points=[CompactionPoint("sum", "s", 1)]) == "sum u2"


async def test_a_summary_with_the_system_role_is_no_system_message():
    chat = [say("old", "system", is_summary=True), *LONG[1:]]
    assert await ids(chat, compaction_points=[SECOND]) == "sum2 u3"


def rounds(count: int) -> list[Message]:
    return [
        message
        for n in range(1, count + 1)
        for message in (
            say(f"u{n}"),
            say(f"a{n}", "assistant", (text("before"), call(f"c{n}"), text("after"))),
        )
    ]


ASKING = say("a0", "assistant", (call("c0"),))


@pytest.mark.parametrize(
    ("chat", "keep", "kept"),
    [
        pytest.param(rounds(3), 2, "c2 c3", id="the two newest rounds"),
        pytest.param(rounds(3), 1, "c3", id="one"),
        pytest.param(rounds(3), 0, "", id="0 keeps none"),
        pytest.param(rounds(3), -1, "c1 c2 c3", id="a negative number keeps all"),
        pytest.param(rounds(2), 5, "c1 c2", id="fewer rounds than that"),
        pytest.param([*rounds(3), say("u4")], 2, "c2 c3", id="an unanswered question is no round"),
        pytest.param(
            [say("u0"), *rounds(2), say("x"), *rounds(1)], 2, "c2 c1", id="two questions, one round"
        ),
        pytest.param(
            [*rounds(2), say("a", "assistant", (call("c9"),))], 1, "c2 c9", id="two answers, one"
        ),
        pytest.param([ASKING, *rounds(2)], -1, "c0 c1 c2", id="all, with what leads"),
        pytest.param([ASKING, *rounds(2)], 2, "c1 c2", id="what leads is in no round"),
        pytest.param(
            [ASKING, say("u0"), say("x", "system"), *rounds(2)],
            3,
            "c0 c1 c2",
            id="a question answered by nobody is no round",
        ),
    ],
)
async def test_only_the_newest_rounds_keep_their_tool_calls(chat, keep, kept):
    assert await calls(chat, keep_tool_call_rounds=keep) == kept


@pytest.mark.parametrize("state", ["call", "result", "error", "unheard of"])
async def test_tool_calls_go_in_whatever_state_and_the_other_parts_stay_in_order(state):
    parts = (text("a"), call("c", state), {"type": "image", "storage_key": "k"}, call("d"))
    history = await build_context(
        [say("u"), say("a", "assistant", parts)], options(keep_tool_call_rounds=0)
    )
    assert history[1].content == (parts[0], parts[2])


async def test_a_message_of_parts_without_calls_stays_the_same_object():
    message = say("a", "assistant", (text("a"), {"type": "reasoning", "text": "b"}))
    (sent,) = await build_context([message], options(keep_tool_call_rounds=0))
    assert sent is message
    assert await calls([say("a", "assistant", (call("c1"),))], keep_tool_call_rounds=0) == ""


async def test_two_rounds_are_kept_unless_told_otherwise():
    assert await calls(rounds(4)) == "c3 c4"


TOOLS = [
    say("u1"),
    say("a1", "assistant", (call("c1"),)),
    result("r1", "c1"),
    say("b1", "assistant"),
    say("u2"),
]


@pytest.mark.parametrize(
    ("chat", "fields", "kept"),
    [
        pytest.param(TOOLS, {}, "u1 a1 r1 b1 u2", id="nothing to do"),
        pytest.param(TOOLS, {"keep_tool_call_rounds": 0}, "u1 a1 b1 u2", id="its call is too old"),
        pytest.param(
            [TOOLS[0], say("a1", "assistant", (call("c1"),), error="x"), *TOOLS[2:]],
            {},
            "u1 b1 u2",
            id="its call failed",
        ),
        pytest.param(
            [say("a1", "assistant", error="x"), result("r1"), result("r2"), say("u2")],
            {},
            "u2",
            id="results without an id follow the message before them",
        ),
        pytest.param([say("u1"), result("r", "gone"), say("u2")], {}, "u1 u2", id="an orphan"),
        pytest.param([result("r", "gone")], {}, "", id="nothing but an orphan"),
        pytest.param([say("u1"), result("r")], {}, "u1 r", id="a tool's own message stays"),
        pytest.param(
            [say("s", "system"), result("r"), say("u")],
            {"max_context_message_count": 5},
            "s r u",
            id="it stays when nothing is cut before it",
        ),
        pytest.param(
            [say("u1"), say("u2"), result("r")],
            {"max_context_message_count": 0},
            "",
            id="nothing but a result is left",
        ),
        pytest.param(TOOLS, {"max_context_message_count": 2}, "b1 u2", id="cut from its call"),
        pytest.param(
            [TOOLS[1], say("u"), TOOLS[2], say("b", "assistant"), say("u2")],
            {"max_context_message_count": 3},
            "u b u2",
            id="cut from its call, not at the start",
        ),
        pytest.param(
            [TOOLS[1], say("u"), result("r9"), say("u2")],
            {"max_context_message_count": 1},
            "u2",
            id="a history never begins with a result",
        ),
        pytest.param(
            [*TOOLS, say("a2", "assistant", (call("c1"),)), result("r2", "c1")],
            {"max_context_message_count": 1},
            "a2 r2",
            id="the same call id again means the newer call",
        ),
    ],
)
async def test_a_tool_result_goes_where_its_call_goes(chat, fields, kept):
    assert await ids(chat, **fields) == kept


async def test_a_call_whose_result_failed_goes_with_it():
    chat = [
        say("u"),
        say("a", "assistant", (call("c1"), call("c2"), text("x"))),
        result("r1", "c1"),
        result("r2", "c2", error="boom"),
    ]
    history = await build_context(chat, options())
    assert [m.id for m in history] == ["u", "a", "r1"]
    assert history[1].content == (call("c1"), text("x"))


async def test_calls_whose_results_all_failed_go_with_them():
    chat = [
        say("a", "assistant", (call("c1"), call("c2"), text("x"))),
        result("r1", "c1", error="boom"),
        result("r2", "c2", error="boom"),
    ]
    (asking,) = await build_context(chat, options())
    assert asking.content == (text("x"),)


async def test_a_call_stays_while_one_of_its_results_stays():
    chat = [
        say("a", "assistant", (call("c"),)),
        result("r1", "c", error="x"),
        result("r2", "c"),
    ]
    assert await calls(chat) == "c"


async def test_a_compaction_between_call_and_result_takes_both():
    chat = [*TOOLS[:3], say("sum", "assistant", is_summary=True), *TOOLS[3:]]
    points = [CompactionPoint("sum", "a1", 1)]
    assert await ids(chat, compaction_points=points) == "sum b1 u2"


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        pytest.param(None, "s u1 a1 u2 a2", id="no limit"),
        pytest.param(9, "s u1 a1 u2 a2", id="more than there is"),
        pytest.param(2, "s a1 u2 a2", id="history and the current one"),
        pytest.param(0, "s a2", id="the current one alone"),
        pytest.param(-4, "s a2", id="below 0 counts as 0"),
    ],
)
async def test_the_limit_keeps_the_newest_messages_and_what_leads(limit, kept):
    assert await ids(TALK, max_context_message_count=limit) == kept


async def test_the_limit_does_not_count_the_summary():
    kept = await ids(LONG, compaction_points=[FIRST], max_context_message_count=1)
    assert kept == "s sum1 a2 u3"


async def test_the_limit_counts_only_messages_that_are_left():
    chat = [say("u1"), say("u2"), say("bad", "assistant", error="x"), say("u3")]
    assert await ids(chat, max_context_message_count=1) == "u2 u3"


_parts = st.lists(
    st.one_of(
        st.builds(text, st.text(max_size=3)),
        st.builds(call, st.sampled_from("xyz"), st.sampled_from(["call", "result"])),
    ),
    max_size=3,
).map(tuple)


@st.composite
def chats(draw) -> list[Message]:
    chat = []
    for at in range(draw(st.integers(0, 12))):
        role = draw(st.sampled_from(["user", "assistant", "tool", "system"]))
        call_id = draw(st.sampled_from(["x", "y", "z", None])) if role == "tool" else None
        chat.append(
            say(
                f"m{at}",
                role,
                "text" if role == "tool" else draw(st.one_of(st.just("text"), _parts)),
                generating=draw(st.sampled_from([False, False, False, True])),
                error=draw(st.sampled_from(["", "", "", "x"])),
                is_summary=draw(st.sampled_from([False, False, True])),
                extra={"tool_call_id": call_id} if call_id else {},
            )
        )
    return chat


_names = st.integers(0, 11).map(lambda n: f"m{n}")
_choices = st.fixed_dictionaries(
    {
        "max_context_message_count": st.one_of(st.none(), st.integers(0, 8)),
        "keep_tool_call_rounds": st.integers(-1, 3),
        "compaction_points": st.lists(
            st.builds(CompactionPoint, _names, _names, st.integers(0, 3)), max_size=2
        ),
    }
)


def made_calls(chat) -> list[str]:
    return [part["tool_call_id"] for m in chat for part in m.parts if "tool_call_id" in part]


def answers(chat) -> list[str]:
    return [m.extra["tool_call_id"] for m in chat if "tool_call_id" in m.extra]


def answers_after_call(chat, name) -> list[str]:
    caller = next(at for at, m in enumerate(chat) if name in made_calls([m]))
    return answers(chat[caller:])


@given(chats(), _choices)
async def test_inputs_are_untouched(chat, choices):
    before = deepcopy([m.to_dict() for m in chat])
    await build_context(tuple(chat), options(**choices))
    assert [m.to_dict() for m in chat] == before


@given(chats(), _choices)
async def test_each_message_comes_at_most_once_and_in_order_but_for_the_summary(chat, choices):
    history = [m.id for m in await build_context(chat, options(**choices))]
    assert len(set(history)) == len(history)
    summaries = {point.summary_message_id for point in choices["compaction_points"]}
    places = [int(name[1:]) for name in history if name not in summaries]
    assert places == sorted(places)


@given(chats(), _choices)
async def test_a_call_and_its_result_are_both_there_or_both_gone(chat, choices):
    history = await build_context(chat, options(**choices))
    called: set[str] = set()
    for message in history:
        assert set(answers([message])) <= called
        called.update(made_calls([message]))
    for name in "xyz":
        once = made_calls(chat).count(name) == 1
        if once and name in answers_after_call(chat, name) and name in made_calls(history):
            assert name in answers(history)


async def test_a_tools_result_is_no_summary():
    chat = [
        say("m0", "user", "text"),
        say("m1", "assistant", (call("x", "call"),)),
        say("m2", "tool", "text", extra={"tool_call_id": "x"}),
        say("m3", "user", "text"),
    ]
    points = [CompactionPoint("m2", "m0", 0)]
    history = await build_context(chat, options(compaction_points=points))
    assert [m.id for m in history] == ["m0", "m1", "m2", "m3"]


@given(chats(), _choices)
async def test_a_limit_never_drops_the_summary_or_a_leading_system_message(chat, choices):
    limited = await build_context(chat, options(**choices))
    unlimited = await build_context(chat, options(**{**choices, "max_context_message_count": None}))
    if unlimited and unlimited[0].role == "system":
        assert limited[0].id == unlimited[0].id
    kept_ids = {m.id for m in limited}
    summaries = {m.id for m in unlimited if m.is_summary}
    assert summaries <= kept_ids


@given(chats(), st.integers(0, 8))
async def test_a_higher_limit_never_drops_a_message(chat, limit):
    fewer = await ids(chat, max_context_message_count=limit)
    more = await ids(chat, max_context_message_count=limit + 1)
    assert set(fewer.split()) <= set(more.split())


@given(chats(), st.integers(0, 8))
async def test_without_tools_the_limit_is_the_end_of_the_whole_history(chat, limit):
    spoken = [say(m.id, m.role, generating=m.generating, error=m.error) for m in chat if m.text]
    spoken = [m for m in spoken if m.role != "tool"]
    whole = await build_context(spoken, options())
    leading = whole[:1] if whole and whole[0].role == "system" else []
    limited = await build_context(spoken, options(max_context_message_count=limit))
    assert limited == leading + whole[len(leading) :][-limit - 1 :]
