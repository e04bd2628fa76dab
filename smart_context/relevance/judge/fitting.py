"""Fits the scale of an embedding model to a vault's chats, and stores it with its evidence.

It is a document of the vault. Without it, or for another model, the scale is looked
up by the model's name or estimated from the chat.
"""

import logging
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smart_context.base.errors import StoreFailed
from smart_context.relevance.judge.calibrate import Scale
from smart_context.relevance.judge.judging import Judge, null_labels, read_weights
from smart_context.relevance.vectors.cosines import unit
from smart_context.storage.ports import VaultDocuments

QUANTILES = (5, 25, 50, 75, 95)
FEWEST_ABOUT, FEWEST_OTHERS, FEWEST_TOPICS = 40, 80, 4
_LEAST_APART = 0.6
_STEP = 0.02
_VERSION = 1
_KIND, _KEY = "", "calibration"

T = TypeVar("T")

Similarities = NDArray[np.float64]

_log = logging.getLogger(__name__)


class NotEnough(ValueError):
    """The chats are too few or too alike to fit a scale to; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A fitted scale, and the data that it was fitted to."""

    model: str  # the embedding model's name
    fitted_at: str  # its time; ISO 8601 in UTC
    scale: Scale  # the result
    chats: int  # the number of chats
    topics: int  # the number of their topics
    about: int  # the number of pairs of a label with a message about it
    others: int  # the number of pairs of a label with a message about something else
    # similarities of messages about the topic, at each of `QUANTILES` per cent
    about_quantiles: tuple[float, ...]
    other_quantiles: tuple[float, ...]  # the same for messages about something else
    # the share of pairs in which the message about the topic is more similar than the other
    auc: float
    judge: Judge | None = None  # the judge for this model; `None` if none was fitted

    def to_dict(self) -> dict[str, Any]:
        """The JSON object to store."""
        return {
            "version": _VERSION,
            "model": self.model,
            "fitted_at": self.fitted_at,
            "scale": {
                "unrelated": self.scale.unrelated,
                "probable": self.scale.probable,
                "sure": self.scale.sure,
            },
            "evidence": {
                "chats": self.chats,
                "topics": self.topics,
                "about": self.about,
                "others": self.others,
                "about_quantiles": _by_per_cent(self.about_quantiles),
                "other_quantiles": _by_per_cent(self.other_quantiles),
                "auc": self.auc,
            },
        }


def fitted(
    about: ArrayLike,
    others: ArrayLike,
    *,
    model: str,
    chats: int,
    topics: int,
    now: datetime,
) -> Calibration:
    """The scale that best separates a topic's messages from the others.

    Args:
        about: Cosines of labels with messages about them.
        others: Cosines of labels with messages about something else.
        chats: The number of chats that they come from.

    Raises:
        NotEnough: If there are too few cosines, or both kinds are alike.
    """
    near, far = _finite(about), _finite(others)
    _check_enough(near, far, topics)
    auc = _auc(near, far)
    if auc < _LEAST_APART:
        raise NotEnough(
            f"messages about a topic are hardly closer to its label than others (in {auc:.0%} of "
            f"the pairs, expected {_LEAST_APART:.0%}): labels and messages may be in different "
            "languages, or the model may not be made for similarity."
        )
    unrelated = float(np.clip(np.median(far), -0.9, 0.9))
    probable = float(np.clip(_dividing(near, far), unrelated + _STEP, 0.94))
    sure = float(np.clip(np.quantile(near, 0.75), probable + _STEP, 0.98))
    return Calibration(
        model=model,
        fitted_at=now.isoformat(timespec="seconds"),
        scale=Scale(
            unrelated=round(unrelated, 4), probable=round(probable, 4), sure=round(sure, 4)
        ),
        chats=chats,
        topics=topics,
        about=len(near),
        others=len(far),
        about_quantiles=_quantiles(near),
        other_quantiles=_quantiles(far),
        auc=round(auc, 4),
    )


def store_calibration(documents: VaultDocuments, calibration: Calibration) -> str:
    """Store a calibration; returns where it is, for the user.

    Raises:
        StoreFailed: If it can't be written; the old file is intact.
    """
    document = calibration.to_dict()
    if calibration.judge is not None:
        document["judge"] = _judge_document(calibration.judge)
    return documents.write(_KIND, _KEY, document)


def stored_scale(documents: VaultDocuments, model: str) -> Scale | None:
    """The scale that was fitted for that model; `None` without one, or when it is damaged."""
    return _stored(documents, model, _scale)


def stored_judge(documents: VaultDocuments, model: str) -> Judge | None:
    """The judge that was fitted for that model; `None` without one, or when it is damaged."""
    return _stored(documents, model, _judge)


def _stored(
    documents: VaultDocuments, model: str, read: Callable[[Mapping[str, Any]], T | None]
) -> T | None:
    try:
        document = documents.read(_KIND, _KEY)
        if document is None or document["version"] != _VERSION or document["model"] != model:
            return None
        return read(document)
    except (StoreFailed, ValueError, KeyError, TypeError) as error:
        _log.warning("the calibration can't be used (%s); run `smart-context calibrate`.", error)
        return None


def _scale(document: Mapping[str, Any]) -> Scale:
    scale: Mapping[str, float] = document["scale"]
    return Scale(
        unrelated=float(scale["unrelated"]),
        probable=float(scale["probable"]),
        sure=float(scale["sure"]),
    )


def _judge(document: Mapping[str, Any]) -> Judge | None:
    stored = document.get("judge")
    if stored is None:
        return None
    data = np.frombuffer(b64decode(stored["null_labels"]), dtype="<f2").astype(np.float32)
    rows = data.reshape(len(null_labels()), -1)
    (presence, shift), (posterior, other) = stored["presence"], stored["posterior"]
    return Judge(
        weights=read_weights(),
        null_labels=unit(rows),
        scale=_scale(document),
        presence=(float(presence), float(shift)),
        posterior=(float(posterior), float(other)),
    )


def _judge_document(judge: Judge) -> dict[str, Any]:
    return {
        "presence": judge.presence,
        "posterior": judge.posterior,
        "null_labels": b64encode(judge.null_labels.astype("<f2").tobytes()).decode(),
    }


def _check_enough(near: Similarities, far: Similarities, topics: int) -> None:
    needs = (
        (topics, FEWEST_TOPICS, "topics with known messages"),
        (len(near), FEWEST_ABOUT, "messages about them"),
        (len(far), FEWEST_OTHERS, "pairs of a topic with a message about another one"),
    )
    missing = [f"{least} {what}, found {count}" for count, least, what in needs if count < least]
    if missing:
        raise NotEnough(f"expected at least {'; '.join(missing)}.")


def _dividing(near: Similarities, far: Similarities) -> float:
    """The value that separates both kinds best if both are equally frequent.

    There the sum of both error rates is smallest; among several such values, the mean.
    """
    places = np.linspace(
        min(float(np.median(far)), float(np.median(near))), float(np.quantile(near, 0.95)), 201
    )
    missed = np.searchsorted(np.sort(near), places) / len(near)
    wrong = 1 - np.searchsorted(np.sort(far), places) / len(far)
    errors = missed + wrong
    return float(np.mean(places[errors <= errors.min() + 0.01]))


def _auc(near: Similarities, far: Similarities) -> float:
    order = np.sort(far)
    below = np.searchsorted(order, near, side="left") + np.searchsorted(order, near, side="right")
    return float(below.mean() / (2 * len(order)))


def _finite(values: ArrayLike) -> Similarities:
    flat = np.asarray(values, dtype=np.float64).ravel()
    return np.asarray(flat[np.isfinite(flat)], dtype=np.float64)


def _quantiles(values: Similarities) -> tuple[float, ...]:
    return tuple(round(float(q), 4) for q in np.quantile(values, np.array(QUANTILES) / 100))


def _by_per_cent(values: tuple[float, ...]) -> dict[str, float]:
    return {str(per_cent): value for per_cent, value in zip(QUANTILES, values, strict=True)}
