from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.survey import aliases, dead_ends, orphans, tags, unresolved


def test_a_vault_as_a_whole(tmp_path):
    (tmp_path / "a.md").write_text("---\naliases: [Al]\n---\n[[b]] [[none#H]] #Tag")
    (tmp_path / "b.md").write_text("#tag #other [t](gone.md)")
    (tmp_path / "c.txt").write_text("[[none]]")
    index = VaultIndex(tmp_path)
    index.refresh()
    assert list(unresolved(index)) == [("a.md", "none#H"), ("b.md", "gone.md")]
    assert orphans(index) == ["a.md"]
    assert dead_ends(index) == ["b.md"]
    assert tags(index) == {"Tag": 2, "other": 1}
    assert list(aliases(index)) == [("Al", "a.md")]
    index.close()
