"""Converts a fragment of HTML to Markdown. Pure, and linear in its length, whatever it holds.

Own code: `markdownify` gives up on deep nesting and is quadratic in places, `html-to-markdown`
brings 22 MB of native code, `html2text` has another licence.
"""

import html
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from smart_context.base.text.names import fence_for

_TAG = re.compile(
    r"<(/?)([a-zA-Z][\w:-]*+)((?:[^<>\"']|\"[^\"<]*\"|'[^'<]*')*+|[^<>]*+)>|<[!?][^<>]*+>"
)
_ATTRIBUTE = re.compile(r"(?<![\w-])([\w-]++)\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]++))")
_LONGEST_TAG = 4_000
_Attributes = Mapping[str, str] | None
"""The attributes of an opening tag; `None` for a closing one."""
_SPACES = re.compile(r"[ \t\r\n\f]+")
_LANGUAGE = re.compile(r"\blanguage-([\w+#.-]{1,40})")
_MARK = re.compile(
    r"`|\*(?=\S)|(?<=\S)\*|(?<!\w)_(?=\S)|(?<=\S)_(?!\w)|\\(?=[!-/:-@\[-`{-~])"
    r"|&(?=#?\w{1,32};)|\](?=[(\[:])"
)
"""Characters that Markdown would interpret."""
_FIRST_MARK = re.compile(
    r"^(?:#(?=#{0,5}(?:\s|$))|[-+*](?=\s|$)|-(?=[- ]*$)|=(?==*\s*$)|>|~(?=~~)"
    r"|\d{1,9}(?=[.)](?:\s|$)))",
    re.MULTILINE,
)
"""Characters that Markdown would interpret at the beginning of a line."""
_ADDRESS = re.compile(r"(?:https?://|mailto:)\S", re.IGNORECASE)
_ENDS_ADDRESS = re.compile(r"[()\s]")
_EMPHASIS = {
    **dict.fromkeys(("strong", "b"), "**"),
    **dict.fromkeys(("em", "i"), "*"),
    **dict.fromkeys(("del", "s", "strike"), "~~"),
}
_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "dd", "div", "dl", "dt", "figcaption", "figure"),
        *("footer", "header", "main", "nav", "p", "section", "body", "details", "summary"),
    }
)
_SILENT = frozenset(("script", "style", "template", "head", "title"))
_HARD_BREAK = "  \n"
_LONGEST_NUMBER = 8
_DEEPEST = 12
"""The most levels of lists, and of quotations, that are drawn: each line repeats every level."""


def markdown_of(source: str) -> str:
    """The fragment as Markdown.

    Headings, lists, code, tables, quotations, links and emphasis are kept. A picture that is a file
    becomes its description. A link to anything but a page or a mail address becomes its text.
    """
    source = _without_comments(source)
    writer, at = _Writer(), 0
    for tag in _TAG.finditer(source):
        writer.text(source[at : tag.start()])
        at = tag.end()
        if tag[2]:
            writer.tag(tag[2].lower(), _attributes(tag[3]) if not tag[1] else None)
    writer.text(source[at:])
    return writer.whole()


def _without_comments(source: str) -> str:
    pieces: list[str] = []
    at = 0
    while (start := source.find("<!--", at)) >= 0:
        pieces.append(source[at:start])
        end = source.find("-->", start)
        at = end + len("-->") if end >= 0 else len(source)
    return "".join((*pieces, source[at:]))


def _attributes(written: str) -> Mapping[str, str]:
    found = _ATTRIBUTE.finditer(written[:_LONGEST_TAG])
    return {one[1].lower(): html.unescape(one[2] or one[3] or one[4] or "") for one in found}


@dataclass(slots=True)
class _Line:
    """Text between two blocks, with its marks."""

    pieces: list[str] = field(default_factory=list)
    # the open marks, each with the start of its text
    marks: dict[str, int] = field(default_factory=dict)
    link: tuple[int, str] | None = None  # the start of a link's text, and its address
    code: int | None = None  # the start of code

    def open(self, mark: str) -> None:
        """Begin emphasis, unless the same emphasis, or code, is open."""
        if mark not in self.marks and self.code is None:
            self.pieces.append("")
            self.marks[mark] = len(self.pieces)

    def close(self, mark: str) -> None:
        """End emphasis, and all emphasis that began in it."""
        while mark in self.marks:
            last, start = self.marks.popitem()
            self._wrap(start, last, last)

    def end_link(self) -> None:
        """End a link; without a text, or with its address as its text, it becomes plain text."""
        if self.link is None:
            return
        for mark in [mark for mark, start in self.marks.items() if start >= self.link[0]]:
            self.close(mark)
        (start, address), self.link = self.link, None
        if "".join(self.pieces[start:]).strip() != address:
            wrapped = f"<{address}>" if _ENDS_ADDRESS.search(address) else address
            self._wrap(start, "[", f"]({wrapped})")

    def end_code(self) -> None:
        """End code."""
        if self.code is not None:
            start, self.code = self.code, None
            text = _SPACES.sub(" ", "".join(self.pieces[start:]))
            fence = fence_for(text) if "``" in text else "``" if "`" in text else "`"
            pad = " " if text.startswith("`") or text.endswith("`") else ""
            self.pieces[start:] = [f"{fence}{pad}{text}{pad}{fence}"] if text.strip() else [text]

    def _wrap(self, start: int, before: str, after: str) -> None:
        """Put marks around the pieces from `start`, inside outer spaces; none around blanks."""
        text = "".join(self.pieces[start:])
        if said := text.strip():
            lead = text[: len(text) - len(text.lstrip())]
            trail = text[len(text.rstrip()) :]
            text = f"{lead}{before}{said}{after}{trail}"
        self.pieces[start:] = [text]

    def taken(self) -> str:
        """Close all marks, and return and clear the text so far."""
        self.end_code()
        self.end_link()
        for mark in [*self.marks]:
            self.close(mark)
        text, self.pieces = "".join(self.pieces), []
        return _HARD_BREAK.join(part.strip() for part in text.split("\n")).strip()


@dataclass(slots=True)
class _List:
    """A list that is open."""

    number: int | None  # the number of its next item; `None` without numbers
    is_begun: bool = False  # an item was written


class _Writer:
    """Writes Markdown as tags and texts come."""

    def __init__(self) -> None:
        self._written: list[str] = []
        self._line = _Line()
        self._heading = 0
        self._lists: list[_List] = []
        self._marker = ""  # the marker of an item whose text has not come yet
        self._quotes = 0
        self._code: list[str] | None = None  # a block of code
        self._language = ""
        self._silent = ""
        self._tables = 0  # open tables; an inner one becomes text of the outer one's cells
        self._rows: list[list[str]] = []
        self._is_in_cell = False
        self._quote = ""  # the marks of quotations before the last block
        self._heeded: Mapping[str, Callable[[str, _Attributes], None]] = {
            **dict.fromkeys(("ul", "ol"), self._list),
            **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), self._headed),
            **dict.fromkeys(("td", "th"), self._cell),
            "li": self._item,
            "blockquote": self._quoted,
            "pre": self._pre,
            "code": self._coded,
            "a": self._linked,
            "img": self._picture,
            "br": self._broken,
            "hr": self._ruled,
            "table": self._table,
            "tr": self._row,
        }

    def text(self, source: str) -> None:
        """Write a text, whose entities are resolved."""
        if not source or self._silent:
            return
        said = html.unescape(source)
        if self._code is not None:
            self._code.append(said)
        elif self._line.code is not None:
            self._line.pieces.append(said)
        else:
            said = _SPACES.sub(" ", said)
            self._line.pieces.append(_MARK.sub(lambda found: _escaped(found[0]), said))

    def tag(self, name: str, attributes: _Attributes) -> None:
        """Apply a tag."""
        if self._silent or name in _SILENT:
            self._silent = self._silent if attributes is not None and self._silent else ""
            self._silent = self._silent or (name if attributes is not None else "")
        elif self._code is not None and name != "pre":
            self._language = self._language or _language_of(attributes)
        elif name in _EMPHASIS:
            (self._line.close if attributes is None else self._line.open)(_EMPHASIS[name])
        elif heed := self._heeded.get(name):
            heed(name, attributes)
        elif name in _BLOCKS:
            self._end_block()

    def whole(self) -> str:
        """Close all that is open, and return all that was written."""
        self._pre("pre", None)
        self._end_table()
        self._end_block()
        return "".join(self._written).strip()

    def _end_block(self) -> None:
        if self._is_in_cell:
            self._line.pieces.append(" ")
            return
        said = self._line.taken()
        if self._heading and said:
            said = f"{'#' * self._heading} {' '.join(said.split())}"
        else:
            said = _FIRST_MARK.sub(lambda found: _escaped(found[0]), said)
        if said:
            self._put(said)

    def _put(self, said: str) -> None:
        """Write a block, within the lists and quotations that are open."""
        depth = self._lists[-_DEEPEST:]
        indent = "".join("   " if one.number is not None else "  " for one in depth[:-1])
        hanging = " " * (3 if depth and depth[-1].number is not None else 2 if depth else 0)
        quote = "> " * min(self._quotes, _DEEPEST)
        first, rest = f"{quote}{indent}{self._marker or hanging}", f"{quote}{indent}{hanging}"
        is_next = bool(self._marker) and any(one.is_begun for one in depth)
        if self._written:
            between = min(quote, self._quote, key=len).rstrip()
            self._written.append("\n" if is_next else f"\n{between}\n")
        self._quote = quote
        self._written.append(first + said.replace("\n", f"\n{rest}"))
        if self._marker:
            self._marker = ""
            for one in depth:
                one.is_begun = True

    def _item(self, _name: str, attributes: _Attributes) -> None:
        self._end_block()
        if attributes is None:
            self._marker = ""
        elif self._is_in_cell or not self._lists:
            self._line.pieces.append("- " if self._is_in_cell else "")
            self._marker = "" if self._is_in_cell else "- "
        else:
            last = self._lists[-1]
            self._marker = "- " if last.number is None else f"{last.number}. "
            last.number = None if last.number is None else last.number + 1

    def _list(self, name: str, attributes: _Attributes) -> None:
        self._end_block()
        if attributes is not None:
            start = attributes.get("start", "")
            first = (
                int(start)
                if start.isascii() and start.isdigit() and len(start) <= _LONGEST_NUMBER
                else 1
            )
            self._lists.append(_List(first if name == "ol" else None))
        elif self._lists:
            self._lists.pop()

    def _headed(self, name: str, attributes: _Attributes) -> None:
        self._end_block()
        self._heading = int(name[1]) if attributes is not None and not self._is_in_cell else 0

    def _quoted(self, _name: str, attributes: _Attributes) -> None:
        self._end_block()
        self._quotes = max(0, self._quotes + (1 if attributes is not None else -1))

    def _pre(self, name: str, attributes: _Attributes) -> None:
        if attributes is not None and self._is_in_cell:
            self._coded(name, attributes)
        elif attributes is not None and self._code is None:
            self._end_block()
            self._code, self._language = [], _language_of(attributes)
        elif attributes is None and self._code is not None:
            code, self._code = "".join(self._code).strip("\n"), None
            fence = fence_for(code)
            self._put(f"{fence}{self._language}\n{code}\n{fence}")
        elif self._is_in_cell:
            self._coded(name, attributes)

    def _coded(self, _name: str, attributes: _Attributes) -> None:
        if attributes is None:
            self._line.end_code()
        elif self._line.code is None:
            self._line.code = len(self._line.pieces)

    def _linked(self, _name: str, attributes: _Attributes) -> None:
        self._line.end_link()
        address = (attributes or {}).get("href", "").strip()
        if _ADDRESS.match(address) and self._line.code is None:
            self._line.link = len(self._line.pieces), address

    def _picture(self, _name: str, attributes: _Attributes) -> None:
        shown, address = (attributes or {}).get("alt", ""), (attributes or {}).get("src", "")
        is_page = _ADDRESS.match(address) and not _ENDS_ADDRESS.search(address)
        self._line.pieces.append(f"![{shown}]({address})" if is_page else shown)

    def _broken(self, _name: str, _attributes: _Attributes) -> None:
        self._line.pieces.append(" " if self._is_in_cell or self._heading else "\n")

    def _ruled(self, _name: str, _attributes: _Attributes) -> None:
        self._end_block()
        if not self._is_in_cell:
            self._put("---")

    def _table(self, _name: str, attributes: _Attributes) -> None:
        if attributes is not None:
            if not self._tables:
                self._end_block()
            self._tables += 1
        elif self._tables:
            self._tables -= 1
            if not self._tables:
                self._end_table()

    def _row(self, _name: str, attributes: _Attributes) -> None:
        if self._tables == 1:
            self._end_cell()
            if attributes is not None:
                self._rows.append([])

    def _cell(self, _name: str, attributes: _Attributes) -> None:
        if self._tables != 1:
            self._line.pieces.append(" ")
            return
        self._end_cell()
        if attributes is not None:
            self._end_block()
            self._is_in_cell = True

    def _end_cell(self) -> None:
        if self._is_in_cell:
            self._is_in_cell = False
            said = " ".join(self._line.taken().split()).replace("|", "\\|")
            if not self._rows:
                self._rows.append([])
            self._rows[-1].append(said)

    def _end_table(self) -> None:
        self._end_cell()
        self._tables = 0
        rows, self._rows = [row for row in self._rows if row], []
        if not rows:
            return
        width = max(map(len, rows))
        rows[0] += [""] * (width - len(rows[0]))
        drawn = [f"| {' | '.join(row)} |" for row in rows]
        self._put("\n".join((drawn[0], "|" + " --- |" * width, *drawn[1:])))


def _escaped(mark: str) -> str:
    return f"{mark}\\" if mark.isdigit() else f"\\{mark}"


def _language_of(attributes: _Attributes) -> str:
    found = _LANGUAGE.search((attributes or {}).get("class", ""))
    return found[1] if found else ""
