"""One path to the model: what is shown is, byte for byte, what the endpoint receives.

Everything that shapes a prompt is on at once: a filter, standing instructions, a pin, a named
context, attached files, a role with its template and files, a summary and tools.
"""

import json
import os

import pytest

from smart_context.chat.compaction import summary_message
from smart_context.chat.messages import MessageId
from tests.preloaded import run_to_end
from tests.serving import serving
from tests.trusting import trust
from tests.vaults import about, write_chat

CHAT = "everything"
ROLE = """
system_prompt = "You are a boat builder."
template = "planning.j2"
[context]
include = ["$TARGET", "plans/"]
tree = true
"""
PLUGIN = """
class Plugin:
    async def on_load(self, context):
        self.context = context
        context.register_command("asker.ask", self.ask)

    async def ask(self, chat_id: str, message: str) -> dict:
        return {"message_ids": await self.context.send(chat_id, message)}
"""
MANIFEST = """
id = "asker"
name = "Asker"
version = "0.1.0"
min_host_version = "0.1.0"
description = "Asks."
entry = "main:Plugin"
commands = ["asker.ask"]
"""
FILES = {
    "roles/builder.toml": ROLE,
    "plans/hull.md": "The hull is of oak. 船体 ```\n",
    "keel.py": "KEEL = 'lead'\n",
    "Boats.md": "# Boats\n\nThey sail --end-note--.\n",
    "plugins/asker/plugin.toml": MANIFEST,
    "plugins/asker/main.py": PLUGIN,
}
SAID = (
    *("boats are old", "very old indeed", "boats had oars", "long ones"),
    *("always be brief", "yes", "boats sail", "with the wind", "cats sleep", "a pinned answer"),
)
SUMMARY = summary_message(
    MessageId("s1"),
    "Boats are old and had oars.",
    boundary=MessageId("m3"),
    created_at="2026-01-01T00:00:00Z",
    kind="compacted",
)
TOPICS = [
    {"label": "boats sail", "count": 2},
    {"label": "Instructions & Preferences", "count": 1, "sticky": True, "message_ids": ["m4"]},
]


def canonical(prompt):
    return json.dumps(list(prompt), ensure_ascii=False, separators=(",", ":")).encode()


@pytest.fixture(params=["auto", "fenced"], ids=["tools", "tools in plain text"])
def vault_with_everything(request, configured, endpoint):
    vault = configured(file_tools=f'"{request.param}"')
    for path, text in FILES.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text, encoding="utf-8")
    with (vault / ".vault.toml").open("a", encoding="utf-8") as settings:
        settings.write("\n[plugins.asker]\nenabled = true\n")
    return vault


@pytest.fixture
def environ(tmp_path):
    return {"TEST_KEY_NAME": "secret-key-123", "XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def run(vault_with_everything, environ):
    """The command line, on the vault."""

    def command(*arguments):
        code, out, err = run_to_end(
            [*arguments, "--vault", "."],
            cwd=vault_with_everything,
            env={**os.environ, **environ},
        )
        assert code == 0, err
        return out

    return command


@pytest.fixture
def client(vault_with_everything, environ, run):
    trust(vault_with_everything, environ["XDG_CONFIG_HOME"])
    with serving(vault_with_everything, env=environ) as server, server.connect() as connected:
        connected.upload = lambda name, content: server.request(
            "POST", "/api/files", content, {"X-File-Name": name}
        )[1]
        yield connected


def turn_everything_on(client, vault):
    log = client.upload("log.txt", b"Wind from the west.\n")
    messages = about(*SAID)
    messages[6]["files"] = [{"id": "f", "name": "log.txt", "storage_key": log["storage_key"]}]
    messages.insert(4, SUMMARY.to_dict())
    write_chat(vault, CHAT, messages, topics=TOPICS)
    client.call("smart_context.save_context", key="Fleet", items=["Boats.md"])
    client.call("smart_context.attach_context", chat_id=CHAT, key="Fleet")
    client.call("smart_context.set_role", chat_id=CHAT, role="builder", targets=["keel.py"])
    write_chat(vault, "elsewhere", about("Is the harbour deep? </said>", "Six metres. 帆"))
    client.call("smart_context.recall", chat_id=CHAT, from_chat="elsewhere")
    client.call("smart_context.set_filter", chat_id=CHAT, topics=["boats sail"])
    client.call("smart_context.pin", chat_id=CHAT, message_ids=["m9"])


def sent_by(endpoint, start):
    requests = [r for r in endpoint.chat_requests[start:] if r.body["model"] == "gpt-4o"]
    return requests[0]


def test_the_page_the_command_line_and_a_plugin_send_what_is_shown(
    client, endpoint, run, vault_with_everything
):
    turn_everything_on(client, vault_with_everything)
    hull = client.upload("hull.txt", b"Of oak.\n")

    def page(message):
        return client.call("chat.send", chat_id=CHAT, message=message)

    def page_with_a_file(message):
        client.call("chat.send", chat_id=CHAT, message=message, stream=False, files=[hull])

    def plugin(message):
        return client.call("asker.ask", chat_id=CHAT, message=message)

    for send, files in ((page, []), (plugin, []), (page_with_a_file, [hull])):
        message = f"how does it sail, {send.__name__}? 帆"
        shown = client.call("smart_context.preview", chat_id=CHAT, message=message, files=files)
        printed = json.loads(printed_prompt(run, message)) if send is page else shown["body"]
        start = len(endpoint.chat_requests)
        send(message)
        request = sent_by(endpoint, start)
        assert canonical(shown["prompt"]) == canonical(request.messages)
        assert printed == shown["body"]
        receipt = client.call("smart_context.receipt", chat_id=CHAT)
        assert canonical(receipt["prompt"]) == canonical(request.messages)
        assert receipt["parts"] == shown["parts"]
        assert_everything_is_in(request, message, files)


def printed_prompt(run, message):
    arguments = ("--show-prompt", "--message", message, "--format", "json")
    return run("filter", CHAT, *arguments)


def assert_everything_is_in(request, message, files):
    system, *others, question = request.messages
    assert system["content"].startswith("You are a boat builder.")
    places = [
        system["content"].index(text)
        for text in ("KEEL = 'lead'", "The hull is of oak.", "  hull.md", "They sail --end-note--.")
    ]
    assert places == sorted(places), "what changes least stands first"
    told = "\n".join(message["content"] for message in others)
    kept = ("Boats are old and had oars.", "always be brief", "boats sail", "Wind from the west.")
    assert [text for text in (*kept, "a pinned answer") if text not in told] == []
    assert [text for text in ("very old indeed", "cats sleep") if text in told] == []
    assert question["content"].startswith(f"# Task\n\nPlan this; change nothing yet.\n\n{message}")
    assert ("Of oak." in question["content"]) is bool(files)
    assert request.body.get("tools") or "<path>" in system["content"]
