"""Draws formulas: TeX as MathML, which browsers set and screen readers read without a script.

`latex2mathml` knows most of what models write. What it does not know stays as it was written.
"""

import html
import re
from functools import lru_cache
from xml.etree import ElementTree as ET

TAGS = {
    *("math", "menclose", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot"),
    *("mrow", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext"),
    *("mtr", "munder", "munderover"),
}
_SHAPING = {
    *("accent", "columnalign", "display", "displaystyle", "fence", "form", "linethickness"),
    *("mathvariant", "maxsize", "minsize", "movablelimits", "notation", "scriptlevel", "stretchy"),
    "width",
}
ATTRIBUTES = dict.fromkeys(TAGS, _SHAPING)
"""What shapes a formula, and nothing that colours, moves or links a part of it."""

_KEPT = 2_000
_SPACE = re.compile(r"[0-2](\.\d{1,4})?em")
_KNOWN_AS = (
    (re.compile(r"(\\(?:begin|end))\{aligned\}"), r"\1{split}"),
    (re.compile(r"(\\(?:begin|end))\{gathered\}"), r"\1{matrix}"),
    # An exponent belongs to the whole matrix, not to its last bracket.
    (re.compile(r"(\\begin\{[pbvBV]matrix\})"), r"{\1"),
    (re.compile(r"(\\end\{[pbvBV]matrix\})"), r"\1}"),
)
"""What the library doesn't know, and how to say the same to it."""


@lru_cache(_KEPT)
def mathml(tex: str, *, displayed: bool) -> str | None:
    """MathML of a formula that must still be cleaned; `None` for one that can't be drawn.

    Args:
        tex: The formula without the marks around it.
        displayed: It stands on lines of its own.
    """
    # Its table of symbols takes a twentieth of a second to read, and most chats have no formula.
    from latex2mathml.converter import convert_to_element  # noqa: PLC0415

    for pattern, known in _KNOWN_AS:
        tex = pattern.sub(known, tex)
    try:
        drawn = convert_to_element(tex, display="block" if displayed else "inline")
    except Exception:  # noqa: BLE001  # its errors have no base, and some are Python's own
        return None
    for element in drawn.iter():
        element.text = html.unescape(element.text or "")
        if element.tag == "mi" and element.text.startswith("\\"):
            return None
        if not _SPACE.fullmatch(element.get("width", "0em")):
            del element.attrib["width"]
    return ET.tostring(drawn, encoding="unicode")
