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
