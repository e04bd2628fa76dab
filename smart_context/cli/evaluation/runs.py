"""Measures whole files, and what a new chat recalls of all their dialogues at once.

Vectors are stored for the next run, which then embeds nothing.
"""

import hashlib
import io
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smart_context.base.disk.files import atomic_write
from smart_context.base.errors import StoreFailed
from smart_context.chat.messages import ChatId, Message
from smart_context.cli.evaluation.dialogues import Dialogue, Kind
from smart_context.cli.evaluation.measures import Baselines, Findings, RecalledEvidence
from smart_context.cli.evaluation.picture import picture
from smart_context.cli.evaluation.report import Measured, as_json
from smart_context.cli.evaluation.trial import Trial
from smart_context.llm.models import Embedder, Matrix
from smart_context.llm.tokens import count_tokens
from smart_context.plugin.briefing.chat_recalls import DEFAULT_TOKENS
from smart_context.plugin.briefing.recall_prompt import (
    RecallContent,
    RecalledMessage,
    recalls_prompt,
)
from smart_context.plugin.choices.recalls import Reference
from smart_context.plugin.settings import FilterSettings
from smart_context.relevance.archive.card import card_of
from smart_context.relevance.archive.ranking import Archive, ranked
from smart_context.relevance.judge.calibrate import Scale, scale_for
from smart_context.relevance.judge.judging import Judge
from smart_context.relevance.vectors.warm import key_of
from smart_context.topics.embedded import EmbeddedTopicExtractor

_log = logging.getLogger(__name__)


class RememberingEmbedder:
    """Caches the vectors of another embedder by text; satisfies `Embedder`.

    Args:
        folder: The folder of the files, one for each model; `None` caches in memory only.
    """

    def __init__(self, embedder: Embedder, folder: Path | None) -> None:
        self._embedder = embedder
        self._path = None if folder is None else folder / f"{_digest(embedder.name)[:16].hex()}.npz"
        self._known: dict[bytes, NDArray[np.float32]] | None = None
        self._added = 0

    @property
    def name(self) -> str:
        """The name of the other embedder."""
        return self._embedder.name

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Shape (len(texts), d); see `Embedder`.

        Raises:
            ModelFailed: If the other embedder fails.
        """
        if self._known is None:
            self._known = self._read()
        known = self._known
        missing = list(dict.fromkeys(text for text in texts if _digest(text) not in known))
        if missing:
            for text, row in zip(missing, await self._embedder.embed(missing), strict=True):
                known[_digest(text)] = np.asarray(row, dtype=np.float32)
            self._added += len(missing)
        return np.array([known[_digest(text)] for text in texts], dtype=np.float32)

    def keep(self) -> None:
        """Store new vectors; if the disk refuses, the next run embeds them again."""
        if self._path is None or not self._added or not self._known:
            return
        rows = io.BytesIO()
        keys = np.frombuffer(b"".join(self._known), dtype=np.uint8).reshape(len(self._known), -1)
        np.savez(rows, keys=keys, vectors=np.stack(list(self._known.values())))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(self._path, rows.getvalue())
        except (OSError, StoreFailed) as failure:
            _log.warning("vectors are not kept: %s", failure)
        self._added = 0

    def _read(self) -> dict[bytes, NDArray[np.float32]]:
        if self._path is None:
            return {}
        try:
            whole = io.BytesIO(self._path.read_bytes())
            with np.load(whole, allow_pickle=False) as stored:
                keys, vectors = stored["keys"], stored["vectors"]
            return {key.tobytes(): row for key, row in zip(keys, vectors, strict=True)}
        except FileNotFoundError:
            return {}
        except Exception as damaged:  # noqa: BLE001 -- a cache is rebuilt, whatever is wrong
            _log.warning("%s can't be read (%s); its vectors are rebuilt.", self._path, damaged)
            return {}


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


_MOST_THAT_FIT = DEFAULT_TOKENS // 16


async def recalled_evidence(
    dialogues: Sequence[Dialogue], embedder: Embedder, scale: Scale | None = None
) -> list[RecalledEvidence]:
    """For each question, the share of its evidence that each method recalls.

    Args:
        dialogues: Each is one chat.
        embedder: Its vectors are those of the messages and questions.
        scale: That of its cosines; `None` as in a vault without a calibration.

    Raises:
        ModelFailed: If the embedder fails.
    """
    rows = [(dialogue, message) for dialogue in dialogues for message in dialogue.messages]
    vectors = await embedder.embed([message.text for _, message in rows])
    keys = [key_of(message.id, message.text) for _, message in rows]
    begin, cards = 0, []
    for dialogue in dialogues:
        end = begin + len(dialogue.messages)
        card = card_of(dialogue.messages, is_private=False)
        cards.append(card.with_vectors(keys[begin:end], vectors[begin:end]))
        begin = end
    archive = Archive([_id(dialogue) for dialogue in dialogues], cards)
    units = [_unit(dialogue, message, place) for place, (dialogue, message) in enumerate(rows)]
    places = {unit.reference: place for place, unit in enumerate(units)}
    simple = Baselines.of([message.text for _, message in rows], vectors, [0] * len(rows))
    found: list[RecalledEvidence] = []
    for dialogue in dialogues:
        queries = await embedder.embed([question.text for question in dialogue.questions])
        for question, query in zip(dialogue.questions, queries, strict=True):
            ranking = ranked(archive, question.text, query, scale=scale or scale_for(embedder.name))
            found_places = [places[Reference(*message)] for message in ranking.messages]
            orders: dict[str, Sequence[int]] = {"recall": found_places}
            for name, order in simple.orders(question.text, query).items():
                orders[name] = order.tolist()
            wanted = {Reference(_id(dialogue), message_id) for message_id in question.evidence}
            shares = {
                name: len(wanted & _sent(units[place] for place in order[:_MOST_THAT_FIT]))
                / len(wanted)
                for name, order in orders.items()
            }
            found.append(RecalledEvidence(dialogue=dialogue.name, shares=shares))
    return found


def _id(dialogue: Dialogue) -> ChatId:
    return ChatId(dialogue.name)


def _unit(dialogue: Dialogue, message: Message, place: int) -> RecalledMessage:
    return RecalledMessage(
        reference=Reference(_id(dialogue), message.id),
        title=dialogue.name,
        date=message.created_at[:10],
        role=message.role,
        text=message.text,
        when=("", "", place),
    )


def _sent(units: Iterable[RecalledMessage]) -> set[Reference]:
    """What a request has of these messages, the best first."""
    content = RecallContent(
        recall_id="", label="", max_tokens=DEFAULT_TOKENS, messages=tuple(units)
    )
    (share,) = recalls_prompt([content], count_tokens=count_tokens).shares
    return {message.reference for message in share.sent}


Progress = Callable[[str, int, int], None]
"""Called with the file's name, the number of its dialogues done, and of all."""

Read = tuple[str, Kind, Sequence[Dialogue]]
"""A file's name, its kind, and its dialogues."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """The result of a run."""

    model: str
    settings: FilterSettings
    files: tuple[Measured, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON for programs."""
        return {
            "model": self.model,
            "mode": self.settings.relevance,
            "threshold": self.settings.similarity_threshold,
            "files": [as_json(measured) for measured in self.files],
        }

    def picture(self) -> str:
        """An SVG document with a row for each file that has similarities."""
        drawn = [(m.file, [*m.findings.samples, *m.findings.absent_samples]) for m in self.files]
        title = f"{self.model}, {self.settings.relevance}"
        return picture(title, drawn, self.settings.similarity_threshold)


async def measured_files(  # noqa: PLR0913 -- each is a part of the run
    files: Sequence[Read],
    embedder: Embedder,
    settings: FilterSettings,
    *,
    scale: Scale | None = None,
    judge: Judge | None = None,
    cache: Path | None = None,
    on_progress: Progress | None = None,
    replays: bool = False,
) -> Result:
    """Measure each file; vectors are stored even if the run is interrupted.

    Args:
        scale: The scale of the embedding model; `None` as in a vault without a calibration.
        judge: Decides what is about a topic; `None` as in a vault without a calibration.
        cache: The folder of stored vectors; `None` stores none.
        replays: Only measure how topics stay while the dialogues grow.

    Raises:
        ModelFailed: If the embedder fails.
        ExtractionFailed: If the embedder fails while topics are searched.
    """
    remembering = RememberingEmbedder(embedder, cache)
    done: list[Measured] = []
    try:
        for name, kind, dialogues in files:
            findings = Findings()
            for number, dialogue in enumerate(dialogues, start=1):
                trial = Trial(
                    remembering,
                    EmbeddedTopicExtractor,
                    settings,
                    scale=scale,
                    judge=judge,
                    replays=replays,
                )
                findings.add(await trial.measure(dialogue))
                if on_progress is not None:
                    on_progress(name, number, len(dialogues))
            if kind == "questions" and not replays:
                findings.recalled = await recalled_evidence(dialogues, remembering, scale)
            done.append(Measured(file=name, kind=kind, findings=findings))
    finally:
        remembering.keep()
    return Result(model=embedder.name, settings=settings, files=tuple(done))
