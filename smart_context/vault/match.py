"""Globs over names: `*` matches any run of characters, `?` one character."""

from collections.abc import Callable


def build_matcher(pattern: str | None) -> Callable[[str], bool]:
    """A function that tests whether a whole string matches the glob.

    Args:
        pattern: Case-sensitive and anchored at both ends. Empty or `None` matches everything.

    Returns:
        A function that takes linear time for any pattern: it follows all positions in the pattern
        at once, as bits of one number.
    """
    if not pattern:
        return lambda _value: True
    repeating, single, literals, length = _positions(pattern)
    accepting = 1 << length

    def matches(value: str) -> bool:
        reached = 1
        for character in value:
            stepped = (reached & literals.get(character, single)) << 1
            reached = stepped | (reached & repeating)
            if not reached:
                return False
        return bool(reached & accepting)

    return matches


def _positions(pattern: str) -> tuple[int, int, dict[str, int], int]:
    """Bit i stands for `i elements matched`; a star lets its position stay."""
    elements: list[str | None] = []
    repeating = 0
    for character in pattern:
        if character == "*":
            repeating |= 1 << len(elements)
        else:
            elements.append(None if character == "?" else character)
    single = sum(1 << position for position, element in enumerate(elements) if element is None)
    literals: dict[str, int] = {}
    for position, element in enumerate(elements):
        if element is not None:
            literals[element] = literals.get(element, single) | (1 << position)
    return repeating, single, literals, len(elements)
