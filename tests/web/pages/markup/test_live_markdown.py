"""What is rendered of an answer while it grows, and what is refused."""

import json

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from smart_context.web.pages.fragments import live_markdown

pytestmark = pytest.mark.anyio


async def post(body):
    app = Starlette(routes=[Route("/markdown", live_markdown, methods=["POST"])])
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.post("/markdown", content=body)


async def test_each_text_is_rendered_by_itself():
    response = await post(json.dumps(["**a**\n\n", "<b>b"]))
    expected = '<div><div><p dir="auto"><strong>a</strong></p>\n</div><div>'
    assert response.text.startswith(expected)
    assert response.text.endswith('<p dir="auto">&lt;b&gt;b</p>\n</div></div>')


async def test_a_footnote_is_drawn_before_its_note_has_come():
    response = await post(json.dumps(["Rain[^3] fell.\n\n", "[^3]: Often"]))
    assert response.text.count(">3</a></sup> fell.") == 1
    assert '<li class="footnote" data-footnote="note-0-0" dir="auto" value="3">' in response.text


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("", id="nothing"),
        pytest.param("{nope", id="no JSON"),
        pytest.param('{"text": "a"}', id="no list"),
        pytest.param("[1]", id="no texts"),
        pytest.param('["a", "b", "c"]', id="too many"),
        pytest.param(json.dumps(["a" * 20_001]), id="one too long"),
        pytest.param("[" * 100_000, id="nested absurdly"),
    ],
)
async def test_what_is_no_short_list_of_texts_is_refused_in_words(body):
    response = await post(body)
    assert response.status_code == 422
    assert response.text == "Expected at most 2 texts of 20,000 characters as JSON."


async def test_a_body_that_is_too_large_is_read_to_its_end_so_that_its_sender_sees_the_answer():
    read = []

    async def pieces():
        for number in range(8):
            read.append(number)
            yield b'"' * 100_000

    assert (await post(pieces())).status_code == 422
    assert len(read) == 8
