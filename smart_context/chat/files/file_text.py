"""The text of an attached file, or the reason why there is none.

Text, Markdown, code and CSV are taken as they are, HTML and DOCX read with the standard library,
PDF with the optional `pypdf`. A hostile file can make these three slow, so `costly_files` reads
them in a process that can be killed.
"""

import importlib
import importlib.util
import io
import re
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import Any
from xml.etree import ElementTree as ET

from smart_context.base.errors import CommandFailed
from smart_context.base.processes.needed import needs

IMAGE_TYPES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
MAX_TEXT_CHARACTERS = 2_000_000
"""The most characters that are read out of an HTML, DOCX or PDF file: half a million tokens."""

MAX_PLAIN_CHARACTERS = 8_000_000
"""The most characters of a file of plain text. Reading it is cheap, so its length is shown
correctly and a model can search in all of it."""

MAX_READING_S = 6.0
"""The processor time for reading a file; after that, the text so far is used."""

PLAIN_TEXT_INSTEAD = "Save what you need of it as plain text, and attach that."

_PDF_READERS = (
    *("pypdf", "pypdf.filters", "pypdf._encryption", "pypdf._crypt_providers"),
    *("fontTools.cffLib", "pypdf.*"),
)
"""The modules of pypdf that import others, loaded at once; the rest is kept until imported."""

_MAX_PDF_PAGES = 2_000
_MAX_XML_BYTES = 64 << 20
_CHUNK = 1 << 16
_CUT = "\n[Cut here: the file is longer.]"
_CUT_IN_TIME = "\n[Cut here: reading the rest takes too long.]"
_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "form"),
        *("figcaption", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li"),
        *("main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul"),
    }
)
_SILENT = frozenset({"script", "style", "template", "noscript", "head"})
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SIGNS = {f"{_WORD}tab": "\t", f"{_WORD}br": "\n", f"{_WORD}cr": "\n"}
_BLANK_LINES = re.compile(r"\n\s*\n\s*")


def image_type(content: bytes) -> str:
    """The media type of an image that models accept; empty for anything else."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in IMAGE_TYPES.items() if content.startswith(mark)), "")


def is_costly(name: str, content: bytes) -> bool:
    """True for kinds of files that can be crafted to be slow to read."""
    return _format_of(name, content) is not None


def work_for(name: str, content: bytes) -> Callable[[str, bytes], str]:
    """The function that reads a file in a child: `text_of`, or its form for PDF.

    Raises:
        CommandFailed: No PDF reader is installed. Checked here, because a child can't find out
            how this copy was installed.
    """
    if _format_of(name, content) is not _PDF:
        return text_of
    if importlib.util.find_spec("pypdf") is None:
        raise _no_reader_of_pdf(name)
    return pdf_text_of


def text_of(name: str, content: bytes, clock: Callable[[], float] = time.thread_time) -> str:
    """The text of a file as a model can read it; blocks.

    Args:
        name: The file's name; its suffix decides how it is read.
        clock: Seconds of processor time.

    Raises:
        CommandFailed: The file has no readable text; the message says what to do.
    """
    form = _format_of(name, content)
    if form is None:
        text = decoded(name, content)
        return text if len(text) <= MAX_PLAIN_CHARACTERS else text[:MAX_PLAIN_CHARACTERS] + _CUT
    try:
        text, note = _collected(form.read(name, content), clock)
    except (CommandFailed, MemoryError):
        raise
    except Exception as error:  # a parser may fail in any way
        raise CommandFailed(f"{name!r} {form.complaint}") from error
    if note == _CUT_IN_TIME and not text.strip():
        raise CommandFailed(f"{name!r} takes too long to read. {PLAIN_TEXT_INSTEAD}")
    return form.tidy(text) + note


@needs(*_PDF_READERS)
def pdf_text_of(name: str, content: bytes) -> str:
    """The text of a PDF, as `text_of` returns it."""
    return text_of(name, content)


def _collected(pieces: Iterable[str], clock: Callable[[], float]) -> tuple[str, str]:
    """The text, with a note if it was cut because it is too long or took too long."""
    end = clock() + MAX_READING_S
    texts: list[str] = []
    length = 0
    for piece in pieces:
        texts.append(piece)
        length += len(piece)
        if length > MAX_TEXT_CHARACTERS:
            return "".join(texts)[:MAX_TEXT_CHARACTERS], _CUT
        if clock() > end:
            return "".join(texts), _CUT_IN_TIME
    return "".join(texts), ""


def decoded(name: str, content: bytes) -> str:
    """Plain text in UTF-8, or in UTF-16 with a byte order mark.

    Raises:
        CommandFailed: It is neither.
    """
    is_wide = content[:2] in {b"\xff\xfe", b"\xfe\xff"}
    try:
        text = content.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" not in text:
        return text
    raise CommandFailed(
        f"{name!r} has no text that can be read. Attach text in UTF-8, PDF, Word (.docx), HTML or "
        "an image (PNG, JPEG, GIF, WebP)."
    )


def _no_reader_of_pdf(name: str) -> CommandFailed:
    from smart_context.base.installed import how_to_add  # noqa: PLC0415  30 ms in each child

    added = how_to_add("files")
    return CommandFailed(f"{name!r} is a PDF, which needs one more package. To add it: {added}")


def _pdf(name: str, content: bytes) -> Iterator[str]:
    try:
        pypdf: Any = importlib.import_module("pypdf")
    except ImportError as error:
        raise _no_reader_of_pdf(name) from error
    has_text = False
    for page in pypdf.PdfReader(io.BytesIO(content)).pages[:_MAX_PDF_PAGES]:
        text = page.extract_text()
        if not text.strip():
            yield ""
            continue
        yield "\n\n" + text if has_text else text
        has_text = True
    if not has_text:
        raise CommandFailed(
            f"{name!r} is a PDF without text, such as a scan; attach its pages as images."
        )


def _docx(name: str, content: bytes) -> Iterator[str]:
    unusual = CommandFailed(
        f"{name!r} is not a usual Word document, so it is not read. Save it again in Word."
    )
    paragraphs = _Paragraphs(unusual)
    parser = ET.XMLParser(target=paragraphs)  # noqa: S314 - nothing is expanded without a DOCTYPE
    left = _MAX_XML_BYTES
    with (
        zipfile.ZipFile(io.BytesIO(content)) as parts,
        parts.open("word/document.xml") as document,
    ):
        while chunk := document.read(_CHUNK):
            left -= len(chunk)
            if left < 0 or b"\0" in chunk:
                raise unusual
            parser.feed(chunk)
            yield paragraphs.take()
    parser.close()
    yield paragraphs.take()


class _Paragraphs:
    """Receives a document's elements and keeps the text of its paragraphs."""

    def __init__(self, unusual: Exception) -> None:
        self._unusual = unusual
        self._pieces: list[str] = []
        self._is_text = False
        self._is_first = True

    def take(self) -> str:
        """The text since the last call."""
        pieces, self._pieces = self._pieces, []
        return "".join(pieces)

    def doctype(self, *_declared: object) -> None:
        raise self._unusual

    def start(self, tag: str, _attributes: object) -> None:
        if tag == f"{_WORD}p":
            self._pieces.append("" if self._is_first else "\n")
            self._is_first = False
        self._is_text = tag == f"{_WORD}t"
        self._pieces.append(_SIGNS.get(tag, ""))

    def data(self, text: str) -> None:
        if self._is_text:
            self._pieces.append(text)

    def end(self, _tag: str) -> None:
        self._is_text = False

    def close(self) -> None:
        """Do nothing: no tree is built."""


def _html(name: str, content: bytes) -> Iterator[str]:
    text = decoded(name, content)
    reader = _HtmlText()
    for start in range(0, len(text), _CHUNK):
        reader.feed(text[start : start + _CHUNK])
        yield reader.take()
    reader.close()
    yield reader.take()


def _tidied(text: str) -> str:
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


class _HtmlText(HTMLParser):
    """Collects the visible text, one line for each block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._silent = ""

    def take(self) -> str:
        """The text since the last call."""
        pieces, self._pieces = self._pieces, []
        return "".join(pieces)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's form
        if not self._silent and tag in _SILENT:
            self._silent = tag
        elif tag in _BLOCKS:
            self._pieces.append("\n")
        elif tag in {"td", "th"}:
            self._pieces.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._silent:
            self._silent = ""
        elif tag in _BLOCKS:
            self._pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._pieces.append(data.replace("\n", " "))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Format:
    """A way to read files of one kind."""

    read: Callable[[str, bytes], Iterator[str]]  # yields the text piece by piece
    complaint: str  # the error for a file that can't be read
    tidy: Callable[[str], str] = str  # cleans up the whole text


_PDF = _Format(read=_pdf, complaint="is a PDF that can't be read; is it protected or damaged?")
_DOCX = _Format(read=_docx, complaint="can't be read as a Word document; is it damaged?")
_HTML = _Format(read=_html, complaint="can't be read as an HTML page.", tidy=_tidied)


def _format_of(name: str, content: bytes) -> _Format | None:
    if content.startswith(b"%PDF-"):
        return _PDF
    suffix = PurePosixPath(name).suffix.lower()
    if suffix in {".docx", ".docm"}:
        return _DOCX
    return _HTML if suffix in {".html", ".htm", ".xhtml"} else None
