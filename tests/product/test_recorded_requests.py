"""The requests of whole walks are those that were recorded in `tests/golden`, to the letter.

After a change that is meant, `pytest --update-golden tests/product/test_recorded_requests.py`
records them again; the difference is for whoever reads the change.
"""

import base64
import json
import re
from itertools import count
from pathlib import Path

import pytest

from tests.fake_openai import CHAT, Reply
from tests.gateway.asking import ApiClient, provided_vault
from tests.gateway.saying import assistant, system, user
from tests.product.test_kinds_of_client_request import RESPONSE
from tests.product.test_what_is_sent import PNG, READ
from tests.vaults import about, write_chat

GOLDEN = Path(__file__).parents[1] / "golden"
TALK = about("cats purr", "yes, cats", "boats sail", "yes, boats", "and dogs bark", "yes, dogs")
TOPICS = [{"label": "cats purr", "count": 2}, {"label": "boats sail", "count": 2}]
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
PICTURE = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
AGAIN = ("call_2", *READ[1:])
RESPONSES = "/responses"
_RANDOM = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
AS_BEFORE = "as in the request before"


@pytest.fixture
def as_recorded(request):
    """Compares what steps sent with the recording of a walk, or records it."""

    def compare(walk, steps):
        path = GOLDEN / f"{walk}.json"
        text = legible(steps)
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8")

    return compare


def legible(steps):
    """The steps as text: random ids are numbered, and tools are there where they change."""
    tools = None
    for body in (body for bodies in steps.values() for body in bodies):
        if "tools" in body:
            before, tools = tools, body["tools"]
            body["tools"] = AS_BEFORE if tools == before else tools
    names, numbers = {}, count(1)
    text = json.dumps(steps, ensure_ascii=False, indent=1) + "\n"
    return _RANDOM.sub(lambda found: names.setdefault(found[0], f"random-{next(numbers)}"), text)


@pytest.fixture(scope="module")
def provided(tmp_path_factory):
    def with_images(text):
        return text.replace("[llm]\n", "[llm]\nimages = true\n")

    with provided_vault(tmp_path_factory.mktemp("walks"), settings=with_images) as made:
        server, _ = made
        (server.vault / "Cats.md").write_text("# Cats\n\nThey purr.\n", encoding="utf-8")
        said = about("cats purr loudly", "indeed, cats purr")
        write_chat(server.vault, "elsewhere", said, title="cats purr loudly")
        yield made


class Walk:
    """Steps in one chat, each with the bodies that the provider got meanwhile."""

    def __init__(self, provided, chat):
        self.server, self.provider = provided
        self.chat = chat
        self.steps = {}

    def ask(self, name, **params):
        return self.server.ask(name, chat_id=self.chat, **params)

    def step(self, name, act, *arguments, **params):
        """Do something; returns its result."""
        start = len(self.provider.requests)
        result = act(*arguments, **params)
        sent = self.provider.requests[start:]
        self.steps[name] = [
            json.loads(request.raw) for request in sent if request.script in {CHAT, RESPONSES}
        ]
        assert self.steps[name], f"nothing was sent: {name}"
        return result

    def send(self, name, message, **params):
        return self.step(name, self.ask, "chat.send", message=message, **params)

    def preview(self, name, **params):
        shown = self.ask("smart_context.preview", message="And now? 帆", **params)
        self.steps[name] = [shown["body"]]

    def upload(self, name, content):
        return self.server.request("POST", "/api/files", content, {"X-File-Name": name})[1]


@pytest.fixture
def walk(request, provided):
    _, provider = provided
    provider.answer = "Aye."
    return Walk(provided, request.function.__name__[-40:].replace("_", "-"))


@pytest.fixture
def page(walk):
    write_chat(walk.server.vault, walk.chat, TALK, topics=TOPICS)
    return walk


def test_messages_of_a_page_send_what_was_recorded(page, as_recorded):
    page.send("a message", "And now? 帆")
    page.ask("smart_context.set_filter", topics=["boats sail"])
    page.send("a picked topic", "Do boats sail?")
    page.ask("smart_context.set_filter", topics=[])
    log = page.upload("log.txt", "Wind from the west. 風\n".encode())
    page.send("a file and a picture", "Look.", files=[log, page.upload("dot.png", PNG)])
    page.provider.reply_with(Reply(tool_calls=(READ,)), Reply(tool_calls=(AGAIN,)), "Purr.")
    page.send("two rounds of tools", "Do they purr?")
    page.ask("smart_context.recall", from_chat="elsewhere")
    page.ask("smart_context.add_notes", paths=["Cats.md"])
    page.ask("smart_context.set_role", role="reviewer", targets=["Cats.md"])
    page.send("a recall, a note and a role", "And loudly?")

    question = page.ask("memory.load_chat")["messages"][-2]["id"]
    page.provider.reply_with("Loud.", "Soft.", "So.")
    page.step("a version", page.ask, "chat.regenerate", message_id=question)
    page.ask("chat.edit", message_id=question, text="And softly?")
    page.step("an edited question", page.ask, "chat.regenerate", message_id=question)
    page.send("after both", "Why?")
    (versions,) = page.ask("chat.list_versions")["versions"]
    page.ask("chat.show_version", message_id=versions["message_id"], version=2)
    page.send("in the version before", "Why not?")
    page.ask("chat.clear_context")
    page.send("a cleared context", "Who are you?")
    as_recorded("messages", page.steps)


def test_clicks_preview_what_was_recorded(page, as_recorded):
    page.preview("nothing picked")
    page.ask("smart_context.set_filter", topics=["boats sail"])
    page.preview("one topic")
    page.ask("smart_context.set_filter", topics=["boats sail", "cats purr"])
    page.preview("two topics")
    page.ask("smart_context.pin", message_ids=["m5"])
    page.ask("smart_context.hide", message_ids=["m0", "m1"])
    page.preview("a pin and two hidden messages")
    page.preview("topics that are tried out", topics=["cats purr"])
    page.ask("smart_context.set_threshold", threshold=0.95)
    page.preview("a threshold")
    page.ask("smart_context.undo")
    page.preview("undone")
    page.ask("smart_context.set_similarity_mode", enabled=False)
    page.preview("similarity off")
    page.send("sent", "And now? 帆")
    as_recorded("clicks", page.steps)


def test_a_client_sends_what_was_recorded(walk, as_recorded):
    api, headers = ApiClient(walk.server), {"X-Smart-Context-Chat": walk.chat}

    def chat(name, *messages, **fields):
        walk.step(name, api.chat, *messages, headers=headers, **fields)

    talk = [system("Be kind."), user("cats purr")]
    chat("a first message", *talk, temperature=0.25, seed=7)
    talk += [assistant("Aye."), user("boats sail")]
    chat("the next one, with a tool", *talk, tools=[LOOK])
    walk.ask("smart_context.add_topic", label="boats sail", select=True)
    talk += [assistant("Aye."), user("do boats sail?")]
    chat("a picked topic", *talk)
    walk.ask("smart_context.recall", from_chat="elsewhere")
    walk.ask("smart_context.set_role", role="reviewer", targets=["Cats.md"])
    picture = {"type": "image_url", "image_url": {"url": PICTURE}}
    talk += [assistant("Aye."), user([{"type": "text", "text": "Which boats?"}, picture])]
    chat("a recall, a role and a picture", *talk, tools=[LOOK], stream=True)
    chat("the same again", *talk)
    talk[-1] = user("Which boats sail?")
    chat("an edited question", *talk)
    walk.provider.reply_with(*2 * [Reply(body=json.dumps(RESPONSE).encode())], path=RESPONSES)
    walk.step("a response", api.respond, "cats purr 帆", headers, instructions="Be kind.")
    items = [user("cats purr 帆"), assistant("ok"), user("boats sail")]
    walk.step("items of a response", api.respond, items, headers, instructions="Be kind.")
    as_recorded("client", walk.steps)
