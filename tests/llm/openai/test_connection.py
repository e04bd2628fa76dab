"""What goes to an endpoint, and what does not; where requests go, and where not."""

import json
import re
import ssl
import sys

import httpx2
import pytest

from smart_context.base.config import EndpointSettings
from smart_context.base.errors import ModelFailed
from smart_context.llm.failures import EndpointFailure, RequestFailed
from smart_context.llm.openai.connection import EndpointClient, interrupted, verification
from smart_context.llm.openai.models import OpenAIChatModel, OpenAIEmbedder
from tests.fake_openai import EMBEDDINGS, FakeOpenAI, Reply

pytestmark = pytest.mark.anyio

KEY = "sk-0123456789abcdef-very-secret"
ASK = [{"role": "user", "content": "Hi there"}]
FOREIGN = {
    "OPENAI_API_KEY": "sk-foreign-key-000000",
    "OPENAI_ADMIN_KEY": "sk-foreign-admin-0000",
    "OPENAI_ORG_ID": "org-foreign",
    "OPENAI_PROJECT_ID": "proj-foreign",
    "OPENAI_CUSTOM_HEADERS": "X-Foreign: foreign\nAuthorization: Bearer foreign\nCookie: foreign\n"
    "User-Agent: foreign",
    "OPENAI_BASE_URL": "http://127.0.0.1:9/foreign",
}


@pytest.fixture
def endpoint():
    with FakeOpenAI() as running:
        yield running


@pytest.fixture
def elsewhere():
    with FakeOpenAI() as running:
        yield running


async def streamed(settings):
    model = OpenAIChatModel(settings)
    try:
        return "".join([piece.text async for piece in model.stream(ASK)])
    finally:
        await model.aclose()


async def whole(settings):
    model = OpenAIChatModel(settings)
    try:
        return (await model.complete(ASK)).text
    finally:
        await model.aclose()


async def embedded(settings):
    model = OpenAIEmbedder(settings)
    try:
        return await model.embed(["a text"])
    finally:
        await model.aclose()


WAYS = [streamed, whole, embedded]


def settings(endpoint, **changes):
    given = {"base_url": endpoint.base_url, "model": "m", "timeout_s": 5.0, "max_retries": 2}
    return EndpointSettings(**{**given, **changes})


def redirect(status, location):
    return Reply(status=status, headers={"Location": location})


# Redirects


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed(endpoint, elsewhere, ask, status):
    for path in ("/chat/completions", EMBEDDINGS):
        endpoint.reply_with(redirect(status, elsewhere.base_url + path), path=path)
    with pytest.raises(ModelFailed) as failed:
        await ask(settings(endpoint, api_key=KEY))
    assert f'to another address (status {status}): "{elsewhere.base_url}"' in str(failed.value)
    assert "use it in place of base_url in the [llm] table" in str(failed.value)
    assert failed.value.status == status
    assert elsewhere.requests == []
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        pytest.param("/v2/chat/completions", r'"http://127\.0\.0\.1:\d+/v2"', id="relative"),
        pytest.param("https://me:pw@x.example/v1", '"https://x.example/v1"', id="a password"),
        pytest.param("https://x.example/login?to=1#a", '"https://x.example/login"', id="a query"),
        pytest.param(f"https://x.example/{KEY}", r'"https://x.example/\[key\]"', id="our key"),
        pytest.param(
            f"https://{KEY[:16]}.example/", r'"https://\[key\].example/"', id="half of it"
        ),
        pytest.param("//\u0430pple.com/v1", r'"http://\\u0430pple.com/v1"', id="look-alikes"),
        pytest.param("https://x.example/\x1b[2J", r'"https://x.example/ \[2J"', id="escapes"),
    ],
)
async def test_the_target_of_a_redirect_is_shown_without_harm(endpoint, location, shown):
    location = location.encode("utf-8").decode("latin-1")
    endpoint.reply_with(redirect(307, location))
    with pytest.raises(ModelFailed) as failed:
        await whole(settings(endpoint, api_key=KEY))
    assert re.search(rf"\(status 307\): {shown}\.", str(failed.value)), str(failed.value)


@pytest.mark.parametrize("headers", [{}, {"Location": "http://[x"}])
async def test_a_redirect_to_nowhere_is_a_refusal(endpoint, headers):
    endpoint.reply_with(Reply(status=302, headers=headers))
    with pytest.raises(ModelFailed, match="refused the request with status 302"):
        await whole(settings(endpoint))


# What goes along


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("key", [KEY, None])
async def test_nothing_of_the_environment_goes_along(endpoint, monkeypatch, tmp_path, ask, key):
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login foreign password foreign\n", encoding="utf-8")
    netrc.chmod(0o600)
    for name, value in {**FOREIGN, "NETRC": str(netrc), "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    await ask(settings(endpoint, api_key=key))
    (request,) = endpoint.requests
    assert "foreign" not in repr(request.headers)
    assert request.headers.keys() == {
        *("host", "connection", "accept", "accept-encoding", "content-type", "content-length"),
        *("user-agent", "authorization"),
    }
    assert request.headers["user-agent"].startswith("smart-context/")
    assert request.key == (key or "not-needed")


@pytest.mark.parametrize("ask", WAYS)
async def test_a_body_is_sent_as_compact_json_in_its_own_letters(endpoint, ask):
    await ask(settings(endpoint))
    (request,) = endpoint.requests
    compact = json.dumps(request.body, ensure_ascii=False, separators=(",", ":"))
    assert request.raw == compact.encode()


async def test_the_gateway_needs_no_sdk_to_pass_requests_on(endpoint, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    client = EndpointClient()
    answer = await client.send(settings(endpoint), "GET", "/models", content=b"", headers={})
    assert answer.status_code == 200
    await answer.aclose()
    await client.aclose()


class APITimeoutError(Exception):
    """Named as the SDK's."""


@pytest.mark.parametrize(
    ("cause", "trouble"),
    [
        pytest.param(None, "slow", id="of its own"),
        pytest.param(httpx2.ConnectTimeout("late"), "unreachable", id="of the library below it"),
        pytest.param(
            RequestFailed(EndpointFailure(trouble="redirected")), "redirected", id="of ours"
        ),
    ],
)
def test_a_failure_is_told_as_what_the_sdk_has_wrapped(cause, trouble):
    error = APITimeoutError()
    error.__cause__ = cause
    assert interrupted(error, has_begun=False).trouble == trouble


async def test_what_an_endpoint_wants_remembered_is_forgotten(endpoint):
    endpoint.reply_with(Reply(text="one", headers={"Set-Cookie": "who=you; Path=/"}), "two")
    model = OpenAIChatModel(settings(endpoint))
    await model.complete(ASK)
    await model.complete(ASK)
    await model.aclose()
    assert "cookie" not in endpoint.requests[1].headers


async def test_a_proxy_of_the_environment_is_used_but_not_on_the_way_to_this_machine(
    endpoint, elsewhere, monkeypatch
):
    monkeypatch.setenv("HTTP_PROXY", elsewhere.base_url.removesuffix("/v1"))
    monkeypatch.setenv("http_proxy", elsewhere.base_url.removesuffix("/v1"))
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert await whole(settings(endpoint)) == "You said: Hi there"
    assert elsewhere.requests == []
    with pytest.raises(ModelFailed, match="status 404"):
        await whole(settings(endpoint, base_url="http://models.example/v1"))
    assert elsewhere.requests[0].path == "http://models.example/v1/chat/completions"


# Errors


def test_no_certificates_are_loaded_for_plain_http_to_this_machine():
    context = verification("http://127.0.0.1:9/v1")
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.get_ca_certs() == []


@pytest.mark.parametrize("base_url", ["https://127.0.0.1:9/v1", "http://example.org/v1"])
def test_the_usual_certificates_are_trusted_elsewhere(base_url):
    assert verification(base_url) is True


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(b'{"error": {"message": "too warm"}}', ": too warm.", id="as OpenAI says it"),
        pytest.param(b'{"code": 7}', ": {'code': 7}.", id="other JSON"),
        pytest.param(b"<h1>Oh</h1>", ": <h1>Oh</h1>.", id="a page"),
        pytest.param(b"", "status 400. ", id="nothing"),
        pytest.param(b"[" * 100_000, ": [[[", id="deep JSON"),
        pytest.param(b"\xff\xfe", ": \ufffd\ufffd.", id="not text"),
    ],
)
async def test_a_refusal_is_told_in_the_words_of_its_body(endpoint, body, words):
    endpoint.reply_with(Reply(status=400, body=body))
    with pytest.raises(ModelFailed) as failed:
        await whole(settings(endpoint))
    assert words in str(failed.value)


@pytest.mark.parametrize("ask", WAYS)
async def test_a_key_that_is_quoted_in_parts_or_encoded_is_not_shown(endpoint, ask):
    halves = f"not {KEY[:16]}, not {KEY[16:]}"
    for path in ("/chat/completions", EMBEDDINGS):
        endpoint.reply_with(Reply(status=401, text=halves), path=path)
    with pytest.raises(ModelFailed, match=r"not \[key\], not \[key\]"):
        await ask(settings(endpoint, api_key=KEY))


async def test_a_key_that_is_cut_off_where_words_end_is_not_shown(endpoint):
    page = b"<html>" + b"x" * 180 + KEY.encode()
    endpoint.reply_with(Reply(body=page, content_type="text/html"))
    with pytest.raises(ModelFailed) as failed:
        await whole(settings(endpoint, api_key=KEY))
    assert "x[key]" in str(failed.value)
    assert KEY[:8] not in str(failed.value)
