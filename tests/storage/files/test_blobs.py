"""Attached files: kept once, read as text, absent when gone."""

import io
import re
import sys
import zipfile
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smart_context.base.errors import CommandFailed, StoreFailed
from smart_context.base.installed import how_to_add
from smart_context.chat.files import attached_file
from smart_context.chat.files.attached_file import cleaned_name
from smart_context.chat.files.file_text import MAX_PLAIN_CHARACTERS, text_of
from smart_context.storage.files.blobs import FileBlobs
from tests.chat.made_documents import put

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20


def docx(xml):
    folder = io.BytesIO()
    with zipfile.ZipFile(folder, "w") as parts:
        parts.writestr("word/document.xml", xml)
    return folder.getvalue()


WORD = (
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
    "<w:p><w:r><w:t>One</w:t><w:tab/><w:t>two</w:t></w:r></w:p><w:p><w:t>Drei 三</w:t></w:p>"
    "</w:body></w:document>"
)


def folder_of(blobs):
    return blobs._folder.path


@pytest.fixture
def files(tmp_path):
    return FileBlobs(tmp_path / "files")


async def test_a_file_is_kept_under_the_hash_of_its_content(files):
    stored = await files.put("nötes.md", "# Plan\n计划".encode())
    assert stored.to_dict() == {
        "id": stored.storage_key[:12],
        "name": "nötes.md",
        "file_type": "text/markdown",
        "storage_key": stored.storage_key,
        "size": 13,
    }
    assert len(stored.storage_key) == 64
    assert await files.read(stored.storage_key) == "# Plan\n计划"
    assert await files.info(stored.storage_key) == stored
    assert (folder_of(files) / stored.storage_key).read_bytes() == "# Plan\n计划".encode()


async def test_the_same_content_is_kept_once(files):
    first = await files.put("a.txt", b"same")
    second = await files.put("b.txt", b"same")
    assert first.storage_key == second.storage_key
    assert len(list(folder_of(files).iterdir())) == 2


async def test_a_damaged_copy_is_put_right_by_the_next_upload(files):
    stored = await files.put("a.txt", b"whole")
    (folder_of(files) / stored.storage_key).write_bytes(b"half")
    await files.put("a.txt", b"whole")
    assert await files.read(stored.storage_key) == "whole"


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        pytest.param("a.txt", b"\xef\xbb\xbfmarked", "marked", id="UTF-8 with its mark"),
        pytest.param("a.csv", "a;ü\r\n".encode("utf-16"), "a;ü\r\n", id="UTF-16"),
        pytest.param("a.docx", docx(WORD), "One\ttwo\nDrei 三", id="Word"),
        pytest.param(
            "a.html",
            b"<head><title>x</title></head><h1>Plan</h1><script>alert(1)</script>"
            b"<p>One &amp;\n two<br>three<style>b{}</style></p><table><tr><td>a<td>b</table>",
            "Plan\n\nOne & two\nthree\n\n| a | b",
            id="HTML",
        ),
        pytest.param("a.py", b"x = 1\n", "x = 1\n", id="code"),
    ],
)
async def test_the_text_of_a_file(files, name, content, text):
    stored = await files.put(name, content)
    assert await files.read(stored.storage_key) == text


async def test_a_pdf_needs_its_package_and_says_so(files, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(CommandFailed, match=re.escape(how_to_add("files"))):
        await files.put("a.pdf", b"%PDF-1.4")
    assert not folder_of(files).exists()


async def test_a_pdf_is_read_page_by_page(files, monkeypatch):
    class Page:
        def __init__(self, text):
            self.text = text

        def extract_text(self):
            return self.text

    class Reader:
        def __init__(self, file):
            assert file.read() == b"%PDF-1.4 two pages"
            self.pages = [Page("One"), Page(" "), Page("Two")]

    monkeypatch.setitem(sys.modules, "pypdf", type("pypdf", (), {"PdfReader": Reader}))
    stored = await files.put("a.pdf", b"%PDF-1.4 two pages")
    assert stored.file_type == "application/pdf"
    assert await files.read(stored.storage_key) == "One\n\nTwo"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        pytest.param("a.txt", b"", "empty", id="empty"),
        pytest.param("a.txt", b"\xff\xfe\x00", "no text that can be read", id="odd UTF-16"),
        pytest.param("a.txt", b"caf\xe9", "no text that can be read", id="Latin-1"),
        pytest.param("a.bin", b"a\0b", "no text that can be read", id="binary"),
        pytest.param("a.docx", b"PK no zip", "as a Word document", id="no zip"),
        pytest.param("a.docx", docx("<a>"), "as a Word document", id="broken XML"),
        pytest.param(
            "a.docx", docx('<!DOCTYPE x [<!ENTITY a "b">]><x/>'), "not read", id="entities"
        ),
        pytest.param("a.docx", docx(WORD.encode("utf-16")), "not read", id="hidden entities"),
    ],
)
async def test_what_can_not_be_read_is_refused(files, name, content, told):
    with pytest.raises(CommandFailed, match=told):
        await files.put(name, content)
    assert not folder_of(files).exists()


async def test_a_file_that_is_too_large_is_refused(files, monkeypatch):
    monkeypatch.setattr(attached_file, "MAX_FILE_BYTES", 10)
    with pytest.raises(CommandFailed, match="larger than"):
        await files.put("a.txt", b"x" * 11)


async def test_a_very_long_text_is_cut_and_says_so():
    text = text_of("a.txt", b"x" * (MAX_PLAIN_CHARACTERS + 1))
    assert text.endswith("[Cut here: the file is longer.]")


async def test_an_image_has_no_text_but_a_data_uri(files):
    stored = await files.put("a.jpg", PNG)
    assert stored.file_type == "image/png"
    assert await files.read(stored.storage_key) is None
    assert (await files.data_uri(stored.storage_key)).startswith("data:image/png;base64,iVBO")
    text = await files.put("a.svg", b"<svg/>")
    assert await files.data_uri(text.storage_key) is None


@pytest.mark.parametrize("key", ["", "0" * 64, "../../etc/passwd", "A" * 64, "0" * 63 + "\n"])
async def test_what_is_gone_or_was_never_there_is_absent(files, key):
    assert await files.read(key) is None
    assert await files.info(key) is None
    assert await files.content(key) is None
    assert await files.data_uri(key) is None


async def test_a_damaged_description_does_not_hide_a_file(files):
    stored = await files.put("a.txt", b"text")
    (folder_of(files) / f"{stored.storage_key}.json").write_text("[")
    found = await files.info(stored.storage_key)
    assert found.storage_key == stored.storage_key
    assert found.size == 4


async def test_a_disk_that_refuses_is_told(files):
    folder_of(files).write_text("in the way")
    with pytest.raises(StoreFailed):
        await files.put("a.txt", b"text")


@given(st.text())
def test_a_name_is_never_a_path_and_never_empty(name):
    cleaned = cleaned_name(name)
    assert cleaned
    assert cleaned.isprintable()
    assert not set("/\\") & set(cleaned)


@settings(max_examples=50)
@given(st.binary(max_size=300), st.sampled_from(["a.txt", "a.html", "a.docx", "a"]))
def test_any_bytes_are_read_or_refused(content, name):
    with suppress(CommandFailed):
        assert isinstance(text_of(name, content), str)


async def test_what_killed_writers_left_goes_with_the_next_file(tmp_path):
    left = put(tmp_path / "files" / ".0f.json.00000001.tmp", b"half", age_s=4000)
    await FileBlobs(tmp_path / "files").put("a.txt", b"one")
    assert not left.exists()
