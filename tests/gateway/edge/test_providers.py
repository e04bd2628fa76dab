"""Providers that are elsewhere, slow or away, and what clients may ask them beside chats."""

import threading

import pytest

from tests.fake_openai import FakeOpenAI, Reply, cut, failure, held
from tests.gateway.asking import ApiClient, provided_vault
from tests.gateway.saying import user
from tests.patience import ANSWER_S
from tests.serving import Browser, serving
from tests.vaults import KEY

FIXED = b'{"id": "resp_1", "object": "response", "x": 1e0}'


@pytest.fixture
def client(server):
    return ApiClient(server)


# Providers elsewhere, slow or away


@pytest.fixture(scope="module")
def impatient(tmp_path_factory):
    """A client of a server whose chat model has 1 s, and whose fast one is at another address."""
    with FakeOpenAI() as elsewhere:

        def settings(text):
            patient = f'base_url = "{elsewhere.base_url}", timeout_s = {ANSWER_S}'
            fast = f'fast = {{ model = "fast-model", {patient} }}'
            lines = [line for line in text.splitlines() if not line.startswith(("fast", "timeout"))]
            lines.insert(lines.index("[llm.categories]") + 1, fast)
            lines.insert(lines.index("[llm]") + 1, "timeout_s = 0.1")
            return "\n".join(lines).replace("max_retries = 2", "max_retries = 0")

        folder = tmp_path_factory.mktemp("impatient")
        with provided_vault(folder, settings=settings) as (server, provider):
            yield ApiClient(server), provider, elsewhere


def test_a_model_of_another_endpoint_is_asked_there_and_without_the_others_key(impatient):
    client, provider, elsewhere = impatient
    before = len(provider.chat_requests)
    assert client.chat(user("hi"), model="fast-model").status == 200
    (asked,) = elsewhere.chat_requests
    assert "authorization" not in asked.headers
    for request in elsewhere.topics_requests:
        assert KEY["TEST_KEY_NAME"] not in str(request.headers)
    assert len(provider.chat_requests) == before


@pytest.mark.parametrize("stream", [False, True])
def test_a_provider_that_takes_too_long_is_a_504(impatient, stream):
    client, provider, _ = impatient
    gate = threading.Event()
    provider.reply_with(held("late", gate))
    answer = client.chat(user("hi"), stream=stream)
    gate.set()
    assert answer.status == 504
    assert answer.json["error"]["code"] == "provider_timeout"


@pytest.fixture(scope="module")
def deserted(tmp_path_factory):
    """A client of a server whose provider has gone."""
    vault = tmp_path_factory.mktemp("deserted")
    with FakeOpenAI() as provider:
        base_url = provider.base_url
    (vault / ".vault.toml").write_text(
        f'[llm]\nbase_url = "{base_url}"\nmax_retries = 0\n'
        '[llm.categories]\nchat = "big"\nfast = "small"\n',
        encoding="utf-8",
    )
    with serving(vault, env=KEY) as server:
        yield ApiClient(server)


def test_models_are_those_of_the_settings_when_the_provider_is_away(deserted):
    listed = deserted.request("GET", "/v1/models")
    assert [model["id"] for model in listed.json["data"]] == ["big", "small"]
    assert deserted.request("GET", "/v1/models/small").json["id"] == "small"
    missing = deserted.request("GET", "/v1/models/none").json["error"]
    assert (missing["code"], missing["param"]) == ("model_not_found", "model")


def test_models_are_those_of_the_settings_when_the_providers_list_breaks_off(client, provider):
    half = b'{"object": "list", "data": [{"id": "theirs"}'
    ends_early = {"Content-Length": "1000", "Connection": "close"}
    provider.reply_with(Reply(body=half, headers=ends_early), path="/models")
    listed = client.request("GET", "/v1/models").json["data"]
    assert "gpt-4o" in [model["id"] for model in listed]
    assert "theirs" not in [model["id"] for model in listed]


@pytest.mark.parametrize("stream", [False, True])
def test_a_provider_that_is_away_is_a_502(deserted, stream):
    answer = deserted.chat(user("hi"), stream=stream)
    assert answer.status == 502
    assert answer.json["error"]["code"] == "provider_unreachable"
    assert answer.json["error"].keys() == {"message", "type", "param", "code"}


def test_an_answer_that_broke_off_is_not_asked_for_again(client, provider):
    before = len(provider.chat_requests)
    provider.reply_with(cut("one two three", after=1))
    client.chat(user("hi"), stream=True)
    assert len(provider.chat_requests) == before + 1


# What is passed on as it is


def test_one_model_is_the_providers(client, provider):
    provider.reply_with(Reply(body=FIXED), path="/models/gpt-4o")
    assert client.request("GET", "/v1/models/gpt-4o").raw == FIXED


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/responses/resp_1/input_items?limit=2", None),
        ("DELETE", "/responses/resp_1", None),
        ("POST", "/responses/resp_1/cancel", b"{}"),
        ("POST", "/responses/compact", b'{ "model":"m", "input":[], "x":1e0 }'),
    ],
)
def test_what_else_is_asked_of_responses_is_relayed(client, provider, method, path, body):
    provider.reply_with(Reply(body=FIXED), path=path)
    assert client.request(method, f"/v1{path}", body).raw == FIXED
    request = [request for request in provider.requests if request.path == path][-1]
    assert (request.method, request.raw) == (method, body or b"")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("DELETE", "/responses/../files/file_1"),
        ("GET", "/responses/%2e%2e/files"),
        ("GET", "/responses/a%2F..%2F..%2Ffiles"),
        ("GET", "/models/../files"),
        ("GET", "/models/%2e%2e/files"),
    ],
)
def test_no_path_leads_to_other_parts_of_the_provider(client, provider, method, path):
    before = len(provider.requests)
    answer = client.request(method, f"/v1{path}")
    assert (answer.status, answer.json["error"]["type"]) == (404, "not_found_error")
    assert {request.path for request in provider.requests[before:]} <= {"/embeddings"}


def test_the_name_of_a_model_stays_a_name(client, provider):
    provider.reply_with(Reply(body=FIXED), path="/models/vendor/a%3Fb%23c")
    assert client.request("GET", "/v1/models/vendor/a%3Fb%23c").raw == FIXED


def test_a_conversation_that_the_provider_holds_goes_on_as_it_is(client, server, provider):
    provider.reply_with(Reply(body=FIXED), path="/responses")
    answer = client.respond([user("And then?")], conversation="conv_1")
    receipt = server.ask("smart_context.receipt", chat_id=answer.chat, turn=answer.receipt)
    assert receipt["kind"] == "held by the provider"


def test_the_providers_refusal_of_a_stream_comes_back_as_it_is(client, provider):
    provider.reply_with(failure(400, "no such parameter"))
    answer = client.chat(user("hi"), stream=True)
    assert (answer.status, answer.json["error"]["message"]) == (400, "no such parameter")
    assert answer.headers["content-type"] == "application/json"


def test_a_providers_answer_is_no_quotation_whatever_its_model_is_called(client, server):
    answer = client.chat(user("hi"), model="embedded/passages")
    stored = server.ask("memory.load_chat", chat_id=answer.chat)["messages"]
    assert stored[-1]["content"] == answer.text
    assert "extracted" not in stored[-1]


# Who may ask


def test_a_preflight_needs_no_key(server):
    nobody = ApiClient(server, "")
    headers = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    answer = nobody.request("OPTIONS", "/v1/responses", Authorization="", **headers)
    assert answer.status == 204
    assert answer.headers["access-control-allow-origin"] == "*"


def test_the_cookie_of_a_page_opens_nothing_here(server):
    page = Browser(server.link)
    assert page.request("GET", "/")[0] == 200
    assert page.request("GET", "/v1/models")[0] == 401
    assert page.request("GET", "/v1/models", page.keyed)[0] == 401


def test_the_same_person_has_more_than_one_chat(client):
    first = client.chat(user("One thing"), user="somebody")
    second = client.chat(user("Another thing"), user="somebody")
    assert first.chat != second.chat


def test_a_retry_of_the_clients_library_makes_no_other_version(client, server):
    named = {"X-Smart-Context-Chat": "retried"}
    client.chat(user("hi"), headers=named)
    client.chat(user("hi"), headers={**named, "X-Stainless-Retry-Count": "1"})
    document = server.ask("memory.load_chat", chat_id="retried")
    assert len(document["messages"]) == 2
    assert not document.get("branches")


def test_a_body_beyond_the_limit_is_refused_in_the_apis_words(client, provider):
    before = len(provider.chat_requests)
    answer = client.request("POST", "/v1/chat/completions", b" " * ((64 << 20) + 1))
    assert answer.status == 413
    assert "64 MiB" in answer.json["error"]["message"]
    assert len(provider.chat_requests) == before
