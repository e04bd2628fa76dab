"""What an endpoint counts corrects what we count too low, and nothing else."""

import pytest

from smart_context.base.values import OWNER
from smart_context.chat.messages import Message, MessageId
from smart_context.host.request.request import Request
from smart_context.host.request.window import Window
from smart_context.host.turn import Turn
from smart_context.host.turns.learned_counts import TokenCounts
from smart_context.llm.models import Usage
from tests.scripted import Scripted

pytestmark = pytest.mark.anyio

TEXT = "word " * 1_200  # 1,201 tokens by the estimate


def window(model="local"):
    return Window(tokens=4_000, model=model, count=len)


def turn(text=TEXT, model="local", **more):
    question = Message(id=MessageId("q"), role="user", content=text)
    turn = Turn(
        id="t",
        chat_id="c1",
        person=OWNER,
        question=question,
        answer_id=MessageId("a"),
        request=Request(message=text, **more),
    )
    turn.sent = turn.request.messages()
    turn.window = window(model)
    return turn


@pytest.mark.parametrize(
    ("model", "over", "counted", "least", "most"),
    [
        pytest.param("local", turn(), 2_400, 2_380, 2_402, id="too few"),
        pytest.param("local", turn(), 700, 1_201, 1_201, id="too many stay: rather too short"),
        pytest.param("local", turn("short " * 60), 900, 1_201, 1_201, id="a short request"),
        pytest.param("local", turn(images={"k": "data:"}), 2_400, 1_201, 1_201, id="with images"),
        pytest.param("gpt-4o", turn(model="gpt-4o"), 5_000, 1_200, 1_202, id="an exact tokenizer"),
    ],
)
def test_what_an_endpoint_counts_raises_later_counts(model, over, counted, least, most):
    counts = TokenCounts()
    counts.learn(over, counted)
    assert least <= counts.count(TEXT, model) <= most
    assert counts.count(TEXT, "another") == 1_201


def test_what_is_learned_of_one_kind_of_text_leaves_the_others_alone():
    counts, numbers = TokenCounts(), "17.25;" * 400
    before = counts.count(numbers, "local")
    counts.learn(turn(numbers), 2 * before)
    assert counts.count(numbers, "local") == pytest.approx(2 * before, rel=0.02)
    assert counts.count(TEXT, "local") == 1_201


async def test_the_next_request_is_shorter_for_it(make_bench, running):
    bench = make_bench()
    bench.configure(
        '[llm]\nbase_url = "http://127.0.0.1:9/v1"\ncontext_window = 4000\n'
        '[llm.categories]\nchat = "local"\n'
    )
    async with running(bench):
        completion = bench.host.services.pipeline.completion
        before = completion.window.count(TEXT)
        bench.reply(
            Scripted(pieces=("Yes",), usage=Usage(prompt_tokens=3_000, completion_tokens=1))
        )
        await bench.call("chat.send", message=TEXT, chat_id="c1")
        assert completion.window.count(TEXT) > before * 1.4
