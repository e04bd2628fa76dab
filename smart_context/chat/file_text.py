"""The text of an attached file, or why there is none for us.

Text, Markdown, code and CSV are themselves; HTML and DOCX are read with what Python brings, PDF
with the optional `pypdf`.
"""

import importlib
import io
import re
import zipfile
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import Any
from xml.etree import ElementTree as ET

from smart_context.errors import CommandFailed

IMAGE_TYPES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
MAX_TEXT_CHARACTERS = 2_000_000
"""Most of one file's text: half a million tokens, which is more than most models take."""

_MAX_PDF_PAGES = 2_000
_MAX_XML_BYTES = 64 << 20
_CUT = "\n[Cut here: the file is longer.]"
_BLOCKS = frozenset(
    {
        *("address", "article", "aside", "blockquote", "br", "dd", "div", "dl", "dt", "form"),
        *("figcaption", "footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li"),
        *("main", "nav", "ol", "p", "pre", "section", "table", "tr", "ul"),
    }
)
_SILENT = frozenset({"script", "style", "template", "noscript", "head"})
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_BLANK_LINES = re.compile(r"\n\s*\n\s*")


def image_type(content: bytes) -> str:
    """The media type of an image that models take; empty for anything else."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for mark, kind in IMAGE_TYPES.items() if content.startswith(mark)), "")


def text_of(name: str, content: bytes) -> str:
    """What a file says, as a model can read it; blocks.

    Args:
        name: Tells, by its suffix, how to read it.
        content: All of it.

    Raises:
        CommandFailed: If it holds no text that we can read; says what to do.
    """
    suffix = PurePosixPath(name).suffix.lower()
    if content.startswith(b"%PDF-"):
        text = _pdf(name, content)
    elif suffix in {".docx", ".docm"}:
        text = _docx(name, content)
    elif suffix in {".html", ".htm", ".xhtml"}:
        text = _html(decoded(name, content))
    else:
        text = decoded(name, content)
    if len(text) > MAX_TEXT_CHARACTERS:
        return text[:MAX_TEXT_CHARACTERS] + _CUT
    return text


def decoded(name: str, content: bytes) -> str:
    """Plain text in UTF-8, or in UTF-16 with its mark.

    Raises:
        CommandFailed: If it is neither.
    """
    is_wide = content[:2] in {b"\xff\xfe", b"\xfe\xff"}
    try:
        text = content.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" not in text:
        return text
    raise CommandFailed(
        f"{name!r} holds no text that can be read. Text must be in UTF-8; of other files PDF, "
        "Word (.docx), HTML and images (PNG, JPEG, GIF, WebP) can be attached."
    )


def _pdf(name: str, content: bytes) -> str:
    try:
        pypdf: Any = importlib.import_module("pypdf")
    except ImportError as error:
        raise CommandFailed(
            f"{name!r} is a PDF, which needs one more package: pip install 'smart-context[files]'."
        ) from error
    try:
        reader = pypdf.PdfReader(io.BytesIO(content))
        texts = [page.extract_text() for page in reader.pages[:_MAX_PDF_PAGES]]
    except Exception as error:
        raise CommandFailed(
            f"{name!r} is a PDF that can't be read ({type(error).__name__}); is it protected?"
        ) from error
    text = "\n\n".join(filter(str.strip, texts))
    if text:
        return text
    raise CommandFailed(
        f"{name!r} is a PDF without text, such as a scan; attach its pages as images."
    )


def _docx(name: str, content: bytes) -> str:
    try:
        with (
            zipfile.ZipFile(io.BytesIO(content)) as parts,
            parts.open("word/document.xml") as document,
        ):
            xml = document.read(_MAX_XML_BYTES + 1)
    except Exception as error:
        raise CommandFailed(f"{name!r} is no Word document that can be read.") from error
    if len(xml) > _MAX_XML_BYTES or b"<!DOCTYPE" in xml or b"\0" in xml:
        raise CommandFailed(f"{name!r} is no Word document as Word writes them; it is not read.")
    try:
        root = ET.fromstring(xml)  # noqa: S314 - without a DOCTYPE there is nothing to expand
    except ET.ParseError as error:
        raise CommandFailed(f"{name!r} is no Word document that can be read.") from error
    return "\n".join(map(_paragraph, root.iter(f"{_WORD}p")))


def _paragraph(paragraph: ET.Element) -> str:
    pieces = {f"{_WORD}tab": "\t", f"{_WORD}br": "\n", f"{_WORD}cr": "\n"}
    return "".join(
        (run.text or "") if run.tag == f"{_WORD}t" else pieces.get(run.tag, "")
        for run in paragraph.iter()
    )


def _html(text: str) -> str:
    reader = _HtmlText()
    reader.feed(text)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


class _HtmlText(HTMLParser):
    """Collects what a reader would see, a line for each block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._silent = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - the parser's form
        if not self._silent and tag in _SILENT:
            self._silent = tag
        elif tag in _BLOCKS:
            self.pieces.append("\n")
        elif tag in {"td", "th"}:
            self.pieces.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._silent:
            self._silent = ""
        elif tag in _BLOCKS:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces.append(data.replace("\n", " "))
