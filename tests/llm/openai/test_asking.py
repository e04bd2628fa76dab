"""What is asked of a server besides the API, and of which."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from smart_context.base.config import EndpointSettings
from smart_context.llm.estimating import SAMPLES, factors_by
from smart_context.llm.models import ReadingProgress
from smart_context.llm.openai.asking import ServerInformant
from smart_context.llm.openai.connection import EndpointClient
from smart_context.llm.openai.models import OpenAIChatModel
from smart_context.llm.told import ToldByServer
from tests.fake_openai import FakeOpenAI, Reply

pytestmark = pytest.mark.anyio


@contextmanager
def server(**answers):
    """A server with an answer for each path; the others are not found."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.rfile.read(int(self.headers.get("content-length") or 0))
            asked.append(self.path)
            body = json.dumps(answers.get(self.path)).encode()
            self.send_response(200 if self.path in answers else 404)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - the library's name

        def log_message(self, *_):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{httpd.server_port}/v1", asked
    finally:
        httpd.shutdown()
        thread.join()
        httpd.server_close()


def listed(**row):
    return {"data": [{"id": "m", **row}]}


async def told(base_url):
    client = EndpointClient()
    try:
        informant = ServerInformant(client)
        return await informant.told(EndpointSettings(base_url=base_url, model="m"))
    finally:
        await client.aclose()


@pytest.mark.parametrize(
    ("answers", "expected", "paths"),
    [
        pytest.param(
            {
                "/v1/models": listed(owned_by="library"),
                "/api/ps": {"models": [{"name": "m:latest", "context_length": 4_096}]},
                "/api/show": {"model_info": {"a.context_length": 32_768}},
            },
            ToldByServer(window=4_096, is_in_use=True, program="Ollama"),
            ["/v1/models", "/api/ps", "/api/show"],
            id="Ollama",
        ),
        pytest.param(
            {
                "/v1/models": listed(owned_by="organization_owner"),
                "/api/v0/models": listed(loaded_context_length=4_096),
            },
            ToldByServer(window=4_096, is_in_use=True, program="LM Studio"),
            ["/v1/models", "/api/v0/models"],
            id="LM Studio",
        ),
        pytest.param(
            {
                "/v1/models": listed(owned_by="llamacpp", meta={"n_ctx_train": 32_768}),
                "/props": {"default_generation_settings": {"n_ctx": 2_048}},
            },
            ToldByServer(window=2_048, is_in_use=True, program="llama.cpp"),
            ["/v1/models", "/props", "/tokenize"],
            id="an older llama.cpp",
        ),
        pytest.param(
            {"/v1/models": listed(context_length=9_000)},
            ToldByServer(window=9_000),
            ["/v1/models"],
            id="a program that nobody knows is asked nothing else",
        ),
        pytest.param(
            {"/v1/models": listed(owned_by="library")},
            ToldByServer(program="Ollama"),
            ["/v1/models", "/api/ps"],
            id="what is not there changes nothing",
        ),
    ],
)
async def test_a_program_on_this_machine_is_asked_by_its_own_api(answers, expected, paths):
    with server(**answers) as (base_url, asked):
        assert await told(base_url) == expected
    assert asked == paths


@pytest.mark.parametrize(
    "row",
    [
        pytest.param({"owned_by": "llamacpp", "meta": {"n_ctx": 2_048}}, id="llama.cpp"),
        pytest.param({"owned_by": "vllm", "max_model_len": 2_048}, id="vLLM"),
        pytest.param({"meta": {"n_ctx": 2_048}}, id="one that tells the window it runs with"),
    ],
)
@pytest.mark.parametrize("answer", [{"tokens": [7] * 60}, {"count": 60, "max_model_len": 2_048}])
async def test_a_servers_tokenizer_is_asked_for_samples(row, answer):
    with server(**{"/v1/models": listed(**row), "/tokenize": answer}) as (base_url, asked):
        found = await told(base_url)
    assert found.factors == factors_by([60] * len(SAMPLES))
    assert asked == ["/v1/models", *["/tokenize"] * len(SAMPLES)]


@pytest.mark.parametrize("answer", [{"tokens": "?"}, {"count": -1}, [], {"error": "no"}])
async def test_a_tokenizer_that_makes_no_sense_is_not_believed(answer):
    listing = listed(owned_by="vllm", max_model_len=2_048)
    with server(**{"/v1/models": listing, "/tokenize": answer}) as (base_url, asked):
        assert (await told(base_url)).factors is None
    assert asked == ["/v1/models", "/tokenize"]


async def test_progress_is_asked_of_a_server_that_is_known_to_tell_it_and_of_no_other():
    for owner, asks in (("llamacpp", True), ("vllm", False), ("", False)):
        with FakeOpenAI() as endpoint:
            endpoint.said_of_models = {"owned_by": owner}
            settings = EndpointSettings(base_url=endpoint.base_url, model="gpt-4o")
            client = EndpointClient()
            model = OpenAIChatModel(settings, client)
            assert "return_progress" not in model.parameters(streamed=True)
            await ServerInformant(client).told(settings)
            assert ("return_progress" in model.parameters(streamed=True)) is asks
            assert "return_progress" not in model.parameters(streamed=False)
            endpoint.reply_with(Reply(text="Aye", reading=((900, 100, 420), (900, 100, 900))))
            pieces = [piece async for piece in model.stream([{"role": "user", "content": "Hi"}])]
            await client.aclose()
            told = [piece.reading for piece in pieces if piece.reading]
            assert "".join(piece.text for piece in pieces) == "Aye"
            assert told == [ReadingProgress(tokens=800, percent=p) for p in (40, 100) if asks]


async def test_a_server_that_refuses_to_tell_progress_is_asked_without():
    with FakeOpenAI() as endpoint:
        endpoint.said_of_models = {"owned_by": "llamacpp"}
        endpoint.unknown_fields = {"return_progress"}
        settings = EndpointSettings(base_url=endpoint.base_url, model="gpt-4o")
        client = EndpointClient()
        await ServerInformant(client).told(settings)
        model = OpenAIChatModel(settings, client)
        pieces = [piece async for piece in model.stream([{"role": "user", "content": "Hi"}])]
        await client.aclose()
        assert pieces[0].text
        assert "return_progress" not in model.parameters(streamed=True)
