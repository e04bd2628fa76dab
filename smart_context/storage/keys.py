"""The keys of a vault's documents, as names that every storage can hold. Pure."""

from urllib.parse import quote, unquote

_MAX_NAME_BYTES = 200


def name_of(key: str) -> str:
    """A file's name for any key; letters and digits of any script stay as they are.

    Raises:
        ValueError: The key is too long.
    """
    shown = "".join(
        character if character.isalnum() or character in " -_.,()'" else quote(character, safe="")
        for character in key.encode("utf-8", "replace").decode()
    )
    name = f"%2E{shown[1:]}" if shown.startswith(".") else shown
    if len(name.encode()) > _MAX_NAME_BYTES:
        raise ValueError(f"key: {key[:40]!r}… is too long for a file name; choose a shorter one")
    return name


def key_of(name: str) -> str:
    """The key that has this name."""
    return unquote(name)
