"""What is known of models: how they count tokens, from their servers and answers."""

from dataclasses import replace

import pytest

from smart_context.base.config import EndpointSettings
from smart_context.host.request.known_models import KnownModels
from smart_context.llm.estimating import AS_ESTIMATED, estimate, factors_by
from smart_context.llm.models import Usage
from smart_context.llm.told import ToldByServer
from tests.host.conftest import until
from tests.kinds_of_text import COUNTED, texts_by_kind
from tests.scripted import Scripted
from tests.storage.memory import MemoryCaches

pytestmark = pytest.mark.anyio

TEXT = "word " * 1_200  # 1,500 tokens by the estimate
NUMBERS = "17.25;" * 400
HERE = EndpointSettings(base_url="http://127.0.0.1:9/v1", model="local")
TEXTS = dict(texts_by_kind())


class Server:
    """Tells the same of each model."""

    def __init__(self, told):
        self._told = told
        self.asked = []

    async def told(self, endpoint):
        self.asked.append(endpoint.model)
        return self._told


@pytest.fixture
async def make_known():
    made = []
    caches = MemoryCaches()

    async def make(told=None):
        known = KnownModels(caches, Server(told) if told else None)
        made.append(known)
        await known.load()
        return known

    yield make
    for known in made:
        await known.close()


def sent(text):
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize(
    ("model", "text", "counted", "least", "most"),
    [
        pytest.param("local", TEXT, 2_400, 2_400, 2_600, id="too few"),
        pytest.param("local", TEXT, 800, 800, 900, id="too many"),
        pytest.param("local", TEXT, 1_150, 1_226, 1_226, id="near enough"),
        pytest.param("local", TEXT, 90_000, 1_226, 1_226, id="something else was counted"),
        pytest.param("local", "short " * 60, 900, 1_226, 1_226, id="a short request"),
        pytest.param("gpt-4o", TEXT, 5_000, 1_200, 1_202, id="an exact tokenizer"),
    ],
)
async def test_what_an_endpoint_counts_corrects_later_counts(
    make_known, model, text, counted, least, most
):
    known = await make_known()
    known.learn_counts(replace(HERE, model=model), sent(text), "", counted)
    assert least <= known.counter(model)(TEXT) <= most
    assert known.counter("another")(TEXT) == 1_226


async def test_what_is_learned_of_numbers_leaves_words_nearly_alone(make_known):
    known = await make_known()
    before = known.counter("local")(NUMBERS)
    known.learn_counts(HERE, sent(NUMBERS), "", before // 2)
    assert known.counter("local")(NUMBERS) < 0.6 * before
    assert known.counter("local")(TEXT) == pytest.approx(1_226, rel=0.02)


async def test_the_tokens_of_tools_are_among_those_that_are_counted(make_known):
    known = await make_known()
    tools = "word " * 800
    known.learn_counts(HERE, sent("hello"), tools, 2 * estimate(tools))
    assert known.counter("local")(tools) > 1.8 * estimate(tools)


async def test_what_was_learned_of_counts_outlives_a_restart(make_known):
    first = await make_known()
    first.learn_counts(HERE, sent(TEXT), "", 2_400)
    await first.close()
    assert (await make_known()).counter("local") == first.counter("local")


async def test_a_server_that_may_cut_silently_teaches_no_lower_count(make_known):
    known = await make_known(ToldByServer(program="Ollama"))
    await known.ask(HERE)
    known.learn_counts(HERE, sent(TEXT), "", 800)
    assert known.counter("local")(TEXT) == 1_226
    known.learn_counts(HERE, sent(TEXT), "", 2_400)
    assert known.counter("local")(TEXT) >= 2_400


async def test_a_server_is_asked_what_it_is_although_the_user_has_set_the_window():
    elsewhere = "http://192.168.7.7:8080/v1"
    server = Server(ToldByServer(window=8_192, program="llama.cpp"))
    known = KnownModels(MemoryCaches(), server)
    for model in ("local", "gpt-4o"):
        await known.ask(EndpointSettings(base_url=elsewhere, model=model, context_window=4_096))
    await until(lambda: server.asked)
    await known.close()
    assert server.asked == ["local"]  # of the other one there is nothing to learn


@pytest.mark.parametrize("tokenizer", COUNTED)
async def test_a_servers_tokenizer_counts_from_the_first_request_on(make_known, tokenizer):
    factors = factors_by(COUNTED[tokenizer]["samples"])
    known = await make_known(ToldByServer(window=8_192, is_in_use=True, factors=factors))
    await known.ask(replace(HERE, context_window=4_096))
    count = known.counter("local")
    for text, counted in zip(TEXTS.values(), COUNTED[tokenizer]["kinds"], strict=True):
        assert 0.95 <= count(text) / counted <= 1.25


async def test_what_was_learned_stays_when_the_server_tells_the_same_again(make_known):
    factors = factors_by(COUNTED["Qwen 2.5"]["samples"])
    told = ToldByServer(window=8_192, is_in_use=True, factors=factors)
    known = await make_known(told)
    await known.ask(HERE)
    known.learn_counts(HERE, sent(TEXT), "", 2_400)
    learned = known.counter("local")
    assert learned.factors not in (factors, AS_ESTIMATED)
    again = known._of(HERE).with_told(replace(told))
    assert again.factors == learned.factors


async def test_the_next_request_is_shorter_for_what_was_counted(make_bench, running):
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
