"""What a search has found, chat by chat, as the list of chats shows it."""

from collections.abc import Sequence
from typing import Any

from smart_context.chat.listed.search import MOST_HITS, ChatHit, marked, query_words


def hits_view(hits: Sequence[ChatHit], query: str) -> dict[str, Any]:
    """The values of `frame/chat_hits.html`: chats in the order of their first hit."""
    words = query_words(query)
    found: dict[str, dict[str, Any]] = {}
    for hit in hits:
        entry = {"chat_id": hit.chat_id, "title": hit.title, "hits": []}
        chat = found.setdefault(hit.chat_id, entry)
        pieces = marked(hit.snippet, words)
        chat["hits"].append({"message_id": hit.message_id, "pieces": pieces})
    return {
        "found": list(found.values()),
        "count": len(hits),
        "is_cut": len(hits) >= MOST_HITS,
        "query": query,
    }
