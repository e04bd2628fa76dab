"""The other versions of a client's chat, as plain text."""

from collections.abc import Mapping
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.messages import messages_of
from smart_context.web.pages.views.message_views import SPEAKERS

MAX_CHARACTERS = 2_000
"""Longer messages of a version are cut; the chat's file has all of them."""


def other_versions(document: Mapping[str, Any]) -> list[JsonObject]:
    """The versions that a client left by editing or retrying, newest first, as plain text."""
    found = document.get("branches")
    branches = found if isinstance(found, list) else []
    return [
        {
            "created_at": created if isinstance(created := branch.get("created_at"), str) else "",
            "messages": [
                {"speaker": SPEAKERS[message.role], "text": message.text[:MAX_CHARACTERS]}
                for message in messages_of(branch)
                if message.text
            ],
        }
        for branch in branches
        if isinstance(branch, Mapping)
    ]
