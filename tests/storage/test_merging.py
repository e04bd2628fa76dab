import json
import tracemalloc

import pytest

from smart_context.base.disk.files import Signature
from smart_context.chat.documents.document import read_version
from smart_context.storage.files.chat_files import Stored
from smart_context.storage.merging import RecentVersions
from tests.chat.made_documents import said, version


def test_recent_versions_are_kept_up_to_a_number_of_bytes():
    recent = RecentVersions(max_bytes=1_600)
    for number in range(5):
        recent.put(f"c{number}", Stored(Signature(1, 40, number), version(said("a"))))
    assert [bool(recent.get(f"c{number}")) for number in range(5)] == [False] * 3 + [True] * 2


def test_the_most_recent_version_is_kept_whatever_its_size():
    recent = RecentVersions(max_bytes=700)
    large = Stored(Signature(1, 1000, 1), version(said("a")))
    recent.put("small", Stored(Signature(1, 10, 1), version(said("a"))))
    recent.put("large", large)
    assert recent.get("small") is None
    assert recent.get("large") is large


@pytest.mark.parametrize("text", ["ab", "a long text " * 80])
@pytest.mark.parametrize("count", [500, 1_000, 2_000])
def test_what_a_version_takes_in_memory_is_what_it_counts_for(text, count):
    messages = [{"id": f"m{n}", "role": "user", "content": f"{text}{n}"} for n in range(count)]
    content = json.dumps({"messages": messages}).encode()
    tracemalloc.start()
    try:
        known = Stored(Signature(1, len(content), 1), read_version(content))
        assert len(known.version.messages) == count
        taken = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 0.5 < known.size / taken < 2


def test_forgetting_and_replacing_give_the_room_back():
    recent = RecentVersions(max_bytes=1_300)
    small = Stored(Signature(1, 60, 1), version(said("a")))
    recent.put("a", small)
    recent.put("a", small)
    recent.put("b", None)
    recent.put("c", Stored(Signature(1, 40, 1), version(said("a"))))
    assert recent.get("a") is small
    recent.put("a", None)
    recent.put("d", small)
    assert recent.get("c")


def test_what_was_read_does_not_replace_what_another_thread_knows_by_now():
    recent = RecentVersions()
    old, new = (Stored(Signature(1, 60, number), version(said("a"))) for number in range(2))
    recent.put("c", old)
    assert recent.replace("c", old, new)
    assert not recent.replace("c", old, old)
    assert recent.get("c") is new
