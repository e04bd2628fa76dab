import pytest

from smart_context.vault.markdown.links import NoteNames, Resolution, fold, keys_of, link_key

_PATHS = [
    "a.md",
    "sub/a.md",
    "sub/b.md",
    "x/dup.md",
    "y/z/dup.md",
    "yy/dup.md",
    "sub/pic.png",
    "v1.2.md",
    "Case.md",
    "case/Case.md",
    "deep/er/Note.md",
    "caf\u00e9.md",
]


@pytest.mark.parametrize(
    ("target", "source", "expected"),
    [
        pytest.param("sub/a.md", "x/dup.md", "sub/a.md", id="the exact path"),
        pytest.param("sub/a", "x/dup.md", "sub/a.md", id="the path plus .md"),
        pytest.param("a", "sub/b.md", "a.md", id="the path comes before the folder"),
        pytest.param("b", "sub/a.md", "sub/b.md", id="the same folder"),
        pytest.param("b", "a.md", "sub/b.md", id="a name anywhere"),
        pytest.param("pic.png", "a.md", "sub/pic.png", id="a file that is no note"),
        pytest.param("v1.2", "a.md", "v1.2.md", id="a dot in the name"),
        pytest.param("er/Note", "a.md", "deep/er/Note.md", id="the end of a path"),
        pytest.param("r/Note", "a.md", None, id="not half a folder's name"),
        pytest.param("CASE", "a.md", "Case.md", id="in any case"),
        pytest.param("cafe\u0301", "a.md", "caf\u00e9.md", id="however accents are composed"),
        pytest.param("#H", "a.md", "a.md", id="the note itself"),
        pytest.param("b#H", "a.md", "sub/b.md", id="a part"),
        pytest.param("./b", "sub/a.md", "sub/b.md", id="relative to the folder"),
        pytest.param("../a.md", "sub/b.md", "a.md", id="one up"),
        pytest.param("../../a.md", "sub/b.md", None, id="not out of the vault"),
        pytest.param("/sub/b", "x/dup.md", "sub/b.md", id="from the vault"),
        pytest.param("./dup", "a.md", None, id="relative is by the letter"),
        pytest.param("none", "a.md", None, id="nowhere"),
    ],
)
def test_a_link_leads_to(target, source, expected):
    assert NoteNames(_PATHS).resolve(target, source) == Resolution(expected)


def test_of_several_the_shortest_path_is_taken_and_all_are_named():
    assert NoteNames(_PATHS).resolve("dup", "a.md") == Resolution(
        "x/dup.md", ("x/dup.md", "yy/dup.md", "y/z/dup.md")
    )


def test_ties_are_broken_by_the_alphabet():
    assert NoteNames(["c/n.md", "b/n.md"]).resolve("n", "a.md").path == "b/n.md"


def test_the_same_folder_decides_between_several():
    assert NoteNames(_PATHS).resolve("dup", "yy/other.md") == Resolution("yy/dup.md")


def test_names_that_differ_in_case_alone_are_told_apart():
    names = NoteNames(["A.md", "a.md"])
    assert names.resolve("A", "x.md").path == "A.md"
    assert names.resolve("a", "x.md").path == "a.md"


def test_what_comes_and_goes_is_known():
    names = NoteNames(["x/n.md"])
    assert names.resolve("n", "a.md").path == "x/n.md"
    names.add("n.md")
    assert names.resolve("n", "a.md").path == "n.md"
    names.discard("n.md")
    assert names.resolve("n", "a.md") == Resolution("x/n.md")
    names.add("w/n.md")
    assert names.resolve("n", "a.md").path == "w/n.md"
    names.discard("gone.md")


def test_a_link_and_its_file_share_a_key():
    assert link_key("Folder/Note#H") in keys_of("folder/NOTE.md")
    assert link_key("note.md") in keys_of("Note.md")
    assert keys_of("a.png") == ("a.png",)
    assert fold("CAFE\u0301") == fold("caf\u00e9")
