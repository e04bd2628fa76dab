"""Measures whole files, and stores their vectors for the next run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smart_context.cli.evaluation.data.dialogues import Dialogue
from smart_context.cli.evaluation.data.formats import Kind
from smart_context.cli.evaluation.measures.measures import Findings
from smart_context.cli.evaluation.measures.picture import picture
from smart_context.cli.evaluation.recalling import recalled_evidence
from smart_context.cli.evaluation.remembered import RememberingEmbedder
from smart_context.cli.evaluation.report import Measured, as_json
from smart_context.cli.evaluation.trial import Trial
from smart_context.llm.models import Embedder
from smart_context.plugin.settings import FilterSettings
from smart_context.relevance.judge.calibrate import Scale
from smart_context.relevance.judge.judging import Judge
from smart_context.topics.embedded import EmbeddedTopicExtractor

Progress = Callable[[str, int, int], None]
"""Called with the file's name, the number of its dialogues done, and of all."""

Read = tuple[str, Kind, Sequence[Dialogue]]
"""A file's name, its kind, and its dialogues."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """The result of a run."""

    model: str
    settings: FilterSettings
    files: tuple[Measured, ...]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON for programs."""
        return {
            "model": self.model,
            "mode": self.settings.relevance,
            "threshold": self.settings.similarity_threshold,
            "files": [as_json(measured) for measured in self.files],
        }

    def picture(self) -> str:
        """An SVG document with a row for each file that has similarities."""
        drawn = [(m.file, [*m.findings.samples, *m.findings.absent_samples]) for m in self.files]
        title = f"{self.model}, {self.settings.relevance}"
        return picture(title, drawn, self.settings.similarity_threshold)


async def measured_files(  # noqa: PLR0913 -- each is a part of the run
    files: Sequence[Read],
    embedder: Embedder,
    settings: FilterSettings,
    *,
    scale: Scale | None = None,
    judge: Judge | None = None,
    cache: Path | None = None,
    on_progress: Progress | None = None,
    replays: bool = False,
) -> Result:
    """Measure each file; vectors are stored even if the run is interrupted.

    Args:
        scale: The scale of the embedding model; `None` as in a vault without a calibration.
        judge: Decides what is about a topic; `None` as in a vault without a calibration.
        cache: The folder of stored vectors; `None` stores none.
        replays: Only measure how topics stay while the dialogues grow.

    Raises:
        ModelFailed: If the embedder fails.
        ExtractionFailed: If the embedder fails while topics are searched.
    """
    remembering = RememberingEmbedder(embedder, cache)
    done: list[Measured] = []
    try:
        for name, kind, dialogues in files:
            findings = Findings()
            for number, dialogue in enumerate(dialogues, start=1):
                trial = Trial(
                    remembering,
                    EmbeddedTopicExtractor,
                    settings,
                    scale=scale,
                    judge=judge,
                    replays=replays,
                )
                findings.add(await trial.measure(dialogue))
                if on_progress is not None:
                    on_progress(name, number, len(dialogues))
            if kind == "questions" and not replays:
                findings.recalled = await recalled_evidence(dialogues, remembering, scale)
            done.append(Measured(file=name, kind=kind, findings=findings))
    finally:
        remembering.keep()
    return Result(model=embedder.name, settings=settings, files=tuple(done))
