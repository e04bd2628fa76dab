"""The owner of a chat, as its document names it."""

import pytest

from smart_context.chat.documents.ownership import Ownership, ownership_of


@pytest.mark.parametrize(
    "damaged", [{"person": 5, "shared": True}, {"person": "", "shared": True}, {"shared": True}, 7]
)
def test_a_chat_that_names_nobody_is_shared_with_nobody(damaged):
    assert ownership_of(damaged) == Ownership()
