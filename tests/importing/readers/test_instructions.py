"""What a program tells the model in each turn becomes the instructions of the chat."""

import json
import sqlite3

import pytest

from tests.importing.brought import brought, only, words
from tests.importing.samples import SAMPLES, llm_log

pytestmark = pytest.mark.anyio

LATIN = "Answer only in Latin."


def sample(client):
    return json.loads(SAMPLES[client][1])


def in_parameters():
    (entry,) = sample("open-webui")
    entry["chat"]["params"] = {"system": LATIN}
    return [entry]


def in_a_node():
    (entry,) = sample("open-webui")
    messages = entry["chat"]["history"]["messages"]
    messages["s"] = {"id": "s", "parentId": None, "role": "system", "content": LATIN}
    messages["1"]["parentId"] = "s"
    return [entry]


def in_both():
    (entry,) = in_a_node()
    entry["chat"]["params"] = {"system": LATIN}
    return [entry]


def of_before_parameters():
    (entry,) = sample("open-webui")
    entry["chat"]["system"] = LATIN
    return [entry]


def of_librechat(**fields):
    return {**sample("librechat"), **fields}


def of_chatbox(**content):
    (key, session) = next(iter(sample("chatbox").items()))
    session["messages"].insert(0, {"id": "0", "role": "system", **content})
    return {key: session}


def of_lobechat():
    export = sample("lobechat")
    export["data"]["topics"][0]["sessionId"] = "s1"
    export["data"]["agents"] = [{"id": "a1", "systemRole": LATIN}]
    export["data"]["agentsToSessions"] = [{"agentId": "a1", "sessionId": "s1"}]
    return export


def of_lobechat_before_its_database():
    export = sample("lobechat")
    export["data"]["topics"][0]["sessionId"] = "s1"
    export["data"]["sessions"] = [{"id": "s1", "config": {"systemRole": LATIN}}]
    return {"state": export["data"]}


@pytest.mark.parametrize(
    "export",
    [
        pytest.param(in_parameters(), id="Open WebUI, parameters"),
        pytest.param(in_a_node(), id="Open WebUI, a message"),
        pytest.param(in_both(), id="Open WebUI, in both places"),
        pytest.param(of_before_parameters(), id="Open WebUI, of early versions"),
        pytest.param(of_librechat(options={"promptPrefix": LATIN}), id="LibreChat, exported"),
        pytest.param(of_librechat(promptPrefix=LATIN), id="LibreChat, as it stores it"),
        pytest.param(of_chatbox(contentParts=[{"type": "text", "text": LATIN}]), id="Chatbox"),
        pytest.param(of_chatbox(content=LATIN), id="Chatbox, of early versions"),
        pytest.param(of_lobechat(), id="LobeChat"),
        pytest.param(of_lobechat_before_its_database(), id="LobeChat, of early versions"),
    ],
)
async def test_a_system_prompt_becomes_the_instructions(tmp_path, export):
    document = await only(tmp_path / "export.json", export)
    assert document["instructions"] == LATIN
    assert words(document) == ["Hello", "Second"]


async def test_llm_keeps_the_system_prompt_with_each_answer(tmp_path):
    path = llm_log(tmp_path / "logs.db")
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE responses ADD COLUMN system TEXT")
        database.execute("UPDATE responses SET system = ?", (LATIN,))
    database.close()
    documents, _ = await brought(path)
    assert [document["instructions"] for document in documents.values()] == [LATIN]


async def test_messages_for_the_api_keep_theirs_where_it_stands(tmp_path):
    messages = [{"role": "system", "content": LATIN}, {"role": "user", "content": "Hello"}]
    document = await only(tmp_path / "asked.json", {"messages": messages})
    assert [message["role"] for message in document["messages"]] == ["system", "user"]
    assert "instructions" not in document
