"""Files are read by real libraries in a child that can open nothing."""

import io

import pypdf
import pytest

from smart_context.base.processes.child import Child
from smart_context.chat.files.attached_file import reading_in
from tests.hostile_files import WORD, docx, pdf
from tests.patience import PATIENCE_S

WORDS = f'<w:document xmlns:w="{WORD}"><w:p><w:t>The keeper lit the lamp</w:t></w:p></w:document>'
SAID = pdf(b"BT /F 9 Tf (The keeper lit the lamp) Tj ET")


def _encrypted(algorithm):
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(SAID))
    writer.encrypt("", "owner", algorithm=algorithm)
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


def _saved_again():
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(SAID))
    writer.add_metadata({"/Title": "Lampe"})
    made = io.BytesIO()
    writer.write(made)
    return made.getvalue()


@pytest.fixture(scope="module")
def read():
    with Child() as child:
        yield reading_in(child, deadline_s=PATIENCE_S)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param("a.pdf", SAID, id="PDF"),
        pytest.param("a.pdf", _saved_again(), id="PDF saved again"),
        pytest.param("a.pdf", _encrypted("RC4-128"), id="PDF with an owner's password"),
        pytest.param("a.html", b"<p>The keeper lit <b>the&nbsp;lamp</b>", id="page"),
        pytest.param("a.docx", docx(WORDS), id="Word document"),
    ],
)
def test_a_file_of_each_kind_is_read(read, name, content):
    assert " ".join(read(name, content).split()) == "The keeper lit the lamp"
