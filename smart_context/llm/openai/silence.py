"""Tells a model that thinks for long from an endpoint that only stays connected."""

from collections.abc import Callable

from smart_context.llm.failures import EndpointFailure, RequestFailed


class Silence:
    """How long a stream has been open without new text.

    Args:
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, longest_s: float, clock: Callable[[], float]) -> None:
        self._longest_s = longest_s
        self._clock = clock
        self._heard, self._characters = clock(), 0

    def check(self, characters: int) -> None:
        """Record the number of characters so far.

        Raises:
            RequestFailed: If it has not grown for too long.
        """
        now = self._clock()
        if characters > self._characters:
            self._heard, self._characters = now, characters
        elif now - self._heard > self._longest_s:
            if self._characters:
                words = f"no more text came for {self._longest_s:g} s"
                raise RequestFailed(EndpointFailure(trouble="stalled", words=words))
            words = f"it kept the connection open without an answer for {self._longest_s:g} s"
            raise RequestFailed(EndpointFailure(trouble="slow", words=words))
