"""The headers by which an answer names its chat and its turn."""

from smart_context.host.turn import Turn

Headers = list[tuple[bytes, bytes]]


def answer_headers(chat_id: str, turn: Turn | None, received: int, sent: int | None) -> Headers:
    """Headers of an answer: its chat and turn, and the numbers of messages received and sent.

    Empty and unknown values are left out.
    """
    values = {
        "chat": chat_id,
        "receipt": turn.id if turn else "",
        "in": str(received),
        "out": "" if sent is None else str(sent),
    }
    return [(f"x-smart-context-{k}".encode(), v.encode()) for k, v in values.items() if v]
