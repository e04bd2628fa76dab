"""Tells an endpoint that thinks for long from one that only keeps the line open."""

from collections.abc import Callable

from smart_context.llm.failures import Failure, RequestFailed


class Silence:
    """How long an endpoint has given signs of life, but no part of an answer.

    Args:
        longest_s: How long that may be.
        clock: Seconds, from any beginning.
    """

    def __init__(self, longest_s: float, clock: Callable[[], float]) -> None:
        self._longest_s = longest_s
        self._clock = clock
        self._heard, self._characters = clock(), 0

    def check(self, characters: int) -> None:
        """Note how much was said so far.

        Raises:
            RequestFailed: If that has not become more for too long.
        """
        now = self._clock()
        if characters > self._characters:
            self._heard, self._characters = now, characters
        elif now - self._heard > self._longest_s:
            words = f"there were only signs of life for {self._longest_s:g} s"
            raise RequestFailed(Failure(trouble="slow", words=words))
