"""The options of a context: what is taken, what is refused, and what is kept."""

import pytest

from smart_context.contexts.options import ContextOptions, Template, stored_options

PLAIN = ContextOptions()


@pytest.mark.parametrize(
    ("name", "given", "taken"),
    [
        ("link_depth", 2, 2),
        ("link_depth", False, 0),
        ("max_len", 0, 0),
        ("max_links_per_item", 5, 5),
        ("inlinks", 1, True),
        ("follow_links_in_excluded", False, False),
        ("expand_embeds", True, True),
        ("excluded_headings", ["A", "B*"], ("A", "B*")),
        ("excluded_headings", (), ()),
        ("order", "listed", "listed"),
        ("templates", {"-1": {"before": "<"}}, {-1: Template("<", "")}),
        ("templates", {0: {"after": ">", "before": None}}, {0: Template("", ">")}),
        ("templates", {2: Template("a", "b"), 3: None}, {2: Template("a", "b")}),
    ],
)
def test_an_option_is_taken(name, given, taken):
    options = PLAIN.override({name: given})
    value = getattr(options, name)
    assert (dict(value) if name == "templates" else value) == taken
    assert type(value) is type(getattr(PLAIN, name))


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("link_depth", -1, "a whole number of 0 or more, found -1"),
        ("link_depth", True, "a whole number of 0 or more, found True"),
        ("max_len", 2.5, "a whole number of 0 or more, found 2.5"),
        ("inlinks", "yes", "true or false, found 'yes'"),
        ("excluded_headings", "A", "a list of patterns, found 'A'"),
        ("excluded_headings", ["A", 5], "a list of patterns, found ['A', 5]"),
        ("order", "longest", "'shortest' or 'listed', found 'longest'"),
        ("order", ["listed"], "'shortest' or 'listed', found ['listed']"),
        ("templates", [], "templates by depth, found []"),
        ("templates", {"x": {}}, "a depth of -1 or more, found 'x'"),
        ("templates", {-2: {}}, "a depth of -1 or more, found -2"),
        ("templates", {1.0: {}}, "a depth of -1 or more, found 1.0"),
        ("templates", {0: "x"}, "{'before': …, 'after': …}, found 'x'"),
        ("templates", {0: {"middle": "x"}}, "{'before': …, 'after': …}, found {'middle': 'x'}"),
        ("templates", {0: {"before": 5}}, "{'before': …, 'after': …}, found {'before': 5}"),
    ],
)
def test_a_value_of_another_kind_is_refused_by_name(name, given, expected):
    with pytest.raises(ValueError, match="expected") as refused:
        PLAIN.override({name: given})
    assert str(refused.value) == f"{name}: expected {expected}"


def test_an_unknown_option_is_answered_by_those_that_there_are():
    with pytest.raises(TypeError, match="no option 'depth'; there are excluded_headings, expand_"):
        PLAIN.override({"depth": 1})


@pytest.mark.parametrize("changes", [None, {}, {"link_depth": None, "templates": None}])
def test_nothing_overrides_nothing(changes):
    assert PLAIN.override(changes) is PLAIN
    assert stored_options(changes) == {}


def test_templates_are_overridden_depth_by_depth_and_headings_as_a_whole():
    options = PLAIN.override({"templates": {0: Template("a"), 1: Template("b")}})
    more = options.override({"templates": {1: Template("c")}, "excluded_headings": ["A"]})
    assert dict(more.templates) == {0: Template("a"), 1: Template("c")}
    assert more.override({"excluded_headings": ["B"]}).excluded_headings == ("B",)
    assert dict(options.templates) == {0: Template("a"), 1: Template("b")}


def test_what_is_stored_is_what_was_set_and_gives_the_same_options():
    changes = {
        "templates": {"0": {"before": "<"}},
        "excluded_headings": ("A",),
        "inlinks": 1,
        "max_len": None,
    }
    stored = stored_options(changes)
    assert stored == {
        "templates": {"0": {"before": "<", "after": ""}},
        "excluded_headings": ["A"],
        "inlinks": True,
    }
    assert PLAIN.override(stored) == PLAIN.override(changes)
    with pytest.raises(ValueError, match="order"):
        stored_options({"order": 5})
