"""`smart-context eval` and `calibrate`: measures the filter, and fits the similarity scale."""

import asyncio
import sys
import tempfile
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from smart_context.base.config import VaultConfig
from smart_context.base.disk.files import atomic_write
from smart_context.base.environment import environment
from smart_context.base.errors import CommandFailed
from smart_context.base.text.names import shown
from smart_context.cli.evaluation.dialogues import KINDS, PARTS, Part, part_of, read_dialogues
from smart_context.cli.terminal.arguments import vault_argument, vault_option, vault_root
from smart_context.cli.terminal.failures import BadUsage
from smart_context.cli.terminal.output import draw, json_format, say, show, table

if TYPE_CHECKING:  # numpy and the models are imported when a verb is used
    from collections.abc import Sequence

    from smart_context.cli.evaluation.runs import Read, Result
    from smart_context.plugin.settings import FilterSettings
    from smart_context.relevance.judge.fitting import Calibration

_AUTO = "auto"
_KINDS_HELP = """\b
Kinds of FILEs:
  questions   a dialogue, questions about it, and the turns that answer them
  typed       named dialogues, joined into chats of several subjects
  segments    a dialogue, and the length of each stretch on one subject
  groups      a dialogue, and the turns of each subject
  facts       facts about a user, and the turns that need them
  follow-ups  turns, and the earlier turns that they refer to
  chat        a chat of yours, as in .memory: each topic has to find messages
              that were taken out of it"""


@click.command("eval", epilog=_KINDS_HELP)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
)
@click.option(
    "--kind",
    type=click.Choice([_AUTO, *KINDS]),
    default=_AUTO,
    show_default=True,
    help="The kind of the FILEs; auto detects it by their keys.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(-1, 1),
    show_default="that of new vaults",
    help="The lowest score of a message that is sent.",
)
@click.option(
    "--mode",
    type=click.Choice(["enriched", "plain"]),
    default="enriched",
    show_default=True,
    help="How messages are scored; plain is the raw cosine.",
)
@click.option("--limit", type=click.IntRange(1), help="Only the first N dialogues of each file.")
@click.option(
    "--part",
    type=click.Choice(PARTS),
    default="all",
    show_default=True,
    help="The dialogues to fit weights to, to choose settings by, or to report on.",
)
@click.option(
    "--growing",
    is_flag=True,
    help="Replay each dialogue question by question: how well do its topics stay?",
)
@click.option(
    "--atlas",
    is_flag=True,
    help="Make archives of the dialogues: are chats on one subject in one topic?",
)
@click.option(
    "--language",
    metavar="CODE",
    help="Only dialogues that are mostly in this language, such as de (ISO 639-1).",
)
@click.option(
    "--weights",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Weights to use in place of the package's, such as some fitted without a part.",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write an .svg picture: threshold curve, scores, and calibration.",
)
@click.option(
    "--cache",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of stored vectors. Default: the user's cache folder.",
)
@vault_option
@json_format
def evaluate(  # noqa: PLR0913, PLR0917 -- one parameter for each option
    files: tuple[Path, ...],
    kind: str,
    threshold: float | None,
    mode: str,
    limit: int | None,
    part: Part,
    growing: bool,
    atlas: bool,
    language: str | None,
    weights: Path | None,
    plot: Path | None,
    cache: Path | None,
    vault: Path | None,
    output: str,
) -> None:
    """Measure how well the filter finds what belongs, on dialogue FILEs.

    Uses the same code as chats do, and the embedding model of the vault. Topics are found
    offline. A FILE is JSON of one of the kinds below.

    The first run embeds all messages, which may take minutes; the vectors are kept.
    """
    if plot is not None and plot.suffix.lower() != ".svg":
        raise BadUsage(f"--plot {shown(plot)}: expected a name that ends in .svg.")
    from smart_context.cli.evaluation.calibration import as_chats  # noqa: PLC0415 - see above
    from smart_context.plugin.settings import FilterSettings  # noqa: PLC0415 - see above

    chosen = next((known for known in KINDS if known == kind), None)
    read: list[Read] = []
    for path in filterfalse(_is_side_car, files):
        found, dialogues = read_dialogues(path, chosen)
        some = part_of(dialogues, part)
        if language:
            some = [dialogue for dialogue in some if dialogue.language == language]
            if not some:
                raise CommandFailed(
                    f"{shown(path)}: found no dialogue in {shown(language)}. Expected an ISO 639-1"
                    " code, such as de; leave --language out to measure all."
                )
        chats = [(path.name, found, some[:limit])]
        read += chats if atlas else as_chats(*chats[0])
    own = {} if threshold is None else {"similarity_threshold": threshold}
    settings = FilterSettings.from_mapping({"relevance": mode, **own})
    folder = cache or _cache_folder()
    if atlas:
        _show_atlas(asyncio.run(_measure_atlas(vault_root(vault), read, folder)), output)
        return
    result = asyncio.run(
        _measure(vault_root(vault), read, settings, folder, weights, replays=growing)
    )
    if plot is not None:
        atomic_write(plot.absolute(), result.picture().encode())
    document = result.to_dict()
    show(document, output, lambda: _as_text(document, has_own_weights=weights is not None))


async def _measure_atlas(root: Path, files: "list[Read]", cache: Path) -> dict[str, Any]:
    from smart_context.app.composition import composed, read_vault  # noqa: PLC0415 -- slow
    from smart_context.cli.evaluation.atlas import measured_atlas  # noqa: PLC0415 -- slow
    from smart_context.cli.evaluation.runs import RememberingEmbedder  # noqa: PLC0415

    async with composed(read_vault(root)) as parts:
        embedder = RememberingEmbedder(parts.models.embedder, cache)
        try:
            dialogues = [dialogue for _, _, found in files for dialogue in found]
            return await measured_atlas(dialogues, embedder)
        finally:
            embedder.keep()


def _show_atlas(found: dict[str, Any], output: str) -> None:
    names = {"split": "subjects in two topics", "mixed": "topics of two subjects"}
    tables = (
        table(
            (f"TOPICS {kind.upper()}", "FITTED ON", "REPORT"),
            [
                (
                    names.get(name, name.replace("_", " ")),
                    *(_rounded_or_whole(h[name]) for h in halves),
                )
                for name in halves[0]
            ],
        )
        for kind, figures in found.items()
        for halves in ([figures["fit"], figures["report"]],)
    )
    show(found, output, lambda: "\n\n".join(tables))


@click.command()
@vault_argument
@click.option("--dry-run", is_flag=True, help="Show the scale; store nothing.")
@json_format
def calibrate(vault: Path | None, dry_run: bool, output: str) -> None:
    """Fit similarity scores to VAULT's own chats and its embedding model.

    For embedding models other than the one that comes with Smart Context. The result is stored
    in .memory/.calibration.json and used from the next start on; delete the file to undo this.
    """
    calibration, where = asyncio.run(_calibrate(vault_root(vault), stores=not dry_run))
    document = {**calibration.to_dict(), "stored": where or None}
    show(document, output, lambda: _calibration_as_text(calibration, where))


async def _measure(
    root: Path,
    files: "list[Read]",
    settings: "FilterSettings",
    cache: Path,
    weights: Path | None,
    *,
    replays: bool,
) -> "Result":
    from smart_context.app.composition import composed, read_vault  # noqa: PLC0415
    from smart_context.cli.evaluation.runs import measured_files  # noqa: PLC0415
    from smart_context.relevance.judge.fitting import stored_judge, stored_scale  # noqa: PLC0415
    from smart_context.relevance.judge.judging import judge_for  # noqa: PLC0415

    config = read_vault(root)
    _note_restriction(config)
    async with composed(config) as parts:
        embedder, documents = parts.models.embedder, parts.storage.vault_documents
        return await measured_files(
            files,
            embedder,
            settings,
            scale=stored_scale(documents, embedder.name),
            judge=stored_judge(documents, embedder.name)
            if weights is None
            else judge_for(embedder.name, weights=weights),
            cache=cache,
            on_progress=_progress if sys.stderr.isatty() else None,
            replays=replays,
        )


async def _calibrate(root: Path, *, stores: bool) -> "tuple[Calibration, str]":
    from smart_context.app.composition import composed, read_vault  # noqa: PLC0415
    from smart_context.cli.evaluation.calibration import calibrated  # noqa: PLC0415
    from smart_context.relevance.judge.fitting import NotEnough, store_calibration  # noqa: PLC0415
    from smart_context.storage.files.vectors import FileVectors  # noqa: PLC0415

    config = read_vault(root)
    _note_restriction(config)
    async with composed(config) as parts:
        with tempfile.TemporaryDirectory(prefix="smart-context-") as scratch:
            try:
                found = await calibrated(
                    parts.storage.chats,
                    parts.storage.documents,
                    parts.models.embedder,
                    FileVectors(Path(scratch)),
                )
            except NotEnough as missing:
                raise CommandFailed(
                    f"The chats in {shown(config.memory_dir)} can't calibrate "
                    f"{parts.models.embedder.name}: {missing}\nNothing was changed. Add chats, or "
                    "import some with: smart-context chats import"
                ) from missing
        documents = parts.storage.vault_documents
        where = await asyncio.to_thread(store_calibration, documents, found) if stores else ""
    return found, where


def _note_restriction(config: VaultConfig) -> None:
    if "embedding" in config.restricted:
        say(
            "This vault's embedding endpoint is off until you trust it (smart-context trust); "
            "the built-in model is used.",
            err=True,
        )


def _is_side_car(path: Path) -> bool:
    """True for a file that belongs to a chat next to it; `.memory/*.json` matches both kinds."""
    chat = path.with_name(path.name.partition(".")[0] + ".json")
    return path.name != chat.name and chat.is_file()


def _cache_folder() -> Path:
    variables = environment()
    configured = Path(variables.get("XDG_CACHE_HOME") or variables.get("LOCALAPPDATA") or "")
    folder = configured if configured.is_absolute() else Path.home() / ".cache"
    return folder / "smart-context" / "vectors"


def _progress(file: str, done: int, total: int) -> None:
    draw(f"{file}: {done} of {total} dialogues", ends=done == total)


def _as_text(document: dict[str, Any], *, has_own_weights: bool) -> str:
    from smart_context.cli.evaluation.report import in_sample_note, rows_of  # noqa: PLC0415

    tables = (
        table((f"{shown(file['file'])} ({file['kind']})", ""), rows_of(file))
        for file in document["files"]
    )
    settings = (
        f"{document['model']}, {document['mode']} scores, threshold {document['threshold']:g}"
    )
    kinds = [file["kind"] for file in document["files"]]
    note = in_sample_note(kinds, has_own_weights=has_own_weights)
    return "\n\n".join(filter(None, (settings, *tables, note)))


def _calibration_as_text(calibration: "Calibration", where: str) -> str:
    from smart_context.relevance.judge.fitting import QUANTILES  # noqa: PLC0415

    scale = calibration.scale
    rows = [
        ("about the topic", calibration.about, *_rounded(calibration.about_quantiles)),
        ("about another", calibration.others, *_rounded(calibration.other_quantiles)),
    ]
    end = (
        f"Stored in {shown(where)}; delete that file to undo this."
        if where
        else "Nothing was stored."
    )
    steps = [
        ("unrelated", f"{scale.unrelated:.3f}", "0.10"),
        ("probable", f"{scale.probable:.3f}", "0.40"),
        ("sure", f"{scale.sure:.3f}", "0.85"),
    ]
    return "\n\n".join(
        (
            f"{calibration.model}, from {calibration.topics} topics of {calibration.chats} chats",
            table(("A MESSAGE IS", "SIMILARITY", "SCORE"), steps),
            table(("SIMILARITY", "PAIRS", *(f"{q} %" for q in QUANTILES)), rows),
            f"In {calibration.auc:.0%} of the pairs, the message about the topic is closer.",
            end,
        )
    )


def _rounded_or_whole(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def _rounded(values: "Sequence[float]") -> list[str]:
    return [f"{value:.3f}" for value in values]
