"""The other versions of a chat that the page can't switch to, as plain text."""

from collections.abc import Mapping
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.clients import is_of_client
from smart_context.chat.documents.branches import branches_of, is_reachable
from smart_context.chat.messages import messages_of
from smart_context.web.pages.views.message_views import SPEAKERS

MAX_CHARACTERS = 2_000
"""Longer messages of a version are cut; the chat's file has all of them."""


def other_versions(document: Mapping[str, Any]) -> list[JsonObject]:
    """The versions that can't be made current, newest first, as plain text.

    Those of a program that keeps its history itself, and those that follow a message that is gone.
    """
    is_followed = is_of_client(document)
    return [
        {
            "created_at": created if isinstance(created := branch.get("created_at"), str) else "",
            "messages": [
                {"speaker": SPEAKERS[message.role], "text": message.text[:MAX_CHARACTERS]}
                for message in messages_of(branch)
                if message.text
            ],
        }
        for branch in branches_of(document)
        if is_followed or not is_reachable(document, branch)
    ]
