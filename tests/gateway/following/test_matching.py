"""Which message of a chat each entry of a client's list is.

A message is written `q text` for a question, `a` an answer that came through us, `b` one that
did not, `s` a system message, `t` a result of a tool, `r` a reasoning, `c` a summary; `~` before
it says that the client no longer sends it.
"""

import pytest

from smart_context.chat.messages import CUT, Message, MessageId
from smart_context.gateway.following.matching import ISSUED, ListMatch, keys_of, matched, order
from smart_context.gateway.requests.units import chat_units

ROLES = {"q": "user", "a": "assistant", "b": "assistant", "s": "system", "t": "tool"}
FILES = "I have added these files to this"
"""As long as a beginning must be, so that another ending is a newer version of it."""
LONG = "x" * 40


def message(number, said):
    kind, _, text = said.removeprefix("~").partition(" ")
    extra = ({ISSUED: "m"} if kind == "a" else {}) | ({CUT: True} if said[0] == "~" else {})
    return Message(
        id=MessageId(f"m{number}"),
        role=ROLES.get(kind, "assistant"),
        content=({"type": "reasoning", "text": text},) if kind == "r" else text,
        is_summary=kind == "c",
        extra=extra,
    )


def matching(chat, sent):
    units = chat_units(
        [{"role": ROLES[said[0]], "content": said.partition(" ")[2]} for said in sent]
    )
    messages = [message(number, said) for number, said in enumerate(chat)]
    return matched(tuple(units), messages, keys_of(messages))


TALK = ["s be brief", "q 0", "a 0", "q 1", "a 1", "q 2", "a 2"]


@pytest.mark.parametrize(
    ("chat", "sent", "places"),
    [
        pytest.param(TALK, TALK, (0, 1, 2, 3, 4, 5, 6), id="the same list"),
        pytest.param(TALK[:3], TALK[:4], (0, 1, 2, None), id="a new question"),
        pytest.param([], TALK[:2], (None, None), id="a new chat"),
        pytest.param(["q ok", "b x", "q ok"], ["b x", "q ok"], (1, 2), id="the next of two alike"),
        pytest.param(["q ok", "b x"], ["b x", "q ok"], (1, 0), id="the only one, wherever it is"),
        pytest.param(
            ["q f", "q a", "q ok", "q b", "q ok"],
            ["q b", "q a", "q ok"],
            (3, 1, 4),
            id="the next of two after the furthest",
        ),
        pytest.param(
            ["q ok", "q ok", "q b"],
            ["q b", "q ok", "q ok", "q ok"],
            (2, 0, 1, None),
            id="each is taken once",
        ),
        pytest.param(["q ok", "a x"], ["q ok", "b x", "q ok"], (0, 1, None), id="said again"),
        pytest.param(["q x", "q ok", "q ok"], ["q new", "q ok"], (None, 1), id="the first of two"),
        pytest.param(
            ["s s", "q x", "q ok", "q ok"], ["s s", "q ok"], (0, 2), id="the first of two later"
        ),
        pytest.param(["q 0", "q 1"], ["q 1", "b x"], (1, None), id="an answer after the last"),
        pytest.param(["~q 0", "q 1"], ["q 0", "q 1"], (0, 1), id="one that is sent again"),
        pytest.param(["q 0", f"a {LONG} and"], ["q 0", f"b {LONG}"], (0, 1), id="a shorter answer"),
        pytest.param(["q 0", f"a {LONG}"], ["q 0", f"b {LONG} and"], (0, 1), id="a longer answer"),
        pytest.param(["a x and"], ["b x"], (0,), id="a shorter answer that comes first"),
        pytest.param(["q 0", "a x and"], ["q 0", "b y"], (0, None), id="another answer"),
        pytest.param(["q 0", "a "], ["q 0", "b y"], (0, None), id="an answer without text"),
        pytest.param(["q 0", "a y"], ["q 0", "b "], (0, None), id="an answer sent without text"),
        pytest.param(["q 0", "q x and"], ["q 0", "b x"], (0, None), id="an answer to a question"),
        pytest.param(["q 0", "a x and"], ["q 0", "q x"], (0, None), id="a question to an answer"),
        pytest.param(["q 0"], ["q 0", "b x"], (0, None), id="an answer that is not stored"),
        pytest.param(
            ["q 0", "a x and"],
            ["q 0", "q new", "b x"],
            (0, None, None),
            id="a shorter answer to another question",
        ),
        pytest.param(
            ["q 0", "a x and", "q 1", "a y and"],
            ["q 0", "b x", "q 1", "b y"],
            (0, 1, 2, 3),
            id="two shorter answers",
        ),
        pytest.param(
            ["q 0", "a x and", "a x", "q 1"],
            ["q 1", "q 0", "b x", "b x"],
            (3, 0, 2, None),
            id="an answer that is taken is not taken twice",
        ),
    ],
)
def test_each_entry_is_the_message_that_says_the_same(chat, sent, places):
    assert matching(chat, sent).places == places


@pytest.mark.parametrize(
    ("chat", "sent", "places", "rewritten"),
    [
        (["s it is 12:00", "q 0"], ["s it is 12:01", "q 0"], (0, 1), {0}),
        (["q 0", f"q {FILES} v1", "b ok"], ["q 0", f"q {FILES} v2", "b ok"], (0, 1, 2), {1}),
        ([f"q {FILES}", "b ok"], [f"q {FILES} v2", "b ok"], (0, 1), {0}),
        pytest.param(
            ["q Fix it. Answer in diffs!", "a done", "q 1"],
            ["q Fix it.", "a done", "q 1"],
            (0, 1, 2),
            {0},
            id="a question whose end the client strips",
        ),
        pytest.param(
            ["q Fix it. Answer in diffs!", "a done"],
            ["q Fix it."],
            (None,),
            set(),
            id="a question that was made shorter and asked again",
        ),
        pytest.param(
            [f"q {FILES[:-1]}", "b ok"],
            [f"q {FILES[:-1]}, too", "b ok"],
            (None, 1),
            set(),
            id="a beginning that is too short",
        ),
        pytest.param(
            [f"q {FILES}", "b ok"],
            [f"q X{FILES}", "b ok"],
            (None, 1),
            set(),
            id="another beginning",
        ),
        pytest.param(
            [f"q {FILES} v1", "a ok"],
            [f"q {FILES} v2", "b ok"],
            (None, 1),
            set(),
            id="a question that we answered",
        ),
        pytest.param(
            ["b hi", f"q {FILES} v1"],
            ["b hi", f"q {FILES} v2"],
            (0, None),
            set(),
            id="a question that waits for its answer",
        ),
        pytest.param(
            ["q 0", f"a {FILES} v1", "b ok"],
            ["q 0", "q 1", f"b {FILES} v2", "b ok"],
            (0, None, None, 2),
            set(),
            id="an answer of ours",
        ),
        pytest.param(
            ["q 0", f"b {FILES} v1", "b ok"],
            ["q 0", "q 1", f"b {FILES} v2", "b ok"],
            (0, None, 1, 2),
            {2},
            id="an answer of the client's own",
        ),
        pytest.param(
            [f"t {FILES} v1", "b ok"],
            [f"t {FILES} v2", "b ok"],
            (None, 1),
            set(),
            id="a result of a tool",
        ),
        pytest.param(
            [f"q {FILES} v1", "b ok"],
            [f"b {FILES} v2", "b ok"],
            (None, 1),
            set(),
            id="said by another",
        ),
        pytest.param(
            ["s 1", "s 2", "q 0"],
            ["s 3", "s 4", "q 0"],
            (0, 1, 2),
            {0, 1},
            id="each by one message",
        ),
        pytest.param(
            ["q left", "s 1", "q 0"],
            ["s 2", "q 0"],
            (1, 2),
            {0},
            id="one that is gone does not keep the next from its place",
        ),
    ],
)
def test_files_and_system_messages_are_the_same_in_a_newer_version(chat, sent, places, rewritten):
    found = matching(chat, sent)
    assert (found.places, found.rewritten) == (places, rewritten)


@pytest.mark.parametrize(
    ("chat", "sent", "cut", "left"),
    [
        pytest.param(TALK, TALK, set(), (), id="all is sent"),
        pytest.param(TALK, [TALK[0], *TALK[3:]], {1, 2}, (), id="the front is cut"),
        pytest.param(TALK, TALK[3:], {0, 1, 2}, (), id="the front with its system message"),
        pytest.param(TALK, [*TALK[:3], "q new"], set(), ((3, 4, 5, 6),), id="an edit"),
        pytest.param(TALK, [*TALK[:3], *TALK[5:]], set(), ((3, 4),), id="a turn taken out"),
        pytest.param(
            TALK, [*TALK[:3], *TALK[5:6]], set(), ((3, 4), (6,)), id="two runs that are apart"
        ),
        pytest.param(TALK[1:], [], set(), ((0, 1, 2, 3, 4, 5),), id="nothing is sent"),
        pytest.param(TALK[1:], ["q new"], set(), ((0, 1, 2, 3, 4, 5),), id="another chat"),
        pytest.param(
            ["q 0", "a 0", "q files", "b ok", "q 1"],
            ["q 0", "a 0", "q 1"],
            {2, 3},
            (),
            id="files taken out before the end",
        ),
        pytest.param(
            ["q 0", "a 0", "q files", "b ok"], ["q 0", "a 0"], set(), ((2, 3),), id="at the end"
        ),
        pytest.param(
            ["q 0", "t found", "b ok", "q 1"], ["q 0", "b ok", "q 1"], set(), ((1,),), id="a result"
        ),
        pytest.param(
            ["q 0", "r why", "b ok", "q 1"], ["q 0", "b ok", "q 1"], set(), ((1,),), id="a step"
        ),
        pytest.param(["q 0", "c sum", "b 0"], ["q 0"], {1}, ((2,),), id="a summary stays"),
        pytest.param(["q 0", "~q 1", "b 0"], ["q 0"], {1}, ((2,),), id="what was cut stays so"),
        pytest.param(
            ["s 1", "q 0", "a 0", "q 1", "a 1"],
            ["s 1", "b own", "q 1", "a 1"],
            {1, 2},
            (),
            id="the front ends where the talk begins, not where the list does",
        ),
    ],
)
def test_what_is_not_sent_is_cut_or_left(chat, sent, cut, left):
    found = matching(chat, sent)
    assert (found.cut, found.left) == (cut, left)


@pytest.mark.parametrize(
    ("places", "cut", "count", "expected"),
    [
        pytest.param((0, 1, None), (), 2, [(0,), (1,), (2,)], id="nothing cut"),
        pytest.param((0, 3, None), (1, 2), 4, [(0,), 1, 2, (1,), (2,)], id="before the next"),
        pytest.param((0, None), (1, 2), 3, [(0,), 1, 2, (1,)], id="before what is new"),
        pytest.param((0, None, 3), (1,), 4, [(0,), (1,), 1, (2,)], id="new within"),
        pytest.param((0,), (1, 2), 3, [(0,), 1, 2], id="after the last"),
        pytest.param((0,), (1, 2), 2, [(0,), 1], id="no more than there are"),
        pytest.param((None,), (0,), 1, [0, (0,)], id="all is new"),
        pytest.param((), (1, 0), 2, [0, 1], id="nothing is sent"),
        pytest.param((2, 0), (1,), 3, [1, (0,), (1,)], id="moved"),
    ],
)
def test_what_is_cut_keeps_its_place(places, cut, count, expected):
    assert order(ListMatch(places=places, cut=frozenset(cut)), count) == expected
