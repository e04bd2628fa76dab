import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.contexts import ContextOptions, Snapshot
from smart_context.contexts.render import file_tree, path_of, render, time_ago

_SEED_TEMPLATES = {
    "-1": {"before": "All-Start\n", "after": "\nAll-End"},
    "0": {"before": "[PRIMARY:", "after": ":END_PRIMARY]"},
    "1": {"before": "[SECONDARY:", "after": ":END_SECONDARY]"},
}


def _render(items, **options):
    return render(Snapshot(items=items), ContextOptions().override(options), now=1e9)


def test_the_seeds_example():
    compiled = _render({1: {"y": "B"}, 0: {"x": "A"}}, templates=_SEED_TEMPLATES)
    assert compiled.context == (
        "All-Start\n[PRIMARY:A:END_PRIMARY][SECONDARY:B:END_SECONDARY]\nAll-End"
    )
    assert compiled.stats.final_length == 68
    assert compiled.stats.depth_count == 2


@pytest.mark.parametrize(
    ("max_len", "expected", "truncated", "skipped"),
    [
        pytest.param(0, "<[aaaa][bb]>", [], [], id="no limit"),
        pytest.param(12, "<[aaaa][bb]>", [], [], id="all fits"),
        pytest.param(11, "[aaaa][bb]", [], [], id="the outer wrap is dropped"),
        pytest.param(9, "[aaaa][b]", ["b"], [], id="a text is cut"),
        pytest.param(8, "<[aaaa]>", [], ["b"], id="a template alone does not fit"),
        pytest.param(5, "[aaa]", ["a"], ["b"], id="the first is cut"),
        pytest.param(2, "<>", [], ["a", "b"], id="nothing fits"),
        pytest.param(1, "", [], ["a", "b"], id="nothing at all"),
    ],
)
def test_the_text_fits(max_len, expected, truncated, skipped):
    templates = {-1: {"before": "<", "after": ">"}, 0: {"before": "[", "after": "]"}}
    compiled = _render({0: {"a": "aaaa", "b": "bb"}}, max_len=max_len, templates=templates)
    assert compiled.context == expected
    assert compiled.stats.truncated_items == truncated
    assert compiled.stats.skipped_items == skipped


def test_what_the_snapshot_left_out_is_counted():
    snapshot = Snapshot(items={0: {"a": "aaaa"}}, truncated_items=["a"], skipped_items=["b"])
    assert render(snapshot, ContextOptions()).stats.truncated_items == ["a"]
    stats = render(
        snapshot, ContextOptions().override({"max_len": 1, "templates": {0: {"before": "[["}}})
    ).stats
    assert (stats.truncated_items, stats.skipped_items) == ([], ["b", "a"])


def test_variables_are_filled():
    before = "{{ITEM_PATH}}|{{ITEM_NAME}}|{{ITEM_EXT}}|{{ITEM_DEPTH}}|{{ITEM_TIME_AGO}}|{{OTHER}}|"
    snapshot = Snapshot(items={2: {"n/a.md#H": "x"}})
    options = ContextOptions().override({"templates": {2: {"before": before}}})
    compiled = render(snapshot, options, modified={"n/a.md#H": 1e9 - 3 * 86_400}, now=1e9)
    assert compiled.context == "n/a.md#H|a.md|md|2|3 days ago|{{OTHER}}|x"


def test_values_are_literal():
    key = r"$& \1 {{ITEM_DEPTH}}.md"
    compiled = _render({0: {key: "{{ITEM_PATH}}"}}, templates={0: {"before": "{{ITEM_PATH}}:"}})
    assert compiled.context == key + ":{{ITEM_PATH}}"


def test_the_tree_shows_what_is_in():
    compiled = _render(
        {0: {"b.md#H": "x", "n/c.md": "", "n/m/d.md": "", "a.md": "yy"}, 1: {"b.md#^k": "z"}},
        templates={-1: {"after": "\n{{FILE_TREE}}"}},
    )
    assert compiled.context.split("\n")[1:] == [
        "├── n/",
        "│   ├── m/",
        "│   │   └── d.md",
        "│   └── c.md",
        "├── a.md",
        "└── b.md",
    ]


def test_a_tree_may_be_deep():
    assert file_tree(["a/" * 1_000 + "b"]).count("\n") == 1_000


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-5, "just now"),
        (0.9, "just now"),
        (1, "1 second ago"),
        (119, "1 minute ago"),
        (7200, "2 hours ago"),
        (3 * 86_400, "3 days ago"),
        (40 * 86_400, "1 month ago"),
        (800 * 86_400, "2 years ago"),
    ],
)
def test_a_span_in_words(seconds, expected):
    assert time_ago(seconds) == expected


def test_the_path_of_a_part():
    assert path_of("a/b.md#H#I") == "a/b.md"
    assert path_of("C# notes.md") == "C# notes.md"


_TEXTS = st.text("ab{}", max_size=6)
_DEPTH = st.dictionaries(st.text("ab/", max_size=4), _TEXTS, max_size=3)
_TEMPLATE = st.fixed_dictionaries({}, optional={"before": _TEXTS, "after": _TEXTS})


@given(
    st.dictionaries(
        st.integers(0, 3), st.dictionaries(st.text("ab/", max_size=4), _TEXTS, max_size=3)
    ),
    st.dictionaries(st.integers(-1, 3), _TEMPLATE),
    st.integers(1, 40),
)
def test_the_text_is_never_too_long(items, templates, max_len):
    compiled = _render(items, templates=templates, max_len=max_len)
    assert len(compiled.context) <= max_len
    assert compiled.stats.final_length == len(compiled.context)
