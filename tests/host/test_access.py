"""Who may see what: the decision, what parameters name, and who gets an event."""

import asyncio
import contextvars
from typing import Annotated, Any

import pytest

from smart_context.base.errors import (
    ChatUnreadable,
    CommandFailed,
    InvalidParams,
    StorageAway,
    StoreFailed,
)
from smart_context.base.lookups import one_request
from smart_context.base.values import NOBODY, OWNER, PersonId
from smart_context.host.access import (
    EVERYBODY,
    FilesNamed,
    NamesOwned,
    OwnedName,
    OwnerOnly,
    PersonalAccess,
)
from smart_context.host.commands.registry import Caller, CommandRegistry
from smart_context.host.reading import ReadAccess
from smart_context.storage.guarded.storage import guarded
from tests.host.conftest import Page
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio

STRANGER = PersonId("stranger")
CHAT = OwnedName("chat", "c")
FILE = {"storage_key": "f1"}


class Asked:
    """Notes what it is asked, and allows all but what it is told."""

    has_people = False

    def __init__(self, *refused):
        self.refused = refused
        self.asked = []

    async def may_use(self, person, owned):
        self.asked.append((person, owned))
        return owned not in self.refused


async def show(
    chat_id: str | None = None,
    chat_ids: list[str] | None = None,
    files: Annotated[list[dict[str, Any]], FilesNamed] | None = None,
    data: Annotated[dict[str, Any], FilesNamed] | None = None,
    key: Annotated[str, NamesOwned(lambda key: [OwnedName("context", key)])] = "",
) -> dict[str, Any]:
    """Show that it ran."""
    return {"ran": True}


async def named_by(access=None, client=None, **params):
    """What is asked for these parameters."""
    access = access or Asked()
    commands = CommandRegistry(access)
    commands.register("test.show", show)
    await commands.call("test.show", params, Caller(STRANGER, client))
    return [owned for person, owned in access.asked if person == STRANGER]


@pytest.mark.parametrize(
    ("params", "named"),
    [
        pytest.param({}, [], id="nothing"),
        pytest.param({"chat_id": "c"}, [CHAT], id="a chat"),
        pytest.param({"chat_id": None}, [], id="no chat"),
        pytest.param({"chat_ids": ["c", "d"]}, [CHAT, OwnedName("chat", "d")], id="chats"),
        pytest.param({"files": [FILE, {"name": "x"}]}, [OwnedName("file", "f1")], id="files"),
        pytest.param({"key": "k"}, [OwnedName("context", "k")], id="a context"),
        pytest.param(
            {"data": {"branches": [{"messages": [{"files": [FILE]}]}], "messages": 7}},
            [OwnedName("file", "f1")],
            id="a file of a version in a document",
        ),
    ],
)
async def test_everything_owned_that_parameters_name_is_asked_for(params, named):
    assert await named_by(**params) == named


async def test_the_chat_that_a_client_has_open_is_asked_for_too():
    page = Page()
    page.chat_id = "c"
    assert await named_by(client=page) == [CHAT]


@pytest.mark.parametrize(
    ("refused", "params", "words"),
    [
        (CHAT, {"chat_ids": ["d", "c"]}, "There is no chat 'c'"),
        (OwnedName("context", "k"), {"key": "k"}, "There is no context 'k'"),
        (OwnedName("file", "f1"), {"files": [FILE]}, "an unknown key"),
    ],
)
async def test_a_command_does_not_run_with_what_is_anothers(refused, params, words):
    with pytest.raises((CommandFailed, InvalidParams), match=words):
        await named_by(Asked(refused), **params)


async def test_with_one_person_all_is_theirs_and_nothing_another_s():
    access = OwnerOnly()
    assert await access.may_use(OWNER, CHAT)
    assert not await access.may_use(STRANGER, CHAT)
    assert not await access.may_use(NOBODY, CHAT)


@pytest.mark.parametrize(
    ("audience", "hearing"),
    [
        pytest.param(CHAT, {OWNER}, id="a chat's"),
        pytest.param(STRANGER, {STRANGER}, id="one person"),
        pytest.param(EVERYBODY, {OWNER, STRANGER}, id="everybody"),
    ],
)
def test_an_event_is_heard_by_its_audience(audience, hearing):
    assert OwnerOnly().hearing(audience, {OWNER, STRANGER}) == hearing


async def test_of_several_people_those_hear_of_a_chat_who_may_use_it():
    storage, ann = memory_storage(), PersonId("ann")
    people = guarded(storage)
    anns = people.storage.for_person(ann)
    for chat in ("own", "shared"):
        message = {"id": "a", "role": "user", "content": "x"}
        await anns.chats.save(chat, {"messages": [message]})
    anns.vault_documents.write("contexts", "k", {})
    await people.owners.share("shared", ann, shared=True)
    later = guarded(storage)
    access = PersonalAccess(later)
    connected = {ann, STRANGER, NOBODY}

    def heard(audience):
        return access.hearing(audience, connected)

    assert not heard(OwnedName("chat", "own")), "whose it is was not read yet"
    for chat in ("own", "shared"):
        await later.owners.of_chat(chat)
    assert heard(OwnedName("chat", "own")) == {"ann"}
    assert heard(OwnedName("chat", "shared")) == heard(EVERYBODY) == {"ann", STRANGER}
    assert heard(STRANGER) == {STRANGER}
    assert not heard(PersonId("away"))
    context = OwnedName("context", "k", person=ann)
    assert heard(context) == {"ann"}
    later.contexts_of(ann).share("k", shared=True)
    assert heard(context) == {"ann", STRANGER}


async def test_an_event_goes_to_those_who_may_see_its_chat_or_says_to_whom(bench):
    heard = []
    bench.host.on_event(lambda name, payload, audience: heard.append(audience))
    bench.host.emit("test.said", {"chat_id": "c"})
    bench.host.emit("test.said", {}, STRANGER)
    with pytest.raises(ValueError, match="name a chat_id in the payload, or an audience"):
        bench.host.emit("test.said", {})
    assert heard == [CHAT, STRANGER]


async def test_a_turn_knows_who_asked(bench):
    turns = []

    async def note(turn):
        turns.append(turn.person)

    bench.host.bus.subscribe("pipeline.start", note)
    params = {"chat_id": "c", "message": "Hello"}
    await bench.host.commands.call("chat.send", params, Caller(OWNER))
    assert turns == [OWNER]


async def test_what_is_anothers_reads_as_what_does_not_exist():
    storage = memory_storage()
    await storage.chats.save("c", {"messages": [{"id": "a", "role": "user", "content": "x"}]})
    file = await storage.blobs.put("a.txt", b"words")
    reading = ReadAccess(storage, OwnerOnly())
    own, other = Caller(OWNER), Caller(STRANGER)

    assert (await reading.document(own, "c"))["messages"]
    assert await reading.document(other, "c") == await reading.document(own, "absent")
    assert await reading.messages(other, "c") == await reading.messages(own, "absent") == ()
    assert await reading.parts(other, "c") == await reading.parts(own, "absent") == ((), {})
    assert (await reading.has_chat(own, "c"), await reading.has_chat(other, "c")) == (True, False)
    assert (await reading.file(own, file.storage_key))[1] == b"words"
    assert await reading.file(other, file.storage_key) is None
    assert await reading.file(own, "0" * 64) is None


async def test_a_page_reads_the_messages_once_and_the_document_only_for_its_versions():
    storage = memory_storage()
    reading = ReadAccess(storage, OwnerOnly())
    message = {"id": "a", "role": "user", "content": "x"}
    other = {"id": "b1", "created_at": "", "messages": [{**message, "id": "b"}]}
    for chat, more in (("plain", {"title": "T"}), ("forked", {"branches": [other]})):
        await storage.chats.save(chat, {"messages": [message], **more})

    messages, document = await reading.parts(Caller(OWNER), "plain")
    assert [said.id for said in messages] == ["a"]
    assert document == {"title": "T"}
    assert messages[0] is (await reading.parts(Caller(OWNER), "plain"))[0][0]
    messages, document = await reading.parts(Caller(OWNER), "forked")
    assert [said.id for said in messages] == ["a"]
    assert document == {"messages": [message], "branches": [other]}


async def test_whose_a_chat_is_gets_looked_up_once_for_each_request(monkeypatch):
    monkeypatch.setattr("smart_context.base.lookups.KEPT_FOR_S", 600.0)  # on a busy machine, too
    storage, ann = memory_storage(), PersonId("ann")
    here, elsewhere = guarded(storage), guarded(storage)
    message = {"id": "a", "role": "user", "content": "x"}
    await here.storage.for_person(ann).chats.save("c", {"messages": [message]})
    await here.owners.share("c", ann, shared=True)
    unshared = contextvars.Context()  # another server's work, which tells this request nothing
    chats = here.storage.for_person(STRANGER).chats
    with one_request():
        assert await chats.exists("c")
        taking_back = elsewhere.owners.share("c", ann, shared=False)
        await asyncio.get_running_loop().create_task(taking_back, context=unshared)
        assert await chats.exists("c")
    with one_request():
        assert not await chats.exists("c")


@pytest.mark.parametrize("error", [StorageAway("away"), StoreFailed("no permission")])
async def test_a_chat_that_can_not_be_read_now_is_nobodys_to_use(monkeypatch, error):
    people = guarded(memory_storage())
    access = PersonalAccess(people)

    async def fail(_chat_id):
        raise error

    monkeypatch.setattr(people.owners, "of_chat", fail)
    assert not await access.may_use(STRANGER, CHAT)
    with pytest.raises(StoreFailed):
        await access.may_use(OWNER, CHAT)


async def test_a_damaged_chat_is_the_owners_to_repair(monkeypatch):
    people = guarded(memory_storage())

    async def fail(_chat_id):
        raise ChatUnreadable("damaged")

    monkeypatch.setattr(people.owners, "of_chat", fail)
    access = PersonalAccess(people)
    assert [await access.may_use(each, CHAT) for each in (OWNER, STRANGER)] == [True, False]
