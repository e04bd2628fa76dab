"""The other versions of a chat that the page can't switch to, as it shows them."""

import pytest

from smart_context.web.pages.versions import other_versions

SAID = [{"id": "m", "role": "user", "content": "Hi"}]
SHOWN = [{"speaker": "You", "text": "Hi"}]
FOLLOWED = {"source": {"client": "opencode", "id": "x", "key": "k"}}


@pytest.mark.parametrize("created_at", [5, None, ["2026"], {}, ""])
def test_a_time_that_is_no_text_is_none(created_at):
    branch = {"created_at": created_at, "messages": SAID}
    shown = [{"created_at": "", "messages": SHOWN}]
    assert other_versions({**FOLLOWED, "branches": [branch]}) == shown


def test_each_version_has_its_time_and_its_messages():
    branch = {"created_at": "2026-11-22T10:00:00Z", "messages": SAID}
    shown = {"created_at": "2026-11-22T10:00:00Z", "messages": SHOWN}
    assert other_versions({**FOLLOWED, "branches": [branch, "no branch"]}) == [shown]


def test_of_a_chat_of_ones_own_only_what_follows_nothing_any_more():
    lost = {"after": "gone", "messages": SAID}
    at_hand = {"after": None, "messages": [{"id": "n", "role": "user", "content": "There"}]}
    within = {"after": "n", "messages": [{"id": "o", "role": "user", "content": "Within"}]}
    branches = [within, lost, at_hand]
    (shown,) = other_versions({"messages": [], "branches": branches})
    assert shown["messages"] == SHOWN
