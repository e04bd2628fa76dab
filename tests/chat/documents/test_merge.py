import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.documents.document import Version, settle
from smart_context.chat.documents.merge import merge
from tests.chat.made_documents import ids, message, said, version


def merged(base, theirs, ours):
    return merge(version(base), version(theirs), version(ours)).copy()


@pytest.mark.parametrize(
    ("base", "theirs", "ours", "result"),
    [
        pytest.param("ab", "abc", "ab", "abc", id="what they added stays"),
        pytest.param("ab", "ab", "abc", "abc", id="what we added comes"),
        pytest.param("ab", "abx", "aby", "abxy", id="both added at the end: theirs first"),
        pytest.param("ab", "xab", "aby", "xaby", id="both added in different places"),
        pytest.param("ab", "axb", "ayb", "axyb", id="both added in one place"),
        pytest.param("ab", "abxy", "abvw", "abxyvw", id="additions of a side stay together"),
        pytest.param("abc", "ac", "abcx", "acx", id="what they deleted goes"),
        pytest.param("abc", "abcx", "ac", "acx", id="what we deleted goes"),
        pytest.param("abc", "ab", "bc", "b", id="both deleted something"),
        pytest.param("abc", "ac", "ac", "ac", id="both deleted the same"),
        pytest.param("ab", "", "abx", "x", id="they deleted all, we added one"),
        pytest.param("ab", "abx", "", "x", id="we deleted all, they added one"),
        pytest.param("", "ab", "cd", "abcd", id="nothing known of the start: nothing is deleted"),
        pytest.param("abc", "abcx", "cab", "cxab", id="we moved one: additions go along"),
        pytest.param("abc", "cab", "abcx", "cxab", id="they moved one"),
        pytest.param("abc", "acb", "bac", "bac", id="both moved: ours"),
        pytest.param("ab", "ax", "ay", "axy", id="the anchor of an addition was deleted by both"),
    ],
)
def test_messages_of_both_sides_are_merged_in_order(base, theirs, ours, result):
    assert "".join(ids(merged(said(*base), said(*theirs), said(*ours)))) == result


def test_additions_of_both_sides_are_put_in_the_order_of_their_times():
    base = said("a")
    theirs = {"messages": [message("a"), message("late", created_at="2026-03-01T12:00:09Z")]}
    ours = {
        "messages": [
            message("a"),
            message("early", created_at="2026-03-01T12:00:01Z"),
            message("answer", created_at="2026-03-01T12:00:10Z"),
        ]
    }
    assert ids(merged(base, theirs, ours)) == ["a", "early", "answer", "late"]
    assert ids(merged(base, ours, theirs)) == ["a", "early", "answer", "late"]


def edited(content, **more):
    return {"messages": [message("a", **more) | {"content": content}]}


@pytest.mark.parametrize(
    ("theirs", "ours", "result"),
    [
        pytest.param(edited("1"), edited("0"), edited("1"), id="only they edited"),
        pytest.param(edited("0"), edited("1"), edited("1"), id="only we edited"),
        pytest.param(edited("1"), edited("1"), edited("1"), id="both made the same edit"),
        pytest.param(edited("1"), edited("2"), edited("2"), id="both edited one key: ours"),
        pytest.param(
            edited("1"), edited("0", x=1), edited("1", x=1), id="both edited different keys"
        ),
        pytest.param(said(), edited("1"), edited("1"), id="they deleted what we edited: it stays"),
        pytest.param(edited("1"), said(), edited("1"), id="we deleted what they edited: it stays"),
    ],
)
def test_edits_of_one_message(theirs, ours, result):
    assert merged(edited("0"), theirs, ours) == result


def test_a_key_that_one_side_took_from_a_message_goes():
    base = edited("partial", generating=True)
    assert merged(base, edited("partial"), edited("whole", generating=True)) == edited("whole")


@pytest.mark.parametrize(
    ("base", "theirs", "ours", "result"),
    [
        pytest.param({}, {"a": 1}, {}, {"a": 1}, id="they added a key"),
        pytest.param({}, {}, {"a": 1}, {"a": 1}, id="we added a key"),
        pytest.param({"a": 1}, {}, {"a": 1}, {}, id="they removed a key"),
        pytest.param({"a": 1}, {"a": 1}, {}, {}, id="we removed a key"),
        pytest.param({"a": 1}, {"a": 2}, {}, {"a": 2}, id="we removed what they changed: it stays"),
        pytest.param({"a": 1}, {}, {"a": 2}, {"a": 2}, id="they removed what we changed: it stays"),
        pytest.param({"a": 1}, {}, {}, {}, id="both removed it"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 3}, {"a": 3}, id="both changed it: ours"),
        pytest.param(
            {"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 2}, {"a": 2, "b": 2}, id="one each"
        ),
    ],
)
def test_other_keys_are_merged_one_by_one(base, theirs, ours, result):
    document = merged({**base, **said("a")}, {**theirs, **said("a", "b")}, {**ours, **said("a")})
    assert document == {**result, **said("a", "b")}


def test_messages_without_ids_are_told_apart_by_what_they_say():
    def bare(*texts):
        return {"messages": [{"role": "user", "content": text} for text in texts]}

    assert merged(bare("a", "b"), bare("x", "a", "b"), bare("a", "b", "c")) == bare(*"xabc")
    assert merged(bare("a", "a"), bare("a", "a", "a"), bare("a", "a", "b")) == bare(*"aaab")


def test_a_message_without_id_that_moved_has_the_id_of_its_new_place():
    a, b, x = ({"role": "user", "content": text} for text in "abx")
    base = version({"messages": [a, b]})
    assert base.messages
    moved = merge(
        base, settle({"messages": [x, a, b]}, base), settle({"messages": [a, b], "t": 1}, base)
    )
    assert moved.entries[1:] == base.entries
    assert moved.messages == version({"messages": [x, a, b]}).messages
    again = Version((moved.entries[0], *base.entries))
    assert again.messages == moved.messages


keys = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(keys, keys, keys)
def test_nothing_is_lost_and_nothing_comes_back(base, theirs, ours):
    result = ids(merged(said(*base), said(*theirs), said(*ours)))
    assert len(result) == len(set(result))
    added = (set(theirs) | set(ours)) - set(base)
    assert set(result) == added | (set(base) & set(theirs) & set(ours))


@given(keys, keys, keys)
def test_both_sides_get_the_same_messages_whoever_merges(base, theirs, ours):
    one = merged(said(*base), said(*theirs), said(*ours))
    other = merged(said(*base), said(*ours), said(*theirs))
    assert sorted(ids(one)) == sorted(ids(other))


@given(keys, keys)
def test_where_one_side_did_nothing_the_other_decides(base, changed):
    assert ids(merged(said(*base), said(*changed), said(*base))) == changed
    assert ids(merged(said(*base), said(*base), said(*changed))) == changed


@given(keys, st.data())
def test_the_order_of_what_both_have_is_kept(base, data):
    theirs = data.draw(st.lists(st.sampled_from([*base, "x"]), unique=True)) if base else []
    theirs = [key for key in base if key in theirs] + ["x"]
    ours = [*base, "y"]
    result = ids(merged(said(*base), said(*theirs), said(*ours)))
    assert [key for key in result if key in theirs] == theirs
    assert [key for key in result if key in ours] == [
        key for key in ours if key in theirs or key == "y"
    ]


def test_merging_changes_none_of_the_three():
    three = [version(said(*keys)) for keys in ("ab", "abx", "aby")]
    before = [one.copy() for one in three]
    merge(*three)
    assert [one.copy() for one in three] == before


def test_an_empty_start_deletes_nothing():
    assert ids(merge(Version(), version(said("a")), version(said("b"))).copy()) == ["a", "b"]


def in_versions(path, **branches):
    """A document with a path and branches after its first message, by their names."""
    document = said(*path)
    if branches:
        document["branches"] = [
            {"id": name, "after": path[0], "created_at": "t", "messages": said(*ids)["messages"]}
            for name, ids in branches.items()
        ]
    return document


def versions_in(document):
    """The path, and the branches."""
    branches = [ids(branch) for branch in document.get("branches", [])]
    return "".join(ids(document)), ["".join(branch) for branch in branches]


@pytest.mark.parametrize(
    ("base", "theirs", "ours", "result"),
    [
        pytest.param(
            in_versions("qab"),
            in_versions("qabcd"),
            in_versions("qx", n="ab"),
            ("qx", ["abcd"]),
            id="they went on in what we left",
        ),
        pytest.param(
            in_versions("qab"),
            in_versions("qx", n="ab"),
            in_versions("qabcd"),
            ("qx", ["abcd"]),
            id="we went on in what they left",
        ),
        pytest.param(
            in_versions("qa"),
            in_versions("qx", n="a"),
            in_versions("qy", m="a"),
            ("qxy", ["a"]),
            id="both answered again: what both left is there once",
        ),
        pytest.param(
            in_versions("qa", o="b"),
            in_versions("qac", o="b"),
            in_versions("qb", n="a"),
            ("qb", ["ac"]),
            id="we showed another version while they went on",
        ),
        pytest.param(
            in_versions("qa"),
            in_versions("qac", n="x"),
            in_versions("qad", m="y"),
            ("qacd", ["y", "x"]),
            id="both have new branches",
        ),
        pytest.param(
            in_versions("q"),
            in_versions("qa", o="b"),
            in_versions("qb", n="a"),
            ("qb", ["a"]),
            id="what is current for us is on no branch",
        ),
    ],
)
def test_each_message_stays_in_its_version(base, theirs, ours, result):
    assert versions_in(merged(base, theirs, ours)) == result


def test_what_they_edited_in_a_version_that_we_left_is_edited_there():
    theirs = in_versions("qab")
    theirs["messages"][1]["content"] = "edited"
    document = merged(in_versions("qab"), theirs, in_versions("qx", n="ab"))
    assert versions_in(document) == ("qx", ["ab"])
    assert document["branches"][0]["messages"][0]["content"] == "edited"


def test_the_order_of_versions_is_that_of_both_sides():
    base = said("q")
    theirs = {**said("q", "a"), "version_order": ["a", "b"]}
    ours = {**said("q", "c"), "branches": [], "version_order": ["b", "c"]}
    assert merged(base, theirs, ours)["version_order"] == ["a", "b", "c"]
