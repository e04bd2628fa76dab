import json

import pytest

from smart_context.gateway.requests.units import chat_units
from smart_context.gateway.turns.document import TITLE_LENGTH, RequestRecorder, title_of
from smart_context.gateway.turns.finding import ChatOfRequest
from smart_context.gateway.turns.reading import RecentLists, read_incoming
from smart_context.storage.files.chats import FileChats
from tests.gateway.saying import assistant, system, user

EXAMPLE = [user("Change get_factorial() to use math.factorial"), assistant("```diff")]
SWITCHED = [user("I switched to a new code base. Please don't consider it."), assistant("Ok.")]
REPOSITORY = [
    user("Here are summaries of some files present in my git repository.\nDo not"),
    assistant("Ok, I won't try and edit those files without asking first."),
]
FILES = [
    user("I have *added these files to the chat* so you can go ahead and edit them.\n\na.py"),
    assistant("Ok, any changes I propose will be to those files."),
]
REMINDER = "<system-reminder>\nThe list is empty.\n</system-reminder>"
HISTORY = [user("Who lit the lamp?"), assistant("The keeper."), user("And then?")]


@pytest.mark.parametrize(
    ("messages", "title"),
    [
        pytest.param([user("Who lit the lamp?")], "Who lit the lamp?", id="one question"),
        pytest.param([system("s"), *HISTORY], "Who lit the lamp?", id="a history"),
        pytest.param([assistant("Hello!"), *HISTORY], "Who lit the lamp?", id="a greeting first"),
        pytest.param(
            [user("# AGENTS.md"), user("<environment_context>"), *HISTORY],
            "Who lit the lamp?",
            id="messages of the client before the question",
        ),
        pytest.param(
            [user("<system-reminder>\nBe brief.\n</system-reminder>\n\nWho lit the lamp?")],
            "Who lit the lamp?",
            id="a reminder before the question",
        ),
        pytest.param(
            [user("<environment_context>\n</environment_context>"), user("Who?"), assistant("I.")],
            "Who?",
            id="surroundings first",
        ),
        pytest.param([*EXAMPLE, *SWITCHED, *FILES, user("Fix it")], "Fix it", id="examples"),
        pytest.param([*REPOSITORY, *FILES, user("Fix it")], "Fix it", id="files"),
        pytest.param(
            [user("I am working with you on code in a git repository.\nHere"), *HISTORY],
            "And then?",
            id="a summary of files",
        ),
        pytest.param([*FILES, *HISTORY], "And then?", id="files and a history"),
        pytest.param([user("Who?"), *FILES, user("Fix it")], "Fix it", id="files that moved"),
        pytest.param(
            [user(f"{REMINDER}\nWho lit the lamp?\n{REMINDER}"), *HISTORY[1:]],
            "Who lit the lamp?",
            id="reminders around the question",
        ),
        pytest.param([user(REMINDER), *HISTORY], "Who lit the lamp?", id="a reminder of its own"),
        pytest.param([system("s"), assistant("a")], "a", id="no question"),
        pytest.param([], "", id="nothing"),
        pytest.param([user("x" * 99)], f"{'x' * (TITLE_LENGTH - 1)}…", id="a long question"),
    ],
)
def test_the_title_is_the_first_question(messages, title):
    assert title_of(list(chat_units(messages))) == title


@pytest.mark.anyio
async def test_a_chat_that_is_first_seen_with_a_history_is_called_by_its_first_question(tmp_path):
    store = FileChats(tmp_path)
    raw = json.dumps({"model": "m", "messages": HISTORY}).encode()
    incoming = read_incoming("chat", raw, {}, "key", RecentLists())
    plan = await RequestRecorder(store).plan(incoming, ChatOfRequest(id="c"), "m")
    await plan.write()
    assert (await store.load("c"))["title"] == "Who lit the lamp?"
