"""Counts in words."""


def counted(count: int, noun: str) -> str:
    """`1 file`, `1,200 files`: for nouns with a plural in s."""
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s"
