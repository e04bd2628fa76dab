"""A provider without the Responses API: its 404 comes back, with a hint."""

import gzip
import json

import pytest

from smart_context.gateway.edge.errors import with_hint
from tests.fake_openai import Reply
from tests.gateway.asking import ApiClient

HINT = "Use another."
NOTHING = "The provider has nothing at this address."


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param('{"error":{"message":"No route","x":1}}', "No route", id="the API's error"),
        pytest.param('{"error":"No route"}', None, id="an error as text"),
        pytest.param('{"detail":"Not Found"}', "The provider answered: Not Found", id="a detail"),
        pytest.param(
            "404 page not found\n", "The provider answered: 404 page not found", id="text"
        ),
        pytest.param(
            "<html>\n<title>404</title>\n<h1>Not\nFound</h1></html>",
            "The provider answered: 404 Not Found",
            id="a page",
        ),
        pytest.param('{"code":7}', 'The provider answered: {"code": 7}', id="other fields"),
        pytest.param('["a"]', 'The provider answered: ["a"]', id="a list"),
        pytest.param('{"error":null}', 'The provider answered: {"error": null}', id="no error"),
        pytest.param("", NOTHING, id="nothing"),
        pytest.param("{}", NOTHING, id="an empty object"),
        pytest.param("[" * 100_000, None, id="nested too deep"),
    ],
)
def test_what_the_provider_said_comes_before_the_hint(body, message):
    answer = json.loads(with_hint(body.encode(), HINT))
    error = answer["error"]
    if body == '{"error":"No route"}':
        assert error == f"No route {HINT}"
    elif message is None:
        assert error["message"].startswith("The provider answered: [[[")
        assert len(error["message"]) < 400
    else:
        assert error["message"] == f"{message} {HINT}"


def test_the_other_fields_of_an_answer_stay():
    kept = json.loads(with_hint(b'{"detail":"Not Found","request":"r1"}', HINT))
    assert (kept["detail"], kept["request"]) == ("Not Found", "r1")
    assert kept["error"].keys() == {"message", "type", "param", "code"}
    named = json.loads(with_hint(b'{"error":{"message":"m","code":"c"},"x":1}', HINT))
    assert named == {"error": {"message": f"m {HINT}", "code": "c"}, "x": 1}


@pytest.mark.parametrize("is_packed", [False, True])
def test_the_headers_of_a_provider_without_responses_come_back(server, provider, is_packed):
    body = b'{"detail":"Not Found"}'
    headers = {"X-Request-Id": "r1", "Retry-After": "7"}
    if is_packed:
        body, headers = gzip.compress(body), {**headers, "Content-Encoding": "gzip"}
    reply = Reply(status=404, body=body, content_type="text/plain", headers=headers)
    provider.reply_with(reply, path="/responses")
    answer = ApiClient(server).respond("hi")
    assert answer.status == 404
    assert (answer.headers["x-request-id"], answer.headers["retry-after"]) == ("r1", "7")
    assert answer.headers["content-type"] == "application/json"
    assert "content-encoding" not in answer.headers
    assert answer.receipt
    assert answer.json["error"]["message"].startswith("The provider answered: Not Found")
    assert "Responses API" in answer.json["error"]["message"]
