"""Values of the messages around each message; the last axis is the chat. Pure."""

import numpy as np

from smart_context.llm.models import Matrix

_REACH, _NEAR = 5, 3


def before(values: Matrix) -> Matrix:
    """For each message, the value of the previous one; 0 for the first."""
    moved = np.zeros_like(values)
    moved[..., 1:] = values[..., :-1]
    return moved


def after(values: Matrix) -> Matrix:
    """For each message, the value of the next one; 0 for the last."""
    moved = np.zeros_like(values)
    moved[..., :-1] = values[..., 1:]
    return moved


def around(values: Matrix) -> Matrix:
    """The mean over each message and up to five on either side; `values` has two axes."""
    count = values.shape[1]
    sums = np.zeros((len(values), count + 2 * _REACH + 1))
    np.cumsum(values, axis=1, out=sums[:, _REACH + 1 : _REACH + 1 + count])
    sums[:, _REACH + 1 + count :] = sums[:, [_REACH + count]]
    places = np.arange(count)
    size = np.minimum(places, _REACH) + np.minimum(count - 1 - places, _REACH) + 1
    return np.asarray((sums[:, 2 * _REACH + 1 :] - sums[:, :count]) / size, dtype=np.float32)


def largest_near(values: Matrix) -> Matrix:
    """The largest value of each message and up to three on either side."""
    largest = values.copy()
    for step in range(1, _NEAR + 1):
        np.maximum(largest[..., step:], values[..., :-step], out=largest[..., step:])
        np.maximum(largest[..., :-step], values[..., step:], out=largest[..., :-step])
    return largest
