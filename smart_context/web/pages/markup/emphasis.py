"""Emphasis next to Chinese, Japanese and Korean text, which has no spaces around words.

CommonMark takes the marks of `是**“重要”**的` for asterisks: punctuation is inside of them, and no
space outside. By the CJK-friendly amendments to CommonMark, a character of these scripts outside
counts like a space, and their punctuation inside like a letter. Other text is not affected.
"""

import unicodedata

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_inline import StateInline, emphasis, strikethrough

_WIDE = frozenset("WFH")
_HANGUL = ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF))
_SYMBOLS_OF_TEXT = ((0x2E80, 0x4DBF), (0xFE30, 0xFFEF))
_VARIANTS = ("\ufe00", "\ufe0e")
_IDEOGRAPHIC_VARIANTS = ("\U000e0100", "\U000e01ef")


def enable_cjk_emphasis(parser: MarkdownIt) -> None:
    """Let a parser recognise emphasis and strikethrough next to CJK text, as readers do."""
    parser.inline.ruler.at("emphasis", _emphasis)
    parser.inline.ruler.at("strikethrough", _strikethrough)


def _emphasis(state: StateInline, silent: bool) -> bool:
    start, before = state.pos, len(state.delimiters)
    found = emphasis.tokenize(state, silent)
    return found and _flanked(state, start, before)


def _strikethrough(state: StateInline, silent: bool) -> bool:
    start, before = state.pos, len(state.delimiters)
    found = strikethrough.tokenize(state, silent)
    return found and _flanked(state, start, before)


def _flanked(state: StateInline, start: int, first: int) -> bool:
    """Decide again if the marks from `start` to here open or close, next to CJK text."""
    end = min(state.pos, state.posMax)
    outside = _before(state.src, start)
    inside = state.src[end] if end < state.posMax else " "
    if not (_is_cjk(outside) or _is_cjk(inside)):
        return True
    opens = not _is_space(inside) and (not _parts(inside) or _separates(outside))
    closes = not _is_space(outside) and (not _parts(outside) or _separates(inside))
    is_underscore = state.src[start] == "_"
    for delimiter in state.delimiters[first:]:
        delimiter.open = opens and (not is_underscore or not closes or _is_punctuation(outside))
        delimiter.close = closes and (not is_underscore or not opens or _is_punctuation(inside))
    return True


def _before(text: str, position: int) -> str:
    """The character before a position, without its variation selector."""
    if position == 0:
        return " "
    character = text[position - 1]
    is_variant = position > 1 and _VARIANTS[0] <= character <= _VARIANTS[1]
    return text[position - 2] if is_variant else character


def _parts(character: str) -> bool:
    """True for punctuation that needs a space or more punctuation on the other side of marks."""
    return _is_punctuation(character) and not _is_cjk(character)


def _separates(character: str) -> bool:
    return _is_space(character) or _parts(character) or _is_cjk(character)


def _is_punctuation(character: str) -> bool:
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)


def _is_space(character: str) -> bool:
    return isWhiteSpace(ord(character))


def _is_cjk(character: str) -> bool:
    """True for a wide character that is no emoji, for Hangul, and for a variant of an ideograph."""
    if character.isascii():
        return False
    code = ord(character)
    if any(first <= code <= last for first, last in _HANGUL):
        return True
    if _IDEOGRAPHIC_VARIANTS[0] <= character <= _IDEOGRAPHIC_VARIANTS[1]:
        return True
    if unicodedata.east_asian_width(character) not in _WIDE:
        return False
    is_symbol = unicodedata.category(character) in {"So", "Sk"}
    return not is_symbol or any(first <= code <= last for first, last in _SYMBOLS_OF_TEXT)
