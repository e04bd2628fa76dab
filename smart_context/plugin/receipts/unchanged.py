"""How much of a request begins as the chat's request before it did.

A provider that keeps prompts reads that much for less; whatever changes early makes it little.
"""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence

from smart_context.chat.messages import ChatId
from smart_context.host.request.tokens import texts_of
from smart_context.llm.models import PromptMessage

MAX_CHATS = 8
"""Most chats whose last request is remembered; it can be as long as a model's window."""


def unchanged_tokens(
    before: Sequence[PromptMessage],
    after: Sequence[PromptMessage],
    count_tokens: Callable[[str], int],
) -> int:
    """The tokens from the beginning of a request to where it differs from the one before.

    Args:
        before: The former request.
        after: The request.
        count_tokens: Counts for the model that is asked.
    """
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    texts = [text for message in after[:same] for text in texts_of(message)]
    if same < min(len(before), len(after)) and before[same]["role"] == after[same]["role"]:
        pairs = zip(texts_of(before[same]), texts_of(after[same]), strict=False)
        texts += [_beginning(*pair) for pair in list(pairs)[:1]]
    return sum(count_tokens(text) for text in texts if text)


def _beginning(before: str, after: str) -> str:
    """What both texts begin with; looked for by halves, since they can be very long."""
    lengths = range(1, min(len(before), len(after)) + 1)
    return after[: bisect_left(lengths, 1, key=lambda n: not after.startswith(before[:n]))]


class LastRequests:
    """The last request of each chat that was sent to lately."""

    def __init__(self) -> None:
        self._sent: OrderedDict[ChatId, Sequence[PromptMessage]] = OrderedDict()

    def of(self, chat_id: ChatId) -> Sequence[PromptMessage]:
        """Its last request; empty if that is not known."""
        return self._sent.get(chat_id, ())

    def remember(self, chat_id: ChatId, sent: Sequence[PromptMessage]) -> None:
        """Take a request for its last one."""
        self._sent[chat_id] = sent
        self._sent.move_to_end(chat_id)
        while len(self._sent) > MAX_CHATS:
            self._sent.popitem(last=False)
