"""Builds the sections of one prompt.

Each file goes into the first section that asks for it.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from smart_context.packing.budget import PromptSection
from smart_context.packing.fences import Markup, left_out_note, tree_of
from smart_context.packing.files.secret_scan import secret_in
from smart_context.packing.files.sources import (
    SECRET,
    TOO_LARGE,
    UNREADABLE,
    Allowance,
    FilesOnce,
    SourceFile,
    Sources,
    normal,
)
from smart_context.packing.roles import RoleContext

if TYPE_CHECKING:
    from smart_context.packing.git import GitChanges


REQUIRED = "always_include"
HEADINGS: Mapping[str, str] = {
    REQUIRED: "Required Context",
    "target_file": "Target Files",
    "git_diff": "Git Diff (Staged)",
    "unstaged_diff": "Git Diff (Unstaged)",
    "changed_files": "Changed Files",
    "imports": "Imports",
    "related": "Related Files",
    "files": "Repository Context",
    "tree": "Repository Tree",
}
SECTION_KEYS = tuple(key for key in HEADINGS if key != REQUIRED)
_SPOKEN_KEYS = {
    "target": "target_file",
    "targets": "target_file",
    "target_files": "target_file",
    "diff": "git_diff",
    "git_diff_cached": "git_diff",
    "staged_diff": "git_diff",
    "changed": "changed_files",
    "target_imports": "imports",
    "related_files": "related",
    "include": "files",
    "repository": "files",
    "repository_context": "files",
    "repository_tree": "tree",
}
_NOT_LETTERS = re.compile(r"[^a-z]+")


def section_order(priority_order: Sequence[str]) -> tuple[str, ...]:
    """The section keys, most important first.

    Names in a role are mapped to keys; unknown names are ignored, and sections that the role does
    not name follow in the default order.
    """
    keys = [_key_of(name) for name in priority_order]
    return tuple(dict.fromkeys([*(key for key in keys if key in SECTION_KEYS), *SECTION_KEYS]))


def heading_of(key: str) -> str:
    """The heading of a section that is not in `HEADINGS`."""
    return key.replace("_", " ").replace("-", " ").title()


def _key_of(name: str) -> str:
    plain = _NOT_LETTERS.sub("_", name.lower()).strip("_")
    return _SPOKEN_KEYS.get(plain, plain)


RepomixUse = Literal["never", "auto", "always"]
GitUse = Literal["never", "guarded"]
"""The use of git for changes. It never runs programs that a repository names."""

STAGED_DIFF = "git diff --cached"
UNSTAGED_DIFF = "git diff"
_DIFFS = (STAGED_DIFF, UNSTAGED_DIFF)
_VARIABLES = {
    "$CHANGED_FILES": "changed_files",
    "$TARGET_IMPORTS": "imports",
    "$RELATED": "related",
}
_GIT_IS_OFF = "git may not run here, so its changes are left out"
_FILE_OF_DIFF = re.compile(r"(?m)^(?=diff --git )")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredSection:
    """A section and its files."""

    section: PromptSection
    heading: str
    files: tuple[SourceFile, ...] = ()


@dataclass
class Gathering:
    """Builds the sections of one prompt."""

    sources: Sources
    context: RoleContext  # the files and changes that the role asks for
    target_files: Sequence[str]  # the files that the task is about, as requested
    markup: Markup
    repomix: RepomixUse = "never"  # when Repomix packs the files of globs
    git: GitUse = "guarded"  # the use of git for changes

    def sections(self, extra_context: Mapping[str, object]) -> list[GatheredSection]:
        """The sections that are not empty, in the order of the prompt."""
        self._warn_of_unknown_names()
        makers = {
            "target_file": self._target_section,
            "git_diff": self._staged_section,
            "unstaged_diff": self._unstaged_section,
            "files": self._globbed_section,
            "tree": self._tree_section,
        }
        order = section_order(self.context.priority_order)
        gathered = [self._required_section()]
        for key in order:
            if key in extra_context:
                gathered.append(self._extra_section(key, extra_context[key]))
            elif key in makers:
                gathered.append(makers[key]())
            elif self._asks_for(key):
                gathered.append(self._files_section(key, self._named(key)))
        gathered += [
            self._extra_section(key, text)
            for key, text in extra_context.items()
            if key not in order
        ]
        return [each for each in gathered if each is not None]

    @cached_property
    def _once(self) -> FilesOnce:
        return FilesOnce(self.sources)

    @cached_property
    def _targets(self) -> list[str]:
        targets: list[str] = []
        for target in filter(None, self.target_files):
            path = normal(target)
            inside = f"{path}/" if path else ""  # "." is the whole repository
            below = [each for each in self.sources.stamps if each.startswith(inside)]
            targets += below or ([path] if path else [])
        return [*dict.fromkeys(targets)]

    @cached_property
    def _changes(self) -> "GitChanges":
        from smart_context.packing.git import GitChanges  # noqa: PLC0415  20 ms, and only with git

        return GitChanges(self.sources.root)

    def _may_ask_git(self) -> bool:
        if self.git != "never":
            return True
        if _GIT_IS_OFF not in self.sources.warnings:
            self.sources.warnings.append(_GIT_IS_OFF)
        return False

    def _asks_for(self, key: str) -> bool:
        return any(_VARIABLES.get(name) == key for name in self.context.include)

    def _warn_of_unknown_names(self) -> None:
        for name in (*self.context.include, *self.context.always_include):
            if name.startswith("$") and name not in _VARIABLES and name != "$TARGET":
                self.sources.warnings.append(f"{name!r} is not a known name; it was ignored")

    def _named(self, key: str) -> list[str]:
        """The paths of a section that a `$NAME` asks for."""
        if key == "changed_files":
            staged = self._changes.staged_files() if self._may_ask_git() else []
            return [path for path in staged if not (self.sources.root / path).is_dir()]
        from smart_context.packing.sections.imports import (  # noqa: PLC0415  2 ms that most packs save
            local_imports,
            related_files,
        )

        read, files = self.sources.peek, self.sources.stamps
        if key == "related":
            return related_files(self._targets, files, read)
        found = (local_imports(path, read(path) or "", files) for path in self._targets)
        return sorted({path for imported in found for path in imported})

    def _required_section(self) -> GatheredSection | None:
        paths: list[str] = []
        for name in self.context.always_include:
            if name == "$TARGET":
                paths += self._targets
            elif name in _VARIABLES:
                paths += self._named(_VARIABLES[name])
        plain = [name for name in self.context.always_include if not name.startswith("$")]
        paths += self.sources.find(name for name in plain if name not in _DIFFS)
        allowance = Allowance.of(self.sources.limits, "required")
        return self._files_section(REQUIRED, paths, allowance=allowance)

    def _target_section(self) -> GatheredSection | None:
        files = self._read(self._targets)
        blocks = [
            self.markup.notice(file.path, _placeholder(file))
            if file.text is None
            else self.markup.file(file.path, file.text)
            for file in files
        ]
        return self._gathered("target_file", blocks, files)

    def _staged_section(self) -> GatheredSection | None:
        if not (self.context.git_diff or self._names(STAGED_DIFF)):
            return None
        return self._diff_section("git_diff", staged=True)

    def _unstaged_section(self) -> GatheredSection | None:
        if not self._names(UNSTAGED_DIFF):
            return None
        return self._diff_section("unstaged_diff", staged=False)

    def _names(self, diff: str) -> bool:
        return diff in self.context.include or diff in self.context.always_include

    def _diff_section(self, key: str, *, staged: bool) -> GatheredSection | None:
        if not self._may_ask_git():
            return None
        text = self._without_secrets(self._changes.diff(staged=staged))
        return self._gathered(key, [self.markup.block(text, "diff")] if text else [])

    def _without_secrets(self, diff: str) -> str:
        if self.context.allow_secrets or not secret_in(diff):
            return diff
        kept = []
        for change in _FILE_OF_DIFF.split(diff):
            secret = secret_in(change)
            if secret:
                title = change.split("\n", 1)[0]
                self.sources.warnings.append(f"{title} was left out: it seems to contain {secret}")
                change = f"{title}\n[Left out: seems to contain {secret}]\n"  # noqa: PLW2901  its replacement
            kept.append(change)
        return "".join(kept)

    def _globbed_section(self) -> GatheredSection | None:
        names = [name for name in self.context.include if not name.startswith("$")]
        patterns = [name for name in names if name not in _DIFFS]
        if not patterns:
            return None
        if self.repomix == "never":
            return self._files_section("files", self.sources.find(patterns))
        return self._packed_by_repomix(patterns)

    def _packed_by_repomix(self, patterns: list[str]) -> GatheredSection | None:
        from smart_context.packing.sections import repomix  # noqa: PLC0415  only when asked for

        wanted = self._once.left(self.sources.find(patterns))
        try:
            packed = repomix.pack_with_repomix(
                self.sources.root,
                patterns,
                self.context.exclude,
                taken=sorted(self._once.names),
                may_download=self.repomix == "always",
            )
        except repomix.RepomixFailed as failed:
            return self._packed_without_repomix(wanted, str(failed))
        found = [path for path in repomix.files_in(packed) if path in self.sources.stamps]
        if stray := sorted(set(found).difference(wanted)):
            reason = f"it packed {stray[0]!r}, which is left out"
            return self._packed_without_repomix(wanted, reason)
        if not self.context.allow_secrets and (secret := secret_in(packed)):
            return self._packed_without_repomix(wanted, f"it packed what seems to be {secret}")
        blocks = [(f"Packed by {repomix.REPOMIX}.",), self.markup.block(packed, "xml")]
        return self._gathered("files", blocks, self._read(found))

    def _packed_without_repomix(self, paths: list[str], reason: str) -> GatheredSection | None:
        self.sources.warnings.append(f"Repomix was not used: {reason}")
        lead = f"Packed by Smart Context; Repomix was not used: {reason}."
        return self._files_section("files", paths, lead=lead)

    def _tree_section(self) -> GatheredSection | None:
        if not self.context.tree:
            return None
        excludes = self.sources.exclude.excludes
        paths = [path for path in self.sources.stamps if not excludes(path)]
        return self._gathered("tree", [self.markup.block(tree_of(paths))] if paths else [])

    def _extra_section(self, key: str, text: object) -> GatheredSection | None:
        blocks = [] if text is None or not str(text) else [(str(text),)]
        return self._gathered(key, blocks, heading=heading_of(key))

    def _files_section(
        self, key: str, paths: list[str], *, lead: str = "", allowance: Allowance | None = None
    ) -> GatheredSection | None:
        files = self._read(paths, allowance)
        blocks = [self.markup.file(file.path, file.text) for file in files if file.text is not None]
        note = left_out_note(_left_out(files))
        if not blocks and not note:
            return None
        return self._gathered(key, [*([(lead,)] if lead else []), *blocks], files, note=note)

    def _read(self, paths: list[str], allowance: Allowance | None = None) -> list[SourceFile]:
        return self.sources.read(self._once.take(paths), allowance)

    def _gathered(
        self,
        key: str,
        blocks: Sequence[tuple[str, ...]],
        files: Sequence[SourceFile] = (),
        *,
        heading: str = "",
        note: str = "",
    ) -> GatheredSection | None:
        if not blocks and not note:
            return None
        heading = heading or HEADINGS[key]
        section = self.markup.section(key, heading, blocks, note=note, is_protected=key == REQUIRED)
        return GatheredSection(section=section, heading=heading, files=tuple(files))


def _placeholder(file: SourceFile) -> str:
    if file.reason == TOO_LARGE:
        return "[File exceeds size limit]"
    if file.reason == SECRET:
        return f"[Left out: {file.detail}]"
    return "[Could not read file]"


def _left_out(files: Sequence[SourceFile]) -> Mapping[str, int]:
    """The number of files left out, by reason; only reasons that the prompt mentions."""
    counts = Counter(file.reason for file in files if file.reason)
    return {reason: counts[reason] for reason in (TOO_LARGE, SECRET, UNREADABLE) if counts[reason]}
