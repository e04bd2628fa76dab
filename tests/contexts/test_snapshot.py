import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smart_context.contexts import SmartContexts
from smart_context.vault.index.vault_index import VaultIndex


def _items(contexts, *names, **opts):
    snapshot = contexts.create(dict.fromkeys(names, True)).get_snapshot(**opts)
    return {depth: list(texts) for depth, texts in snapshot.items.items()}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        pytest.param(["b.md", "a.md"], ["b.md", "a.md"], id="notes, as listed"),
        pytest.param(["sub/"], ["sub/c.md", "sub/deep/d.txt"], id="a folder, sorted"),
        pytest.param(["sub"], ["sub/c.md", "sub/deep/d.txt"], id="without its slash"),
        pytest.param(["sub/", "sub/c.md"], ["sub/c.md", "sub/deep/d.txt"], id="each once"),
        pytest.param(["."], ["a.md", "b.md", "sub/c.md", "sub/deep/d.txt"], id="the vault"),
        pytest.param(["a"], ["a.md"], id="a note without .md"),
        pytest.param(["a.md#One"], ["a.md#One"], id="a heading"),
        pytest.param(["a#One"], ["a.md#One"], id="a heading without .md"),
        pytest.param(["a.md#^blk"], ["a.md#^blk"], id="a block"),
        pytest.param(["a.md#One", "a.md"], ["a.md"], id="a part goes with its whole"),
        pytest.param(
            ["a.md#One", "."], ["a.md", "b.md", "sub/c.md", "sub/deep/d.txt"], id="or folder"
        ),
        pytest.param(["a.md#One", "a.md#^blk"], ["a.md#One", "a.md#^blk"], id="two parts"),
    ],
)
def test_items_stand_for(vault, names, expected):
    contexts = vault(
        {
            "a.md": "# One\nx\n# Two\nend ^blk\n",
            "b.md": "b",
            "sub/c.md": "c",
            "sub/deep/d.txt": "d",
            ".hidden/x.md": "x",
            "ignored.md": "x",
            ".gitignore": "ignored.md",
        },
        order="listed",
    )
    (vault.root / "sub/bin.md").write_bytes(b"\0")
    assert _items(contexts, *names) == {0: expected}


def test_a_part_is_its_text(vault):
    contexts = vault({"a.md": "# One\nx\n## Sub\ny\n# Two\nend ^blk\n"})
    snapshot = contexts.create({"a.md#One": True, "a.md#^blk": True}).get_snapshot()
    assert snapshot.items[0] == {"a.md#One": "# One\nx\n## Sub\ny\n", "a.md#^blk": "end ^blk"}


def test_a_number_sign_in_a_name_is_no_part(vault):
    contexts = vault({"C# notes.md": "x", "C# notes.md#1.md": "y"})
    assert _items(contexts, "C# notes.md", "C# notes.md#1") == {
        0: ["C# notes.md", "C# notes.md#1.md"]
    }


def test_what_is_not_there_is_listed(vault):
    contexts = vault({"a.md": "x"})
    (vault.root / "bin.md").write_bytes(b"\0")
    (vault.root / "out.md").symlink_to("/etc/passwd")
    names = [
        "no.md",
        "a.md#no",
        "a.md#^no",
        "../x",
        "/etc/passwd",
        "out.md",
        "a\0",
        "bin.md",
        "\ud800",
    ]
    snapshot = contexts.create(dict.fromkeys(names, True)).get_snapshot()
    assert sorted(snapshot.missing_items) == sorted(names)
    assert snapshot.items == {}


@pytest.mark.parametrize("names", [["f/", "f/bin.md"], ["f/bin.md", "f/"]])
def test_what_is_asked_for_by_name_is_missed_also_when_its_folder_is_listed(vault, names):
    contexts = vault({"f/a.md": "x"})
    (vault.root / "f/bin.md").write_bytes(b"\0")
    snapshot = contexts.create(dict.fromkeys(names, True)).get_snapshot()
    assert (snapshot.items, snapshot.missing_items) == ({0: {"f/a.md": "x"}}, ["f/bin.md"])


def test_what_is_flagged_off_does_not_count(vault):
    contexts = vault({"a.md": "x"})
    snapshot = contexts.create({"a.md": False, "no.md": 0}).get_snapshot()
    assert (snapshot.items, snapshot.missing_items) == ({}, [])


def test_an_explicit_note_may_be_ignored_elsewhere(vault):
    assert _items(vault({"a.md": "x", ".gitignore": "a.md"}), "a.md") == {0: ["a.md"]}


@pytest.mark.parametrize(
    ("lengths", "max_len", "order", "stored", "truncated", "skipped"),
    [
        pytest.param([26], 10, "shortest", {"n0.md": 10}, ["n0.md"], [], id="cut to the room"),
        pytest.param(
            [80, 70, 9],
            100,
            "shortest",
            {"n2.md": 9, "n1.md": 70},
            [],
            ["n0.md"],
            id="shortest first",
        ),
        pytest.param(
            [80, 70, 9],
            100,
            "listed",
            {"n0.md": 80, "n2.md": 9},
            [],
            ["n1.md"],
            id="as listed; smaller ones are tried",
        ),
        pytest.param([5, 5], 10, "shortest", {"n0.md": 5, "n1.md": 5}, [], [], id="exactly full"),
        pytest.param(
            [0, 20],
            10,
            "shortest",
            {"n0.md": 0, "n1.md": 10},
            ["n1.md"],
            [],
            id="an empty note stores nothing",
        ),
        pytest.param([5, 5], 0, "shortest", {"n0.md": 5, "n1.md": 5}, [], [], id="no limit"),
    ],
)
def test_what_does_not_fit(vault, lengths, max_len, order, stored, truncated, skipped):
    files = {f"n{number}.md": "x" * length for number, length in enumerate(lengths)}
    snapshot = (
        vault(files, order=order, max_len=max_len).create(dict.fromkeys(files, True)).get_snapshot()
    )
    assert {key: len(text) for key, text in snapshot.items[0].items()} == stored
    assert list(snapshot.items[0]) == list(stored)
    assert snapshot.truncated_items == truncated
    assert snapshot.skipped_items == skipped
    assert snapshot.total_char_count == sum(stored.values())
    assert snapshot.lengths == {f"n{n}.md": length for n, length in enumerate(lengths)}


_LINKED = {
    "a.md": "[[b]] [[c]]",
    "b.md": "to [[d]] and [[a]]",
    "c.md": "to [[d]]",
    "d.md": "the end, [[b]]",
    "in.md": "it says [[a]]",
    "in2.md": "also [[a]]",
}


@pytest.mark.parametrize(
    ("opts", "expected"),
    [
        pytest.param({}, {0: ["a.md"]}, id="no links"),
        pytest.param({"link_depth": 1}, {0: ["a.md"], 1: ["b.md", "c.md"]}, id="one deep"),
        pytest.param(
            {"link_depth": 9}, {0: ["a.md"], 1: ["b.md", "c.md"], 2: ["d.md"]}, id="cycles end"
        ),
        pytest.param(
            {"link_depth": 1, "inlinks": True},
            {0: ["a.md"], 1: ["b.md", "c.md", "in.md", "in2.md"]},
            id="links to it come after",
        ),
        pytest.param(
            {"link_depth": 1, "inlinks": True, "max_links_per_item": 3},
            {0: ["a.md"], 1: ["b.md", "c.md", "in.md"]},
            id="capped together",
        ),
    ],
)
def test_links_are_followed(vault, opts, expected):
    assert _items(vault(_LINKED), "a.md", order="listed", **opts) == expected


@pytest.mark.parametrize(
    ("text", "opts", "expected"),
    [
        pytest.param("x [[b]] [[c]]", {"max_len": 8}, ["b.md"], id="only links that are in"),
        pytest.param(
            "# S\n[[b]]\n# T\n[[c]]",
            {"excluded_headings": ["s"]},
            ["b.md", "c.md"],
            id="links in what is left out",
        ),
        pytest.param(
            "# S\n[[b]]\n# T\n[[c]]",
            {"excluded_headings": ["s"], "follow_links_in_excluded": False},
            ["c.md"],
            id="or not",
        ),
        pytest.param(
            "[[pic.png]] [[none]] [[a#T]] [[b|c]]", {}, ["b.md"], id="only to other texts"
        ),
        pytest.param("[b](b.md) ![[c]]", {}, ["b.md", "c.md"], id="Markdown and embeds"),
    ],
)
def test_of_a_text_the_links_that_count(vault, text, opts, expected):
    contexts = vault({"a.md": text, "b.md": "", "c.md": ""})
    (vault.root / "pic.png").write_bytes(b"\0")
    snapshot = contexts.create({"a.md": 1}).get_snapshot(link_depth=1, order="listed", **opts)
    assert list(snapshot.items[1]) == expected


def test_of_a_part_only_its_links_count(vault):
    contexts = vault({"a.md": "# S\n[[b]]\n# T\n[[c]]", "b.md": "", "c.md": ""}, link_depth=1)
    assert _items(contexts, "a.md#T") == {0: ["a.md#T"], 1: ["c.md"]}


def test_what_was_skipped_is_not_tried_again(vault):
    contexts = vault({"a.md": "[[big]] [[b]]", "b.md": "[[big]]", "big.md": "x" * 99})
    snapshot = contexts.create({"a.md": 1}).get_snapshot(link_depth=2, max_len=40)
    assert snapshot.skipped_items == ["big.md"]
    assert snapshot.items.keys() == {0, 1}


def test_an_ambiguous_name_is_reported(vault):
    contexts = vault({"a.md": "[[dup#H|x]] [[dup]]", "y/dup.md": "", "x/dup.md": ""}, link_depth=1)
    snapshot = contexts.create({"a.md": 1}).get_snapshot()
    assert snapshot.ambiguous_links == [("a.md", "dup", ["x/dup.md", "y/dup.md"])]
    assert list(snapshot.items[1]) == ["x/dup.md"]


def test_excluded_headings_go_before_anything_is_measured(vault):
    text = "keep\n# Secret plan\nx\n## more\n# Open\ny\n# secret\nz"
    contexts = vault({"a.md": text}, excluded_headings=["SECRET*", "none", ""], max_len=20)
    snapshot = contexts.create({"a.md": 1}).get_snapshot()
    assert snapshot.items[0]["a.md"] == "keep\n# Open\ny\n"
    assert snapshot.exclusions == {"SECRET*": 2}
    assert snapshot.truncated_items == []


def test_a_snapshot_sees_what_changed(vault):
    contexts = vault(_LINKED, link_depth=1, inlinks=True)
    context = contexts.create({"d.md": 1})
    assert sorted(context.get_snapshot().items[1]) == ["b.md", "c.md"]
    vault({"c.md": "no more", "new.md": "[[d]]"})
    (vault.root / "b.md").rename(vault.root / "b2.md")
    assert sorted(context.get_snapshot().items[1]) == ["b2.md", "new.md"]


def test_what_is_skipped_is_never_read(vault, monkeypatch):
    contexts = vault({"a.md": "x [[big]] [[b]]", "b.md": "y", "big.md": "z" * 500})
    read = []
    original = VaultIndex.read
    contexts.index.read = lambda path: read.append(path) or original(contexts.index, path)
    context = contexts.create({"a.md": 1})
    context.get_snapshot(link_depth=1, max_len=50)
    assert read == ["a.md", "b.md"]


def test_a_note_that_vanishes_is_missing(vault):
    contexts = vault({"a.md": "[[b]]", "b.md": "y"}, link_depth=1)
    context = contexts.create({"a.md": 1})
    original = VaultIndex.read

    def vanishing(path):
        if path == "b.md":
            (vault.root / path).unlink()
        return original(contexts.index, path)

    contexts.index.read = vanishing
    snapshot = context.get_snapshot()
    assert list(snapshot.items) == [0]
    assert snapshot.missing_items == ["b.md"]


_BODIES = st.lists(
    st.sampled_from(
        ["[[n0]] ", "[[n1]] ", "[[n2]] ", "text ", "\n# H\n", "\n# X\n", "\n## H\n", "é"]
    ),
    max_size=6,
).map("".join)
_OPTS = st.fixed_dictionaries(
    {},
    optional={
        "max_len": st.integers(0, 60),
        "link_depth": st.integers(0, 3),
        "inlinks": st.booleans(),
        "order": st.sampled_from(["shortest", "listed"]),
        "excluded_headings": st.just(["h"]),
        "follow_links_in_excluded": st.booleans(),
        "max_links_per_item": st.integers(0, 2),
        "templates": st.just(
            {-1: {"before": "<", "after": "{{FILE_TREE}}"}, 0: {"before": "[{{ITEM_PATH}}"}}
        ),
    },
)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(_BODIES, min_size=1, max_size=4),
    st.lists(st.sampled_from(["n0.md", "n1.md", "n2", ".", "n0.md#H", "none"]), max_size=3),
    _OPTS,
    _OPTS,
)
def test_the_laws_of_snapshots(tmp_path_factory, bodies, names, own, call):
    root = tmp_path_factory.mktemp("vault")
    for number, body in enumerate(bodies):
        (root / f"n{number}.md").write_text(body)
    items = dict.fromkeys(names, True)
    given_values = copy.deepcopy((items, own, call))
    contexts = SmartContexts(root, own)
    context = contexts.create(items, context_opts=own)
    snapshot = context.get_snapshot(**call)
    options = context.options(call)
    frozen = copy.deepcopy(snapshot)
    compiled = context.compile(snapshot, **call)
    contexts.close()

    assert (items, own, call) == given_values
    assert snapshot == frozen
    stored = [key for texts in snapshot.items.values() for key in texts]
    assert len(stored) == len(set(stored))
    assert all(snapshot.items.values())
    assert snapshot.total_char_count == sum(
        len(text) for texts in snapshot.items.values() for text in texts.values()
    )
    assert not set(stored) & set(snapshot.skipped_items)
    assert len(snapshot.truncated_items) <= 1
    if options.max_len:
        assert snapshot.total_char_count <= options.max_len
        assert len(compiled.context) <= options.max_len
    assert compiled.stats.final_length == len(compiled.context)


def test_every_change_is_in_the_next_snapshot(vault):
    contexts = vault({"a.md": "", "hub.md": ""} | {f"more/{n}.md": "[[hub]]" for n in range(200)})
    context = contexts.create({"a.md": True})
    hub = contexts.create({"hub.md": True}, context_opts={"inlinks": True})
    for number in range(5):
        vault({"a.md": f"[[new{number}]] [[hub]]", f"new{number}.md": "N"})
        assert list(context.get_snapshot(link_depth=1).items[1]) == ["hub.md", f"new{number}.md"]
        vault({f"from{number}.md": "[[hub]]"})
        assert f"from{number}.md" in hub.get_snapshot(link_depth=1).items[1]
