"""What a prompt is made of: every section and file, in or out, why, at what cost."""

from collections.abc import Iterator
from dataclasses import dataclass

from smart_context.packing.budget import Meter
from smart_context.packing.sources import SourceFile

OVER_BUDGET = "over the token budget"
NOT_SENT = "its section was dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutcome:
    """What became of one file.

    Attributes:
        path: Relative to the repository.
        section: The key of the section that it belongs to.
        tokens: Of its text; 0 when it was not read.
        is_kept: It is in the prompt.
        reason: Why it is not; empty when it is.
    """

    path: str
    section: str
    tokens: int
    is_kept: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionOutcome:
    """What became of one section.

    Attributes:
        key: Names the section.
        heading: As it stands in the prompt.
        tokens: Of its whole text.
        is_kept: It is in the prompt.
        is_protected: It could not have been dropped.
        reason: Why it is not in the prompt; empty when it is.
        files: The files that it was made of, those that were left out too.
    """

    key: str
    heading: str
    tokens: int
    is_kept: bool
    is_protected: bool
    reason: str
    files: tuple[SourceFile, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPlan:
    """A prompt and the account of it.

    Attributes:
        sections: In the order of the prompt, with those that were dropped.
        warnings: What was asked for and could not be done, and the secrets that were found.
        token_budget: The most tokens that the prompt should have.
        pieces: The prompt in pieces, to be joined or written one after another.
        meter: Counts the tokens.
        is_cut: Even what can't be dropped was over the budget, and has lost its end.
    """

    sections: tuple[SectionOutcome, ...]
    warnings: tuple[str, ...]
    token_budget: int
    pieces: tuple[str, ...]
    meter: Meter
    is_cut: bool = False

    def render(self) -> str:
        """The prompt."""
        return "".join(self.pieces)

    @property
    def tokens(self) -> int:
        """Of the whole prompt."""
        return self.meter.tokens(self.pieces)

    @property
    def is_over_budget(self) -> bool:
        """Whether what is protected alone is more than the budget."""
        return self.meter.size(self.pieces) > self.meter.limit(self.token_budget)

    @property
    def is_whole(self) -> bool:
        """Whether the budget has taken nothing away, and is kept."""
        was_dropped = any(section.reason == OVER_BUDGET for section in self.sections)
        return not (was_dropped or self.is_cut or self.is_over_budget)

    def digest(self) -> str:
        """The SHA-256 of the prompt's UTF-8: another digest, another prompt."""
        import hashlib  # noqa: PLC0415  3 ms that most prompts need not pay

        digest = hashlib.sha256()
        for piece in self.pieces:
            digest.update(piece.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def sources(self) -> dict[str, str]:
        """The files in the prompt and the SHA-256 of their texts: a stale prompt can be told."""
        import hashlib  # noqa: PLC0415  3 ms that most prompts need not pay

        return {
            file.path: hashlib.sha256(file.text.encode()).hexdigest()
            for section in self.sections
            if section.is_kept
            for file in section.files
            if file.text is not None
        }

    def files(self) -> Iterator[FileOutcome]:
        """Every file that was looked at, in the order of the prompt."""
        for section in self.sections:
            for file in section.files:
                is_kept = section.is_kept and file.text is not None
                yield FileOutcome(
                    path=file.path,
                    section=section.key,
                    tokens=self.meter.tokens([file.text or ""]),
                    is_kept=is_kept,
                    reason="" if is_kept else file.detail or NOT_SENT,
                )

    def token_tree(self) -> list[tuple[str, int]]:
        """Folders (closed by a slash) and files in the prompt with their tokens, sorted by path.

        The first entry is `./`, everything together.
        """
        totals = {"./": 0}
        for file in self.files():
            if not file.is_kept:
                continue
            totals["./"] += file.tokens
            *folders, _ = file.path.split("/")
            for depth in range(1, len(folders) + 1):
                folder = "/".join(folders[:depth]) + "/"
                totals[folder] = totals.get(folder, 0) + file.tokens
            totals[file.path] = totals.get(file.path, 0) + file.tokens
        return [("./", totals.pop("./")), *sorted(totals.items())]
