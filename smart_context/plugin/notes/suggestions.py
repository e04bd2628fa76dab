"""Suggests the notes that are closest to a chat's selected topics, to be added with one click.

Shared words select among all notes at once; embeddings rank these and find more among the notes
that have vectors. The notes that share most words are embedded first, while the user waits; the
others are embedded in the background, if the embedding model is the built-in one.
"""

from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from smart_context.base.errors import ModelFailed
from smart_context.base.values import JsonObject
from smart_context.chat.messages import ChatId
from smart_context.llm.offline.responder import blended, share_of_ascii
from smart_context.plugin.selection.decision import ChatView
from smart_context.plugin.selection.selector import queries_of
from smart_context.relevance.note_vectors import NoteVectors
from smart_context.vault.followed import FollowedVault
from smart_context.vault.guarded.walk import FileStamp

SUGGESTED_NOTES = 6
SHORTLIST = 200
"""The number of notes that share words with a topic and get their vectors first."""

PATIENCE_S = 0.7
"""Time that an answer waits for missing vectors."""

CLOSE_ENOUGH = 0.25
"""Minimum similarity of a suggested note; unrelated notes seldom reach it."""

BESIDE_THE_BEST = 0.4
"""Minimum similarity of a suggested note, as a share of the best note's."""

WORDS_ONLY = "The embedding model did not answer, so these notes were found by shared words only."

_ASKED_CHARACTERS = 1_000
_MOST_QUERIES = 8
_REST = 2.0

Close = dict[str, float]
"""Similarity of notes, by path."""


class Suggestions:
    """Finds notes for chats."""

    def __init__(
        self,
        *,
        vault: FollowedVault,
        vectors: NoteVectors,
        is_embedded: bool,
        view_of: Callable[[ChatId], Awaitable[ChatView]],
        run: Callable[[Hashable, Coroutine[Any, Any, None]], object],
    ) -> None:
        self._vault = vault
        self._view_of = view_of
        self._run = run
        self._is_embedded = is_embedded
        self._vectors = vectors

    async def suggest_notes(self, chat_id: ChatId, limit: int = SUGGESTED_NOTES) -> JsonObject:
        """Notes that are closest to the selected topics, or to the whole chat."""
        view = await self._view_of(chat_id)
        queries = _queries(view)
        close, remark = await self._closest(queries) if queries else ({}, "")
        return {
            "notes": sorted(close, key=lambda path: (-close[path], path))[: min(max(limit, 1), 50)],
            "about": list(view.sidecar.state.active_topics),
            "remark": remark,
        }

    async def _closest(self, queries: Sequence[str]) -> tuple[Close, str]:
        """The notes close to at least one query, and a remark for people."""
        hits = [await self._vault.sharing_words(query, SHORTLIST) for query in queries]
        shares: list[Close] = [{stamp[0]: share for stamp, share in found} for found in hits]
        try:
            await self._vectors.embed(_in_turn(hits), within_s=PATIENCE_S)
            paths, cosines = await self._vectors.cosines(queries)
        except ModelFailed:
            return _united(shares), WORDS_ONLY
        self._run("vectors of notes", self._embed_the_rest(_in_turn(hits)))
        found = (
            self._both(query, share, dict(zip(paths, row.tolist(), strict=True)))
            for query, share, row in zip(queries, shares, cosines, strict=True)
        )
        return _united(found), ""

    def _both(self, query: str, shares: Mapping[str, float], cosines: Close) -> Close:
        """Notes that are close enough by words and meaning together."""
        trust = share_of_ascii(query) if self._is_embedded else 1.0
        paths = [*(shares.keys() | cosines.keys())]
        scores = blended(
            np.array([shares.get(path, 0) for path in paths], np.float32),
            np.array([cosines.get(path, 0) for path in paths], np.float32),
            trust,
        )
        least = max(CLOSE_ENOUGH, BESIDE_THE_BEST * float(scores.max(initial=0)))
        pairs = zip(paths, scores.tolist(), strict=True)
        return {path: score for path, score in pairs if score >= least}

    async def _embed_the_rest(self, first: Sequence[FileStamp]) -> None:
        """Embed the shortlist, then, with the built-in model, all notes."""
        try:
            await self._vectors.embed(first, rest=_REST)
            if self._is_embedded:
                stamps = await self._vault.ask(lambda index: index.names.stamps())
                notes = [stamp for stamp in stamps if stamp[0].lower().endswith(".md")]
                await self._vectors.keep_only({stamp[0] for stamp in stamps})
                await self._vectors.embed(notes, rest=_REST)
        except ModelFailed:
            return  # the next request for suggestions reports it


def _queries(view: ChatView) -> list[str]:
    """The selected topics with their keywords, else all topics, else the newest questions."""
    active, others = queries_of(view)
    topics = [" ".join((topic.label, *topic.keywords)) for topic in active or others]
    asked = (message.text for message in reversed(view.messages) if message.role == "user")
    return (topics or [text[:_ASKED_CHARACTERS] for text in asked if text.strip()])[:_MOST_QUERIES]


def _in_turn(hits: Sequence[Sequence[tuple[FileStamp, float]]]) -> list[FileStamp]:
    """The best hit of each query, then the second best of each, and so on, without repeats."""
    longest = max(map(len, hits), default=0)
    ranked = (found[rank][0] for rank in range(longest) for found in hits if rank < len(found))
    return list(dict.fromkeys(ranked))


def _united(several: Iterable[Close]) -> Close:
    """The best similarity of each note."""
    united: Close = {}
    for close in several:
        for path, score in close.items():
            united[path] = max(score, united.get(path, 0.0))
    return united
