import json

import pytest

from smart_context.gateway.identity.issued import answer_of
from smart_context.gateway.turns.document import RequestRecorder
from smart_context.gateway.turns.finding import ChatFinder
from smart_context.gateway.turns.reading import RecentLists, read_incoming
from smart_context.storage.files.chats import FileChats
from smart_context.storage.files.logs import FileLogs
from tests.gateway.saying import assistant, user

pytestmark = pytest.mark.anyio

SHORTENED = "The keeper lit the lamp at dusk and kept it burning until dawn."
ANSWER = f"{SHORTENED} Then day came."
REQUEST = [user("q"), assistant(SHORTENED), user("And then?")]


def incoming(messages):
    raw = json.dumps({"model": "m", "messages": messages}).encode()
    return read_incoming("chat", raw, {}, "key", RecentLists())


@pytest.mark.parametrize(
    "damaged",
    [
        pytest.param("{", id="not JSON"),
        pytest.param('{"messages": [], "branches": 7}', id="no list of branches"),
        pytest.param('{"messages": [], "branches": ["x", {"messages": 1}]}', id="no branches"),
    ],
)
async def test_a_damaged_chat_keeps_no_request_from_its_own(tmp_path, damaged):
    store = FileChats(tmp_path)
    finder = ChatFinder(RequestRecorder(store).text_of, FileLogs(tmp_path))
    await finder.note("key", answer_of(f"{SHORTENED} Other.", chat="damaged", message="m"))
    (tmp_path / "damaged.json").write_text(damaged)
    await store.save("own", {"messages": [{"id": "a", "role": "assistant", "content": ANSWER}]})
    await finder.note("key", answer_of(ANSWER, chat="own", message="a"))
    assert (await finder.chat_of(incoming(REQUEST))).id == "own"


async def test_an_answer_on_a_branch_is_found_too(tmp_path):
    store = FileChats(tmp_path)
    finder = ChatFinder(RequestRecorder(store).text_of, FileLogs(tmp_path))
    left = {"id": "b", "messages": [{"id": "a", "role": "assistant", "content": ANSWER}]}
    await store.save("own", {"messages": [], "branches": [left]})
    await finder.note("key", answer_of(ANSWER, chat="own", message="a"))
    assert (await finder.chat_of(incoming(REQUEST))).id == "own"
