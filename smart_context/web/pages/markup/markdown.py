"""Renders Markdown to safe HTML.

CommonMark with tables, strikethrough and footnotes; raw HTML stays text, except line breaks, keys,
superscripts and subscripts. Nothing remote is loaded: images become links. Formulas are drawn as
MathML. Direction-changing characters are shown by their code, so text can't pose as other text. The
result passes an allow-list (`nh3`).
"""

import html
import re
from collections import Counter
from collections.abc import Callable, MutableMapping, Sequence
from functools import lru_cache
from typing import Any
from unicodedata import bidirectional
from urllib.parse import unquote
from xml.etree import ElementTree as ET

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from smart_context.base.resources import text_beside
from smart_context.web.pages.markup.emphasis import enable_cjk_emphasis
from smart_context.web.pages.markup.footnotes import (
    FOOTNOTE_ATTRIBUTES,
    FOOTNOTE_TAGS,
    enable_footnotes,
)

FORMULA_TAGS = {
    *("math", "menclose", "mfrac", "mi", "mn", "mo", "mover", "mpadded", "mphantom", "mroot"),
    *("mrow", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext"),
    *("mtr", "munder", "munderover"),
}
_SHAPING = {
    *("accent", "columnalign", "display", "displaystyle", "fence", "form", "linethickness"),
    *("mathvariant", "maxsize", "minsize", "movablelimits", "notation", "scriptlevel", "stretchy"),
    "width",
}
FORMULA_ATTRIBUTES = dict.fromkeys(FORMULA_TAGS, _SHAPING)
"""The attributes that shape a formula; none colours, moves or links a part of it."""

_KEPT = 2_000
_SPACE = re.compile(r"[0-2](\.\d{1,4})?em")
_KNOWN_AS = (
    (re.compile(r"(\\(?:begin|end))\{aligned\}"), r"\1{split}"),
    (re.compile(r"(\\(?:begin|end))\{gathered\}"), r"\1{matrix}"),
    # An exponent belongs to the whole matrix, not to its last bracket.
    (re.compile(r"(\\begin\{[pbvBV]matrix\})"), r"{\1"),
    (re.compile(r"(\\end\{[pbvBV]matrix\})"), r"\1}"),
)
"""TeX that the library doesn't know, with its replacement."""


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


NOTE_TAGS = {"input"}
NOTE_ATTRIBUTES = {"a": {"data-note"}, "input": {"type", "disabled", "checked", "aria-label"}}
"""The attributes that a sanitiser must allow for notes and tasks."""

_NOTE_LINK = re.compile(r"!?\[\[([^\[\]|\n]{1,300})(?:\|([^\[\]\n]{1,300}))?\]\]")
_NOTE_PATH = re.compile(r"(?:\.{1,2}/)*+([^/:?#][^:?#]*\.md(?:#.*)?)", re.IGNORECASE)
_TASK = re.compile(r"\[([ xX])\] ")


def enable_note_markup(parser: MarkdownIt) -> None:
    """Let a parser understand `[[Note]]`, `![[Note#Heading|words]]` and `- [ ] task`."""
    parser.inline.ruler.before("link", "note_link", _note_link)
    parser.core.ruler.push("tasks", _tasks)


def _note_link(state: StateInline, silent: bool) -> bool:
    found = _NOTE_LINK.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        opening = state.push("note_link_open", "a", 1)
        opening.attrs = {"class": "note-link", "data-note": found[1].strip()}
        state.push("text", "", 0).content = (found[2] or found[1]).strip()
        state.push("note_link_close", "a", -1)
    state.pos = found.end()
    return True


def _note_at(target: str) -> str:
    """The name of the note that a Markdown link leads to; empty if it leads to no note."""
    found = _NOTE_PATH.fullmatch(unquote(target))
    return found[1] if found else ""


def _tasks(state: StateCore) -> None:
    for at in range(2, len(state.tokens)):
        item, inline = state.tokens[at - 2], state.tokens[at]
        if item.type != "list_item_open" or inline.type != "inline" or not inline.children:
            continue
        first = inline.children[0]
        found = _TASK.match(first.content) if first.type == "text" else None
        if found is None:
            continue
        item.attrJoin("class", "task")
        first.content = first.content[found.end() :]
        inline.children.insert(0, _box(is_done=found[1] != " "))


def _box(*, is_done: bool) -> Token:
    checked: dict[str, str | int | float] = {"checked": ""} if is_done else {}
    words = "Done" if is_done else "Not done"
    attributes = {"type": "checkbox", "disabled": "", "aria-label": words, **checked}
    return Token("task", "input", 0, attrs=attributes)


_MOST_FILLED = 5_000


class TooManyCells(Exception):
    """The tables of a text have too many cells to be shown as tables."""


def enable_bounded_tables(parser: MarkdownIt) -> None:
    """Let a parser make tables with all written cells and up to 5,000 that fill up rows.

    Rendering raises `TooManyCells` if there are more.
    """
    parser.enable("table")
    parser.block.ruler.at("table", _bounded, {"alt": ["paragraph", "reference"]})


def _bounded(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    if silent or first + 2 > last:
        return table(state, first, last, silent)
    line = state.src[state.bMarks[first + 1] : state.eMarks[first + 1]]
    columns = line.strip(" \t|").count("|") + 1
    most_cells = len(state.src) // 2 + _MOST_FILLED  # a written cell has a mark and a character
    used = state.env.get("cells", 0)
    end = min(last, first + 2 + max(0, most_cells - used) // columns)
    if not table(state, first, end, False):
        return False
    if state.line == end < last:
        raise TooManyCells
    state.env["cells"] = used + (state.line - first) * columns
    return True


MAX_MARKDOWN_CHARS = 200_000
"""Longest text that is rendered; longer ones are shown as written, so any page opens."""

MAX_COLOURED_CHARS = 60_000
"""Most characters of code in a message that are highlighted."""

MAX_FORMULAS_CHARS = 20_000
"""Most characters of formulas in a message that are drawn; others stay as written."""

TOO_LONG = "Shown as plain text: too long to format."
TOO_MANY_CELLS = "Shown as plain text: its tables have too many empty cells to format."

Colour = Callable[[str, str], str]
"""Makes safe HTML of code in a language."""

_WORDS = re.compile(r"(?:[^\W_]|[ ,.;?'\"()/])++")
"""Text without a mark of Markdown, such as most cells of tables: it needs no rule."""

_DIRECTION_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_FORMULA_MARKS = {"$$": "$$", r"\[": r"\]", r"\(": r"\)"}
_MAX_FORMULA_CHARS = 2_000
_SHORT_FORMULA = re.compile(r"(?<!\w)\$(?![\s$])(?:[^$\\\n]|\\.){1,500}?(?<![\s\\])\$(?!\w)")
_SCHEMES = ("http", "https", "mailto")
_LINK = re.compile(r"(?:https?://|mailto:)\S", re.IGNORECASE)
_BARE_SCHEME = re.compile(r"(?<![a-z0-9_])https?$", re.IGNORECASE)
_LONGEST_SCHEME = len("https")
# not across the marks that end sentences in Chinese and Japanese
_BARE_REST = re.compile(r"://[^\W_][^\s<>\"`{}|\\^\u3000-\u303f\uff00-\uffef]{1,2000}")
_KNOWN_HTML = re.compile(
    r"<br[ \t]*+/?>|<(kbd|sub|sup)>([^<>`*_\\&\[\]\n]{1,80}+)</\1>", re.IGNORECASE
)
_ENDS_NO_LINK = ".,;:!?'*_~"
_BRACKETS = {")": "(", "]": "["}
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
_STRONG = frozenset({"L", "R", "AL"})
_OWN_DIRECTION = frozenset(
    {"paragraph_open", "heading_open", "list_item_open", "blockquote_open", "th_open", "td_open"}
)
_TAGS = {
    *("a", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6"),
    *("hr", "kbd", "li", "ol", "p", "pre", "s", "span", "strong", "sub", "sup", "table", "tbody"),
    *("td", "th", "thead", "tr", "ul"),
    *NOTE_TAGS,
    *FOOTNOTE_TAGS,
    *FORMULA_TAGS,
}
_ATTRIBUTES = {
    "*": {"class", "dir"},
    **FOOTNOTE_ATTRIBUTES,
    "a": {"href", "title", "target"} | NOTE_ATTRIBUTES["a"] | FOOTNOTE_ATTRIBUTES["a"],
    "input": NOTE_ATTRIBUTES["input"],
    "span": {"title"},
    "ol": {"start"},
    "pre": {"tabindex"},
    "div": {"data-language", "tabindex", "role", "aria-label"},
    **FORMULA_ATTRIBUTES,
}


MAX_HIGHLIGHTED_CHARS = 20_000
"""Longer code is shown without colours: Pygments' patterns take quadratic time or worse on some."""

LANGUAGES = frozenset(text_beside(__file__, "languages.txt").split())


def highlight(code: str, language: str) -> str:
    """Code as HTML with classes for its tokens; escaped text if the language is unknown."""
    if language not in LANGUAGES or len(code) > MAX_HIGHLIGHTED_CHARS:
        return html.escape(code)
    # Pygments takes 60 ms to import, and most chats open without a line of code; it has no types.
    from pygments import highlight as colour  # type: ignore[import-untyped]  # noqa: PLC0415
    from pygments.formatters.html import HtmlFormatter  # type: ignore[import-untyped]  # noqa: PLC0415
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]  # noqa: PLC0415
    from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # noqa: PLC0415

    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:  # an older Pygments
        return html.escape(code)
    return str(colour(code, lexer, HtmlFormatter(nowrap=True)))


def visible(text: str) -> str:
    """The text with direction-changing characters replaced by their code, such as `⟦U+202E⟧`."""
    return _DIRECTION_CONTROLS.sub(lambda match: f"⟦U+{ord(match[0]):04X}⟧", text)


def uncoloured(code: str, _language: str) -> str:
    """Code without highlighting."""
    return html.escape(code)


def plain(text: str, note: str = "") -> str:
    """Safe HTML of a text as written, after a note."""
    said = f'<p class="unformatted">{html.escape(note)}</p>' if note else ""
    return f'{said}<div class="plain" dir="auto">{html.escape(text)}</div>'


class Markdown:
    """Renders messages; keep it, since building the parser takes milliseconds.

    Args:
        colour: Highlights code.
        in_part: It is given parts of messages.
    """

    def __init__(self, colour: Colour = highlight, *, in_part: bool = False) -> None:
        parser = _Parser("commonmark", {"html": False})
        parser.enable("strikethrough")
        enable_bounded_tables(parser)
        parser.inline.ruler.before("escape", "formula", _formula)
        parser.block.ruler.before("fence", "formula_lines", _formula_lines, {"alt": ["paragraph"]})
        parser.inline.ruler.before("escape", "bare_link", _bare_link)
        parser.inline.ruler.before("autolink", "known_html", _known_html)
        enable_note_markup(parser)
        enable_cjk_emphasis(parser)
        enable_footnotes(parser, in_part=in_part)
        parser.core.ruler.at("inline", _inline)
        parser.core.ruler.push("tame", _tame)
        parser.add_render_rule("fence", _code_blocks(colour))
        parser.add_render_rule("code_block", _code_blocks(colour))
        parser.add_render_rule("formula", _rule(_drawn))
        parser.add_render_rule("formula_lines", _rule(_drawn))
        parser.add_render_rule("image", _rule(_image))
        parser.add_render_rule("table_open", _table_open)
        parser.add_render_rule("table_close", _table_close)
        self._parser = parser

    def render(self, text: str) -> str:
        """Safe HTML of a message; empty for white space."""
        shown = visible(text)
        if len(shown) > MAX_MARKDOWN_CHARS:
            return plain(shown)
        return clean(self.unsafe(shown))

    def unsafe(self, text: str) -> str:
        """HTML that must still go through `clean`; with too many cells, of the text as written."""
        try:
            return str(self._parser.render(text))
        except TooManyCells:
            return plain(text, TOO_MANY_CELLS)


class _Parser(MarkdownIt):
    """Accept every link; `_tame` turns unsafe ones into text."""

    def validateLink(self, url: str) -> bool:  # noqa: ARG002, N802  # as the parser has it
        return True


def clean(unsafe: str) -> str:
    """The HTML, with only the elements of messages."""
    return nh3.clean(
        unsafe.encode("utf-8", "replace").decode(),  # it takes no lone surrogates, as JSON does
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=set(_SCHEMES),
        url_relative="deny",
        link_rel="noopener noreferrer",
    )


def _formula_end(text: str, start: int, limit: int) -> int:
    """The end of the formula that begins at `start`; -1 if there is none."""
    if closing := _FORMULA_MARKS.get(text[start : start + 2]):
        found = text.find(closing, start + 2, min(limit, start + _MAX_FORMULA_CHARS))
        return -1 if found < 0 else found + 2
    short = _SHORT_FORMULA.match(text, start, limit)
    return short.end() if short else -1


def _formula(state: StateInline, silent: bool) -> bool:
    """An inline rule: text between dollars or TeX's brackets is a formula."""
    if state.src[state.pos] not in "$\\":
        return False
    end = _formula_end(state.src, state.pos, state.posMax)
    if end < 0:
        return False
    if not silent:
        state.push("formula", "span", 0).content = state.src[state.pos : end]
    state.pos = end
    return True


def _bare_link(state: StateInline, silent: bool) -> bool:
    """An inline rule: an address in a text is a link."""
    if state.src[state.pos] != ":" or state.linkLevel:
        return False
    scheme = _BARE_SCHEME.search(state.pending, max(0, len(state.pending) - _LONGEST_SCHEME))
    rest = _BARE_REST.match(state.src, state.pos, state.posMax) if scheme else None
    if scheme is None or rest is None:
        return False
    end = state.pos + _length(rest[0])
    if not silent:
        address = scheme[0] + state.src[state.pos : end]
        state.pending = state.pending[: scheme.start()]
        opening = state.push("link_open", "a", 1)
        opening.attrs = {"href": state.md.normalizeLink(address)}
        state.push("text", "", 0).content = address
        state.push("link_close", "a", -1)
    state.pos = end
    return True


def _known_html(state: StateInline, silent: bool) -> bool:
    """An inline rule: `<br>`, as models write it in tables, and `<kbd>`, `<sub>`, `<sup>`."""
    found = _KNOWN_HTML.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent and found[1]:
        tag = found[1].lower()
        state.push(f"{tag}_open", tag, 1)
        state.push("text", "", 0).content = found[2]
        state.push(f"{tag}_close", tag, -1)
    elif not silent:
        state.push("hardbreak", "br", 0)
    state.pos = found.end()
    return True


def _length(address: str) -> int:
    """The length of the address, without the end of the sentence around it."""
    counts = Counter(address)
    end = len(address)
    while (last := address[end - 1]) in _ENDS_NO_LINK or (
        last in _BRACKETS and counts[last] > counts[_BRACKETS[last]]
    ):
        counts[last] -= 1
        end -= 1
    return end


def _formula_lines(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A block rule: a displayed formula keeps lines that would otherwise begin a list."""
    start = state.bMarks[first] + state.tShift[first]
    if state.src[start : start + 2] not in {"$$", r"\["}:
        return False
    end = _formula_end(state.src, start, state.eMarks[last - 1])
    if end < 0:
        return False
    after = next((line for line in range(first, last) if state.eMarks[line] >= end), last) + 1
    if state.src[end : state.eMarks[after - 1]].strip():
        return False
    if not silent:
        token = state.push("formula_lines", "div", 0)
        token.content = state.src[start:end]
        state.line = after
    return True


def _inline(state: StateCore) -> None:
    """The core rule of the same name; faster for texts without marks."""
    for token in state.tokens:
        if token.type != "inline":
            continue
        if _WORDS.fullmatch(token.content):
            token.children = [Token("text", "", 0, content=token.content)]
        else:
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def _tame(state: StateCore) -> None:
    """A core rule: unsafe links become text, and blocks get their own direction."""
    for block in state.tokens:
        if block.type in _OWN_DIRECTION:
            block.attrSet("dir", "auto")
        if align := str(block.attrs.pop("style", "")).removeprefix("text-align:"):
            block.attrSet("class", f"align-{align}")
        _tame_links(block.children or ())


def _tame_links(tokens: Sequence[Token]) -> None:
    is_link, inside = True, False
    for token in tokens:
        if token.type in {"link_open", "link_close"}:
            inside = token.type == "link_open"
        if token.type == "image" and inside:
            token.meta["inside"] = True
        if token.type == "link_open":
            target = str(token.attrGet("href") or "")
            note = _note_at(target)
            is_link = bool(note) or _LINK.match(target) is not None
            attributes: dict[str, str | int | float] = {"href": target, "target": "_blank"}
            if note:
                attributes = {"class": "note-link", "data-note": note}
            if title := token.attrGet("title"):
                attributes["title"] = title
            token.attrs = attributes if is_link else {"class": "dead-link", "title": target}
        if token.type in {"link_open", "link_close"} and not is_link:
            token.tag = "span"


def _rule(draw: Callable[[Token, MutableMapping[str, Any]], str]) -> Callable[..., str]:
    """A rule of the renderer that draws a token by this function."""

    def rule(
        _renderer: RendererHTML,
        tokens: Sequence[Token],
        index: int,
        _options: OptionsDict,
        env: MutableMapping[str, Any],
    ) -> str:
        return draw(tokens[index], env)

    return rule


def _code_blocks(colour: Colour) -> Callable[..., str]:
    def code_block(token: Token, env: MutableMapping[str, Any]) -> str:
        named = _LANGUAGE.match(token.info.strip())
        language = named[0].lower() if named else ""
        label = html.escape(language or "code")
        env["code"] = env.get("code", 0) + len(token.content)
        coloured = (colour if env["code"] <= MAX_COLOURED_CHARS else uncoloured)(
            token.content, language
        )
        return (
            f'<div class="code" data-language="{label}" dir="ltr">'
            f'<pre tabindex="0"><code>{coloured}</code></pre></div>\n'
        )

    return _rule(code_block)


def _drawn(token: Token, env: MutableMapping[str, Any]) -> str:
    written = token.content
    env["formulas"] = env.get("formulas", 0) + len(written)
    width = 1 if written[0] == "$" != written[1] else 2
    displayed = written[:2] in {"$$", r"\["}
    drawn = (
        mathml(written[width:-width].strip(), displayed=displayed)
        if env["formulas"] <= MAX_FORMULAS_CHARS
        else None
    )
    return f'<{token.tag} class="formula" dir="ltr">{drawn or html.escape(written)}</{token.tag}>'


def _image(token: Token, _env: MutableMapping[str, Any]) -> str:
    source = str(token.attrGet("src") or "")
    label = html.escape(token.content or source or "image")
    if token.meta.get("inside") or not _LINK.match(source):
        return f'<span class="image" title="{html.escape(source)}">{label}</span>'
    return (
        f'<a class="image" href="{html.escape(source)}" target="_blank"'
        f' title="Image, not loaded: {html.escape(source)}">{label}</a>'
    )


def _table_open(_md: object, tokens: Sequence[Token], at: int, *_ignored: object) -> str:
    # `auto` would find no direction: it passes over cells, which have their own.
    words = next((token.content for token in tokens[at:] if token.content), "")
    letters = filter(_STRONG.__contains__, map(bidirectional, words))
    side = ' dir="rtl"' if next(letters, "L") != "L" else ""
    return f'<div class="table" role="region" aria-label="Table" tabindex="0"{side}><table>'


def _table_close(*_ignored: object) -> str:
    return "</table></div>\n"
