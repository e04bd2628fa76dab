"""Which of a provider's headers its client gets."""

import re
from pathlib import Path

import pytest

from smart_context.gateway.edge.upstream import PASSED, PASSED_BEGINNINGS, passed_headers
from tests.fake_openai import Reply, failure
from tests.gateway.asking import ApiClient
from tests.gateway.saying import user
from tests.vaults import KEY

SECURITY = Path(__file__).parents[3] / "docs" / "security.md"
PASSING = {
    "Retry-After": "7",
    "X-Request-Id": "r1",
    "OpenAI-Processing-Ms": "12",
    "X-RateLimit-Remaining-Tokens": "100",
}
STAYING = {
    "X-Smart-Context-Chat": "another",
    "X-Smart-Context-Receipt": "another",
    "X-Content-Type-Options": "theirs",
    "Clear-Site-Data": '"*"',
    "Refresh": "0; url=https://example.org",
    "Location": "https://example.org",
    "Content-Location": "/elsewhere",
    "Link": "<https://example.org>; rel=preload",
    "Report-To": "{}",
    "NEL": "{}",
    "Content-Security-Policy": "default-src *",
    "Content-Security-Policy-Report-Only": "default-src *",
    "Service-Worker-Allowed": "/",
    "Set-Cookie": "a=b",
    "Access-Control-Allow-Credentials": "true",
    "WWW-Authenticate": "Basic",
    "SourceMap": "/map",
    "X-Unheard-Of": "1",
    "X-Ratelimit-Key": KEY["TEST_KEY_NAME"],
}


@pytest.fixture
def client(server):
    return ApiClient(server)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [200, 400])
def test_only_headers_that_describe_the_answer_are_passed_on(client, provider, stream, status):
    reply = Reply if status == 200 else lambda **given: failure(status, "no")
    made = reply(text="Hi")
    headers = {**PASSING, **STAYING}
    provider.reply_with(Reply(text=made.text, status=made.status, headers=headers))
    answer = client.chat(user("hi"), stream=stream)
    assert answer.status == status
    assert {name: answer.headers.get(name.lower()) for name in PASSING} == PASSING
    for name, value in STAYING.items():
        assert value not in answer.headers.get(name.lower(), "").split(", ")


def test_a_name_counts_in_any_case_and_a_value_only_without_the_key():
    came = [(b"X-REQUEST-ID", b"1"), (b"request-id", b"secret-key-123"), (b"Date", b"x")]
    assert passed_headers(came, "secret-key-123") == [(b"x-request-id", b"1")]


def test_the_headers_are_those_that_the_documentation_names():
    text = SECURITY.read_text(encoding="utf-8")
    line = re.search(r"Of a provider's headers a client gets (.*?);", text, re.DOTALL)[1]
    named = set(re.findall(r"`([a-z*-]+)`", line.lower()))
    assert named == {*PASSED, *(f"{beginning}*" for beginning in PASSED_BEGINNINGS)}
