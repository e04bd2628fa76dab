"""The news that contexts or notes have changed."""

from smart_context.plugin.notes.context_documents import ContextChanges
from smart_context.vault.index.cache import VaultChanges


def test_own_parts_hear_of_a_change_before_clients_do():
    heard = []
    changes = ContextChanges(lambda event, payload, _audience: heard.append((event.name, payload)))
    changes.listen(lambda: heard.append("a part"))
    changes.chat_changed("c")
    assert heard == ["a part", ("smart_context.contexts_changed", {"chat_id": "c"})]


def test_changed_notes_say_whether_the_list_of_files_is_another():
    told = []
    changes = ContextChanges(lambda _event, payload, _audience: told.append(payload))
    changes.notes_changed(VaultChanges(changed=("a.md",)))
    changes.notes_changed(VaultChanges(added=("b.md",)))
    changes.notes_changed(VaultChanges(removed=("b.md",)))
    assert [payload["has_other_files"] for payload in told] == [False, True, True]
    assert all(payload["notes_changed"] for payload in told)
