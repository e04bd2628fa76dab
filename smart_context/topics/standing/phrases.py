"""Phrases by which instructions and facts are known, from the files next to this one."""

from collections.abc import Mapping
from pathlib import Path

from smart_context.base.text.word_lists import lines_of


def phrases_in(name: str) -> Mapping[str, tuple[str, ...]]:
    """The phrases below each `[section]` of a file, and each of its parts under its name.

    In a phrase or a later part, `<name>` stands for a part, a line of the section `[parts]`.
    """
    found: dict[str, tuple[str, ...]] = {}
    parts: dict[str, str] = {}
    section = ""
    for line in lines_of(Path(__file__).with_name(name)):
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            part, _, text = line.partition(" = ") if section == "parts" else ("", "", line)
            for mark, said in parts.items():
                text = text.replace(mark, said)
            if part:
                parts[f"<{part}>"] = text
            key = part or section
            found[key] = (*found.get(key, ()), text)
    return found
