"""No request is more than the model's window takes; what goes, goes in a stated order."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from smart_context.base.errors import RequestTooLong
from smart_context.chat.messages import Message, MessageId
from smart_context.host.request.request import Request
from smart_context.host.request.shortening import (
    ATTACHED_LEFT_OUT,
    RESULT_LEFT_OUT,
    fitted,
    surely_fits,
)
from smart_context.host.request.speaking_order import SpeakingOrder
from smart_context.host.request.tokens import PER_IMAGE, message_tokens, prompt_tokens
from smart_context.host.request.tools import Tool
from smart_context.host.request.window import Window
from smart_context.llm.estimating import factors_by
from smart_context.llm.tokens import TokenCounter
from tests.kinds_of_text import COUNTED, texts_by_kind


def window(tokens, count=len):
    return Window(tokens=tokens, model="small-model", count=count)


def said(name, size=92, role="user", **more):
    return Message(id=MessageId(name), role=role, content=name[0] * size, **more)


def history(count, **more):
    return tuple(said(f"{n}", **more) for n in range(count))


def names(request):
    return "".join(message.id for message in request.history)


def call(name, result):
    return {
        "type": "tool_call",
        "state": "result",
        "tool_call_id": name,
        "tool_name": "read",
        "args": {},
        "result": result,
    }


def results(request):
    return [part["result"] for part in request.steps if part["type"] == "tool_call"]


TOOL = Tool(name="read", description="x" * 300, parameters={}, run=None)


def test_a_request_that_fits_stays_as_it_is_and_nothing_is_counted():
    def count(_text):
        raise AssertionError("a short request needs no counting")

    request = Request(message="Hello", history=history(3))
    assert fitted(request, window(10_000, count)) is request


def test_the_oldest_messages_go_and_what_is_protected_stays():
    request = Request(message="Hello", history=history(9), protected=frozenset({"1"}))
    assert names(fitted(request, window(600))) == "15678"


@pytest.mark.parametrize("tokens", range(400, 700, 10))
def test_an_order_that_adds_texts_costs_a_message_or_two_and_not_all(tokens):
    said_in_turn = tuple(said(f"{n}", role=("assistant", "user")[n % 2]) for n in range(8))
    request = Request(message="Hello", history=said_in_turn)
    ordered = replace(request, order=SpeakingOrder.IN_TURN)
    plain, less = (len(fitted(r, window(tokens)).history) for r in (request, ordered))
    assert plain - 2 <= less <= plain


def test_results_of_earlier_rounds_go_before_any_message_does():
    steps = (call("a", "a" * 400), call("b", "b" * 400), call("c", "c" * 200))
    request = Request(message="Hello", history=history(3), steps=steps, newest_step=2)
    less = fitted(request, window(1_400))
    assert results(less) == [RESULT_LEFT_OUT, "b" * 400, "c" * 200]
    assert names(less) == "012"
    least = fitted(request, window(850))
    assert results(least) == [RESULT_LEFT_OUT, RESULT_LEFT_OUT, "c" * 200]
    assert "0" not in names(least)
    calls = [c["id"] for m in least.messages() for c in m.get("tool_calls", ())]
    answers = [m["tool_call_id"] for m in least.messages() if m["role"] == "tool"]
    assert calls == answers == ["a", "b", "c"]


def test_the_newest_results_share_half_of_the_window_so_that_some_history_stays():
    steps = (call("a", "a" * 5_000), call("b", "short"), call("c", "c" * 5_000))
    request = Request(message="Hello", history=history(3), steps=steps)
    less = fitted(request, window(2_000))
    first, second, third = results(less)
    assert second == "short"
    assert len(first) + len(third) <= 900
    assert first.startswith("a" * 300)
    assert "of 5,000 characters; ask for a smaller part.]" in first
    assert names(less) == "012"


SYSTEM = "Be kind.\n\n# Attached notes\n" + "n" * 300


@pytest.mark.parametrize(
    ("tokens", "kept", "has_notes", "has_tools", "is_attached"),
    [
        pytest.param(2_000, "012345", True, True, True, id="all fits"),
        pytest.param(1_500, "0145", True, True, True, id="first old messages"),
        pytest.param(1_000, "01", False, True, True, id="then the attached notes"),
        pytest.param(700, "01", False, False, True, id="then the tools"),
        pytest.param(450, "0", False, False, True, id="then pinned messages and instructions"),
        pytest.param(340, "", False, False, True, id="then a summary"),
        pytest.param(220, "", False, False, False, id="then what is attached to the message"),
    ],
)
def test_what_goes_goes_in_a_stated_order(tokens, kept, has_notes, has_tools, is_attached):
    messages = (said("0", role="system", is_summary=True), *history(6)[1:])
    request = Request(
        message="Hello" + "a" * 200,
        attached_text="a" * 200,
        system_prompt=SYSTEM,
        optional_prompt=SYSTEM.removeprefix("Be kind.\n\n"),
        history=messages,
        tools=(TOOL,),
        protected=frozenset({"1"}),
    )
    less = fitted(request, window(tokens))
    assert names(less) == kept
    assert less.system_prompt == (SYSTEM if has_notes else "Be kind.")
    assert bool(less.tools) is has_tools
    assert less.message == (request.message if is_attached else f"Hello{ATTACHED_LEFT_OUT}")


def holding(request):
    """A window that a request fills to the last token."""
    total = prompt_tokens(request.messages(), len)
    return window(next(size for size in itertools.count() if window(size).room == total))


def test_a_request_may_fill_the_window_to_the_last_token():
    request = Request(message="ä" * 100, history=history(2))
    room = holding(request)
    assert fitted(request, room) is request
    longer = replace(request, message="ä" * 101)
    assert names(fitted(longer, room)) == "1"
    alone = Request(message="ä" * 100)
    assert fitted(replace(alone, history=history(2)), holding(alone)) == alone
    with pytest.raises(RequestTooLong):
        fitted(replace(alone, message="ä" * 101), holding(alone))
    assert surely_fits(Request(message="x" * 100), holding(alone))
    assert not surely_fits(Request(message="x" * 101), holding(alone))


def test_no_more_results_go_than_needed_and_texts_between_them_stay():
    old = ({"type": "text", "text": "Hm. " * 30}, call("a", "a" * 400), call("b", "b" * 400))
    short = call("s", "s" * len(RESULT_LEFT_OUT))
    request = Request(message="Hello", steps=(short, *old, call("c", "ä")), newest_step=4)
    less = replace(request, steps=(short, old[0], call("a", RESULT_LEFT_OUT), *request.steps[3:]))
    assert fitted(request, holding(less)) == less
    room = holding(less)
    tighter = next(
        made for size in range(room.tokens, 0, -1) if (made := window(size)).room < room.room
    )
    assert results(fitted(request, tighter))[2] == RESULT_LEFT_OUT


def test_a_newest_result_keeps_what_is_left():
    request = Request(message="x" * 600, steps=(call("a", "a" * 5_000),), history=history(2))
    less = fitted(request, window(1_000))
    assert names(less) == ""
    assert 880 < prompt_tokens(less.messages(), len) <= 900


def test_tools_cost_what_is_sent_of_them():
    tool = replace(TOOL, description="ü" * 300)
    request = Request(message="Hello", tools=(tool,))
    assert fitted(request, window(500)) == request


def test_what_goes_leaves_the_rest_as_it_was():
    notes = "n" * 300
    request = Request(
        message=" Hello \n" + "a" * 300 + " \nBye ",
        attached_text="a" * 300,
        system_prompt=f" Be kind. \n\n{notes}\n\n Be brief. ",
        optional_prompt=notes,
        files=({"file_type": "image/png", "storage_key": "new", "name": "new"},),
        images={"new": "data:new"},
    )
    less = fitted(request, window(250))
    assert (less.system_prompt, less.optional_prompt) == ("Be kind.\n\nBe brief.", "")
    assert less.message == f" Hello{ATTACHED_LEFT_OUT} \nBye"
    assert (less.attached_text, less.images) == ("", {})


def test_what_just_fits_without_its_attached_text_is_sent():
    request = Request(message="Hello" + "ä" * 300, attached_text="ä" * 300)
    less = replace(request, message=f"Hello{ATTACHED_LEFT_OUT}", attached_text="")
    assert fitted(request, holding(less)) == less


def test_a_message_stays_when_its_attached_text_is_not_found_in_it():
    file = {"file_type": "image/png", "storage_key": "new", "name": "new"}
    request = Request(
        message="Hello", attached_text="gone", files=(file,), images={"new": "data:new"}
    )
    assert fitted(request, window(250)).message == "Hello"


def test_images_of_earlier_messages_go_before_notes_do():
    files = [{"file_type": "image/png", "storage_key": key, "name": key} for key in ("old", "new")]
    request = Request(
        message="Hello",
        files=(files[1],),
        history=(said("0", files=(files[0],)),),
        images={"old": "data:old", "new": "data:new"},
        system_prompt=SYSTEM,
        optional_prompt=SYSTEM,
    )
    less = fitted(request, window(int(PER_IMAGE * 1.5 / 0.9)))
    assert (list(less.images), less.optional_prompt, names(less)) == (["new"], SYSTEM, "0")


def test_a_message_that_never_fits_is_refused_with_all_figures():
    request = Request(message="x" * 2_000, system_prompt="Be kind.", history=history(3))
    with pytest.raises(RequestTooLong) as caught:
        fitted(request, window(1_000))
    said_so = str(caught.value)
    assert "too long for small-model" in said_so
    assert "about 2,018 tokens, 8 of them the system prompt" in said_so
    assert "takes 1,000, of which 100 are kept for the answer" in said_so
    assert "Nothing was sent. Shorten the message" in said_so


LARGER = "or choose a model with a larger window in .vault.toml (context_window says how large)."


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        pytest.param(
            Request(message="x" * 2_000, system_prompt=" "),
            "The message is too long for small-model: by itself it makes a request of about"
            " 2,005 tokens. The model takes 1,000, of which 100 are kept for the answer. Nothing"
            f" was sent. Shorten the message, attach its text as a file, {LARGER}",
            id="the message",
        ),
        pytest.param(
            Request(message="x" * 1_000, steps=({"type": "text", "text": "y" * 100},)),
            "What small-model asked for to answer is too much for it: with the message that is"
            " about 1,110 tokens. The model takes 1,000, of which 100 are kept for the answer."
            f" Ask for less at once, {LARGER}",
            id="the turn",
        ),
    ],
)
def test_what_never_fits_is_refused_in_these_words(request_, words):
    with pytest.raises(RequestTooLong) as caught:
        fitted(request_, window(1_000))
    assert str(caught.value) == words


def test_a_turn_that_outgrows_the_window_by_itself_says_so():
    steps = ({"type": "text", "text": "Hm. " * 300}, call("a", "a" * 400))
    with pytest.raises(RequestTooLong) as caught:
        fitted(Request(message="Hello", steps=steps), window(1_000))
    assert "What small-model asked for to answer is too much for it" in str(caught.value)
    assert "Nothing was sent" not in str(caught.value)


def test_the_chinese_are_counted_as_their_model_counts():
    request = Request(message="你好" * 100, history=history(5))
    assert names(fitted(request, window(800, lambda text: 2 * len(text)))) == "4"


texts = st.text("ab ", max_size=300)
messages = st.lists(st.tuples(st.sampled_from(["user", "assistant", "system"]), texts), max_size=8)


@given(
    messages,
    st.lists(texts, max_size=4),
    texts,
    st.integers(0, 4),
    st.integers(50, 1_500),
    st.booleans(),
)
def test_whatever_comes_the_window_holds_and_the_order_stays(
    entries, answers, question, newest, tokens, as_text
):
    past = tuple(
        Message(id=MessageId(f"m{n}"), role=role, content=text)
        for n, (role, text) in enumerate(entries)
    )
    request = Request(
        message=question,
        history=past,
        steps=tuple(call(f"c{n}", result) for n, result in enumerate(answers)),
        newest_step=min(newest, len(answers)),
        tools=(TOOL,),
        as_text=as_text,
        system_prompt="notes",
        optional_prompt="notes",
        protected=frozenset({"m1"}),
    )
    room = window(tokens)
    try:
        less = fitted(request, room)
    except RequestTooLong:
        shortest = [call(f"c{n}", RESULT_LEFT_OUT) for n in range(len(answers))]
        bare = Request(message=question, steps=tuple(shortest), as_text=as_text)
        assert not surely_fits(bare, room)
        return
    assert prompt_tokens(less.messages(), len) <= room.room
    assert [m for m in past if m in less.history] == list(less.history)
    assert less.message == question
    asked = [c["id"] for m in less.messages() for c in m.get("tool_calls", ())]
    answered = [m["tool_call_id"] for m in less.messages() if m["role"] == "tool"]
    assert asked == answered


KINDS = dict(texts_by_kind())
TOLD = {
    tokenizer: TokenCounter("local", factors_by(counted["samples"]))
    for tokenizer, counted in COUNTED.items()
    if tokenizer != "Llama 2"  # it has so few signs of Chinese that its count depends on the text
}


@given(
    st.lists(st.sampled_from(list(KINDS)), max_size=30),
    st.sampled_from(list(COUNTED)),
    st.booleans(),
    st.integers(4_000, 60_000),
)
@example(kinds=["prose", "csv", "csv"], tokenizer="Qwen 2.5", is_told=False, tokens=4_000)
def test_no_request_of_real_text_fills_more_than_nine_tenths_of_the_window(
    kinds, tokenizer, is_told, tokens
):
    true = dict(zip(KINDS.values(), COUNTED[tokenizer]["kinds"], strict=True))
    count = TOLD.get(tokenizer, TokenCounter("local")) if is_told else TokenCounter("local")
    past = tuple(
        Message(id=MessageId(f"m{n}"), role="user", content=KINDS[kind])
        for n, kind in enumerate(kinds)
    )
    room = window(tokens, count)
    less = fitted(Request(message="And now?", history=past), room)
    assert prompt_tokens(less.messages(), lambda text: true.get(text, 3)) <= 0.9 * tokens
    kept = [past.index(message) for message in less.history]
    assert kept == sorted(kept)
    # Only a message that alone takes more than half of the room is skipped for older ones.
    budget = room.room - prompt_tokens(Request(message="And now?").messages(), count)
    skipped = set(range(min(kept, default=len(past)), len(past))) - set(kept)
    assert all(message_tokens(past[place], count) > budget // 2 for place in skipped)
