import json
import re
from urllib.parse import urlsplit

import httpx2
import pytest
from starlette.applications import Starlette

from smart_context.app.composition import running_host
from smart_context.app.serving import register_status
from smart_context.base.errors import ChatUnreadable
from smart_context.base.values import OWNER
from smart_context.host.commands.registry import Caller
from smart_context.web.pages.pages import other_versions, page_routes
from tests.web.asking import asked_by
from tests.web.fake_host import FakeHost

pytestmark = pytest.mark.anyio

TOPICS = [
    {"label": "Sourdough", "count": 2},
    {"label": '<b>"Lisbon"</b>', "count": 1},
    {"label": "Instructions & Preferences", "sticky": True, "count": 1, "message_ids": ["m0"]},
]


def chat(count, **more):
    words = ["be concise", "sourdough", "other", "sourdough starter"]
    messages = [
        {"id": f"m{i}", "role": ("user", "assistant")[i % 2], "content": words[i % 4]}
        for i in range(count)
    ]
    return {"title": "Bread", "messages": messages, "topics": TOPICS, **more}


def browser(host):
    transport = httpx2.ASGITransport(app=asked_by(Starlette(routes=page_routes(host))))
    return httpx2.AsyncClient(transport=transport, base_url="http://localhost")


async def fetch(host, address, status=200):
    async with browser(host) as client:
        response = await client.get(address)
    assert response.status_code == status, response.text
    return response


def ids_in(text):
    return re.findall(r'data-message-id="([^"]*)"', text)


async def test_the_start_page_is_the_newest_chat():
    response = await fetch(FakeHost({"new": chat(1), "old": chat(1)}), "/", 303)

    assert response.headers["location"] == "/chats/new"


async def test_a_vault_without_chats_starts_with_a_new_one():
    host = FakeHost()
    async with browser(host) as client:
        response = await client.get("/", follow_redirects=True)

    assert re.fullmatch(r"/chats/[0-9a-f]{16}", response.url.path)
    assert "Welcome to Smart Context" in response.text
    assert "All messages in context" in response.text


async def test_the_first_paint_has_messages_topics_and_status():
    page = (await fetch(FakeHost({"c": chat(14)}), "/chats/c")).text

    assert ids_in(page) == [f"m{i}" for i in range(14)]
    assert 'value="Sourdough" aria-label="Sourdough, 2 messages"' in page
    assert ">All messages in context</p>" in page
    assert '<span class="always-count">1 message</span>' in page


@pytest.fixture
async def served(tmp_path):
    """A real host with the real plugin, and one chat."""
    (tmp_path / ".vault.toml").write_text(
        "[plugins.smart_context]\nenabled = true\nrecent_messages = 0\nkeep_pairs = false\n"
        'relevance = "plain"\n'
    )
    (tmp_path / ".memory").mkdir()
    (tmp_path / ".memory" / "c.json").write_text(json.dumps(chat(8)))
    async with running_host(tmp_path) as host:
        register_status(host)
        yield host


async def pick(host, *topics):
    params = {"chat_id": "c", "topics": list(topics)}
    return await host.commands.call("smart_context.set_filter", params, Caller(OWNER))


async def test_the_first_paint_shows_the_filter(served):
    picked = await pick(served, "Sourdough", "Gone Topic")

    page = (await fetch(served, "/chats/c")).text

    assert picked["message_ids"] == ["m0", "m1", "m3", "m5", "m7"]
    assert ">5 of 8 messages in context</p>" in page
    assert re.search(r'value="Sourdough"[^>]* checked', page)
    assert page.count('class="message in-context"') == 5
    assert "no longer a topic" in page
    assert "Gone Topic" in page


async def test_the_first_paint_says_that_nothing_matches(served):
    await pick(served, "Nobody Said This")

    page = (await fetch(served, "/chats/c")).text

    assert ">No message matches; all 8 messages in context</p>" in page


@pytest.mark.parametrize(
    "hostile",
    ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7*7 }}", "a\u202eb"],
)
async def test_what_people_and_models_write_is_never_markup(hostile):
    document = chat(2, title=hostile)
    document["topics"] = [{"label": hostile, "count": 1}]
    document["messages"][0].update(content=hostile, id=hostile, error=hostile)
    host = FakeHost({"c": document})
    host.status["vault"] = hostile

    page = (await fetch(host, "/chats/c")).text

    assert "<script>alert" not in page
    assert "<img" not in page
    assert "49" not in re.sub("[0-9a-f]{8,}", "", page)
    assert "\u202e" not in re.sub("<[^>]*>", "", page)


async def test_no_page_has_inline_script_or_style():
    host = FakeHost({"c": chat(4)})
    for address in (
        "/chats/c",
        "/panels/smart_context?chat_id=c",
        "/chats/c/messages",
        "/chats/%20",
    ):
        async with browser(host) as client:
            page = (await client.get(address)).text
        assert not re.search(r"<script(?![^>]*\ssrc=)", page)
        assert not re.search(r"\sstyle=|<style|\son\w+=", page)


async def test_a_long_chat_opens_with_its_newest_messages():
    page = (await fetch(FakeHost({"c": chat(10_000)}), "/chats/c")).text

    assert ids_in(page) == [f"m{i}" for i in range(9_920, 10_000)]
    assert "Older messages" in page
    assert 'data-older="9920"' in page


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("before=m50&limit=10", range(40, 50), id="before a message"),
        pytest.param("before=m3", range(3), id="before a message near the beginning"),
        pytest.param("before=gone&limit=5", range(595, 600), id="before a message that is gone"),
        pytest.param("limit=0", range(599, 600), id="a limit of nothing"),
        pytest.param("limit=99999999999999", range(200, 600), id="a limit that is too large"),
        pytest.param("limit=x", range(520, 600), id="a limit that is no number"),
        pytest.param("since=m590", range(590, 600), id="since a message"),
        pytest.param("since=m0", range(200, 600), id="since one that is too far back"),
        pytest.param("since=gone", range(520, 600), id="since a message that is gone"),
        pytest.param("ids=m7,m3", [3, 7], id="by ids"),
        pytest.param("ids=m7&ids=m3&ids=gone", [3, 7], id="by ids one by one"),
    ],
)
async def test_messages_are_fetched(query, expected):
    page = (await fetch(FakeHost({"c": chat(600)}), f"/chats/c/messages?{query}")).text

    assert ids_in(page) == [f"m{i}" for i in expected]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        pytest.param("m599", range(520, 600), id="a new one is shown with the newest"),
        pytest.param("m450", range(447, 600), id="one not far back is shown up to the newest"),
        pytest.param("m100", [*range(97, 177), *range(520, 600)], id="one far back above them"),
        pytest.param("gone", range(520, 600), id="one that is gone is not shown"),
    ],
)
async def test_a_found_message_is_shown_where_it_stands(target, expected):
    page = (await fetch(FakeHost({"c": chat(600)}), f"/chats/c?at={target}")).text

    assert ids_in(page) == [f"m{i}" for i in expected]
    assert "data-detached" not in page


async def test_a_change_of_what_came_before_is_noticed():
    host = FakeHost({"c": chat(600)})
    before = (await fetch(host, "/chats/c/messages?since=m590")).text
    host.store.chats["c"]["messages"][5]["content"] = "changed"
    after = (await fetch(host, "/chats/c/messages?since=m590")).text

    digests = [re.search(r'older-digest="(\w+)"', page)[1] for page in (before, after)]
    assert digests[0] != digests[1]
    assert ids_in(before) == ids_in(after)


async def test_the_text_of_a_message_is_as_it_was_written():
    host = FakeHost({"c": chat(2)})
    host.store.chats["c"]["messages"][0]["content"] = "**a** <b>"

    response = await fetch(host, "/chats/c/text?message=m0")

    assert response.text == "**a** <b>"
    assert response.headers["content-type"].startswith("text/plain")
    await fetch(host, "/chats/c/text?message=gone", 404)


async def test_the_panel_stands_alone():
    page = (await fetch(FakeHost({"c": chat(4)}), "/panels/smart_context?chat_id=c")).text

    assert 'data-chat-id="c"' in page
    assert "Sourdough" in page
    assert "data-message-id" not in page


async def test_the_panel_without_a_chat_shows_the_newest():
    assert (
        'data-chat-id="c"' in (await fetch(FakeHost({"c": chat(4)}), "/panels/smart_context")).text
    )
    assert "Topics appear here" in (await fetch(FakeHost(), "/panels/smart_context")).text


@pytest.mark.parametrize("address", ["/chats/c", "/panels/smart_context?chat_id=c"])
async def test_a_vault_without_the_plugin_says_so(address):
    page = (await fetch(FakeHost({"c": chat(4)}, plugin=False), address)).text

    assert "plugin is turned off" in page
    assert 'name="topic"' not in page


async def test_a_plugin_that_could_not_be_started_is_told_from_one_that_is_turned_off():
    host = FakeHost({"c": chat(4)}, plugin=False)
    state = {
        "id": "smart_context",
        "name": "Smart Context",
        "state": "failed",
        "reason": "no <luck>",
    }
    host.status["plugins"] = [state]
    page = (await fetch(host, "/chats/c")).text

    assert "could not be started" in page
    assert "no &lt;luck&gt;" in page
    assert "turned off" not in page


@pytest.mark.parametrize(
    "address", ["/chats/a%20b", "/chats/..%5Cx", "/chats/con", "/chats/" + "a" * 129]
)
async def test_a_chat_that_can_not_exist_is_not_found(address):
    page = (await fetch(FakeHost(), address, 404)).text

    assert "no chat at this address" in page


async def test_a_damaged_chat_says_what_happened():
    host = FakeHost()
    host.store.failure = ChatUnreadable("c.json is damaged; it was set aside as c.damaged.json")

    assert "set aside as c.damaged.json" in (await fetch(host, "/chats/c", 404)).text
    assert "set aside" in (await fetch(host, "/chats/c/messages", 404)).text


async def test_chats_are_listed_and_found():
    host = FakeHost({"c": chat(4), "d": {"title": "成都", "messages": []}})

    listed = (await fetch(host, "/chats?current=d")).text
    found = (await fetch(host, "/chats?q=starter")).text

    assert re.search(r'href="/chats/d" title="成都"\s+aria-current="page"', listed)
    assert listed.count("<li") == 2
    assert "/chats/c?at=m3#m-m3" in found
    assert "No matches for" in (await fetch(host, "/chats?q=nobody")).text


async def test_a_failed_answer_says_why_and_offers_to_try_again():
    host = FakeHost({"c": chat(2)})
    host.store.chats["c"]["messages"][1]["error"] = "The endpoint answered 503."

    page = (await fetch(host, "/chats/c")).text

    assert "The endpoint answered 503." in page
    assert 'data-action="regenerate"> ' not in page
    assert page.count('data-action="regenerate"') == 2  # on the message, and in the toolbar


async def test_every_kind_of_part_is_shown():
    content = [
        {"type": "reasoning", "text": "hm"},
        {"type": "tool_call", "state": "error", "tool_name": "look", "args": {"q": "<i>"}},
        {"type": "image", "storage_key": "a.png"},
        {"type": "info", "text": "cut"},
        {"type": "unknown", "text": "secret"},
        {"type": "text", "text": "said"},
    ]
    message = {"id": "m", "role": "assistant", "content": content, "files": [{"name": "f.pdf"}, {}]}
    page = (await fetch(FakeHost({"c": {"messages": [message]}}), "/chats/c")).text

    for words in ("Reasoning", "look failed", "&lt;i&gt;", "Image a.png", "cut", "said", "f.pdf"):
        assert words in page
    assert "secret" not in page


async def test_static_files_are_asked_about_each_time():
    response = await fetch(FakeHost(), "/static/wire.js")

    assert response.headers["cache-control"] == "no-cache"
    assert response.headers["content-type"] == "text/javascript; charset=utf-8"
    async with browser(FakeHost()) as client:
        again = await client.get(
            "/static/wire.js", headers={"If-None-Match": response.headers["etag"]}
        )
    assert again.status_code == 304


async def test_a_browser_keeps_the_files_of_a_page_until_one_of_them_changes():
    page = (await fetch(FakeHost({"c": chat(1)}), "/chats/c")).text
    addresses = re.findall(r'(?:href|src)="(/static/[^"]+\?v=\w+)"', page)
    assert [urlsplit(address).path for address in addresses] == [
        "/static/images/favicon.svg",
        "/static/joined/pages.css",
        "/static/pages/early.js",
        "/static/joined/bubble-cloud-define.js",
        "/static/joined/chat-page.js",
    ]
    for address in addresses:
        kept = await fetch(FakeHost(), address)
        assert kept.headers["cache-control"] == "private, max-age=31536000, immutable"
        other = await fetch(FakeHost(), f"{address}0")
        assert other.headers["cache-control"] == "no-cache"
        assert other.content == kept.content


async def test_models_and_failed_plugins_are_told():
    host = FakeHost({"c": chat(2)})
    host.status |= {
        "chat_is_embedded": True,
        "chat_model": "embedded/passages",
        "plugins": [
            {"id": "a", "name": "Alpha", "state": "failed", "reason": "it raised"},
            {"id": "b", "name": "Beta", "state": "running", "reason": ""},
        ],
    }
    page = (await fetch(host, "/chats/c")).text

    assert "No model is connected yet" in page
    assert "embedded/passages" in page
    assert "it raised" in page
    assert "Beta" not in page


async def test_what_a_summary_stands_for_is_marked_on_every_page_of_a_chat():
    long = chat(200)
    compaction = {"boundary_message_id": "m149", "kind": "compacted"}
    text = "*Summary of 150 messages, written by gpt-4o.*\n\nBread & <b>cats</b>."
    summary = {"id": "s", "role": "system", "content": text, "is_summary": True}
    long["messages"].insert(150, {**summary, "compaction": compaction})
    host = FakeHost({"long": long})

    newest = (await fetch(host, "/chats/long")).text
    older = (await fetch(host, "/chats/long/messages?before=m121")).text
    assert newest.count(" data-compacted") == 29
    assert older.count(" data-compacted") == 80
    assert 'data-summary="s" data-boundary="m149"' in newest
    assert "Summary of 150 messages" in newest
    assert "written by gpt-4o" in newest
    assert "<b>cats" not in newest


async def test_files_and_links_of_a_message_are_chips_that_run_nothing():
    key = "0123456789abcdef" * 4
    files = [
        {"name": "<i>a.txt", "file_type": "text/plain", "storage_key": key},
        {"name": "b.png", "file_type": "image/png", "storage_key": key},
    ]
    links = [{"url": "javascript:alert(1)", "title": "Click"}]
    question = {"id": "q", "role": "user", "content": "Look", "files": files, "links": links}
    page = (await fetch(FakeHost({"c": {"messages": [question]}}), "/chats/c")).text

    assert f'href="/api/files/{key}" download' in page
    assert f'<img src="/api/files/{key}" alt=""' in page
    assert "&lt;i&gt;a.txt" in page
    assert "javascript:" not in page


async def test_a_chat_whose_text_is_no_unicode_is_still_shown():
    messages = [{"id": "m0", "role": "user", "content": "half \ud800 of an emoji"}]
    host = FakeHost({"c1": {"title": "\udfff", "messages": messages}})
    page = await fetch(host, "/chats/c1")
    assert "half ? of an emoji" in page.text


SAID = [{"id": "m", "role": "user", "content": "Hi"}]
SHOWN = [{"speaker": "You", "text": "Hi"}]
FOLLOWED = {"source": {"client": "opencode", "id": "x", "key": "k"}}


@pytest.mark.parametrize("created_at", [5, None, ["2026"], {}, ""])
def test_a_time_that_is_no_text_is_none(created_at):
    branch = {"created_at": created_at, "messages": SAID}
    shown = [{"created_at": "", "messages": SHOWN}]
    assert other_versions({**FOLLOWED, "branches": [branch]}) == shown


def test_each_version_has_its_time_and_its_messages():
    branch = {"created_at": "2026-11-22T10:00:00Z", "messages": SAID}
    shown = {"created_at": "2026-11-22T10:00:00Z", "messages": SHOWN}
    assert other_versions({**FOLLOWED, "branches": [branch, "no branch"]}) == [shown]


def test_of_a_chat_of_ones_own_only_what_follows_nothing_any_more():
    lost = {"after": "gone", "messages": SAID}
    at_hand = {"after": None, "messages": [{"id": "n", "role": "user", "content": "There"}]}
    within = {"after": "n", "messages": [{"id": "o", "role": "user", "content": "Within"}]}
    branches = [within, lost, at_hand]
    (shown,) = other_versions({"messages": [], "branches": branches})
    assert shown["messages"] == SHOWN
