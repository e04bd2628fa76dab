"""Renders Markdown to safe HTML.

CommonMark with tables and strikethrough; raw HTML stays text. Nothing remote is loaded: images
become links. Formulas are drawn as MathML. Direction-changing characters are shown by their code,
so text can't pose as other text. The result passes an allow-list (`nh3`).
"""

import html
import re
from collections.abc import Callable, MutableMapping, Sequence
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

from smart_context.web.pages.markup import formulas, note_markup
from smart_context.web.pages.markup.highlighting import highlight
from smart_context.web.pages.markup.note_markup import (
    TooManyCells,
    enable_bounded_tables,
    enable_note_markup,
)

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
"""What has no mark of Markdown in it, as most cells of tables: no rule needs to look at it."""

_DIRECTION_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_FORMULA_MARKS = {"$$": "$$", r"\[": r"\]", r"\(": r"\)"}
_MAX_FORMULA_CHARS = 2_000
_SHORT_FORMULA = re.compile(r"(?<!\w)\$(?![\s$])(?:[^$\\\n]|\\.){1,500}?(?<![\s\\])\$(?!\w)")
_SCHEMES = ("http", "https", "mailto")
_LINK = re.compile(r"(?:https?://|mailto:)\S", re.IGNORECASE)
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
_OWN_DIRECTION = frozenset(
    {"paragraph_open", "heading_open", "list_item_open", "blockquote_open", "th_open", "td_open"}
)
_TAGS = {
    *("a", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6"),
    *("hr", "li", "ol", "p", "pre", "s", "span", "strong", "table", "tbody", "td", "th", "thead"),
    *("tr", "ul"),
    *note_markup.TAGS,
    *formulas.TAGS,
}
_ATTRIBUTES = {
    "*": {"class", "dir"},
    "a": {"href", "title", "target"} | note_markup.ATTRIBUTES["a"],
    "input": note_markup.ATTRIBUTES["input"],
    "span": {"title"},
    "ol": {"start"},
    "pre": {"tabindex"},
    "div": {"data-language", "tabindex", "role", "aria-label"},
    **formulas.ATTRIBUTES,
}


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
        colour: Makes HTML of code and its language.
    """

    def __init__(self, colour: Colour = highlight) -> None:
        parser = _Parser("commonmark", {"html": False})
        parser.enable("strikethrough")
        enable_bounded_tables(parser)
        parser.inline.ruler.before("escape", "formula", _formula)
        parser.block.ruler.before("fence", "formula_lines", _formula_lines, {"alt": ["paragraph"]})
        enable_note_markup(parser)
        parser.core.ruler.at("inline", _inline)
        parser.core.ruler.push("tame", _tame)
        parser.add_render_rule("fence", _code_blocks(colour))
        parser.add_render_rule("code_block", _code_blocks(colour))
        parser.add_render_rule("formula", _drawn)
        parser.add_render_rule("formula_lines", _drawn)
        parser.add_render_rule("image", _image)
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
    """Where the formula that begins at `start` ends; -1 if there is none."""
    if closing := _FORMULA_MARKS.get(text[start : start + 2]):
        found = text.find(closing, start + 2, min(limit, start + _MAX_FORMULA_CHARS))
        return -1 if found < 0 else found + 2
    short = _SHORT_FORMULA.match(text, start, limit)
    return short.end() if short else -1


def _formula(state: StateInline, silent: bool) -> bool:
    """An inline rule: what stands between dollars or TeX's brackets is a formula."""
    if state.src[state.pos] not in "$\\":
        return False
    end = _formula_end(state.src, state.pos, state.posMax)
    if end < 0:
        return False
    if not silent:
        state.push("formula", "span", 0).content = state.src[state.pos : end]
    state.pos = end
    return True


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
    """The core rule of the same name; texts without marks take no more than a pattern."""
    for token in state.tokens:
        if token.type != "inline":
            continue
        if _WORDS.fullmatch(token.content):
            token.children = [Token("text", "", 0, content=token.content)]
        else:
            token.children = []
            state.md.inline.parse(token.content, state.md, state.env, token.children)


def _tame(state: StateCore) -> None:
    """A core rule: links that lead nowhere safe become text, blocks get their own direction."""
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
            is_link = _LINK.match(target) is not None
            attributes: dict[str, str | int | float] = {"href": target, "target": "_blank"}
            if title := token.attrGet("title"):
                attributes["title"] = title
            token.attrs = attributes if is_link else {"class": "dead-link", "title": target}
        if token.type in {"link_open", "link_close"} and not is_link:
            token.tag = "span"


def _code_blocks(colour: Colour) -> Callable[..., str]:
    def code_block(
        _renderer: RendererHTML,
        tokens: Sequence[Token],
        index: int,
        _options: OptionsDict,
        env: MutableMapping[str, Any],
    ) -> str:
        token = tokens[index]
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

    return code_block


def _drawn(
    _renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    _options: OptionsDict,
    env: MutableMapping[str, Any],
) -> str:
    token = tokens[index]
    written = token.content
    env["formulas"] = env.get("formulas", 0) + len(written)
    width = 1 if written[0] == "$" != written[1] else 2
    displayed = written[:2] in {"$$", r"\["}
    drawn = (
        formulas.mathml(written[width:-width].strip(), displayed=displayed)
        if env["formulas"] <= MAX_FORMULAS_CHARS
        else None
    )
    return f'<{token.tag} class="formula" dir="ltr">{drawn or html.escape(written)}</{token.tag}>'


def _image(
    _renderer: RendererHTML,
    tokens: Sequence[Token],
    index: int,
    _options: OptionsDict,
    _env: MutableMapping[str, Any],
) -> str:
    token = tokens[index]
    source = str(token.attrGet("src") or "")
    label = html.escape(token.content or source or "image")
    if token.meta.get("inside") or not _LINK.match(source):
        return f'<span class="image" title="{html.escape(source)}">{label}</span>'
    return (
        f'<a class="image" href="{html.escape(source)}" target="_blank"'
        f' title="Image, not loaded: {html.escape(source)}">{label}</a>'
    )


def _table_open(*_ignored: object) -> str:
    return '<div class="table" role="region" aria-label="Table" tabindex="0"><table>'


def _table_close(*_ignored: object) -> str:
    return "</table></div>\n"
