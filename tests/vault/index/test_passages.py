import pytest

from smart_context.vault.index.passages import Passage, VaultPassages, passages_of
from smart_context.vault.index.vault_index import VaultIndex
from tests.vaults import kept_index


@pytest.fixture
def vault(tmp_path):
    (tmp_path / "garden.md").write_text(
        "---\ntags: x\n---\nGeneral.\n\n"
        "# Tomatoes\nWater them in the morning.\n\n# Roses\nPrune in March.\n"
    )
    (tmp_path / "travel.md").write_text("# Lisbon\nThe trams climb the hills.\n")
    (tmp_path / "读书.md").write_text("# 笔记\n番茄每天早上浇水。\n")
    (tmp_path / "binary.md").write_bytes(b"tomatoes\0")
    return tmp_path


def test_the_closest_passage_comes_first_with_its_source(vault):
    found = VaultPassages(VaultIndex(vault)).find("When should I prune the roses?", 1)
    assert found == [Passage("garden.md#Roses", "Prune in March.")]


def test_a_note_is_found_by_its_name_and_in_other_scripts(vault):
    passages = VaultPassages(VaultIndex(vault))
    assert (passages.find("travel", 3))[0].source == "travel.md#Lisbon"
    assert (passages.find("番茄浇水", 3))[0].source == "读书.md#笔记"


@pytest.mark.parametrize(("query", "limit"), [("", 3), ("zebra", 3), ("roses", 0), ("?!", 3)])
def test_there_may_be_nothing(vault, query, limit):
    assert VaultPassages(VaultIndex(vault)).find(query, limit) == []


def test_the_passages_follow_the_files(vault):
    passages = VaultPassages(VaultIndex(vault))
    assert passages.find("lisbon", 3)
    (vault / "travel.md").write_text("# Porto\nThe bridge is high, and so on.\n")
    (vault / "garden.md").unlink()
    assert passages.find("lisbon roses", 3) == []
    assert [passage.source for passage in passages.find("porto", 3)] == ["travel.md#Porto"]


def test_the_notes_with_most_of_the_words_come_first(vault):
    (vault / "both.md").write_text("roses and lisbon, and a lot of other words besides")
    passages = VaultPassages(VaultIndex(vault))
    found = passages.notes("roses lisbon", 5)
    assert [stamp[0] for stamp, _ in found] == ["both.md", "travel.md", "garden.md"]
    assert found[0][1] == 1.0
    assert all(0 < share < 1 for _, share in found[1:])
    assert [stamp[0] for stamp, _ in passages.notes("roses lisbon", 1)] == ["both.md"]
    assert passages.notes("zebra", 5) == passages.notes("", 5) == []


def test_many_changes_leave_no_dead_weight(vault):
    index = VaultIndex(vault)
    passages = VaultPassages(index)
    for turn in range(3):
        for number in range(600):
            (vault / f"n{number}.md").write_text(f"word{turn} " * (turn + 1))
        index.refresh()
        assert len(passages.find(f"word{turn}", 1_000)) == 40
    assert len(passages._stamps) < 1_500


def test_folders_can_be_left_out(vault):
    (vault / "memory").mkdir()
    (vault / "memory/roses.md").write_text("roses roses")
    found = VaultPassages(kept_index(vault, vault / "memory")).find("roses", 5)
    assert [passage.source for passage in found] == ["garden.md#Roses"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("# T\n\n## S\ntext", [("a.md#S", "text")], id="nothing below the first"),
        pytest.param("# T #\n", [], id="a heading alone"),
        pytest.param("Title\n===\nbelow\n\nTwo\n---", [("a.md#Title", "below")], id="underlined"),
        pytest.param(
            "---\nk: v\n---\n# T\nx\n# T\ny", [("a.md#T", "x"), ("a.md#T", "y")], id="twice"
        ),
        pytest.param("intro\n# T\n#tag", [("a.md", "intro"), ("a.md#T", "#tag")], id="a tag stays"),
        pytest.param("", [], id="empty"),
    ],
)
def test_a_passage_is_what_stands_below_its_heading(text, expected):
    assert passages_of("a.md", text) == [Passage(*passage) for passage in expected]


def test_a_long_section_is_cut_between_paragraphs():
    text = "# H\n" + "\n\n".join("x" * 700 for _ in range(3)) + "\n\n" + "y" * 4_000
    passages = passages_of("a.md", text)
    assert all(len(passage.text) <= 1_500 for passage in passages)
    assert {passage.source for passage in passages} == {"a.md#H"}
    assert sum(passage.text.count("x") for passage in passages) == 2_100
    assert sum(passage.text.count("y") for passage in passages) == 4_000
