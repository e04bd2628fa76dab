"""What a document replaces is kept, if that is wanted."""

import pytest

pytestmark = pytest.mark.anyio


async def test_what_can_not_be_read_is_kept_beside_what_replaces_it(opened):
    documents = opened().documents
    first = await documents.replace("c", "filter", {"hidden": "m1"}, expected=None)
    second = await documents.replace("c", "filter", {}, expected=first.revision, keeps_copy=True)
    await documents.replace("c", "filter", {"n": 3}, expected=second.revision)
    (kept,) = await documents.read("c", f"filter.damaged-{first.revision}")
    assert kept.value == {"hidden": "m1"}
