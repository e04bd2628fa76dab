import os
import sqlite3
import time
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smart_context.vault.index.store import IndexStore
from smart_context.vault.index.vault_index import INDEX_FILE, VaultIndex
from tests.vault.links import outlinks
from tests.vaults import kept_index


@pytest.fixture
def vault(tmp_path):
    root = tmp_path / "vault"
    root.mkdir()

    def write(files):
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)

    write.root = root
    write.memory = root / ".memory"
    return write


@pytest.fixture
def index(vault):
    index = kept_index(vault.root, vault.memory)
    yield index
    index.close()


def test_links_are_known_in_both_directions(vault, index):
    vault({"a.md": "[[b]] [[c]] [[b#H]] [[a]]", "b.md": "", "sub/c.md": "[[a]]", "p.canvas": "{}"})
    changes = index.refresh()
    assert changes.added == ("a.md", "b.md", "p.canvas", "sub/c.md")
    assert outlinks(index, "a.md") == ("b.md", "sub/c.md")
    assert index.backlinks("b.md") == ("a.md",)
    assert index.backlinks("a.md") == ("sub/c.md",)
    assert index.names.all() == ["a.md", "b.md", "p.canvas", "sub/c.md"]


def test_the_index_is_kept_on_disk(vault, index):
    vault({"a.md": "[[b]]", "b.md": "# H\n"})
    os.utime(vault.root / "a.md", (1, 1))
    os.utime(vault.root / "b.md", (1, 1))
    index.refresh()
    index.close()
    again = kept_index(vault.root, vault.memory)
    assert not any(again.refresh())
    assert again.backlinks("b.md") == ("a.md",)
    assert again.outline("b.md").headings[0].text == "H"
    again.close()


def _rename(vault, old, new):
    (vault.root / old).rename(vault.root / new)


@pytest.mark.parametrize("tell", [True, False], ids=["told", "looking"])
@pytest.mark.parametrize(
    ("change", "paths", "links", "backlinks"),
    [
        pytest.param(lambda v: v({"a.md": "[[c]]"}), ["a.md"], ("c.md",), (), id="a link moved"),
        pytest.param(
            lambda v: _rename(v, "b.md", "B2.md"), ["b.md", "B2.md"], ("c.md",), (), id="a rename"
        ),
        pytest.param(
            lambda v: _rename(v, "b.md", "B.md"),
            ["b.md", "B.md"],
            ("B.md", "c.md"),
            (),
            id="of case",
        ),
        pytest.param(
            lambda v: (v.root / "b.md").unlink(), ["b.md"], ("c.md",), (), id="a deletion"
        ),
        pytest.param(
            lambda v: v({"d.md": "[[b]]"}),
            ["d.md"],
            ("b.md", "c.md"),
            ("a.md", "d.md"),
            id="a new note",
        ),
        pytest.param(
            lambda v: v({".gitignore": "b.md"}), [".gitignore"], ("c.md",), (), id="an ignore file"
        ),
        pytest.param(
            lambda v: v({"x/y/d.md": "[[b]]"}),
            ["x"],
            ("b.md", "c.md"),
            ("a.md", "x/y/d.md"),
            id="a folder",
        ),
        pytest.param(
            lambda v: None,
            ["c.md", ".memory/x", "no/such"],
            ("b.md", "c.md"),
            ("a.md",),
            id="nothing",
        ),
    ],
)
def test_the_index_follows(vault, index, tell, change, paths, links, backlinks):
    vault({"a.md": "[[b]] [[c]]", "b.md": "", "c.md": ""})
    index.refresh()
    assert index.backlinks("b.md") == ("a.md",)
    change(vault)
    if tell:
        index.update(paths)
    else:
        index.refresh()
    assert outlinks(index, "a.md") == links
    assert index.backlinks("b.md") == backlinks


def test_a_note_that_comes_takes_over_its_links(vault, index):
    vault({"a.md": "[[n]]", "deep/n.md": ""})
    index.refresh()
    assert outlinks(index, "a.md") == ("deep/n.md",)
    vault({"n.md": ""})
    index.update(["n.md"])
    assert outlinks(index, "a.md") == ("n.md",)
    assert index.backlinks("deep/n.md") == ()


def test_a_change_within_the_same_tick_is_seen(vault, index):
    now = time.time_ns() + 10**10
    vault({"a.md": "[[b]]", "b.md": "", "c.md": ""})
    os.utime(vault.root / "a.md", ns=(now, now))
    index.refresh()
    vault({"a.md": "[[c]]"})
    os.utime(vault.root / "a.md", ns=(now, now))
    index.refresh()
    assert outlinks(index, "a.md") == ("c.md",)


def test_what_another_program_stored_is_taken_over(vault, index):
    vault({"a.md": "[[b]]", "b.md": "", "c.md": ""})
    index.refresh()
    assert outlinks(index, "a.md") == ("b.md",)
    other = kept_index(vault.root, vault.memory)
    vault({"a.md": "now [[c]]"})
    os.utime(vault.root / "a.md", (1, 1))
    other.refresh()
    other.close()
    index.refresh()
    assert outlinks(index, "a.md") == ("c.md",)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda path: path.write_bytes(b"no database" * 1000), id="overwritten"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:5000]), id="cut short"),
        pytest.param(lambda path: path.write_bytes(b""), id="emptied"),
        pytest.param(lambda path: path.unlink(), id="deleted"),
    ],
)
def test_a_damaged_index_is_rebuilt(vault, index, damage):
    vault({f"n{number}.md": "[[a]] " * 50 for number in range(50)} | {"a.md": ""})
    index.refresh()
    index.close()
    damage(vault.memory / "index" / INDEX_FILE)
    assert len(index.backlinks("a.md")) in {0, 50}
    index.refresh()
    assert len(index.backlinks("a.md")) == 50


def test_an_outline_that_cannot_be_read_is_made_again(vault, index):
    vault({"a.md": "[[b]]", "b.md": ""})
    for name in ("a.md", "b.md"):
        os.utime(vault.root / name, (1, 1))  # else it is read again anyway
    index.refresh()
    index.close()
    with sqlite3.connect(vault.memory / "index" / INDEX_FILE) as database:
        database.execute("UPDATE outlines SET outline = '{'")
    database.close()
    assert [path for path, _ in index.outlines()] == ["a.md", "b.md"]


def test_where_nothing_can_be_written_the_index_is_in_memory(vault):
    vault({"a.md": "[[b]]", "b.md": "", ".memory": "a file where the folder should be"})
    index = kept_index(vault.root, vault.memory)
    index.refresh()
    assert index.backlinks("b.md") == ("a.md",)
    index.close()


def test_nothing_but_the_memory_folder_is_written(vault, index):
    vault({"a.md": "[[b]]", "sub/b.md": ""})
    before = {path: path.stat().st_mtime_ns for path in vault.root.rglob("*")}
    index.refresh()
    index.outline("a.md")
    after = {p: p.stat().st_mtime_ns for p in vault.root.rglob("*") if ".memory" not in p.parts}
    assert after == before


def test_the_memory_folder_is_not_indexed(vault):
    vault({"memory/c.md": "[[a]]", "a.md": ""})
    index = kept_index(vault.root, vault.root / "memory")
    index.refresh()
    assert index.names.all() == ["a.md"]
    index.close()


def test_odd_files_do_no_harm(vault, index):
    vault({"a.md": "[[bin]] [[latin]] [[cafe\u0301]] [[txt.txt]]", "txt.txt": "[[a]]"})
    (vault.root / "bin.md").write_bytes(b"[[a]]\0")
    (vault.root / "latin.md").write_bytes(b"caf\xe9 [[a]]")
    (vault.root / (unicodedata.normalize("NFC", "cafe\u0301") + ".md")).write_text("[[a]]")
    (vault.root / "bom.md").write_text("\ufeff---\ntags: x\n---\n# H")
    (vault.root / "loop.md").symlink_to("loop.md")
    os.mkfifo(vault.root / "pipe.md")
    (vault.root / os.fsdecode(b"\xff.md")).write_text("[[a]]")
    index.refresh()
    assert outlinks(index, "a.md") == ("bin.md", "latin.md", "caf\u00e9.md", "txt.txt")
    assert index.backlinks("a.md") == ("caf\u00e9.md",)
    assert index.outline("bin.md") is None
    assert index.outline("latin.md") is None
    assert index.outline("txt.txt").length == 5
    assert index.outline("bom.md").tags == ("x",)
    assert index.outline("none.md") is None


def test_reading_gives_the_text_as_it_is_now(vault, index):
    vault({"a.md": "[[b]]", "b.md": "", "c.md": ""})
    index.refresh()
    vault({"a.md": "and now [[c]]"})
    text, outline = index.read("a.md")
    assert (text, outline.length) == ("and now [[c]]", 13)
    assert outlinks(index, "a.md") == ("c.md",)
    assert index.backlinks("c.md") == ("a.md",)
    assert index.read("none.md") is None


def test_links_say_where_they_lead(vault, index):
    vault({"a.md": "[[b]] [[none]]", "x/b.md": "", "y/b.md": ""})
    index.refresh()
    (b, resolved), (_none, nowhere) = index.links("a.md")
    assert (b.target, resolved.path) == ("b", "x/b.md")
    assert resolved.candidates == ("x/b.md", "y/b.md")
    assert nowhere.path is None


_NAMES = st.sampled_from(["a.md", "b.md", "x/a.md", "x/B.md", "y/a.md"])
_TEXTS = st.lists(
    st.sampled_from(["[[a]]", "[[x/a]]", "[[b]]", "[t](../a.md)", "`[[a]]`"]), max_size=3
).map(" ".join)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(_NAMES, _TEXTS | st.none(), st.booleans()), max_size=8))
def test_however_the_vault_changes_the_index_is_as_one_that_is_rebuilt(tmp_path_factory, steps):
    root = tmp_path_factory.mktemp("vault")
    index = kept_index(root, root / ".memory")
    index.refresh()
    for path, text, tell in steps:
        (root / path).parent.mkdir(exist_ok=True)
        if text is None:
            (root / path).unlink(missing_ok=True)
        else:
            (root / path).write_text(text)
        if tell:
            index.update([path])
        else:
            index.refresh()
        rebuilt = VaultIndex(root)
        rebuilt.refresh()
        assert index.names.all() == rebuilt.names.all()
        for known in rebuilt.names.all():
            assert outlinks(index, known) == outlinks(rebuilt, known)
            assert index.backlinks(known) == rebuilt.backlinks(known)
        rebuilt.close()
    index.close()


def test_a_first_look_tells_how_far_it_is(tmp_path):
    for name in "abc":
        (tmp_path / f"{name}.md").write_text(name)
    told = []
    index = VaultIndex(tmp_path)
    index.refresh(lambda done, total: told.append((done, total)))
    assert told == [(0, 3), (1, 3), (2, 3)]
    index.refresh(lambda done, total: told.append((done, total)))
    assert len(told) == 3
    index.close()


def test_a_note_that_is_read_with_other_links_is_evidence_of_more_that_changed(vault, index):
    vault({"a.md": "[[b]]", "b.md": "", "c.md": "[[b]]"})
    index.refresh()
    index._next_look = float("inf")  # as if a look at this vault took long
    vault({"a.md": "[[new]]", "new.md": "N", "d.md": "[[b]]"})
    assert index.backlinks("b.md") == ("a.md", "c.md")
    index.read("a.md")
    assert [resolved.path for _, resolved in index.links("a.md")] == ["new.md"]
    assert index.backlinks("b.md") == ("c.md", "d.md")


def _settled(vault, files):
    vault(files)
    for path in files:
        os.utime(vault.root / path, (1, 1))


def test_lengths_and_measures_of_many_notes_ask_for_no_note_twice(vault, index, monkeypatch):
    paths = [f"f/n{number:04}.md" for number in range(1_100)]
    _settled(vault, {path: f"# H\n{number}" for number, path in enumerate(paths)} | {"p.png": "x"})
    index.refresh()
    index.is_watched = True
    asked = []
    entry = IndexStore.entry
    monkeypatch.setattr(
        IndexStore, "entry", lambda store, path: asked.append(path) or entry(store, path)
    )
    assert index.lengths(paths) == [len(f"# H\n{number}") for number in range(1_100)]
    for _ in range(2):
        assert set(index.measured(paths, "headings", lambda o: len(o.headings))) == {1}
    assert index.files_below("f") == paths
    assert asked == []
    vault({paths[7]: "# H\n# I\n"})
    index.update([paths[7]])
    assert index.measured(paths[6:9], "headings", lambda o: len(o.headings)) == [1, 2, 1]
    assert index.lengths(paths[7:8]) == [8]
    assert set(asked) == {paths[7]}


def test_what_is_no_text_has_no_length_and_is_not_opened_again(vault, index):
    vault({"a.md": "x"})
    (vault.root / "p.png").write_bytes(b"\0")
    index.refresh()
    index.is_watched = True
    assert index.lengths(["p.png", "a.md", "gone.md"]) == [None, 1, None]
    (vault.root / "p.png").write_text("text now, but nobody told")
    assert index.lengths(["p.png"]) == [None]
    index.update(["p.png"])
    assert index.lengths(["p.png"]) == [25]
