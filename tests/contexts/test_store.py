import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smart_context.base.disk import folders
from smart_context.base.errors import StoreFailed
from smart_context.contexts import ContextOptions, SmartContexts, Snapshot
from smart_context.contexts.as_a_library import library_documents
from smart_context.storage.names import name_of
from tests.chat.made_documents import put
from tests.folding_folders import FoldingFolder


def test_a_context_is_stored_under_its_key(vault):
    contexts = vault({"a.md": "x"})
    opts = {"link_depth": 2, "templates": {0: {"before": "["}}, "excluded_headings": ["x"]}
    made = contexts.create({"a.md": True}, key="My ctx", context_opts=opts)
    stored = json.loads((vault.root / ".memory/contexts/My ctx.json").read_text())
    assert stored["context_items"] == {"a.md": True}
    again = SmartContexts(vault.root).get("My ctx")
    assert again.key == made.key == "My ctx"
    assert again.context_items == {"a.md": True}
    assert again.options() == made.options()
    assert again.options().link_depth == 2
    assert contexts.keys() == ["My ctx"]
    assert contexts.delete("My ctx") is True
    assert contexts.delete("My ctx") is False
    assert contexts.get("My ctx") is None
    assert contexts.keys() == []


def test_without_a_key_it_is_that_of_the_items(vault):
    contexts = vault({})
    first = contexts.create({"a.md": True})
    assert contexts.create({"a.md": True}).key == first.key
    assert contexts.create({"b.md": True}).key != first.key
    assert contexts.keys() == sorted(contexts.keys())
    assert len(contexts.keys()) == 2


_KEYS = st.text(min_size=1, max_size=15) | st.sampled_from(
    ["../x", ".", "..", "a/b", "a\\b", "%2F", "CONE"]
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(min_size=1, max_size=15)
    | st.sampled_from(["../x", ".", "..", "a/b", "a\\b", "%2F", "CONE"])
)
def test_any_key_stays_in_its_folder(tmp_path, key):
    contexts = SmartContexts(tmp_path)
    contexts.create({}, key=key)
    assert [path.parent for path in tmp_path.rglob("*.json")] == [tmp_path / ".memory/contexts"]
    stored = key.encode("utf-8", "replace").decode()
    assert contexts.keys() == [stored]
    assert contexts.get(key).key == key
    assert contexts.delete(key)


@pytest.mark.parametrize("alike", ["Ctx", "CTX"])
def test_a_key_that_differs_from_anothers_in_case_alone_is_refused(vault, alike):
    contexts = vault({})
    contexts.create({"a.md": True}, key="ctx")
    with pytest.raises(ValueError, match="there is a context 'ctx'"):
        contexts.create({"b.md": True}, key=alike)
    assert contexts.get(alike) is None
    assert contexts.create({"c.md": True}, key="ctx").context_items == {"c.md": True}
    assert contexts.keys() == ["ctx"]


@pytest.mark.parametrize("key", ["CON", "aux", "nul.txt", "COM1", "lpt\xb9", "Prn .md", "conin$"])
def test_the_name_of_a_device_is_refused_but_one_that_is_there_stays(vault, key):
    contexts = vault({})
    with pytest.raises(ValueError, match="for a device; choose another"):
        contexts.create({"a.md": True}, key=key)
    assert contexts.keys() == []
    put(vault.root / f".memory/contexts/{name_of(key)}.json", b'{"context_items": {"a.md": true}}')
    assert contexts.get(key).context_items == {"a.md": True}
    assert contexts.create({"b.md": True}, key=key).context_items == {"b.md": True}


def test_a_context_is_found_by_its_own_name_alone_where_the_file_system_folds_case(
    vault, monkeypatch
):
    contexts = vault({})
    contexts.create({"a.md": True}, key="ctx")
    monkeypatch.setattr(folders, "Folder", FoldingFolder)
    assert contexts.get("Ctx") is None
    assert contexts.delete("Ctx") is False
    documents = library_documents(vault.root, vault.root / ".memory")
    for write in (documents.write, documents.add):
        with pytest.raises(StoreFailed, match="another spelling"):
            write("contexts", "Ctx", {})
    assert contexts.get("ctx").context_items == {"a.md": True}


def test_a_key_that_is_too_long_is_refused(vault):
    contexts = vault({})
    with pytest.raises(ValueError, match="shorter"):
        contexts.create({}, key="x" * 300)
    assert contexts.get("x" * 300) is None
    assert contexts.delete("x" * 300) is False
    assert contexts.get("") is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", id="cut off"),
        pytest.param("[" * 100_000, id="nested deep"),
        pytest.param("9" * 5_000, id="a number of 5,000 digits"),
    ],
)
def test_a_damaged_file_is_said_to_be_damaged(vault, text):
    contexts = vault({".memory/contexts/x.json": text})
    with pytest.raises(StoreFailed, match=r"x\.json"):
        contexts.get("x")
    assert contexts.keys() == ["x"]


def test_making_contexts_writes_nothing(tmp_path):
    SmartContexts(tmp_path / "not there").keys()
    assert list(tmp_path.iterdir()) == []


def test_the_memory_folder_can_be_moved(tmp_path):
    (tmp_path / "a.md").write_text("x")
    contexts = SmartContexts(tmp_path, memory_dir="memory")
    contexts.create({"a.md": True}, key="k")
    assert (tmp_path / "memory/contexts/k.json").exists()
    assert list(contexts.create({".": True}).get_snapshot().items[0]) == ["a.md"]


def test_compiling_takes_a_snapshot_of_its_own(vault):
    contexts = vault({"a.md": "hello"})
    compiled = contexts.create({"a.md": True}).compile(
        templates={0: {"before": "{{ITEM_PATH}} {{ITEM_TIME_AGO}}: "}}
    )
    assert compiled.context == "a.md just now: hello"


def test_a_snapshot_made_by_hand_may_name_anything(vault):
    context = vault({}).create({})
    snapshot = Snapshot(items={0: {"../x": "A", "\0": "B", "\ud800": "C"}})
    compiled = context.compile(snapshot, templates={0: {"after": "{{ITEM_TIME_AGO}}"}})
    assert compiled.context == "ABC"


@pytest.mark.parametrize(
    ("settings_", "own", "call", "expected"),
    [
        pytest.param({}, {}, {}, 0, id="the default"),
        pytest.param({"link_depth": 1}, {}, {}, 1, id="the collection's"),
        pytest.param({"link_depth": 1}, {"link_depth": 2}, {}, 2, id="the item's"),
        pytest.param({"link_depth": 1}, {"link_depth": 2}, {"link_depth": 3}, 3, id="the call's"),
        pytest.param(
            {"link_depth": 1}, {"link_depth": None}, {"link_depth": None}, 1, id="None is not set"
        ),
        pytest.param({"link_depth": 1}, {"link_depth": 2}, {"link_depth": 0}, 0, id="0 is set"),
        pytest.param({"link_depth": 1}, {}, {"link_depth": False}, 0, id="False is set, too"),
    ],
)
def test_which_option_wins(vault, settings_, own, call, expected):
    context = vault({}, **settings_).create({}, context_opts=own)
    assert context.options(call).link_depth == expected


def test_a_calls_options_may_be_a_mapping(vault):
    context = vault({"a.md": "abcdef"}).create({"a.md": True})
    options = {"max_len": 3, "templates": {"0": {"before": "<"}}}
    before = copy.deepcopy(options)
    assert context.get_snapshot(options) == context.get_snapshot(**options)
    assert context.get_snapshot(None).items == context.get_snapshot(opts={}).items
    assert context.compile(None, options).context == "<ab"
    assert context.compile(context.get_snapshot(), opts=options, max_len=4).context == "<abc"
    assert options == before


def test_a_snapshot_kept_as_json_has_its_templates(vault):
    context = vault({}).create({}, context_opts={"templates": {10: {"before": "|"}}})
    assert context.compile(Snapshot(items={"10": {"b": "B"}, "2": {"a": "A"}})).context == "A|B"


def test_templates_are_replaced_by_depth_and_headings_as_a_whole(vault):
    outer = {0: {"before": "a", "after": "b"}, 1: {"before": "c"}}
    context = vault({}, templates=outer, excluded_headings=["x"], inlinks=True).create(
        {}, context_opts={"templates": {"0": {"before": "d"}}, "excluded_headings": []}
    )
    options = context.options({"inlinks": False, "templates": {1: None}})
    assert {depth: (t.before, t.after) for depth, t in options.templates.items()} == {
        0: ("d", ""),
        1: ("c", ""),
    }
    assert options.excluded_headings == ()
    assert options.inlinks is False


@pytest.mark.parametrize(
    "changes",
    [
        {"link_depth": -1},
        {"max_len": -1},
        {"link_depth": True},
        {"link_depth": "1"},
        {"max_len": 1.5},
        {"inlinks": "yes"},
        {"order": "random"},
        {"excluded_headings": "x"},
        {"excluded_headings": [1]},
        {"templates": []},
        {"templates": {"x": {}}},
        {"templates": {-2: {}}},
        {"templates": {0: "x"}},
        {"templates": {0: {"during": "x"}}},
        {"templates": {0: {"before": 1}}},
    ],
    ids=str,
)
def test_a_wrong_value_is_named(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        ContextOptions().override(changes)


def test_an_unknown_option_is_named(vault):
    with pytest.raises(TypeError, match="depht"):
        vault({}).create({}).get_snapshot(depht=1)


def test_what_killed_writers_left_goes_with_the_next_context(vault):
    contexts = vault({"a.md": "x"})
    left = put(contexts.root / ".memory/contexts/.k.json.00000001.tmp", b"half", age_s=4000)
    contexts.create({"a.md": True}, key="k")
    assert not left.exists()
    assert contexts.keys() == ["k"]
