"""Rules about the style sheets, which no linter here reads."""

import re
from pathlib import Path

CSS = Path(__file__).resolve().parents[2] / "static" / "css"
SELECTORS = re.compile(r"([^{}]*:has\([^{}]*)\{")


def test_no_change_within_a_page_styles_all_of_it_anew():
    """As Chromium does if the page, or what every element is, depends on a part by `:has()`."""
    sheets = {path.name: path.read_text("utf-8") for path in CSS.rglob("*.css")}
    found = [
        (name, selector.strip())
        for name, sheet in sheets.items()
        for selectors in SELECTORS.findall(re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL))
        for selector in selectors.split(",")
        if re.search(r"(?<![\w-])(body|html|:root)\S*:has\(|:has\(.*\).*[\s>~+]\*\s*$", selector)
    ]
    assert found == []
    assert any(":has(" in sheet for sheet in sheets.values())
