"""The README as an index of packages shows it, which has none of the repository's files."""

import json
import re
import subprocess
import sys
from urllib.parse import urlsplit

from hatch_build import ShownByAnIndex, with_whole_addresses
from tests.docs.pages import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE = re.compile(r"(!?)\[[^\[\]]*\]\(([^()]+)\)")


def test_the_metadata_have_no_reference_to_a_file_that_an_index_does_not_have():
    told = subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata"], cwd=ROOT, capture_output=True, check=True
    )
    text = json.loads(told.stdout)["readme"]["text"]
    assert len(text) > len(README) / 2
    assert all(urlsplit(target).scheme for _, target in REFERENCE.findall(text))


def test_once_the_project_has_an_address_each_reference_leads_to_a_file_there():
    text = with_whole_addresses(README, "https://code.example/team/name")
    images, pages = set(), set()
    for mark, target in REFERENCE.findall(text):
        form = "raw" if mark else "blob"
        path = target.removeprefix(f"https://code.example/team/name/{form}/main/")
        assert (ROOT / path.partition("#")[0]).is_file(), target
        (images if mark else pages).add(path)
    assert "docs/images/chat-light.png" in images
    assert {"docs/team.md", "docs/relevance.md#with-a-real-model"} <= pages


def test_once_the_project_has_an_address_its_source_and_changelog_are_named():
    metadata = {}
    ShownByAnIndex(str(ROOT), {"repository": "https://code.example/team/name/"}).update(metadata)
    assert metadata["urls"] == {
        "Source": "https://code.example/team/name",
        "Changelog": "https://code.example/team/name/blob/main/CHANGELOG.md",
    }
    assert "(https://code.example/team/name/raw/main/docs/images/" in metadata["readme"]["text"]
