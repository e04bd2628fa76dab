"""A topic's messages at a glance."""

import numpy as np
from numpy.typing import NDArray

from smart_context.base.values import JsonObject
from smart_context.plugin.forecast.forecasts import Forecast

SAMPLES = 3
SAMPLE_CHARS = 160


def topic_card(forecast: Forecast) -> JsonObject:
    """Dates, tokens and samples of the messages that the picked topic keeps.

    Args:
        forecast: The chat's forecast with one topic picked.
    """
    kept = forecast.decision.selection.kept_by_topic()
    positions = np.array([position for position, _ in kept], dtype=np.intp)
    messages = [forecast.decision.candidates[position] for position in positions.tolist()]
    dates = [message.created_at for message in messages if message.created_at]
    closest = [forecast.decision.candidates[place] for place in _closest(forecast, positions)]
    return {
        "messages": len(messages),
        "tokens": int(forecast.costs.tokens[positions].sum()),
        "first": min(dates, default=""),
        "last": max(dates, default=""),
        "samples": [
            {"id": m.id, "role": m.role, "text": " ".join(m.text[:SAMPLE_CHARS].split())}
            for m in closest
        ],
    }


def _closest(forecast: Forecast, positions: NDArray[np.intp]) -> list[int]:
    """The positions of the best matches, oldest first."""
    found = forecast.decision.selection.reasons.found
    if found is None:
        return []
    best = positions[np.argsort(-found.best[positions], kind="stable")[:SAMPLES]]
    return sorted(best.tolist())
