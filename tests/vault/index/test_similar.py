"""Names that are near."""

import pytest

from smart_context.vault.markdown.links import similar_paths

PATHS = ["Kitchen/Sourdough.md", "Kitchen/Bread.md", "Trips/Japan.md", "plan.txt"]


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        pytest.param("Sourdoug", ["Kitchen/Sourdough.md"], id="a letter is missing"),
        pytest.param("other/JAPAN.md", ["Trips/Japan.md"], id="another folder and case"),
        pytest.param("Braed#Crust", ["Kitchen/Bread.md"], id="a heading"),
        pytest.param("Quantum", [], id="nothing is near"),
        pytest.param("", [], id="no name"),
    ],
)
def test_near_names_are_found(wanted, near):
    assert similar_paths(wanted, PATHS) == near


def test_at_most_so_many_are_named():
    assert len(similar_paths("note", [f"{n}/note{n}.md" for n in range(9)], most=2)) == 2
