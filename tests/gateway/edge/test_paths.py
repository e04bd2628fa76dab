"""What of a client's path reaches the provider, and which models there are."""

import json

import pytest

from tests.fake_openai import Reply, failure, nonsense
from tests.gateway.asking import ApiClient

FREE = {"id": "org/name:free", "object": "model", "context_length": 8192}


@pytest.fixture
def client(server):
    return ApiClient(server)


def asked_of(provider, since):
    """The paths that clients caused since then; chats may be embedded meanwhile."""
    return [r.path for r in provider.requests[since:] if r.path != "/embeddings"]


@pytest.mark.parametrize(
    "path",
    [
        r"/v1/responses/..%5cmodels",
        r"/v1/responses/..\models",
        r"/v1/responses/a%5c..%5cmodels",
        r"/v1/responses/%252e%252e%252fmodels",
        r"/v1/responses/resp_1;x=..%2fmodels",
        r"/v1/responses/resp_1%00",
        r"/v1/responses/resp_1%0d%0aX-Evil:%201",
        r"/v1/responses/caf%C3%A9",
        r"/v1/responses/a/b/c",
        r"/v1/responses//models",
        r"/%76%31/responses/resp_1",
        r"/%761/models",
        r"/v1%2fmodels",
        r"/v1%2fresponses/resp_1",
    ],
)
def test_what_is_no_id_is_404_and_never_reaches_the_provider(client, provider, path):
    before = len(provider.requests)
    for method in ("GET", "POST", "DELETE"):
        assert client.request(method, path).status == 404
    assert asked_of(provider, before) == []


@pytest.mark.parametrize("name", [r"..%5c..%5cadmin", r"..%5cadmin", "%252e%252e/x", "..%3b/x"])
def test_a_name_that_could_climb_is_only_looked_for_in_the_providers_list(client, provider, name):
    before = len(provider.requests)
    assert client.request("GET", f"/v1/models/{name}").status == 404
    assert asked_of(provider, before) == ["/models"]


def test_a_name_with_a_slash_is_found_in_the_list_of_a_provider_that_has_no_such_path(
    client, provider
):
    provider.reply_with(failure(404, "no such route"), path="/models/org/name%3Afree")
    provider.reply_with(Reply(body=json.dumps({"data": [FREE]}).encode()), path="/models")
    assert client.request("GET", "/v1/models/org/name:free").json == FREE


def test_the_models_are_those_of_the_settings_where_the_provider_has_a_page(client, provider):
    provider.reply_with(nonsense(), path="/models")
    listed = client.request("GET", "/v1/models")
    assert listed.headers["content-type"] == "application/json"
    assert "gpt-4o" in [model["id"] for model in listed.json["data"]]


@pytest.mark.parametrize("body", [b"<html>It works!</html>", b"[]", b"null", b'{"data": []}'])
def test_one_model_is_that_of_the_settings_where_the_provider_has_a_page(client, provider, body):
    for path in ("/models/gpt-4o", "/models"):
        provider.reply_with(Reply(body=body), path=path)
    assert client.request("GET", "/v1/models/gpt-4o").json["owned_by"] == "smart-context"


def test_a_list_without_an_object_around_it_is_the_providers(client, provider):
    body = json.dumps([FREE]).encode()
    provider.reply_with(Reply(body=body), path="/models")
    assert client.request("GET", "/v1/models").raw == body


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/gpt-4o", "/v1/none", "/healthz"])
def test_head_is_answered_as_get_without_a_body(client, provider, path):
    asked = client.request("HEAD", path)
    got = client.request("GET", path)
    assert asked.status == got.status
    assert asked.headers["content-type"] == got.headers["content-type"]
    assert asked.headers["content-length"] == str(len(got.raw))
    assert asked.raw == b""


def test_head_of_a_response_asks_the_provider_for_it(client, provider):
    provider.reply_with(Reply(body=b'{"id": "resp_1"}'), path="/responses/resp_1")
    assert client.request("HEAD", "/v1/responses/resp_1").status == 200


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/embeddings"])
def test_head_is_refused_where_get_is(client, path):
    assert client.request("HEAD", path).status == client.request("GET", path).status == 405


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/none", "/v1/completions", "/v1/a/b"])
def test_an_unknown_route_is_refused_in_the_shape_of_the_api(client, method, path):
    refused = client.request(method, path)
    error = refused.json["error"]
    assert refused.status == 404
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == "unknown_url"
    assert f"{method} {path.rstrip('/')}" in error["message"]


@pytest.mark.parametrize(
    "path", ["/v1/v1/models", "/v1/openai/v1/responses", "/v1/chat/completions/chat/completions"]
)
def test_a_base_url_with_too_much_is_told_the_right_one(client, path):
    refused = client.request("POST", path)
    assert refused.status == 404
    assert "The base URL ends in /v1" in refused.json["error"]["message"]
    assert "base URL" not in client.request("GET", "/v1/none").json["error"]["message"]
