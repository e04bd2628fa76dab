"""A table of requests of other programs: receipts, and previews of their next ones, are compared.

Only what a program attaches to its messages besides text is unknown before it asks.
"""

import json

import pytest

from tests.fake_openai import CHAT, Reply
from tests.gateway.asking import ApiClient, provided_vault
from tests.gateway.saying import assistant, system, user
from tests.product.test_kinds_of_turn import NOTES
from tests.product.whole_bodies import assert_counts, assert_shows, letters
from tests.trusting import trust

RESPONSES_PATH = "/responses"
TALK = [
    *(system("Be kind."), user("cats purr"), assistant("yes, cats"), user("boats sail")),
    *(assistant("yes, boats"), user("and now? 帆")),
]
SCHEMA = {"type": "object", "properties": {"q": {"type": "string", "description": "Wörter"}}}
LOOK = {"name": "look", "description": "Looks around 帆", "parameters": SCHEMA}
TOOLS = {"tools": [{"type": "function", "function": LOOK}], "temperature": 0.25, "stop": ["x"]}
MANY = [{"type": "function", "function": {**LOOK, "name": f"look_{n}"}} for n in range(600)]
CALL = {"name": "look", "arguments": '{"q": "風"}'}
CALLS = [
    user("cats purr"),
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": CALL}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "found nothing of note"},
    *(assistant("nothing"), user("boats sail?")),
]
ITEMS = [
    *(user("cats purr"), {"type": "function_call", "call_id": "c1", **CALL}),
    {"type": "function_call_output", "call_id": "c1", "output": "found nothing of note"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "no"}]},
    {"role": "user", "content": [{"type": "input_text", "text": "boats sail?"}]},
]
ANSWER_SCHEMA = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
RESPONSE = {
    "id": "resp_9",
    "object": "response",
    "status": "completed",
    "output": [
        {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "ok"}],
        }
    ],
}


def role(ask):
    ask("set_role", role="builder", targets=["Cats.md"])


def notes(ask):
    ask("add_notes", paths=["Cats.md"])


def picked(ask):
    ask("add_topic", label="boats sail", select=True)


CHATS = {
    "plain": (TALK, {}, ()),
    "tools": (TALK, TOOLS, ()),
    "streamed": (TALK, {"stream": True}, ()),
    "many tools": (TALK, {"tools": MANY}, ()),
    "functions": (TALK, {"functions": [LOOK], "function_call": "auto"}, ()),
    "a schema of the answer": (TALK, {"response_format": ANSWER_SCHEMA}, ()),
    "calls": (CALLS, TOOLS, ()),
    "a role": (TALK, TOOLS, (role,)),
    "a role without a system message": (TALK[1:], {}, (role, notes)),
    "picked topics": (TALK, {}, (picked,)),
    "everything at once": (TALK, TOOLS, (role, notes, picked)),
    "calls with everything": (CALLS, TOOLS, (role, notes)),
}
RESPONSES = {
    "a text": ("cats purr 帆", {}, ()),
    "instructions": ("cats purr 帆", {"instructions": "Be kind."}, ()),
    "items and tools": (ITEMS, {"instructions": "Be kind.", "tools": [LOOK]}, ()),
    "items and a role": (ITEMS, {"instructions": "Be kind.", "tools": [LOOK]}, (role, notes)),
    "a text and a role": ("cats purr 帆", {}, (role,)),
    "held by the provider": ("now?", {"previous_response_id": "r", "instructions": "Hm."}, ()),
}


@pytest.fixture(scope="module")
def provided(tmp_path_factory):
    folder = tmp_path_factory.mktemp("of")
    with provided_vault(folder) as (server, provider):
        for path, text in NOTES.items():
            (server.vault / path).parent.mkdir(exist_ok=True)
            (server.vault / path).write_text(text, encoding="utf-8")
        trust(server.vault, str(folder / "config"))
        yield server, provider


class Program:
    """A program with a chat of its own."""

    def __init__(self, server, provider, chat):
        self.server = server
        self.provider = provider
        self.chat = chat
        self.api = ApiClient(server)
        self.headers = {"X-Smart-Context-Chat": chat}

    def ask(self, name, **params):
        return self.server.ask(f"smart_context.{name}", chat_id=self.chat, **params)

    def sent(self, answer):
        """The receipt of an answered request, and the bytes that the provider got."""
        assert answer.status == 200, answer.raw
        asked = [r for r in self.provider.requests if r.path in {CHAT, RESPONSES_PATH}]
        return self.ask("receipt", turn=answer.receipt), asked[-1].raw

    def said(self, *talk, **fields):
        return self.sent(self.api.chat(*talk, headers=self.headers, **fields))

    def responded(self, given, **fields):
        body = json.dumps(RESPONSE).encode()
        self.provider.reply_with(Reply(body=body), path=RESPONSES_PATH)
        return self.sent(self.api.respond(given, headers=self.headers, **fields))


@pytest.mark.parametrize("name", CHATS)
def test_chat_completions(provided, name):
    talk, fields, choices = CHATS[name]
    program = Program(*provided, f"of {name}".replace(" ", "-"))
    if choices:
        program.said(*talk[:2] if talk is TALK else talk[:1])
    for choose in choices:
        choose(program.ask)
    assert_shows(*program.said(*talk, **fields))

    answer = program.server.ask("memory.load_chat", chat_id=program.chat)["messages"][-1]
    shown = program.ask("preview", message="next?")
    brief = program.ask("preview", message="next?", brief=True)
    assert brief["parts"] == shown["parts"]
    receipt, raw = program.said(*talk, assistant(answer["content"]), user("next?"), **fields)
    assert_shows(receipt, raw)
    assert letters(shown["body"]) == letters(json.loads(raw))
    assert shown["parts"] == receipt["parts"]


@pytest.mark.parametrize("name", RESPONSES)
def test_responses(provided, name):
    given, fields, choices = RESPONSES[name]
    program = Program(*provided, f"by {name}".replace(" ", "-"))
    if choices:
        program.responded("cats purr")
    for choose in choices:
        choose(program.ask)
    assert_shows(*program.responded(given, **fields))


def test_an_aside(provided):
    program = Program(*provided, "aside")
    receipt, raw = program.said(user("### Task:\nMake a title of cats"), max_tokens=9)
    assert receipt["kind"] == "aside"
    assert_shows(receipt, raw)


def test_a_preview_of_what_no_receipt_is_kept_of_shows_the_messages(provided):
    program = Program(*provided, "first")
    shown = program.ask("preview", message="Hello")
    assert shown["body"]["messages"][-1] == user("Hello")
    assert_counts(shown, shown["body"])
