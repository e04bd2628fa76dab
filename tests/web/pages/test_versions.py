"""The other versions of a client's chat, as the page shows them."""

import pytest

from smart_context.web.pages.versions import other_versions

SAID = [{"id": "m", "role": "user", "content": "Hi"}]
SHOWN = [{"speaker": "You", "text": "Hi"}]


@pytest.mark.parametrize("created_at", [5, None, ["2026"], {}, ""])
def test_a_time_that_is_no_text_is_none(created_at):
    branch = {"created_at": created_at, "messages": SAID}
    assert other_versions({"branches": [branch]}) == [{"created_at": "", "messages": SHOWN}]


def test_each_version_has_its_time_and_its_messages():
    branch = {"created_at": "2026-11-22T10:00:00Z", "messages": SAID}
    shown = {"created_at": "2026-11-22T10:00:00Z", "messages": SHOWN}
    assert other_versions({"branches": [branch, "no branch"]}) == [shown]
