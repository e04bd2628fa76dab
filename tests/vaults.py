"""A vault on disk, a fake endpoint over HTTP, a real server process between them, and chats."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from smart_context.storage.files.caches import FileCaches
from smart_context.topics.stored import to_assignments
from smart_context.topics.values import Topic
from smart_context.vault.index.vault_index import VaultIndex
from tests.fake_openai import FakeOpenAI
from tests.loaded_once import share_models
from tests.patience import ANSWER_S, PATIENCE_S
from tests.serving import serving

KEY = {"TEST_KEY_NAME": "secret-key-123"}


@pytest.fixture(autouse=True, scope="session")
def models_loaded_once():
    """Keeps apps that live in the tests' own process from reading 100 MB of weights each."""
    with pytest.MonkeyPatch.context() as patch:
        share_models(patch.setattr)
        yield


@pytest.fixture
def endpoint():
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def vault(tmp_path):
    folder = tmp_path / "Meine Notizen 笔记"
    folder.mkdir()
    return folder


def settings_text(base_url, **settings):
    """A `.vault.toml` whose models are all at one endpoint, filtered to the letter of the seed."""
    lines = {
        "enabled": "true",
        "relevance": '"plain"',
        "recent_messages": "0",
        "keep_pairs": "false",
        "similarity_threshold": "0.5",
    } | settings
    return f"""
[llm]
base_url = "{base_url}"
api_key_env = "TEST_KEY_NAME"
max_retries = 2
timeout_s = {ANSWER_S}

[llm.categories]
chat = "gpt-4o"
fast = "gpt-4o-mini"
embedding = "text-embedding-3-small"

[plugins.smart_context]
""" + "\n".join(f"{key} = {value}" for key, value in lines.items())


@pytest.fixture
def configured(vault, endpoint):
    """Writes the vault's settings; gives the vault."""

    def configure(**settings):
        text = settings_text(endpoint.base_url, **settings)
        (vault / ".vault.toml").write_text(text, encoding="utf-8")
        return vault

    return configure


@pytest.fixture(scope="session")
def close_later():
    """Ends servers while the next test runs already; fails on those that did not end well."""
    with ThreadPoolExecutor(1) as pool:
        endings = []
        yield lambda servers: endings.append(pool.submit(servers.close))
        for ending in endings:
            ending.result(PATIENCE_S)


@pytest.fixture
def server(configured, close_later):
    servers = ExitStack()
    yield servers.enter_context(serving(configured(), env=KEY))
    close_later(servers)


@pytest.fixture
def client(server):
    with server.connect() as connected:
        yield connected


def write_chat(vault, chat_id, messages, **document):
    folder = vault / ".memory"
    folder.mkdir(exist_ok=True)
    path = folder / f"{chat_id}.json"
    path.write_text(
        json.dumps({"messages": messages, "topics": [], **document}, ensure_ascii=False),
        encoding="utf-8",
    )
    return path


BOATS = "boats with a mast, a keel and a rudder in the harbour"
KNOTS = "knots such as the bowline and the hitch in a rope"
SAID = (BOATS, BOATS, BOATS, KNOTS, BOATS, KNOTS, KNOTS)


def write_boats_and_knots(vault, chat_id, **members):
    """A chat of seven questions, `q1` to `q7`, whose topics an extraction has found.

    Args:
        members: For the label of each topic, the ids of its messages, with spaces between them.
    """
    messages = [
        {"id": f"{role[0]}{n}", "role": role[1:], "content": f"{text} {role[0]}{n}"}
        for n, text in enumerate(SAID, 1)
        for role in ("quser", "aassistant")
    ]
    found = [
        Topic(label=label, count=len(ids.split()), message_ids=tuple(ids.split()), id=f"t-{label}")
        for label, ids in members.items()
    ]
    public = [{"label": t.label, "count": t.count, "id": t.id} for t in found]
    path = write_chat(vault, chat_id, messages, topics=public)
    assignments = to_assignments(found, seen=messages[-1]["id"])
    path.with_suffix(".topics.json").write_text(json.dumps(assignments))


def read_chat(vault, chat_id):
    return json.loads((vault / ".memory" / f"{chat_id}.json").read_text(encoding="utf-8"))


def about(*texts):
    """Messages m0, m1, …, by user and assistant in turn."""
    return [
        {"id": f"m{n}", "role": "user" if n % 2 == 0 else "assistant", "content": text}
        for n, text in enumerate(texts)
    ]


def kept_index(root, memory, *, makes_folder=True):
    """The index of a vault, kept in its memory folder."""
    return VaultIndex(root, memory, caches=FileCaches(memory, makes_folder=makes_folder))
