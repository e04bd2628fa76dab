"""Facts about characters that Python's `unicodedata` does not know, and normal forms.

From the Unicode Character Database 17.0, unless a table names another version. A table is written
as code points and ranges in hexadecimal digits; its value is a pattern for one such character.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal


def _characters(ranges: str) -> str:
    """The inside of a character class."""
    bounds = (part.partition("-")[::2] for part in ranges.split())
    return "".join(f"\\U{first:0>8}-\\U{last or first:0>8}" for first, last in bounds)


def _one_of(ranges: str) -> str:
    return f"[{_characters(ranges)}]"


UNSEEN = _characters(
    "ad 34f 61c 115f-1160 17b4-17b5 180b-180f 200b-200f 202a-202e 2060-206f 3164 fe00-fe0f feff"
    " ffa0 fff0-fff8 1bca0-1bca3 1d173-1d17a e0000-e0fff"
    " fff9-fffb 2800"
)
"""DerivedCoreProperties: Default_Ignorable_Code_Point, marks of annotations, the braille blank."""

PICTOGRAPHS = _one_of(
    "a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 231a-231b 2328 23cf 23e9-23f3 23f8-23fa 24c2"
    " 25aa-25ab 25b6 25c0 25fb-25fe 2600-2604 260e 2611 2614-2615 2618 261d 2620 2622-2623 2626"
    " 262a 262e-262f 2638-263a 2640 2642 2648-2653 265f-2660 2663 2665-2666 2668 267b 267e-267f"
    " 2692-2697 2699 269b-269c 26a0-26a1 26a7 26aa-26ab 26b0-26b1 26bd-26be 26c4-26c5 26c8"
    " 26ce-26cf 26d1 26d3-26d4 26e9-26ea 26f0-26f5 26f7-26fa 26fd 2702 2705 2708-270d 270f 2712"
    " 2714 2716 271d 2721 2728 2733-2734 2744 2747 274c 274e 2753-2755 2757 2763-2764 2795-2797"
    " 27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55 3030 303d 3297 3299 1f004"
    " 1f02c-1f02f 1f094-1f09f 1f0af-1f0b0 1f0c0 1f0cf-1f0d0 1f0f6-1f0ff 1f170-1f171 1f17e-1f17f"
    " 1f18e 1f191-1f19a 1f1ae-1f1e5 1f201-1f20f 1f21a 1f22f 1f232-1f23a 1f23c-1f23f 1f249-1f25f"
    " 1f266-1f321 1f324-1f393 1f396-1f397 1f399-1f39b 1f39e-1f3f0 1f3f3-1f3f5 1f3f7-1f4fd"
    " 1f4ff-1f53d 1f549-1f54e 1f550-1f567 1f56f-1f570 1f573-1f57a 1f587 1f58a-1f58d 1f590"
    " 1f595-1f596 1f5a4-1f5a5 1f5a8 1f5b1-1f5b2 1f5bc 1f5c2-1f5c4 1f5d1-1f5d3 1f5dc-1f5de 1f5e1"
    " 1f5e3 1f5e8 1f5ef 1f5f3 1f5fa-1f64f 1f680-1f6c5 1f6cb-1f6d2 1f6d5-1f6e5 1f6e9 1f6eb-1f6f0"
    " 1f6f3-1f6ff 1f7da-1f7ff 1f80c-1f80f 1f848-1f84f 1f85a-1f85f 1f888-1f88f 1f8ae-1f8af"
    " 1f8bc-1f8bf 1f8c2-1f8cf 1f8d9-1f8ff 1f90c-1f93a 1f93c-1f945 1f947-1f9ff 1fa58-1fa5f"
    " 1fa6e-1faff 1fc00-1fffd"
)
"""emoji-data: Extended_Pictographic and Emoji_Modifier."""

FLAG_REGIONS = ("gbeng", "gbsct", "gbwls")
"""emoji-sequences: RGI_Emoji_Tag_Sequence, the flags of England, Scotland and Wales."""

IDEOGRAPHS = _one_of(
    "3400-4dbf 4e00-9fff f900-faff 20000-2a6df 2a700-2b81d 2b820-2cead 2ceb0-2ebe0 2ebf0-2ee5d"
    " 2f800-2fa1f 30000-3134a 31350-33479"
)
"""Characters with forms in the Ideographic Variation Database."""

STANDARD_VARIANTS = _one_of(
    "30 1000-109f 2018-2019 201c-201d 3001-3002 3400-4dbf 4e00-9fff a840-a877 aa60-aa7f f900-faff"
    " ff01 ff0c ff0e ff1a-ff1b ff1f 10ac0-10aef 13000-1342f 20000-2fa1f"
)
"""StandardizedVariants: characters with forms for the selectors 1 to 3, except for mathematics."""

JOINING_LETTERS = _one_of(
    "620 622-64a 66e-66f 671-673 675-6d3 6d5 6ee-6ef 6fa-6fc 6ff 710 712-72f 74d-77f 7ca-7ea 7fa"
    " 840-858 860 862-865 867-86a 870-886 889-88e 8a0-8ac 8ae-8c8 1807 180a 1820-1878 1887-18a8"
    " 18aa a840-a872 10ac0-10ac5 10ac7 10ac9-10aca 10acd-10ae1 10ae4 10aeb-10aef 10b80-10b91"
    " 10ba9-10bae 10d00-10d23 10f30-10f44 10f51-10f54 10f70-10f81 10fb0 10fb2-10fb6 10fb8-10fbf"
    " 10fc1-10fc4 10fc9-10fcb 1e900-1e943"
)
"""DerivedJoiningType (14.0): the letters whose form depends on their neighbours."""

MONGOLIAN_LETTERS = _one_of("1807 180a 1820-1878 1887-18aa")
"""Characters that the Mongolian selectors and the vowel separator follow."""

UNSPACED = _one_of("e01-e3a e40-e5b e81-edf 1000-109f 1780-17dd 17e0-17f9 a9e0-a9fe aa60-aa7f")
"""Thai, Lao, Myanmar and Khmer, which are written without spaces between words."""

RIGHT_TO_LEFT = _characters(
    "5d0-5ea 5ef-5f4 608 60b 60d 61b 61d-64a 66d-66f 671-6d5 6e5-6e6 6ee-6ef 6fa-70d 710 712-72f"
    " 74d-7a5 7b1 7c0-7ea 7f4-7f5 7fa 800-815 840-858 860-86a 870-88e 8a0-8c9 fb1d fb1f-fbc2"
    " fbd3-fd3d fd50-fdfc fe70-fefc 10800-10fff 1e800-1e943 1ec71-1eef1"
)
"""DerivedBidiClass: the letters of Bidi_Class R and AL."""


Form = Literal["NFC", "NFKC"]

_PIECE = 1_000
_BORDER = r"[\s\u3001-\u3020\u3400-\u9fff]"
"""Characters that never compose with the previous one: white space, Chinese and its marks."""

_PIECES = re.compile(rf"(?s:.{{1,{_PIECE}}}(?={_BORDER}|\Z)|.{{{_PIECE}}})")


def normalized(form: Form, text: str) -> str:
    """The text in a normal form; a stretch of 1,000 characters without a border may differ."""
    return "".join(normal_pieces(form, text))


def normal_pieces(form: Form, text: str) -> Iterator[str]:
    """As `normalized`, piece by piece, so that long texts can be changed in little memory.

    `unicodedata` sorts accents in quadratic time, and no other thread runs meanwhile: a million of
    them in a row would stop the server for an hour.
    """
    if len(text) <= _PIECE or text.isascii():
        yield unicodedata.normalize(form, text)
        return
    for piece in _PIECES.finditer(text):
        yield unicodedata.normalize(form, piece.group())
