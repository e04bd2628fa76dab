"""The side-cars of a chat: files that other processes change too."""

import asyncio
import json
import logging
import threading
from dataclasses import replace

import pytest

from smart_context.base.disk.files import read_file
from smart_context.base.errors import StoreFailed
from smart_context.base.lookups import one_request
from smart_context.base.values import OWNER
from smart_context.plugin.choices.sidecars import ChatSidecar, PeopleSidecars
from smart_context.plugin.choices.state import FilterState
from smart_context.storage.files import documents as module
from smart_context.storage.files.storage import file_storage
from smart_context.topics.values import Topic
from tests.chat.made_documents import full_disk

pytestmark = pytest.mark.anyio


class Process:
    """The side-cars as one process has them."""

    def __init__(self, folder):
        self.folder = folder
        self.changes = []
        self.news = []
        self.people = PeopleSidecars(
            file_storage(folder),
            logging.getLogger("test"),
            on_change=lambda _person: lambda *change: self.changes.append(change),
        )
        self.people.memory.on_changed_elsewhere(self.news.append)
        self.sidecars = self.people.of(OWNER)

    async def change(self, change, *, stored=True):
        return await self.sidecars.change_state("c", change, stored=stored)

    async def state(self):
        return (await self.sidecars.of("c")).state


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "chats"


@pytest.fixture
def one(folder):
    return Process(folder)


@pytest.fixture
def other(folder):
    return Process(folder)


def on_disk(folder, suffix="filter.json"):
    return json.loads((folder / f"c.{suffix}").read_bytes())


def selecting(*labels):
    return lambda state: state.select(labels)


async def test_nothing_is_kept_at_first_and_nothing_is_written(one, folder):
    assert await one.sidecars.of("c") == ChatSidecar()
    assert await one.change(lambda state: state) == FilterState()
    assert one.changes == []
    assert not folder.exists()


async def test_what_another_process_chose_is_seen(one, other):
    await one.change(selecting("Cats"))
    assert (await other.state()).active_topics == ("Cats",)
    await one.change(lambda state: state.take_role("coder"))
    assert (await other.state()).role == "coder"


async def test_choices_of_two_processes_are_both_kept(one, other):
    await one.change(selecting("Cats"))
    await other.change(lambda state: state.pin(["m1"]))
    await one.change(lambda state: state.pin(["m2"]))
    await other.change(lambda state: state.take_role("coder"))
    await one.change(lambda state: state.hide(["m3"]))
    state = await other.state()
    assert state == await one.state()
    assert (state.active_topics, state.role) == (("Cats",), "coder")
    assert (state.pinned, state.hidden) == (("m1", "m2"), ("m3",))


async def test_choices_at_the_same_instant_are_both_kept(one, other):
    both = [
        process.change(lambda state, n=n: state.pin([f"m{n}"]))
        for n in range(10)
        for process in (one, other)[n % 2 :][:1]
    ]
    await asyncio.gather(*both)
    assert set((await one.state()).pinned) == {f"m{n}" for n in range(10)}


async def test_a_change_starts_again_when_another_process_was_faster(one, other, folder):
    await one.change(lambda state: state.pin(["m1"]))
    tried = []

    def pin(state):
        if not tried:
            written = replace(state, hidden=("m9",)).to_dict()
            (folder / "c.filter.json").write_text(json.dumps(written))
        tried.append(state)
        return state.pin(["m2"])

    state = await other.change(pin)
    assert len(tried) == 2
    assert (state.pinned, state.hidden) == (("m1", "m2"), ("m9",))
    assert on_disk(folder)["hidden"] == ["m9"]


async def test_what_the_disk_refuses_is_not_in_force(one, other):
    await one.change(selecting("Cats"))
    with full_disk(10), pytest.raises(StoreFailed):
        await one.change(selecting("Dogs"))
    assert (await one.state()).active_topics == ("Cats",)
    assert (await other.state()).active_topics == ("Cats",)
    assert len(one.changes) == 1
    await one.change(selecting("Dogs"))
    assert (await other.state()).active_topics == ("Dogs",)


async def test_members_that_the_disk_refuses_are_not_in_force(one):
    await one.sidecars.keep_topics("c", [Topic(label="Cats", count=1)])
    with full_disk(10), pytest.raises(StoreFailed):
        await one.sidecars.keep_topics("c", [Topic(label="Dogs", count=1)])
    assert [topic.label for topic in (await one.sidecars.of("c")).topics] == ["Cats"]


async def test_a_slow_read_does_not_bring_an_older_state_back(one, monkeypatch):
    await one.change(selecting("Cats"))
    one.people.memory.forget("c")
    was_read, may_go_on = threading.Event(), threading.Event()
    slow = []

    def read(path, **limits):
        found = read_file(path, **limits)
        if not slow:
            slow.append(path)
            was_read.set()
            may_go_on.wait(10)
        return found

    monkeypatch.setattr(module, "read_file", read)
    reading = asyncio.create_task(one.state())
    await asyncio.to_thread(was_read.wait, 10)
    await one.change(selecting("Dogs"))
    may_go_on.set()
    await reading
    assert (await one.state()).active_topics == ("Dogs",)


async def test_the_same_object_is_given_until_something_changes(one, other):
    await one.change(selecting("Cats"))
    first = await other.sidecars.of("c")
    assert await other.sidecars.of("c") is first
    revision = other.sidecars.revision("c")
    await one.change(selecting("Dogs"))
    assert await other.sidecars.of("c") is not first
    assert other.sidecars.revision("c") > revision


async def test_news_are_what_another_process_changed_and_only_that(one, other):
    await other.people.check("c")
    await one.change(selecting("Cats"))
    await other.change(selecting("Dogs"))
    await other.state()
    assert other.news == []
    await one.change(selecting("Owls"))
    await other.people.check("c")
    await other.people.check("c")
    assert (one.news, other.news) == (["c"], ["c"])


async def test_what_is_chosen_before_there_is_a_chat_stays_in_memory_until_there_is(one, folder):
    await one.change(selecting("Cats"), stored=False)
    assert (await one.state()).active_topics == ("Cats",)
    assert not folder.exists()
    with full_disk(10), pytest.raises(StoreFailed):
        await one.sidecars.keep_state("c")
    assert (await one.state()).active_topics == ("Cats",)
    await one.sidecars.keep_state("c")
    await one.sidecars.keep_state("c")
    assert on_disk(folder)["active_topics"] == ["Cats"]


async def test_what_was_chosen_before_is_written_with_the_first_choice_after(one, folder):
    await one.change(selecting("Cats"), stored=False)
    await one.change(lambda state: state.pin(["m1"]), stored=True)
    assert on_disk(folder)["active_topics"] == ["Cats"]
    assert on_disk(folder)["pinned"] == ["m1"]


async def test_a_step_back_leaves_what_another_process_chose_since(one, other):
    await one.change(lambda state: state.pin(["m1"]))
    await one.change(selecting("Cats"))
    ((_, _, pinned), (_, before, after)) = one.changes
    await other.change(lambda state: state.pin(["m2"]).take_role("coder"))
    await one.sidecars.restore("c", before.state, instead_of=after, stored=True)
    state = await other.state()
    assert before.state == pinned
    assert (state.active_topics, state.pinned, state.role) == ((), ("m1", "m2"), "coder")
    assert len(one.changes) == 2


DAMAGED = [
    pytest.param(b"{", id="no JSON"),
    pytest.param(b"[]", id="no object"),
    pytest.param(b"", id="nothing"),
    pytest.param(b'{"hidden": {"m1": true}}', id="hidden messages of another kind"),
    pytest.param(b'{"hidden": ["m1", 2]}', id="a hidden message of another kind"),
    pytest.param(b'{"active_topics": "Cats"}', id="picks of another kind"),
    pytest.param(b'{"file_tools": "no"}', id="a switch of another kind"),
]


@pytest.mark.parametrize("content", DAMAGED)
async def test_damaged_choices_are_not_taken_for_none(one, folder, content):
    folder.mkdir()
    (folder / "c.filter.json").write_bytes(content)
    with pytest.raises(StoreFailed, match="Nothing is sent until you choose again"):
        await one.state()
    assert "damaged" in (await one.sidecars.shown("c")).problem
    await one.change(lambda state: state.select([]))  # the choice to send all
    assert (await one.state()).active_topics == ()
    assert (await one.sidecars.shown("c")).problem == ""


@pytest.mark.parametrize("content", DAMAGED)
async def test_a_damaged_file_is_kept_under_a_name_of_its_own(one, folder, content):
    folder.mkdir()
    (folder / "c.filter.json").write_bytes(content)
    await one.change(selecting("Cats"))
    (kept,) = folder.glob("c.filter.damaged-*.json")
    assert kept.read_bytes() == content
    await one.change(selecting("Dogs"))
    assert list(folder.glob("*.damaged-*")) == [kept]


async def test_choices_that_were_read_hold_while_their_file_is_damaged(one, folder):
    await one.change(lambda state: state.hide(["m1"]))
    (folder / "c.filter.json").write_bytes(b"{")
    assert (await one.state()).hidden == ("m1",)
    await one.change(selecting("Cats"))
    assert (on_disk(folder)["active_topics"], on_disk(folder)["hidden"]) == (["Cats"], ["m1"])


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"topics": "Cats"}'])
async def test_damaged_topics_are_told_kept_and_found_again(one, folder, content):
    folder.mkdir()
    (folder / "c.topics.json").write_bytes(content)
    assert (await one.sidecars.of("c")).topics == ()
    assert "can't be read" in (await one.sidecars.of("c")).members_problem
    await one.sidecars.keep_topics("c", [Topic(label="Cats", count=1)])
    assert [topic.label for topic in (await one.sidecars.of("c")).topics] == ["Cats"]
    assert (await one.sidecars.of("c")).members_problem == ""
    (kept,) = folder.glob("c.topics.damaged-*.json")
    assert kept.read_bytes() == content


async def test_an_edit_of_topics_does_not_replace_the_owners_damaged_choices(one, folder):
    folder.mkdir()
    (folder / "c.filter.json").write_bytes(b"{")
    annas = one.people.of("anna@example.org")
    await annas.change_state("c", selecting("Cats"), stored=True)
    with pytest.raises(StoreFailed, match="Its owner can choose again"):
        await annas.change_state(
            "c", lambda state: replace(state, edits=state.edits.add("Dogs")), stored=True
        )
    assert (folder / "c.filter.json").read_bytes() == b"{"


async def test_what_can_not_be_read_is_not_overwritten(one, other, folder, tmp_path, caplog):
    await one.change(selecting("Cats"))
    path = folder / "c.filter.json"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert (await one.state()).active_topics == ("Cats",)
    with pytest.raises(StoreFailed, match="Nothing is sent until you choose again"):
        await other.state()
    with pytest.raises(StoreFailed, match="not a plain file"):
        await other.change(selecting("Dogs"))
    assert json.loads((tmp_path / "elsewhere").read_bytes())["active_topics"] == ["Cats"]
    await other.sidecars.shown("c")
    assert caplog.text.count("can't be read") == 2  # once in each process


async def test_a_selected_topic_that_is_gone_keeps_its_members(one, other):
    await one.sidecars.keep_topics(
        "c", [Topic(label="Cats", count=1), Topic(label="Owls", count=1)]
    )
    await other.change(selecting("Cats"))
    await one.sidecars.keep_topics("c", [Topic(label="Dogs", count=2)])
    assert [topic.label for topic in (await other.sidecars.of("c")).topics] == ["Dogs", "Cats"]


async def test_a_chat_that_is_gone_has_no_choices(one, folder):
    await one.change(selecting("Cats"))
    (folder / "c.filter.json").unlink()
    assert await one.state() == FilterState()


async def test_a_request_looks_once_for_what_others_choose(one, other, monkeypatch):
    monkeypatch.setattr("smart_context.base.lookups.KEPT_FOR_S", 600.0)  # on a busy machine, too
    with one_request():
        await one.change(lambda state: state.select(["Ours"]))
        await other.change(lambda state: state.select(["Theirs"]))
        assert (await one.state()).active_topics == ("Ours",)
        await one.change(lambda state: state.pin(["m"]))  # starts from what is stored
        assert (await one.state()).active_topics == ("Theirs",)
        await other.change(lambda state: state.select([]))
    with one_request():
        assert (await one.state()).active_topics == ()
