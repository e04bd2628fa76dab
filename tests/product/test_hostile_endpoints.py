"""A server whose chat model's endpoint means harm."""

import pytest

from tests.hostile_endpoint import BARE, again, event, hostile_endpoint
from tests.serving import serving
from tests.vaults import KEY, read_chat

pytestmark = pytest.mark.slow
ANSWERS = {
    "a head that never ends": (again(b"X-A: b\r\n", after=b"HTTP/1.1 200 OK\r\n"), 0.02),
    "fast signs of life": (again(b": wait\n" * 5_000, after=BARE), 0),
    "text without end": (again(event(content="x" * 100_000), after=BARE), 0),
    "slow text": (again(event(content="and "), after=BARE), 0.02),
}


@pytest.fixture
def vault(tmp_path):
    with hostile_endpoint(ANSWERS) as base_url:
        (tmp_path / ".vault.toml").write_text(
            f'[llm]\nbase_url = "{base_url}"\n[llm.categories]\nchat = "m"\n', encoding="utf-8"
        )
        yield tmp_path


def test_it_can_be_stopped_while_it_is_being_answered(vault):
    chats = {name.replace(" ", "-"): name for name in ANSWERS if name != "text without end"}
    with serving(vault, env=KEY) as server, server.connect() as client:
        for chat_id, name in chats.items():
            client.start("chat.send", chat_id=chat_id, message=name)
            client.wait_for("chat.started", chat_id=chat_id)
        client.wait_for("chat.token", chat_id="slow-text")
        assert server.request("GET", "/healthz")[0] == 200
        assert server.stop() == 0
    for chat_id in chats:
        assert "generating" not in read_chat(vault, chat_id)["messages"][-1]


def test_an_answer_without_end_is_cut_kept_and_says_so(vault):
    with serving(vault, env=KEY) as server:
        status, answer = server.command("chat.send", chat_id="talk", message="text without end")
    assert status != 200
    kept = read_chat(vault, "talk")["messages"][-1]
    assert 3_900_000 <= len(kept["content"]) <= 4_000_000
    assert "gave an answer that is over the size limit" in kept["error"]
    assert kept["error"] in str(answer)
