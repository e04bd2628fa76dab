"""Endpoints that take user and assistant in turn alone."""

from tests.fake_openai import failure
from tests.serving import serving
from tests.vaults import KEY, settings_text, write_chat


def strict(body):
    """Answers as the chat templates of Gemma and Mistral do."""
    roles = [message["role"] for message in body["messages"]]
    spoken = roles[roles[0] == "system" :]
    if any(role != ("user", "assistant")[n % 2] for n, role in enumerate(spoken)):
        return failure(400, "Conversation roles must alternate user/assistant/user/assistant/...")
    return "Yes."


def test_an_endpoint_that_wants_turns_is_known_after_a_restart(vault, endpoint):
    (vault / ".vault.toml").write_text(settings_text(endpoint.base_url), encoding="utf-8")
    write_chat(
        vault,
        "strict",
        [{"role": "user", "content": "One?"}, {"role": "user", "content": "Two?"}],
    )
    endpoint.reply_with(*[strict] * 4)
    with serving(vault, env=KEY) as server:
        server.ask("chat.send", chat_id="strict", message="Three?")
        assert len(endpoint.chat_requests) == 2
    with serving(vault, env=KEY) as server:
        server.ask("chat.send", chat_id="strict", message="Four?")
        assert len(endpoint.chat_requests) == 3
        sent = [m for m in endpoint.chat_requests[-1].messages if m["role"] != "system"]
        assert [m["content"] for m in sent] == ["One?\n\nTwo?\n\nThree?", "Yes.", "Four?"]
