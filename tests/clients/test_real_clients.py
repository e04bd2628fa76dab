"""Three turns of each real client, with a topic picked after the second."""

import pytest

from tests.clients.programs import (
    Aider,
    AiSdk,
    Codex,
    ContinueCli,
    LangChain,
    Llm,
    OpenaiNode,
    OpenaiPython,
    Opencode,
)
from tests.clients.responding import answering
from tests.gateway.asking import provided_vault

pytestmark = pytest.mark.clients

LAMPS, BEES = "The lighthouse lamp burns", "A garden for bees"
QUESTIONS = ("lighthouse lamp?", "bees garden?", "And now?")
RESPONSES = (AiSdk, Codex)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with provided_vault(tmp_path_factory.mktemp("clients")) as found:
        yield found


def texts_of(messages):
    texts = []
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        said = "".join(str(part.get("text")) for part in parts)
        texts.append(said.strip().strip('"'))  # opencode puts what it is asked into quotes
    return texts


@pytest.mark.parametrize(
    "client",
    [OpenaiPython, LangChain, Aider, ContinueCli, OpenaiNode, AiSdk, Llm, Codex, Opencode],
)
def test_what_is_picked_decides_what_the_provider_gets(client, served, tmp_path):
    if not client.needs.exists():
        pytest.skip(f"{client.needs} is not there: python -m tests.clients.programs")
    server, provider = served
    before = {row["id"] for row in server.ask("memory.list_chats")["chats"]}
    path = "/responses" if client in RESPONSES else "/chat/completions"
    field = "input" if client in RESPONSES else "messages"
    answers = (LAMPS, BEES, "Nothing more.")
    provider.reply_with(*(map(answering, answers) if client in RESPONSES else answers), path=path)
    real = client(f"{server.origin}/v1", tmp_path)

    assert LAMPS in real.ask(QUESTIONS[0])
    assert BEES in real.ask(QUESTIONS[1])
    (chat,) = {row["id"] for row in server.ask("memory.list_chats")["chats"]} - before
    server.ask("smart_context.set_filter", chat_id=chat, topics=["lighthouse lamp"])
    real.ask(QUESTIONS[2])

    sent = [request for request in provider.requests if request.path == path][-1].body[field]
    texts = texts_of(sent)
    assert LAMPS in texts
    assert QUESTIONS[0] in texts
    assert QUESTIONS[2] in texts
    assert BEES not in texts
    assert QUESTIONS[1] not in texts
    receipts = server.ask("smart_context.receipts", chat_id=chat)["receipts"]
    assert len(receipts) == 3
    shown = server.ask("smart_context.receipt", chat_id=chat)
    assert shown["sent"]["messages"] == len(sent)
    if shown["prompt"]:
        assert shown["prompt"] == sent
