"""The content of a prompt, and the reasons why something is left out."""

from collections.abc import Iterator
from dataclasses import dataclass

from smart_context.packing.budget import Meter
from smart_context.packing.files.sources import SourceFile

OVER_BUDGET = "over the token budget"
NOT_SENT = "its section was dropped"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOutcome:
    """The outcome for one file: in the prompt, or the reason why not."""

    path: str  # relative to the repository
    section: str  # the key of the section that it belongs to
    tokens: int  # the tokens of its text; 0 if it was not read
    is_kept: bool  # True if it is in the prompt
    reason: str  # the reason why it is not in the prompt; empty if it is


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionOutcome:
    """The outcome for one section: in the prompt, or the reason why not."""

    key: str  # names the section
    heading: str  # its heading in the prompt
    tokens: int  # the tokens of its whole text
    is_kept: bool  # True if it is in the prompt
    is_protected: bool  # True if it is never dropped
    reason: str  # the reason why it is not in the prompt; empty if it is
    files: tuple[SourceFile, ...]  # its files, including those that were left out


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPlan:
    """A prompt and the report about it."""

    sections: tuple[SectionOutcome, ...]  # in the order of the prompt, including dropped ones
    warnings: tuple[str, ...]  # requests that could not be met, and secrets that were found
    token_budget: int  # the most tokens that the prompt should have
    pieces: tuple[str, ...]  # the prompt in pieces, to be joined
    meter: Meter
    is_cut: bool = False  # True if even the protected sections were over the budget and were cut

    def render(self) -> str:
        """The prompt."""
        return "".join(self.pieces)

    @property
    def tokens(self) -> int:
        """The tokens of the whole prompt."""
        return self.meter.tokens(self.pieces)

    @property
    def is_over_budget(self) -> bool:
        """True if the protected sections alone exceed the budget."""
        return self.meter.size(self.pieces) > self.meter.limit(self.token_budget)

    @property
    def is_whole(self) -> bool:
        """True if everything fits into the budget."""
        was_dropped = any(section.reason == OVER_BUDGET for section in self.sections)
        return not (was_dropped or self.is_cut or self.is_over_budget)

    def digest(self) -> str:
        """The SHA-256 of the prompt's UTF-8."""
        import hashlib  # noqa: PLC0415  3 ms that most prompts save

        digest = hashlib.sha256()
        for piece in self.pieces:
            digest.update(piece.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def sources(self) -> dict[str, str]:
        """The SHA-256 of each file in the prompt, by path."""
        import hashlib  # noqa: PLC0415  3 ms that most prompts save

        return {path: hashlib.sha256(text.encode()).hexdigest() for path, text in self.kept_texts()}

    def kept_texts(self) -> Iterator[tuple[str, str]]:
        """Path and text of each file in the prompt."""
        for section in self.sections:
            if section.is_kept:
                yield from (
                    (file.path, file.text) for file in section.files if file.text is not None
                )

    def files(self) -> Iterator[FileOutcome]:
        """Every file that was considered, in the order of the prompt."""
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
        """Tokens by folder (with a final slash) and file of the prompt, sorted by path.

        The first entry is `./`, the total.
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
