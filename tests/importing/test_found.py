import pytest

from smart_context.importing.found import FoundChat, FoundMessage, NotReadable


def test_a_chat_of_more_messages_than_any_has_is_not_read_to_its_end():
    chat = FoundChat(client="aider", id="1")
    chat.messages = [FoundMessage(id="0", role="user")] * 199_999
    chat.add("", "user", "the last")
    with pytest.raises(NotReadable, match="at most 200,000 messages"):
        chat.add("", "user", "one too many")
