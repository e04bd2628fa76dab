"""A table of kinds of turn: each row prepares a chat; what is shown and sent is compared.

`tests/product/whole_bodies.py` compares the bytes that the endpoint recorded with preview, receipt
and replay. A row whose preparation needs other settings names them.
"""

import copy
import json
import os
from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from tests.fake_openai import FakeOpenAI, Reply, failure
from tests.product.test_what_is_sent import PNG, READ
from tests.product.whole_bodies import assert_previews, assert_shows, letters
from tests.serving import serving
from tests.vaults import KEY, about, settings_text, write_chat

MESSAGES = about("cats purr", "yes, cats", "boats sail", "yes, boats", "and dogs bark", "yes, dogs")
TOPICS = [{"label": "cats purr", "count": 2}, {"label": "boats sail", "count": 2}]
LONG = about(*(f"number {n} " + "word " * 100 for n in range(60)))
ROLE = """
system_prompt = "You are a boat builder."
template = "planning.j2"
[context]
include = ["$TARGET", "sub/"]
tree = true
"""
NOTES = {
    "roles/builder.toml": ROLE,
    "Cats.md": "# Cats\n\nThey purr.\n",
    "Boats.md": "# Boats\n\nThey sail --end-note--.\n",
    "Long.md": "text " * 1_500,
    "sub/x.md": "Sub note 風\n",
}
IMAGES = "images = true"
SMALL = "context_window = 3000"
FENCED = 'file_tools = "fenced"'
ODD = "odd \ud83d \udc00, e\u0301, \u202e rtl, \u200b zw, 👩‍💻, \u2028 \x01 \x7f 帆"
ROWS = {}


def row(prepare=None, *, settings=""):
    """A kind of turn: prepares a chat, and gives what `chat.send` takes besides."""
    if prepare is None:
        return lambda function: row(function, settings=settings)
    ROWS[prepare.__name__] = (prepare, settings)
    return prepare


@dataclass
class Talk:
    """One chat of a server."""

    server: object
    client: object
    endpoint: FakeOpenAI
    chat: str
    again: dict = field(default_factory=dict)

    def call(self, name, **params):
        return self.client.call(name, chat_id=self.chat, **params)

    def plugin(self, name, **params):
        return self.call(f"smart_context.{name}", **params)

    def send(self, message="Before that?", **fields):
        self.call("chat.send", message=message, **fields)

    def write(self, messages):
        write_chat(self.server.vault, self.chat, messages, topics=TOPICS)

    def file(self, name, content, **fields):
        headers = {"X-File-Name": name}
        return {**self.server.request("POST", "/api/files", content, headers)[1], **fields}


@row
def plain(_):
    return {}


@row
def not_streamed(_):
    return {"stream": False}


@row
def new(talk):
    (talk.server.vault / f".memory/{talk.chat}.json").unlink()
    return {}


@row
def picked(talk):
    talk.plugin("set_filter", topics=["boats sail"])
    return {}


@row
def picked_without_a_match(talk):
    talk.plugin("add_topic", label="zebra quantum", select=True)
    return {}


@row
def picked_above_a_threshold(talk):
    talk.plugin("set_filter", topics=["boats sail"])
    talk.plugin("set_threshold", threshold=0.9)
    return {}


@row
def pinned_and_hidden(talk):
    talk.plugin("set_filter", topics=["boats sail"])
    talk.plugin("pin", message_ids=["m1"])
    talk.plugin("hide", message_ids=["m2"])
    return {}


@row
def odd_characters(talk):
    talk.send(ODD)
    return {"message": ODD}


@row
def a_long_message(_):
    return {"message": "why is it so? " * 20_000}


@row
def a_long_chinese_message(_):
    return {"message": "帆船在海上航行。" * 10_000}


@row
def a_long_file_in_part(talk):
    return {"files": [talk.file("a.txt", b"line\n" * 700)]}


@row
def a_long_file_as_a_whole(talk):
    return {"files": [talk.file("a.txt", b"line\n" * 700, whole=True)]}


@row
def a_file_of_one_long_line(talk):
    return {"files": [talk.file("a.txt", b"word " * 60_000)]}


@row
def files_and_links(talk):
    talk.send(files=[talk.file("a.txt", b"abc\n" * 50)], links=[{"url": "https://example.org/b"}])
    files = [talk.file("a.txt", b"x </FILE_CONTENT> & <x>"), talk.file("b <&>.txt", "風".encode())]
    return {"files": files, "links": [{"url": "https://example.org/a?b=c&d", "title": "A <club>"}]}


@row
def an_image_that_is_not_shown(talk):
    talk.send(files=[talk.file("a.png", PNG)])
    return {"files": [talk.file("b.png", PNG)]}


@row(settings=IMAGES)
def images(talk):
    talk.send(files=[talk.file("a.png", PNG), talk.file("a.txt", b"abc\n" * 50)])
    return {"files": [talk.file("b.png", PNG + b"\0")]}


@row
def instructions_of_the_chat(talk):
    talk.call("chat.set_instructions", text="Answer in rhymes.")
    talk.plugin("set_role", role="reviewer", targets=["Cats.md"])
    return {}


@row
def a_role(talk):
    talk.plugin("set_role", role="reviewer", targets=["Cats.md"])
    return {}


@row
def a_role_with_a_template(talk):
    talk.plugin("set_role", role="builder", targets=["Cats.md"])
    return {}


@row
def notes(talk):
    talk.plugin("add_notes", paths=["Cats.md", "Boats.md"])
    return {}


@row
def contexts_of_names_that_are_no_text(talk):
    name = os.fsdecode(b"b\xff.md")
    (talk.server.vault / "sub" / name).write_bytes(b"bad \xff content")
    talk.client.call("smart_context.save_context", key="Sub", items=["sub/"], replace=True)
    talk.plugin("attach_context", key="Sub")
    talk.plugin("set_role", role="builder", targets=["sub/"])
    return {}


@row(settings=IMAGES)
def everything_at_once(talk):
    talk.send("boats", files=[talk.file("a.png", PNG), talk.file("a.txt", b"abc\n" * 50)])
    talk.plugin("set_role", role="builder", targets=["Cats.md"])
    talk.plugin("add_notes", paths=["Cats.md", "Boats.md"])
    talk.plugin("set_filter", topics=["boats sail"])
    talk.plugin("pin", message_ids=["m1"])
    whole = talk.file("c.txt", b"line\n" * 600, whole=True)
    files = [talk.file("a.png", PNG), talk.file("b.txt", b"line\n" * 700), whole]
    return {"files": files, "links": [{"url": "https://example.org/b"}]}


@row(settings=SMALL)
def over_the_window(talk):
    talk.write(LONG)
    return {}


@row(settings=SMALL)
def a_long_message_near_the_window(talk):
    talk.write(LONG)
    return {"message": "why " * 1_500}


@row(settings=SMALL)
def a_file_over_the_window(talk):
    talk.write(LONG)
    return {"files": [talk.file("a.txt", b"word " * 2_500)]}


@row(settings=SMALL)
def contexts_over_the_window(talk):
    talk.plugin("add_notes", paths=["Long.md"])
    talk.plugin("set_role", role="builder", targets=["Cats.md"])
    return {"message": "why " * 1_200}


@row(settings="context_window = 1500")
def no_room_for_the_tools(_):
    return {"message": "why " * 1_100}


@row(settings="context_window = 4000")
def a_thousand_short_messages_over_the_window(talk):
    talk.write(about(*(f"number {n} about boats and cats" for n in range(1_000))))
    return {}


@row
def a_thousand_messages(talk):
    talk.write(about(*(f"number {n}, it's about boats" for n in range(1_000))))
    return {}


@row
def compacted(talk):
    talk.write(about(*(f"number {n} about boats and cats, " * 9 for n in range(6))))
    talk.call("chat.compact")
    talk.send()
    return {}


@row
def cleared(talk):
    talk.call("chat.clear_context")
    return {}


@row
def without_tools(talk):
    talk.plugin("set_file_tools", on=False)
    return {}


@row(settings='file_tools = "off"')
def without_tools_at_all(_):
    return {}


@row(settings=FENCED)
def tools_in_plain_text(talk):
    talk.plugin("set_role", role="builder")
    return {}


@row
def calls_that_are_wrong(talk):
    wrong = (("c", "read_file", '{"path": '), ("d", "nosuch", "{}"), ("", *READ[1:]))
    talk.endpoint.reply_with(Reply(tool_calls=wrong), "Done")
    return {}


@row
def many_calls_at_once(talk):
    calls = tuple((f"c{n}", *READ[1:]) for n in range(20))
    talk.endpoint.reply_with(Reply(text="Look", reasoning=("Hm",), tool_calls=calls), "Done")
    return {}


@row
def calls_in_two_rounds(talk):
    found = ("c2", "search_files", json.dumps({"query": "風"}))
    talk.endpoint.reply_with(Reply(tool_calls=(READ,)), Reply(tool_calls=(found,)), "Done")
    return {}


@row
def calls_before(talk):
    many_calls_at_once(talk)
    talk.send()
    return {}


@row(settings=FENCED)
def calls_in_plain_text_before(talk):
    many_calls_at_once(talk)
    talk.send()
    return {}


@row
def calls_without_a_state(talk):
    call = {"type": "tool_call", "tool_call_id": "x", "tool_name": "look", "args": {"n": 1.0}}
    parts = [{"type": "text", "text": "Let me"}, {**call, "result": "R"}]
    answer = {"id": "b", "role": "assistant", "content": parts}
    talk.write([*MESSAGES, {"id": "a", "role": "user", "content": "q"}, answer])
    return {}


@row
def failed_before(talk):
    talk.endpoint.reply_with(failure(400, "no"))
    talk.client.fail("chat.send", chat_id=talk.chat, message="x")
    return {}


@row
def messages_of_odd_roles(talk):
    odd = [("s", "developer", "Be kind."), ("a", "user", "  "), ("t", "tool", "orphan")]
    extra = [{"id": id_, "role": role, "content": text} for id_, role, text in odd]
    system = {"id": "sys", "role": "system", "content": "Be brief."}
    talk.write([system, *extra, *MESSAGES, {"id": "q", "role": "user", "content": "unanswered"}])
    talk.plugin("set_role", role="builder")
    return {}


@row
def answered_again(talk):
    talk.again = {"message_id": "m4"}


@row
def an_older_message_answered_again(talk):
    talk.again = {"message_id": "m2"}


@row
def edited_and_answered_again(talk):
    talk.call("chat.edit", message_id="m2", text="what boats? 帆")
    talk.again = {"message_id": "m2"}


@row(settings=IMAGES)
def answered_again_with_everything(talk):
    everything_at_once(talk)
    talk.again = {"message_id": "m4", "stream": False}


def vault_text(base_url, line):
    """The settings of a vault with one line more, in `[llm]` or in the plugin's."""
    text = settings_text(base_url).replace('fast = "gpt-4o-mini"', 'fast = "embedded"')
    if line.startswith("file_"):
        return f"{text}\n{line}"
    return text.replace("[llm]", f"[llm]\n{line}")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Gives a server, a client and an endpoint for each line of settings."""
    with ExitStack() as stack:
        known = {}

        def serve(line):
            if line not in known:
                vault = tmp_path_factory.mktemp("vault")
                endpoint = stack.enter_context(FakeOpenAI())
                for path, text in NOTES.items():
                    (vault / path).parent.mkdir(exist_ok=True)
                    (vault / path).write_text(text, encoding="utf-8")
                settings = vault_text(endpoint.base_url, line)
                (vault / ".vault.toml").write_text(settings, encoding="utf-8")
                server = stack.enter_context(serving(vault, env=KEY))
                known[line] = server, stack.enter_context(server.connect()), endpoint
            return known[line]

        yield serve


@pytest.mark.parametrize("name", ROWS)
def test_what_is_shown_is_what_is_sent(served, name):
    prepare, settings = ROWS[name]
    talk = Talk(*served(settings), chat=name)
    talk.write(MESSAGES)
    fields = prepare(talk)
    start = len(talk.endpoint.chat_requests)
    shown = None
    if talk.again:
        talk.call("chat.regenerate", **talk.again)
    else:
        fields = {"message": "And now? 帆", **fields}
        shown = talk.plugin("preview", **fields)
        brief = talk.plugin("preview", brief=True, **fields)
        brief["by_topic"] = shown["by_topic"]  # topics are found in the background meanwhile
        assert {**shown, **brief} == shown, "the bar shows what the whole preview does"
        talk.send(**fields)
    requests = talk.endpoint.chat_requests[start:]
    compare(talk, shown, requests)


def compare(talk, shown, requests):
    receipt = talk.plugin("receipt")
    assert_shows(receipt, requests[-1].raw)
    if shown is not None:
        assert_previews(shown, requests[0].raw)
    if len(requests) > 1:
        rounds = [letters(body) for body in receipt["rounds"]]
        assert rounds == [letters(request.body) for request in requests]
        return
    assert receipt["rounds"] == []
    replayed = talk.plugin("replay")
    assert_shows(replayed, requests[-1].raw)
    assert replayed["diff"]["same_request"]
    if shown is not None:
        same = ("parts", "tokens", "unseen", "model")
        assert [receipt[name] for name in same] == [shown[name] for name in same]
        rows = {each["id"]: (each["reason"], each["tokens"]) for each in receipt["messages"]}
        for each in shown["messages"]:
            assert rows[each["id"]] == (each["reason"], each["tokens"])


def with_chat_model(configured, chat):
    settings = configured() / ".vault.toml"
    text = settings.read_text(encoding="utf-8").replace('chat = "gpt-4o"', f"chat = {chat}")
    text = text.replace('fast = "gpt-4o-mini"', 'fast = "embedded"')
    settings.write_text(text, encoding="utf-8")
    return settings.parent


def test_a_chat_model_at_an_endpoint_of_its_own(configured, endpoint):
    with FakeOpenAI() as other:
        chat = f'{{ model = "gpt-4o", base_url = "{other.base_url}" }}'
        vault = with_chat_model(configured, chat)
        with serving(vault, env=KEY) as server, server.connect() as client:
            talk = Talk(server, client, other, chat="c")
            shown = talk.plugin("preview", message="Hi")
            talk.send("Hi")
            compare(talk, shown, other.chat_requests)
    assert not endpoint.chat_requests


def test_without_a_chat_model_nothing_goes_to_the_endpoint_of_the_others(configured, endpoint):
    vault = with_chat_model(configured, '"embedded"')
    with serving(vault, env=KEY) as server, server.connect() as client:
        talk = Talk(server, client, endpoint, chat="c")
        shown = talk.plugin("preview", message="Hi")
        talk.send("Hi")
        receipt = talk.plugin("receipt")
        assert letters(shown["body"]) == letters(receipt["body"])
        assert (shown["parts"], shown["parts"]["tools"]) == (receipt["parts"], 0)
    assert not endpoint.chat_requests


@pytest.fixture
def compared(served):
    """A preview, and the body that was sent, of a turn with tools."""
    talk = Talk(*served(""), chat="compared")
    talk.write(MESSAGES)
    shown = talk.plugin("preview", message="Hi")
    talk.send("Hi")
    return shown, talk.endpoint.chat_requests[-1].body


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda body: body.pop("tools"), id="tools are left out"),
        pytest.param(lambda body: body["tools"].reverse(), id="tools in another order"),
        pytest.param(lambda body: body.update(temperature=0), id="a parameter more"),
        pytest.param(lambda body: body.pop("stream_options"), id="a parameter less"),
        pytest.param(lambda body: body.update(stream=1), id="a value of another type"),
        pytest.param(lambda body: body["messages"].pop(0), id="a message less"),
        pytest.param(
            lambda body: body["messages"][0].update(content="cats  purr"), id="a space more"
        ),
        pytest.param(lambda body: body["messages"][0].update(name="x"), id="a key more"),
    ],
)
def test_each_difference_is_found(compared, spoil):
    shown, body = compared
    assert_previews(shown, letters(body).encode())
    other = copy.deepcopy(body)
    spoil(other)
    with pytest.raises(AssertionError):
        assert_previews(shown, letters(other).encode())


def test_tokens_that_are_not_in_the_bar_are_found(compared):
    shown, body = compared
    parts = {**shown["parts"], "tools": shown["parts"]["tools"] - 5}
    with pytest.raises(AssertionError):
        assert_previews({**shown, "parts": parts}, letters(body).encode())
    less = {**shown, "parts": parts, "tokens": shown["tokens"] - 5}
    with pytest.raises(AssertionError):
        assert_previews(less, letters(body).encode())
