import pytest

from smart_context.packing.sections.section_names import HEADINGS, SECTION_KEYS, section_order

DEFAULT = (
    "target_file",
    "git_diff",
    "unstaged_diff",
    "changed_files",
    "imports",
    "related",
    "files",
    "tree",
)


@pytest.mark.parametrize(
    ("named", "first"),
    [
        pytest.param([], (), id="none"),
        pytest.param(["tree", "files"], ("tree", "files"), id="two"),
        pytest.param(["tree", "tree"], ("tree",), id="one twice"),
        pytest.param(["nonsense", "system_prompt", "always_include"], (), id="no sections"),
        pytest.param(["$TARGET", "Git Diff"], ("target_file", "git_diff"), id="as spoken"),
        pytest.param(["git diff --cached", "$RELATED"], ("git_diff", "related"), id="as included"),
        pytest.param(["target_files", "$TARGET_IMPORTS"], ("target_file", "imports"), id="plural"),
    ],
)
def test_named_sections_come_first_and_the_others_in_the_default_order(named, first):
    assert section_order(named) == (*first, *(key for key in DEFAULT if key not in first))


def test_every_section_has_a_heading():
    assert SECTION_KEYS == DEFAULT
    assert set(HEADINGS) == {*DEFAULT, "always_include"}
