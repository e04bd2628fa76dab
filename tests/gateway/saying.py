"""Messages of a client, and chats that follow them, without a server."""

import itertools

from smart_context.chat.messages import messages_of
from smart_context.gateway.following.documents import append_answer, follow, put_answer
from smart_context.gateway.following.matching import keys_of, matched
from smart_context.gateway.requests.units import chat_units

NOW = "2026-03-01T12:00:00Z"


def system(text):
    return {"role": "system", "content": text}


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


class FollowedChat:
    """A chat's document that follows what a client sends, answer by answer."""

    def __init__(self):
        self.document = {"messages": []}
        self.ids = itertools.count(1)

    def new_id(self):
        return f"m{next(self.ids)}"

    def send(self, *messages, answer=None, is_retry=False, **flags):
        """Follow a list, then store an answer; gives the ids of the messages."""
        units = tuple(chat_units(messages))
        stored = messages_of(self.document)
        plan = stored, matched(units, stored, keys_of(stored))
        answer_id = self.new_id()
        retry = answer_id if is_retry else ""
        ids = follow(self.document, units, plan, new_id=self.new_id, now=NOW, retry=retry)
        if answer is not None:
            entry = {"id": answer_id, "role": "assistant", "content": answer, "model": "m"}
            append_answer(self.document, {**entry, "content": "", "generating": True})
            put_answer(self.document, {**entry, **flags}, new_id=self.new_id, now=NOW)
        return ids

    @property
    def texts(self):
        """What the chat holds now, without what was cut."""
        return [m["content"] for m in self.document["messages"] if not m.get("cut")]

    @property
    def cut(self):
        return [m["content"] for m in self.document["messages"] if m.get("cut")]

    @property
    def branches(self):
        return [
            (branch["after"], [m["content"] for m in branch["messages"]])
            for branch in self.document.get("branches", [])
        ]
