"""Versions of a chat: nothing is lost, and going back restores what there was."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.errors import CommandFailed
from smart_context.chat.documents.branches import (
    Versions,
    branches_of,
    leave,
    reattach,
    set_branches,
    show_version,
    unreachable,
    versions_of,
)

NOW = "2026-03-01T12:00:00Z"


class Chat:
    """A chat's document, and what users do with it."""

    def __init__(self, *ids, **document):
        self.document = {"messages": [message(name) for name in ids], **document}
        self.numbers = itertools.count(1)

    @property
    def path(self):
        return [entry["id"] for entry in self.document["messages"]]

    @property
    def all_ids(self):
        lists = [self.document, *self.document.get("branches", [])]
        return sorted(entry["id"] for holder in lists for entry in holder["messages"])

    @property
    def versions(self):
        return {name: (v.current, v.count) for name, v in versions_of(self.document).items()}

    def new_id(self):
        return f"n{next(self.numbers)}"

    def append(self, *names):
        self.document["messages"] += map(message, names)

    def answer_again(self, name, new):
        """What follows a message is left, and something new said."""
        leave(self.document, self.path.index(name) + 1, branch_id=self.new_id(), now=NOW)
        self.append(new)

    def show(self, name, version=None):
        return show_version(self.document, name, version, new_id=self.new_id, now=NOW)


def message(name, **more):
    role = "user" if name.startswith("q") else "assistant"
    return {"id": name, "role": role, "content": f"says {name}", **more}


def test_what_followed_stays_with_the_former_version_and_comes_back():
    chat = Chat("q1", "a1", "q2", "a2")
    former = list(chat.document["messages"])
    chat.answer_again("q1", "b1")
    assert chat.path == ["q1", "b1"]
    assert chat.versions == {"b1": (2, 2)}
    assert chat.show("b1", 1) == ("a1", Versions(1, ("a1", "b1")))
    assert chat.document["messages"] == former
    assert chat.versions == {"a1": (1, 2)}
    assert chat.show("a1", 2) == ("b1", Versions(2, ("a1", "b1")))
    assert chat.path == ["q1", "b1"]


def test_a_branch_is_as_the_contract_has_it():
    chat = Chat("q1", "a1", "q2")
    chat.answer_again("q1", "b1")
    (branch,) = chat.document["branches"]
    assert branch == {
        "id": "n1",
        "after": "q1",
        "created_at": NOW,
        "messages": [message("a1"), message("q2")],
    }


def test_the_newest_branch_comes_first_and_none_is_dropped():
    chat = Chat("q1", "a0")
    for number in range(1, 60):
        chat.answer_again("q1", f"a{number}")
    heads = [branch["messages"][0]["id"] for branch in branches_of(chat.document)]
    assert heads == [f"a{number}" for number in reversed(range(59))]
    assert chat.versions == {"a59": (60, 60)}


def test_numbers_of_versions_stay_however_often_they_are_shown():
    chat = Chat("q1", "a1")
    for name in ("a2", "a3"):
        chat.answer_again("q1", name)
    for number in (2, 1, 3, 1, 2, 2, 3):
        chat.show(chat.path[1], number)
        assert chat.path == ["q1", f"a{number}"]
        assert chat.versions == {f"a{number}": (number, 3)}
    chat.show("a3", 1)
    chat.answer_again("q1", "a4")
    assert chat.versions == {"a4": (4, 4)}


def test_a_first_question_has_versions_that_follow_nothing():
    chat = Chat("q1", "a1")
    leave(chat.document, 0, branch_id="x", now=NOW)
    chat.append("q2", "a2")
    assert chat.document["branches"][0]["after"] is None
    assert chat.versions == {"q2": (2, 2)}
    chat.show("q2", 1)
    assert chat.path == ["q1", "a1"]


def test_versions_within_versions_are_reached():
    chat = Chat("q1", "a1", "q2", "a2", "q3", "a3")
    chat.answer_again("q3", "b3")
    chat.answer_again("q2", "b2")
    chat.answer_again("q1", "b1")
    assert chat.versions == {"b1": (2, 2)}
    chat.show("a3")
    assert chat.path == ["q1", "a1", "q2", "a2", "q3", "a3"]
    assert chat.versions == {"a1": (1, 2), "a2": (1, 2), "a3": (1, 2)}
    chat.show("b2", 2)
    assert chat.path == ["q1", "a1", "q2", "b2"]


def test_the_first_message_of_any_version_says_where():
    """Another tab may have shown another version meanwhile."""
    chat = Chat("q1", "a1")
    chat.answer_again("q1", "a2")
    chat.answer_again("q1", "a3")
    chat.show("a1", 2)
    assert chat.path == ["q1", "a2"]


@pytest.mark.parametrize("number", [0, 3, -1])
def test_a_version_that_there_is_not_is_refused(number):
    chat = Chat("q1", "a1")
    chat.answer_again("q1", "a2")
    with pytest.raises(CommandFailed, match=f"a number from 1 to 2, found {number}"):
        chat.show("a2", number)
    assert chat.path == ["q1", "a2"]


def test_a_message_that_there_is_not_is_named():
    with pytest.raises(CommandFailed, match="no message 'gone'"):
        Chat("q1").show("gone")


def test_nothing_is_switched_while_an_answer_is_written():
    chat = Chat("q1", "a1")
    chat.answer_again("q1", "a2")
    chat.document["messages"][-1]["generating"] = True
    with pytest.raises(CommandFailed, match="still being answered"):
        chat.show("a2", 1)


def test_a_summary_begins_no_version():
    chat = Chat("q1", "a1")
    chat.answer_again("q1", "a2")
    summary = {"id": "s", "role": "system", "content": "x", "is_summary": True}
    chat.document["messages"].insert(1, summary)
    assert chat.versions == {"a2": (2, 2)}
    chat.show("a2", 1)
    assert chat.path == ["q1", "a1"]
    chat.show("a1", 2)
    assert chat.path == ["q1", "s", "a2"]


def test_what_follows_a_summary_that_is_undone_follows_the_message_before_it():
    chat = Chat("q1", "a1", "s", "q2")
    leave(chat.document, 3, branch_id="x", now=NOW)
    reattach(chat.document, "s")
    assert chat.document["branches"][0]["after"] == "a1"


def test_an_answer_of_which_nothing_came_is_kept_but_is_no_version():
    chat = Chat("q1")
    chat.document["messages"].append(message("a1", content="", error="refused"))
    chat.answer_again("q1", "a2")
    assert chat.versions == {}
    assert chat.all_ids == ["a1", "a2", "q1"]


def test_what_an_earlier_release_removed_is_a_version_of_its_question():
    removed = [
        {"removed_at": "2026-03-01T10:30:00Z", "messages": [message("a2", created_at=at(3))]},
        {
            "removed_at": "2026-03-01T10:31:00Z",
            "messages": [
                message("a1", created_at=at(1)),
                message("q2", created_at=at(2)),
                message("b2", created_at=at(30)),
            ],
        },
    ]
    first = [message("q1", created_at=at(0)), message("b1", created_at=at(31))]
    chat = Chat(messages=first, removed=removed)
    chat.document["messages"] = first
    assert [branch["after"] for branch in branches_of(chat.document)] == ["q1", "q2"]
    assert chat.versions == {"b1": (2, 2)}
    assert "removed" in chat.document
    chat.show("b1", 1)
    assert "removed" not in chat.document
    assert chat.path == ["q1", "a1", "q2", "b2"]
    assert chat.versions == {"a1": (1, 2), "b2": (2, 2)}
    chat.show("b2", 1)
    assert chat.path == ["q1", "a1", "q2", "a2"]


def at(minute):
    return f"2026-03-01T10:{minute:02}:00Z"


@pytest.mark.parametrize(
    "document",
    [
        {"branches": 3},
        {"branches": ["x", {"messages": 1}, {"id": 1}]},
        {"branches": [{"after": ["q1"], "messages": [{"id": "z"}]}]},
        {"branches": [{"after": {}, "messages": [None, 5]}]},
        {"branches": [{"messages": [{"id": 7, "role": "user"}]}], "version_order": 7},
        {"removed": "odd"},
        {"removed": [5, {"messages": ["x"]}, {"removed_at": 4, "messages": [message("z")]}]},
        {"version_order": [5, None, "a1"]},
    ],
)
def test_odd_documents_are_read_and_what_is_no_branch_stays(document):
    chat = Chat("q1", "a1", **document)
    versions_of(chat.document)
    before = chat.document.get("branches")
    chat.answer_again("q1", "a2")
    chat.show("a2", 1)
    assert chat.path == ["q1", "a1"]
    for entry in before if isinstance(before, list) else []:
        assert entry in chat.document["branches"]


def test_branches_that_refer_to_each_other_are_refused():
    around = [
        {"id": "x", "after": "z", "messages": [message("y")]},
        {"id": "y", "after": "y", "messages": [message("z")]},
    ]
    chat = Chat("q1", branches=around)
    with pytest.raises(CommandFailed, match="nested too deeply"):
        chat.show("y")
    lost = {"after": "gone", "messages": []}
    assert unreachable({"messages": [], "branches": [lost, {"messages": []}]}) == [lost]
    with pytest.raises(CommandFailed, match="no longer in the chat"):
        Chat("q1", branches=[{"after": "gone", "messages": [message("z")]}]).show("z")


DEEDS = st.lists(
    st.tuples(st.sampled_from(["again", "edit", "append", "show", "reach"]), st.integers(0, 99)),
    max_size=25,
)


class Deeds:
    """Anything that users do with a chat, in any order."""

    def __init__(self):
        self.chat = Chat("q0", "a0")
        self.said = ["q0", "a0"]
        self.numbers = {}

    def say(self, kind):
        self.said.append(f"{kind}{len(self.said)}")
        return self.said[-1]

    def append(self, _number):
        self.chat.append(self.say("q"), self.say("a"))

    def again(self, number):
        self.chat.answer_again(_one_of(self.chat.path, number), self.say("a"))

    def edit(self, number):
        chat = self.chat
        leave(chat.document, number % len(chat.path), branch_id=chat.new_id(), now=NOW)
        self.append(number)

    def reach(self, number):
        wanted = _one_of(self.said, number)
        self.chat.show(wanted)
        assert wanted in self.chat.path

    def show(self, number):
        """Show another version, go back and forth."""
        if not self.chat.versions:
            return
        head, (current, count) = _one_of([*self.chat.versions.items()], number)
        former = list(self.chat.document["messages"])
        shown, _ = self.chat.show(head, number % count + 1)
        assert self.chat.versions[shown] == (number % count + 1, count)
        other = list(self.chat.document["messages"])
        self.chat.show(shown, current)
        assert self.chat.document["messages"] == former
        self.chat.show(head, number % count + 1)
        assert self.chat.document["messages"] == other


def _one_of(values, number):
    return values[number % len(values)]


@given(DEEDS)
def test_no_message_is_ever_lost_and_going_back_restores_the_chat(deeds):
    done = Deeds()
    for deed, number in deeds:
        getattr(done, deed)(number)
        assert done.chat.all_ids == sorted(done.said)
        for head, (current, _) in done.chat.versions.items():
            assert done.numbers.setdefault(head, current) == current


def test_of_very_much_that_an_earlier_release_removed_the_newest_counts_and_the_rest_stays():
    removed = [
        {"removed_at": f"2026-03-01T10:30:{n:04}Z", "messages": [message(f"r{n}")]}
        for n in range(1_003)
    ]
    document = {"messages": [message("q")], "removed": removed}
    found = branches_of(document)
    assert [branch["messages"][0]["id"] for branch in found][:2] == ["r1002", "r1001"]
    assert len(found) == 1_000
    set_branches(document, found)
    assert len(document["branches"]) == 1_000
    assert [entry["messages"][0]["id"] for entry in document["removed"]] == ["r0", "r1", "r2"]
