"""Every kind of turn: the recorded request is the body that preview and receipt show."""

import base64

import pytest

from tests.fake_openai import Reply, failure
from tests.gateway.asking import ApiClient
from tests.gateway.saying import assistant, system, user
from tests.product.whole_bodies import tokens_of, without_image_data
from tests.vaults import about, write_chat

CHAT = "talk"
MESSAGES = about("cats purr", "yes, cats", "boats sail", "yes, boats", "and dogs bark", "yes, dogs")
TOPICS = [{"label": "cats purr", "count": 2}, {"label": "boats sail", "count": 2}]
READ = ("call_1", "read_file", '{"path": "Cats.md"}')
TOOLS = ["read_file", "search_files", "list_files", "search_file_content"]
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAA"
    "AABJRU5ErkJggg=="
)


@pytest.fixture
def vault_settings():
    return {}


@pytest.fixture
def configured(configured, vault, vault_settings):
    """Topics are found without a model, so that all chat requests are those of turns."""

    def configure():
        configured(**vault_settings)
        settings = vault / ".vault.toml"
        text = settings.read_text(encoding="utf-8")
        settings.write_text(text.replace('fast = "gpt-4o-mini"', 'fast = "embedded"'), "utf-8")
        return vault

    return configure


@pytest.fixture
def chat(server):
    (server.vault / "Cats.md").write_text("# Cats\n\nThey purr.\n", encoding="utf-8")
    write_chat(server.vault, CHAT, MESSAGES, topics=TOPICS)
    return CHAT


@pytest.fixture
def page(client, endpoint, chat):
    return Page(client, endpoint)


class Page:
    """Sends messages of the chat, and compares what goes with what is shown."""

    def __init__(self, client, endpoint):
        self.client = client
        self.endpoint = endpoint

    def call(self, name, **params):
        return self.client.call(name, chat_id=CHAT, **params)

    def upload(self, server, name, content):
        return server.request("POST", "/api/files", content, {"X-File-Name": name})[1]

    def send(self, message="And now? 帆", **fields):
        """Send a message; its preview, the recorded bodies and the receipt, compared."""
        shown = self.call("smart_context.preview", message=message, **fields)
        brief = self.call("smart_context.preview", message=message, brief=True, **fields)
        start = len(self.endpoint.chat_requests)
        self.call("chat.send", message=message, **fields)
        bodies = [request.body for request in self.endpoint.chat_requests[start:]]
        assert_same(shown["body"], without_image_data(bodies[0]))
        assert shown["prompt"] == shown["body"]["messages"]
        assert brief["parts"] == shown["parts"]
        assert_counted(shown, bodies[0])
        receipt = self.receipt(bodies)
        if len(bodies) == 1:
            assert receipt["parts"] == shown["parts"]
        return bodies

    def answer_again(self, command, **params):
        start = len(self.endpoint.chat_requests)
        self.call(command, **params)
        bodies = [request.body for request in self.endpoint.chat_requests[start:]]
        self.receipt(bodies)
        return bodies

    def receipt(self, bodies):
        receipt = self.call("smart_context.receipt")
        assert_same(receipt["body"], bodies[-1])
        assert receipt["rounds"] == (bodies if len(bodies) > 1 else [])
        assert_counted(receipt, bodies[-1])
        return receipt


def assert_same(shown, recorded):
    assert shown == recorded
    assert list(shown) == ["model", *(name for name in shown if name != "model")]


def assert_counted(shown, body):
    """The tokens are the sum of their parts, and those of the body; ids aside."""
    assert shown["tokens"] == sum(shown["parts"].values())
    assert shown["tokens"] == tokens_of(body)
    assert bool(shown["parts"]["tools"]) is ("tools" in body) or "# Requests" in str(body)


def test_the_tools_are_shown(page):
    (body,) = page.send()
    assert [tool["function"]["name"] for tool in body["tools"]] == TOOLS
    assert page.call("smart_context.receipt")["parts"]["tools"] > 300


def test_a_turn_that_is_not_streamed(page):
    (body,) = page.send(stream=False)
    assert "stream" not in body


def test_picked_topics(page):
    page.call("smart_context.set_filter", topics=["boats sail"])
    (body,) = page.send()
    assert len(body["messages"]) < len(MESSAGES)


def test_contexts_and_a_role(page):
    page.client.call("smart_context.save_context", key="Animals", items=["Cats.md"])
    page.call("smart_context.attach_context", key="Animals")
    page.call("smart_context.set_role", role="reviewer", targets=["Cats.md"])
    (body,) = page.send()
    assert "They purr." in body["messages"][0]["content"]


def test_files(page, server):
    log = page.upload(server, "log.txt", "Wind from the west. 風\n".encode())
    page.send(files=[log])
    page.send("And once more?")


def test_answering_again_and_edits(page):
    page.send("First?")
    messages = page.client.call("memory.load_chat", chat_id=CHAT)["messages"]
    question = messages[-2]["id"]
    page.answer_again("chat.regenerate", message_id=question)
    page.call("chat.edit", message_id=question, text="What first?")
    (body,) = page.answer_again("chat.regenerate", message_id=question)
    assert body["messages"][-1]["content"] == "What first?"
    page.send("Then?")


def test_rounds_of_tools(page, endpoint):
    endpoint.reply_with(Reply(tool_calls=(READ,)), Reply(text="Look:", tool_calls=(READ,)), "Purr.")
    bodies = page.send("Do they purr?")
    assert len(bodies) == 3
    assert [len(body["messages"]) for body in bodies] == [7, 9, 11]
    page.send("And with results of tools before?")


def test_a_model_that_takes_no_tools(page, endpoint):
    endpoint.reply_with(failure(400, "tools are not supported by this model"), "Well.")
    refused, said = page.send("Hello?")
    assert "tools" in refused
    assert "tools" not in said


def test_an_endpoint_that_knows_no_stream_options(page, endpoint):
    endpoint.unknown_fields = {"stream_options"}
    page.call("chat.send", message="Hello?")
    assert page.call("smart_context.receipt")["body"] == endpoint.chat_requests[-1].body
    (body,) = page.send("And now?")
    assert "stream_options" not in body


def test_more_tools_calls_than_are_answered(page, endpoint):
    calls = [Reply(tool_calls=((f"call_{n}", *READ[1:]),)) for n in range(5)]
    endpoint.reply_with(*calls, "Enough.")
    bodies = page.send("Do they purr?")
    assert len(bodies) == 6
    assert ["tools" in body for body in bodies] == [True] * 5 + [False]


def test_tools_that_are_switched_off_in_a_chat(page, server):
    page.call("smart_context.set_file_tools", on=False)
    shown = page.call("smart_context.preview", message="Hi")
    assert (shown["file_tools"], shown["parts"]["tools"]) == (False, 0)
    (body,) = page.send()
    assert "tools" not in body
    turn = page.call("smart_context.receipt")["turn"]
    write_chat(server.vault, "other", MESSAGES)
    other = page.client.call("smart_context.preview", chat_id="other", message="Hi")
    assert (other["file_tools"], "tools" in other["body"]) == (True, True)

    page.call("smart_context.set_file_tools", on=True)
    (body,) = page.send()
    assert "tools" in body
    replayed = page.call("smart_context.replay", turn=turn)
    assert "tools" not in replayed["body"]
    assert replayed["diff"]["same_request"]


@pytest.mark.parametrize("vault_settings", [{"file_tools": '"off"'}])
def test_no_tools_at_all(page):
    assert page.call("smart_context.preview", message="Hi")["file_tools"] is None
    (body,) = page.send()
    assert "tools" not in body


@pytest.mark.parametrize("vault_settings", [{"file_tools": '"fenced"'}])
def test_tools_in_plain_text(page):
    shown = page.call("smart_context.preview", message="Hi")
    page.call("chat.send", message="Hi")
    receipt = page.call("smart_context.receipt")
    body = page.endpoint.chat_requests[-1].body
    assert shown["body"] == receipt["body"] == body
    assert shown["parts"] == receipt["parts"]
    assert shown["parts"]["tools"] > 100
    assert shown["tokens"] == tokens_of(body)


def test_images(page, server, vault):
    settings = vault / ".vault.toml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace("[llm]\n", "[llm]\nimages = true\n"), encoding="utf-8")
    page.client.wait_for("system.config_read")
    picture = page.upload(server, "dot.png", PNG)
    (body,) = page.send("What is this?", files=[picture])
    assert body["messages"][-1]["content"][1]["type"] == "image_url"


def test_a_client_of_the_gateway(server, endpoint):
    client, talk = ApiClient(server), [system("Be kind."), user("cats purr")]
    tool = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
    headers = {"X-Smart-Context-Chat": "of-a-client"}
    answer = client.chat(*talk, headers=headers, tools=[tool], temperature=0.25, seed=7)
    talk += [assistant(answer.text), user("boats sail")]
    answer = client.chat(*talk, headers=headers, tools=[tool], temperature=0.25, seed=7)
    for request in endpoint.chat_requests[-1:]:
        receipt = server.ask("smart_context.receipt", chat_id="of-a-client", turn=answer.receipt)
        assert receipt["body"] == request.body
        assert receipt["body"]["temperature"] == 0.25
        assert_counted(receipt, request.body)
