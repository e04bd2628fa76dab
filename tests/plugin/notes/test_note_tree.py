from hypothesis import given
from hypothesis import strategies as st

from smart_context.plugin.notes.note_tree import NoteTree

names = st.sampled_from(["a", "b", "ä", "B c", "x.md", "Y.md"])
paths = st.lists(st.lists(names, min_size=1, max_size=5).map("/".join), unique=True, max_size=30)


def below(tree, folder=""):
    rows, total = tree.listing(folder, 0, 1_000)
    assert len(rows) == total
    for row in rows:
        if row.kind == "folder":
            files = list(below(tree, row.path))
            assert len(files) == row.files
            yield from files
        else:
            yield row.path


@given(paths)
def test_each_file_is_in_the_tree_once_and_folders_count_theirs(found):
    assert sorted(below(NoteTree(found))) == sorted(found)


@given(paths, st.integers(1, 4))
def test_pages_make_up_the_whole(found, size):
    tree = NoteTree(found)
    whole, total = tree.listing("", 0, 1_000)
    pages = [tree.listing("", at, size)[0] for at in range(0, total, size)]
    assert [row for page in pages for row in page] == whole


def test_a_search_takes_all_words_in_any_case_and_puts_names_first():
    tree = NoteTree(
        ["Solar/roof.md", "roof solar.md", "solar roof.md", "other.md", "sonne/Ärger.md"]
    )
    found, total = tree.search("solar ROOF", 0, 10)
    assert [row.path for row in found] == ["solar roof.md", "roof solar.md", "Solar/roof.md"]
    assert total == 3
    assert [row.path for row in tree.search("a\u0308rger", 0, 10)[0]] == ["sonne/Ärger.md"]
    assert tree.search("  ", 0, 10) == ([], 0)


def test_a_search_puts_what_begins_so_first_then_shorter_paths():
    tree = NoteTree(["x/tea.md", "tea/cup.md", "Green tea.md", "teapot.md", "x/y/tea.md"])
    found, total = tree.search("tea", 0, 10)
    assert [row.path for row in found] == [
        *("tea/", "x/tea.md", "teapot.md", "x/y/tea.md", "Green tea.md", "tea/cup.md")
    ]
    assert total == 6
    page, total = tree.search("tea", 1, 2)
    assert ([row.path for row in page], total) == (["x/tea.md", "teapot.md"], 6)
    assert tree.search("coffee", 0, 10) == ([], 0)
    assert tree.search("tea", 0, 10) == (found, 6)


def test_rows_tell_what_they_are():
    tree = NoteTree(["b/c/Note.MD", "b/d.txt", "a.md"])
    rows, total = tree.listing("", 0, 10)
    assert [row.to_dict() for row in rows] == [
        {"path": "b/", "name": "b", "kind": "folder", "files": 2},
        {"path": "a.md", "name": "a", "kind": "note"},
    ]
    assert total == 2
    assert [row.to_dict() for row in tree.listing("b/", 0, 10)[0]] == [
        {"path": "b/c/", "name": "c", "kind": "folder", "files": 1},
        {"path": "b/d.txt", "name": "d.txt", "kind": "file"},
    ]
    assert tree.listing("b/c/", 0, 10)[0][0].name == "Note"
    assert tree.listing("gone/", 0, 10) == ([], 0)


def test_rows_of_a_folder_are_sorted_by_name_whatever_their_case():
    tree = NoteTree(["B/1", "A/1", "a/1", "ä/1", "C.md", "B.md", "b.md"])
    assert [row.path for row in tree.listing("", 0, 10)[0]] == [
        *("A/", "a/", "B/", "ä/", "B.md", "b.md", "C.md")
    ]
    page, total = tree.listing("", 3, 2)
    assert ([row.path for row in page], total) == (["ä/", "B.md"], 7)
    below = NoteTree(["x/B/X/1", "x/a/X/1", "x/D.md", "x/c.md"])
    assert [row.path for row in below.listing("x/", 0, 10)[0]] == [
        *("x/a/", "x/B/", "x/c.md", "x/D.md")
    ]
    assert [row.name for row in below.listing("x/B/", 0, 10)[0]] == ["X"]
    assert [row.path for row in NoteTree(["bX", "b1"]).listing("", 0, 10)[0]] == ["b1", "bX"]


def test_a_tree_holds_its_files_and_folders():
    tree = NoteTree(["b/c.md", "d.md"])
    held = ["", "b/", "b/c.md", "d.md"]
    assert [name for name in (*held, "b", "c.md", "a", "z", "b/c.md/") if tree.holds(name)] == held


def test_files_that_hold_no_text_are_not_offered():
    assert NoteTree(["a.PNG", "b.tar.gz", "c.md", "png", "d.pdf.md"]).paths == [
        "c.md",
        "d.pdf.md",
        "png",
    ]


def test_a_very_deep_folder_is_no_trouble():
    deep = "/".join("d" * 2_000) + "/note.md"
    tree = NoteTree([deep])
    assert tree.listing("", 0, 10)[0][0].files == 1
    assert tree.holds(deep)
    assert tree.holds("d/d/")
    assert not tree.holds("d/e/")


def test_files_to_attach_are_found_with_images_and_without_folders():
    tree = NoteTree(["Trip/map.png", "Trip/trip.md", "Trip/trip.mp4", "Trip/Plan.PDF", "a.md"])

    assert [row.path for row in tree.find_files("trip", 0, 9)[0]] == [
        "Trip/trip.md",
        "Trip/map.png",
        "Trip/Plan.PDF",
    ]
    assert [row.path for row in tree.find_files("plan", 0, 9)[0]] == ["Trip/Plan.PDF"]
    assert tree.find_files("", 0, 9) == ([], 0)
    assert tree.search("plan", 0, 9) == ([], 0)
