"""A small value that several processes change."""

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class SharedValue(Protocol[T]):
    """Reads the value and changes it; both block."""

    def read(self) -> tuple[object, T]:
        """The value with its state; equal states mean that nothing has changed.

        Raises:
            StoreFailed: It can't be read.
        """

    def update(self, change: Callable[[T], T]) -> tuple[object, T]:
        """Change the current value; `change` may be called more than once.

        Raises:
            StoreFailed: It can't be written; the old one is intact.
        """
