"""Small files that were made to cost much."""

import io
import zipfile
import zlib

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(xml):
    """A Word document with that text as its main part."""
    folder = io.BytesIO()
    with zipfile.ZipFile(folder, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("word/document.xml", xml)
    return folder.getvalue()


def docx_bomb(mebibytes=60, element="<w:p/>"):
    """A document of a few kilobytes that unpacks to many mebibytes of elements."""
    count = (mebibytes << 20) // len(element)
    return docx(f'<w:document xmlns:w="{WORD}">{element * count}</w:document>')


def nested_docx(depth=200_000):
    """Elements within each other, as deep as a stack."""
    return docx(f'<w:document xmlns:w="{WORD}">{"<w:p>" * depth}')


def pdf(content):
    """A PDF of one page with that compressed content."""
    packed = zlib.compress(content, 9)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Filter/FlateDecode/Length %d>>stream\n%s\nendstream" % (len(packed), packed),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%sendobj\n" % (number, body)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    return (
        out
        + head
        + rows
        + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (
            len(objects) + 1,
            len(out),
        )
    )


def pdf_bomb(mebibytes=40):
    """A PDF of a few kilobytes whose page unpacks to many mebibytes of operators."""
    line = b"BT /F 9 Tf (a) Tj ET\n"
    return pdf(line * ((mebibytes << 20) // len(line)))
