"""Formats sections, files and diffs as Markdown, XML or plain text.

No text can end the block that it is in.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from smart_context.base.text.marks import unclosed
from smart_context.base.text.names import fence_for, one_line
from smart_context.packing.budget import PromptSection

Style = Literal["markdown", "xml", "plain"]

_EQUAL_SIGNS = re.compile("={5,}")
_TAGS = ("file", "section", "notice", "diff")


@dataclass(frozen=True, slots=True)
class Markup:
    """Formats texts in one of the styles."""

    # Markdown with fences, XML-like tags, or plain text with rules of equal signs
    style: Style = "markdown"

    def file(self, path: str, text: str) -> tuple[str, ...]:
        """A file's text under its path."""
        ending = "" if not text or text.endswith("\n") else "\n"
        name = one_line(path)
        if self.style == "markdown":
            fence = fence_for(text)
            return (f"### {name}\n\n{fence}\n", text, f"{ending}{fence}")
        if self.style == "xml":
            return (
                f'<file path="{_attribute(name)}">\n',
                unclosed(text, _TAGS),
                f"{ending}</file>",
            )
        rule = _rule_for(text)
        return (f"{rule}\nFile: {name}\n{rule}\n", text, f"{ending}{rule}")

    def notice(self, path: str, words: str) -> tuple[str, ...]:
        """A requested file without text, and why."""
        name = one_line(path)
        if self.style == "markdown":
            return (f"### {name}\n\n{words}",)
        if self.style == "xml":
            return (f'<file path="{_attribute(name)}">\n{words}\n</file>',)
        return (f"File: {name}\n{words}",)

    def block(self, text: str, language: str = "") -> tuple[str, ...]:
        """A text that is not a file, such as a diff or a tree."""
        ending = "" if text.endswith("\n") else "\n"
        if self.style == "markdown":
            fence = fence_for(text)
            return (f"{fence}{language}\n", text, f"{ending}{fence}")
        if self.style == "xml":
            return (unclosed(text, _TAGS).removesuffix("\n"),)
        return (text.removesuffix("\n"),)

    def section(
        self,
        key: str,
        heading: str,
        blocks: Sequence[tuple[str, ...]],
        *,
        note: str = "",
        is_protected: bool = False,
    ) -> PromptSection:
        """A section of blocks separated by blank lines, with a closing note."""
        all_blocks = [*blocks, (note,)] if note else blocks
        pieces = [piece for block in all_blocks for piece in ("\n\n", *block)]
        if self.style == "xml":
            pieces = [f'<section name="{_attribute(heading)}">\n', *pieces[1:], "\n</section>"]
        else:
            pieces.insert(0, f"## {heading}" if self.style == "markdown" else heading.upper())
        return PromptSection(key=key, pieces=tuple(pieces), is_protected=is_protected)


def tree_of(paths: Sequence[str]) -> str:
    """The paths as an indented tree, one per line; folders end in a slash."""
    lines: list[str] = []
    open_folders: list[str] = []
    for path in sorted(paths, key=_by_part):
        *folders, name = path.split("/")
        common = 0
        while common < len(folders) and folders[: common + 1] == open_folders[: common + 1]:
            common += 1
        lines += [f"{'  ' * at}{one_line(folders[at])}/" for at in range(common, len(folders))]
        open_folders = folders
        lines.append(f"{'  ' * len(folders)}{one_line(name)}")
    return "\n".join(lines)


def left_out_note(counts: Mapping[str, int]) -> str:
    """The closing note on files that a section leaves out; empty without any."""
    total = sum(counts.values())
    if not total:
        return ""
    reasons = ", ".join(f"{count} {reason}" for reason, count in counts.items())
    return f"[{total} {'file' if total == 1 else 'files'} left out: {reasons}]"


def _by_part(path: str) -> list[str]:
    return path.split("/")


def _rule_for(text: str) -> str:
    longest = max((len(run) for run in _EQUAL_SIGNS.findall(text)), default=0)
    return "=" * max(20, longest + 1)


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
