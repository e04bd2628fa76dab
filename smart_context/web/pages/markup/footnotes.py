"""Footnotes, as GitHub draws them: a number in the text, and the notes at its end.

A note without a reference is shown, too, so that no text is lost. Ids are added last, by
`with_ids`: the HTML of a message is cached by its text, and a page may show the same text twice.
"""

import html
import re
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.footnote.index import footnote_ref

FOOTNOTE_TAGS = {"section", "sup"}
FOOTNOTE_ATTRIBUTES = {
    "a": {"data-footnote", "aria-label"},
    "li": {"data-footnote", "value"},
    "section": {"aria-label"},
}
"""The attributes that a sanitiser must allow for footnotes."""

_REFERENCE = re.compile(r"\[\^[^\s\[\]]{1,100}+\]")
_NUMBER = re.compile(r"[1-9][0-9]{0,3}")
_MARKED = re.compile(
    r"(<(?:a|li)(?: [a-z-]++=\"[^\"]*+\")*? )data-footnote=\"(ref|note|back)-([0-9]++)-([0-9]++)\""
)


def enable_footnotes(parser: MarkdownIt, *, in_part: bool) -> None:
    """Let a parser understand `[^1]` and `[^1]: note`.

    Args:
        in_part: The parser gets parts of texts, so a note and its reference may be in different
            ones: each is drawn alone, with the name of the note instead of a number.
    """

    def reference(state: StateInline, silent: bool) -> bool:
        is_one = _REFERENCE.match(state.src, state.pos, state.posMax) is not None
        return is_one and footnote_ref(state, silent, always_match=in_part)

    def number(token: Token) -> str:
        label = str(token.meta.get("label"))
        return label if in_part else str(token.meta["id"] + 1)

    def drawn_reference(_r: RendererHTML, tokens: Sequence[Token], at: int, *_: object) -> str:
        token = tokens[at]
        shown = html.escape(number(token))
        place = f"ref-{token.meta['id']}-{token.meta['subId']}"
        return f'<sup><a data-footnote="{place}" aria-label="Note {shown}">{shown}</a></sup>'

    def note_opens(_r: RendererHTML, tokens: Sequence[Token], at: int, *_: object) -> str:
        token = tokens[at]
        shown = number(token)
        value = f' value="{shown}"' if _NUMBER.fullmatch(shown) else ""
        return f'<li class="footnote" data-footnote="note-{token.meta["id"]}-0" dir="auto"{value}>'

    footnote_plugin(parser, inline=False)
    parser.inline.ruler.at("footnote_ref", reference)
    parser.core.ruler.before("footnote_tail", "footnotes_shown", _keep_all)
    parser.add_render_rule("footnote_ref", drawn_reference)
    parser.add_render_rule("footnote_open", note_opens)
    parser.add_render_rule("footnote_anchor", _way_back)
    parser.add_render_rule("footnote_block_open", _list_opens)


def with_ids(shown: str, name: str) -> str:
    """The clean HTML of a text, with links between notes and their references.

    Args:
        shown: The clean HTML of one text.
        name: A name that no other text on the page has.
    """
    named = quote(name, safe="")

    def place(found: re.Match[str]) -> str:
        before, kind, note, reference = found.groups()
        ids = {"note": f"fn-{named}-{note}", "ref": f"fnref-{named}-{note}-{reference}"}
        attributes = {
            "note": f'id="{ids["note"]}"',
            "ref": f'id="{ids["ref"]}" href="#{ids["note"]}"',
            "back": f'href="#{ids["ref"]}"',
        }
        return f"{before}{attributes[kind]}"

    return _MARKED.sub(place, shown) if "data-footnote=" in shown else shown


def _keep_all(state: StateCore) -> None:
    """A core rule: list the notes that exist, including those without a reference."""
    there = [t.meta["label"] for t in state.tokens if t.type == "footnote_reference_open"]
    footnotes: Mapping[str, Any] = state.env.get("footnotes", {})
    if not footnotes:
        return
    listed: MutableMapping[int, Any] = footnotes["list"]
    for number, note in list(listed.items()):
        if note["label"] not in there:
            del listed[number]
    referred = {note["label"] for note in listed.values()}
    first = max(listed, default=-1) + 1
    fresh = dict.fromkeys(label for label in there if label not in referred)
    listed.update((first + at, {"label": label, "count": 0}) for at, label in enumerate(fresh))


def _way_back(
    _renderer: RendererHTML,
    tokens: Sequence[Token],
    at: int,
    _options: OptionsDict,
    env: MutableMapping[str, Any],
) -> str:
    note, reference = tokens[at].meta["id"], tokens[at].meta["subId"]
    if not env["footnotes"]["list"][note]["count"]:
        return ""
    return f' <a data-footnote="back-{note}-{reference}" aria-label="Back to the text">↩</a>'


def _list_opens(*_ignored: object) -> str:
    return '<section class="footnotes" aria-label="Notes">\n<ol>\n'
