"""Detects the language of a text by its script and its most frequent words."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from smart_context.base.text.word_lists import STOP_WORDS_OF

_MOST_READ = 2_000
_SCRIPTS = (
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7af]")),
    ("zh", re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("hi", re.compile("[\u0900-\u097f]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("uk", re.compile("[іїєґІЇЄҐ]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
)
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019](?=\w))?")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+|www\.\S+", re.DOTALL)
_LETTERS = (
    ("de", re.compile("[äöüß]")),
    ("pl", re.compile("[ąćęłńśźż]")),
    ("tr", re.compile("[ğışİ]")),
    ("pt", re.compile("[ãõ]")),
    ("es", re.compile("[ñ¿¡]")),
    ("fr", re.compile("[èêëîïôûœ]|ç(?=[aou])")),
    ("it", re.compile("[ìò]")),
)
_SCRIPT_SHARE = 0.25
_WORDS_EACH_LETTER = 0.5
_MOST_TEXTS, _BEGINNING = 64, 300
_TAG, _TAG_BASE = "\U000e0001", 0xE0000


def language_of(text: str) -> str:
    """The ISO 639-1 code of the language, from the first 2,000 characters; empty if unknown.

    Code and addresses don't count. Of two languages, the one that fills more of the text wins; a
    quarter of the letters in another script outweighs Latin names among them.
    """
    return _language_of(text[:_MOST_READ])


@lru_cache(maxsize=4_096)
def _language_of(beginning: str) -> str:
    shown = _CODE.sub(" ", beginning)
    return _by_script(shown) or _by_words(shown.lower())


def signs_of(text: str) -> float:
    """The frequent words and letters that show the text's language, minus those that show English.

    For an English text, those that show English. Infinite for a language with a script of its own.
    """
    shown = _CODE.sub(" ", text[:_MOST_READ])
    if _by_script(shown):
        return math.inf
    signs = _signs(shown.lower())
    best = max(signs.values())
    return best if best == signs["en"] else best - signs["en"]


def language_of_words(words: Sequence[str], least: float) -> str:
    """The language with the most stop words among these lower-cased words.

    Args:
        least: The least share of stop words; below it, the result is empty.
    """
    known = {code: sum(word in stops for word in words) for code, stops in STOP_WORDS_OF.items()}
    code = max(known, key=known.__getitem__)
    return code if words and known[code] >= max(1, least * len(words)) else ""


def _by_script(text: str) -> str:
    latin = len(_LATIN.findall(text))
    found = {code: len(script.findall(text)) for code, script in _SCRIPTS}
    others = sum(count for code, count in found.items() if code != "uk")
    if not others or others < _SCRIPT_SHARE * (others + latin):
        return ""
    if found["ja"] >= 0.1 * (found["ja"] + found["zh"]) and found["ja"]:
        return "ja"
    if found["ru"] and found["uk"]:
        return "uk"
    return max(found.keys() - {"uk", "ja"}, key=lambda code: (found[code], code))


def _by_words(lowered: str) -> str:
    scores = _signs(lowered)
    best = max(scores.values())
    if not best or scores["en"] == best:
        return "en" if best else ""
    return max(scores, key=lambda code: scores[code])


def _signs(lowered: str) -> dict[str, float]:
    words = [word.replace("\u2019", "'") for word in _WORD.findall(lowered)]
    scores = {
        code: float(sum(word in stops for word in words)) for code, stops in STOP_WORDS_OF.items()
    }
    for code, letters in _LETTERS:
        scores[code] += _WORDS_EACH_LETTER * len(letters.findall(lowered))
    return scores


def main_language(texts: Sequence[str]) -> str:
    """The language of most texts in a sample of 64 at most, spread over all; empty if unknown."""
    step = -(-len(texts) // _MOST_TEXTS) or 1
    known = Counter(language_of(text[:_BEGINNING]) for text in texts[::step])
    del known[""]
    return max(known, key=lambda code: known[code]) if known else ""


def with_language(text: str, code: str) -> str:
    """The text with its language in front, as invisible tag characters of Unicode."""
    return _TAG + "".join(chr(_TAG_BASE + ord(letter)) for letter in code) + text


def without_language(text: str) -> tuple[str, str]:
    """The code that `with_language` put in front, or nothing, and the text itself."""
    if not text.startswith(_TAG):
        return "", text
    tags = "".join(chr(ord(letter) - _TAG_BASE) for letter in text[1:3])
    return tags, text[3:]
