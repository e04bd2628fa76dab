"""Several people in one vault: nobody reads another's, by any command, route or event.

Alice has everything here, Bob and the owner of the installation have nothing of it. Over each
storage; a command or route that is new is tried by itself (`test_who_asks.py` sees to the values).
"""

import asyncio
import json
import re
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import product

import pytest

from smart_context.app.browsers import key_file
from smart_context.app.composition import composed, make_host, read_vault
from smart_context.app.following import Follower, stamps_of
from smart_context.app.serving import vault_app
from smart_context.base.errors import CommandFailed
from smart_context.base.values import OWNER, PersonId
from smart_context.chat.documents.choices import choices_name
from smart_context.chat.documents.ownership import ITS_PERSONS
from smart_context.storage.guarded.storage import guarded
from smart_context.web.gate.access import GateSecrets
from tests.app.test_who_asks import (
    CHAT,
    CONTEXT,
    KEY,
    LISTS,
    NO_CHAT,
    NO_CONTEXT,
    NO_FILE,
    NO_KEY,
    SECRETS,
    Socket,
    Vault,
    addresses,
    cases,
    commands_of,
    naming_of,
    same_names,
)
from tests.patience import PATIENCE_S
from tests.storage.contract.conftest import ADAPTERS

pytestmark = pytest.mark.anyio

ALICE, BOB = PersonId("alice"), PersonId("bob")

MAKING = {
    "chat.regenerate",
    "chat.send",
    "chat.set_instructions",
    "chat.set_model",
    "chat.set_private",
    "memory.save_chat",
}
"""Commands that make what is not there, so that Bob can't get the same answer for Alice's chat."""


REFUSALS = ("InvalidParams: ", "CommandFailed: There is no ")

COUNTED = re.compile(r"(?<=[\[ ])\d+(?=[],}])|sc-[\w-]{43}")
"""New keys, and numbers: a name in which the chat's id stands has other tokens."""


@asynccontextmanager
async def serving(folder, storage):
    folder.mkdir()
    (folder / ".vault.toml").write_text("[plugins.smart_context]\nenabled = true\n")
    (folder / "note.md").write_text("# Note\nOf everybody.\n")
    async with composed(read_vault(folder)) as parts, AsyncExitStack() as replaced:
        people = guarded(storage)
        host = make_host(replace(parts, storage=people.storage, people=people))
        follower = Follower(host, stamps_of([]), parts.client, replaced)
        app = vault_app(host, follower, GateSecrets(None), "localhost", parts.client)
        async with app.router.lifespan_context(app):
            vault = Vault(folder, host, app, ALICE)
            vault.people = people
            await vault.fill()
            yield vault


@asynccontextmanager
async def served_over(adapter, tmp_path, tmp_path_factory):
    storage = ADAPTERS[adapter](tmp_path_factory)()
    async with serving(tmp_path / "vault", storage) as vault:
        yield vault
    key_file(storage.records).revoke(KEY, ALICE)


@pytest.fixture(params=ADAPTERS)
async def any_vault(request, tmp_path, tmp_path_factory):
    async with served_over(request.param, tmp_path, tmp_path_factory) as vault:
        yield vault


@pytest.fixture(params=["files", "postgres"])
async def vault(request, tmp_path, tmp_path_factory):
    """Over the adapters that a team can choose; what all promise has a suite of its own."""
    async with served_over(request.param, tmp_path, tmp_path_factory) as vault:
        yield vault


async def kept(vault):
    """All that is kept of Alice."""
    storage = vault.people.storage.for_person(ALICE)
    return json.dumps(
        [
            await storage.chats.load(CHAT),
            [document.value for document in await storage.documents.read(CHAT, "topics")],
            sorted(await storage.chats.trash.ids(ALICE)),
            storage.vault_documents.read("contexts", CONTEXT),
            sorted(key_file(storage.records).read().of(ALICE)),
        ],
        default=str,
    )


async def calls(vault):
    """The calls to try, each for what is Alice's and for what nobody has."""
    for listed in await commands_of(vault):
        if listed["name"].startswith("system.") and "client" not in listed["name"]:
            continue  # settings of the installation: test_who_asks.py
        for owned, absent in cases(listed, naming_of(vault)):
            both = owned, absent
            if owned.get("chat_id") == absent.get("chat_id") and str(owned).count(CHAT) > 1:
                both = tuple({**each, "chat_id": "third-chat"} for each in both)
            yield listed["name"], *both


async def remove_what_was_made(vault, person):
    for name, params in (
        ("memory.delete_chat", {"chat_id": NO_CHAT}),
        ("memory.delete_chat", {"chat_id": "third-chat"}),
        ("memory.empty_trash", {}),
        *(("smart_context.delete_context", {"key": key}) for key in (CONTEXT, NO_CONTEXT)),
        *(("system.revoke_client_key", {"client": key}) for key in (KEY, NO_KEY)),
    ):
        await vault.answer(person, name, params)


@pytest.mark.parametrize("person", [BOB, OWNER])
async def test_what_is_anothers_answers_every_command_as_what_does_not_exist(any_vault, person):
    vault = any_vault
    before, wrong, tried = await kept(vault), [], set()
    async for name, owned, absent in calls(vault):
        tried.add(name)
        answers = [await vault.answer(person, name, params) for params in (owned, absent)]
        made_nothing = all(answer.startswith(REFUSALS) for answer in answers)
        told, missing = (same_names(COUNTED.sub("", answer)) for answer in answers)
        is_refused = "There is no chat" in told or "There is no key" in told
        fits = told == missing or (name in MAKING and is_refused)
        if not fits or any(secret in told for secret in SECRETS):
            wrong.append((name, owned, *answers))
        if not made_nothing:
            await remove_what_was_made(vault, person)

    assert not wrong, "\n   ".join(map(str, wrong[0]))
    assert len(tried) > 40
    assert await kept(vault) == before


async def test_every_list_shows_each_person_their_own(any_vault):
    for name in sorted(LISTS):
        params = {"query": "way"} if name == "memory.search" else {}
        assert "secret" in await any_vault.answer(ALICE, name, params), name
        for person in (BOB, OWNER):
            told = await any_vault.answer(person, name, params)
            assert not any(secret in told for secret in SECRETS), name


async def test_every_route_shows_another_person_what_does_not_exist(vault):
    for person, (route, (owned, absent)) in product((BOB, OWNER), addresses(vault.file).items()):
        async with vault.browser(person) as browser:
            found, missing = await browser.get(owned), await browser.get(absent)
        told = same_names(found.text)
        assert not any(secret in told for secret in SECRETS), route
        answers = (found.status_code, told), (missing.status_code, same_names(missing.text))
        assert answers[0] == answers[1], route
    async with vault.browser(ALICE) as browser:
        assert "secret" in (await browser.get(f"/chats/{CHAT}")).text
        assert (await browser.get(f"/api/files/{vault.file}")).text == "secret words of a file"


async def test_no_event_of_a_chat_or_context_reaches_another_person(vault):
    own, others = Socket(vault, ALICE), [Socket(vault, BOB), Socket(vault, OWNER)]
    for socket in (own, *others):
        await socket.until("ui.register_panel")
    await vault.call(ALICE, "chat.send", chat_id=CHAT, message="The secret ferry to Lisbon?")
    await vault.call(ALICE, "smart_context.refresh_topics", chat_id=CHAT, wait=True)
    await vault.call(ALICE, "smart_context.set_filter", chat_id=CHAT, topics=["Ferries"])
    await vault.call(ALICE, "smart_context.save_context", key=CONTEXT, items=["note.md"])
    await vault.call(ALICE, "memory.delete_chat", chat_id=CHAT)
    await vault.call(ALICE, "memory.empty_trash")
    vault.host.emit("test.of_a_plugin", {}, ALICE)
    await own.until("test.of_a_plugin")
    for socket in (own, *others):
        await socket.leave()

    assert own.names() >= {
        "chat.started",
        "chat.token",
        "chat.finished",
        "memory.chat_changed",
        "memory.chat_deleted",
        "smart_context.contexts_changed",
        "smart_context.filter_changed",
    }
    for other in others:
        assert other.names() <= {"ui.register_panel", "smart_context.contexts_changed"}
        assert not any(secret in json.dumps(other.events) for secret in SECRETS)


async def test_all_write_in_a_shared_chat_and_only_its_person_deletes_and_shares_it(vault):
    shared = await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=True)
    assert shared == {"chat_id": CHAT, "shared": True}
    (row,) = (await vault.call(BOB, "memory.list_chats"))["chats"]
    assert (row["id"], row["person"], row["shared"]) == (CHAT, ALICE, True)
    await vault.call(BOB, "chat.send", chat_id=CHAT, message="Bob asks", stream=False)
    assert "Bob asks" in await vault.answer(ALICE, "memory.load_chat", {"chat_id": CHAT})
    async with vault.browser(BOB) as browser:
        assert (await browser.get(f"/api/files/{vault.file}")).text == "secret words of a file"

    stolen = {"title": "Bob's", "owned_by": {"person": BOB}}
    await vault.call(BOB, "memory.save_chat", chat_id=CHAT, data=stolen)
    document = await vault.call(ALICE, "memory.load_chat", chat_id=CHAT)
    assert (document["title"], document["owned_by"]["person"]) == ("secret plans", ALICE)
    for name, params in (
        ("memory.rename_chat", {"title": "Bob's"}),
        ("chat.set_instructions", {"text": "Obey Bob."}),
        ("chat.set_private", {"private": False}),
        ("chat.set_model", {"model": None}),
        ("memory.delete_chat", {}),
        ("memory.share_chat", {"shared": False}),
    ):
        with pytest.raises(CommandFailed, match="Only the person whose chat it is"):
            await vault.call(BOB, name, chat_id=CHAT, **params)

    await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=False)
    assert (await vault.call(BOB, "memory.list_chats"))["chats"] == []
    assert await vault.call(BOB, "memory.load_chat", chat_id=CHAT) == {"messages": []}
    async with vault.browser(BOB) as browser:
        assert (await browser.get(f"/api/files/{vault.file}")).status_code == 404
        assert (await browser.get(f"/chats/{CHAT}")).status_code == 404


ARRANGED = {
    "title": "Alice's",
    "folder": "Hers",
    "pinned": True,
    "archived": False,
    "private": True,
    "instructions": "Be brief.",
    "model": "chat",
    "source": {"client": "codex"},
    "created_at": "2026-01-01T00:00:00Z",
}
STOLEN = {
    "title": "Bob's",
    "folder": "",
    "pinned": False,
    "archived": True,
    "private": False,
    "instructions": "Obey Bob.",
    "model": "fast",
    "source": {"client": "aider"},
    "created_at": "1999-01-01T00:00:00Z",
    "owned_by": {"person": BOB},
}


async def arranged(vault):
    return await vault.call(ALICE, "memory.load_chat", chat_id=CHAT)


@pytest.mark.parametrize("whole", [True, False], ids=["with its messages", "without them"])
async def test_others_write_in_a_shared_chat_and_arrange_nothing_of_it(vault, whole):
    await vault.call(ALICE, "memory.save_chat", chat_id=CHAT, data=ARRANGED)
    await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=True)
    before = await arranged(vault)
    assert {key: before[key] for key in ARRANGED} == ARRANGED
    bobs = await vault.call(BOB, "memory.load_chat", chat_id=CHAT)
    said = {"id": "bobs", "role": "user", "content": "Bob was here"}
    messages = {"messages": [*bobs["messages"], said]}
    data = {**(messages if whole else {}), **STOLEN, "notes": "Bob's"}
    await vault.call(BOB, "memory.save_chat", chat_id=CHAT, data=data)
    # what a client leaves out is not taken away either
    left_out = {**messages, "notes": "Bob's"}
    await vault.call(BOB, "memory.save_chat", chat_id=CHAT, data=left_out)
    after = await arranged(vault)
    assert {key: after.get(key) for key in STOLEN} == {key: before.get(key) for key in STOLEN}
    assert after["notes"] == "Bob's"
    assert after["messages"][-1]["id"] == "bobs"


async def test_nothing_of_a_shared_chats_arrangement_is_made_by_another(vault):
    await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=True)
    before = await arranged(vault)
    alices, bobs = map(vault.host.services.storage.for_person, (ALICE, BOB))
    await bobs.chats.update(CHAT, lambda document: document.update(STOLEN))
    assert await arranged(vault) == before
    await alices.chats.update(CHAT, lambda document: document.update(ARRANGED))
    assert (await arranged(vault))["folder"] == "Hers"


async def test_in_a_shared_chat_each_person_has_their_own_filter(vault):
    await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=True)
    bobs = Socket(vault, BOB)
    await bobs.until("ui.register_panel")
    await vault.call(ALICE, "smart_context.set_filter", chat_id=CHAT, topics=["Ferries"])
    await vault.call(BOB, "smart_context.hide", chat_id=CHAT, message_ids=["m1"])

    async def panel(person):
        return await vault.call(person, "smart_context.get_topics", chat_id=CHAT)

    alices, seen = await panel(ALICE), await panel(BOB)
    assert (alices["active_topics"], seen["active_topics"]) == (["Ferries"], [])
    assert (alices["hidden"], seen["hidden"]) == ([], ["m1"])
    await vault.call(BOB, "smart_context.undo", chat_id=CHAT)
    assert ((await panel(ALICE))["active_topics"], (await panel(BOB))["hidden"]) == (
        ["Ferries"],
        [],
    )
    filters = [e["params"] for e in bobs.events if e["method"] == "smart_context.filter_changed"]
    assert all(params["active_topics"] == [] for params in filters)
    await bobs.leave()

    # The names of topics are the chat's, also where another has picked them.
    await vault.call(
        BOB, "smart_context.rename_topic", chat_id=CHAT, label="Ferries", new_label="Boats"
    )
    seen = await panel(ALICE)
    assert "Boats" in [topic["label"] for topic in seen["topics"]]
    assert (seen["active_topics"], (await panel(BOB))["active_topics"]) == (["Boats"], [])


async def test_a_topic_that_the_owner_picked_stays_picked_when_another_renames_it(vault):
    chat = {"chat_id": "of-owner"}
    message = {"id": "m1", "role": "user", "content": "The way to Porto?"}
    await vault.call(OWNER, "memory.save_chat", data={"messages": [message]}, **chat)
    await vault.call(OWNER, "smart_context.add_topic", label="Trains", select=True, **chat)
    await vault.call(OWNER, "memory.share_chat", shared=True, **chat)
    renamed = {"label": "Trains", "new_label": "Rails"}
    await vault.call(BOB, "smart_context.rename_topic", **renamed, **chat)
    shown = await vault.call(OWNER, "smart_context.get_topics", **chat)
    assert shown["active_topics"] == ["Rails"]


async def test_all_say_what_the_messages_of_a_shared_chat_are_about(vault):
    """Its topics are the chat's, whoever arranges them; picks and undo are a person's own."""
    await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=True)
    await vault.call(ALICE, "smart_context.add_topic", chat_id=CHAT, label="Trains")
    await vault.call(ALICE, "smart_context.set_filter", chat_id=CHAT, topics=["Ferries"])

    async def seen(person):
        shown = await vault.call(person, "smart_context.topic_map", chat_id=CHAT)
        return {topic["label"]: len(topic["places"]) for topic in shown["topics"]}

    said = {"chat_id": CHAT, "message_ids": ["m1"], "topic_id": "Trains"}
    await vault.call(BOB, "smart_context.assign", **said)
    assert await seen(ALICE) == await seen(BOB)
    assert (await seen(ALICE))["Trains"] == 1
    shown = await vault.call(ALICE, "smart_context.get_topics", chat_id=CHAT)
    assert (shown["active_topics"], shown["undo_words"]) == (["Ferries"], "Ferries picked")

    await vault.call(BOB, "smart_context.undo", chat_id=CHAT)
    assert await seen(ALICE) == await seen(BOB) == {"Ferries": 0, "Trains": 0}
    await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=False)
    assert await vault.answer(BOB, "smart_context.assign", said) == (
        await vault.answer(BOB, "smart_context.assign", {**said, "chat_id": NO_CHAT})
    ).replace(NO_CHAT, CHAT)


async def own(vault):
    """What is Alice's own beside and in a chat that she shares."""
    storage = vault.people.storage.for_person(ALICE)
    document = await storage.chats.load(CHAT)
    beside, *_ = await storage.documents.read(CHAT, choices_name(ALICE))
    return {
        "arranged": {key: document.get(key) for key in ITS_PERSONS},
        "choices": beside.value,
        "trash": await storage.chats.trash.ids(ALICE),
        "context": storage.vault_documents.read("contexts", CONTEXT),
        "keys": set(key_file(storage.records).read().of(ALICE)),
    }


async def test_no_command_of_another_changes_what_is_its_persons_in_a_shared_chat(
    tmp_path, tmp_path_factory
):
    tried = set()
    async with served_over("files", tmp_path, tmp_path_factory) as vault:
        await vault.call(ALICE, "memory.save_chat", chat_id=CHAT, data=ARRANGED)
        await vault.call(ALICE, "smart_context.set_filter", chat_id=CHAT, topics=["Ferries"])
        await vault.call(ALICE, "smart_context.pin", chat_id=CHAT, message_ids=["m1"])
        await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=True)
        before = await own(vault)
        async for name, owned, _ in calls(vault):
            tried.add(name)
            told = await vault.answer(BOB, name, owned)
            assert await own(vault) == before, (name, owned, told)
    assert len(tried) > 40


async def test_an_export_of_a_shared_chat_has_the_choices_of_whoever_asks(vault):
    await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=True)
    await vault.call(BOB, "smart_context.hide", chat_id=CHAT, message_ids=["m1"])
    hidden = {}
    for person in (ALICE, BOB):
        async with vault.browser(person) as browser:
            exported = (await browser.get(f"/chats/{CHAT}/export?as=json")).json()
        hidden[person] = exported["smart_context"].get("hidden")
    assert hidden == {ALICE: None, BOB: ["m1"]}


async def test_an_export_is_refused_while_its_choices_can_not_be_read(vault):
    await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=True)
    documents = vault.people.storage.for_person(BOB).documents
    await documents.replace(CHAT, choices_name(BOB), {"hidden": "m1"}, expected=None)
    async with vault.browser(BOB) as browser:
        refused = await browser.get(f"/chats/{CHAT}/export?as=json")
        readable = await browser.get(f"/chats/{CHAT}/export?as=markdown")
    assert (refused.status_code, readable.status_code) == (409, 200)
    assert "can't be read; open it and choose again" in refused.text
    async with vault.browser(ALICE) as browser:
        assert (await browser.get(f"/chats/{CHAT}/export?as=json")).status_code == 200

    await vault.call(BOB, "smart_context.hide", chat_id=CHAT, message_ids=["m1"])
    async with vault.browser(BOB) as browser:
        assert (await browser.get(f"/chats/{CHAT}/export?as=json")).status_code == 200


async def test_two_people_use_one_name_for_contexts_and_keys(vault):
    await vault.call(BOB, "smart_context.save_context", key=CONTEXT, items=["bob.md"])
    assert "bob.md" not in await vault.answer(ALICE, "smart_context.get_context", {"key": CONTEXT})
    made = await vault.call(BOB, "system.new_client_key", client=KEY)
    assert made["client"] == KEY
    assert (await vault.call(BOB, "system.clients"))["keys"] == [KEY]
    await vault.call(BOB, "system.revoke_client_key", client=KEY)
    assert (await vault.call(ALICE, "system.clients"))["keys"] == [KEY]


async def test_a_shared_context_is_changed_by_all_and_deleted_by_its_person(vault):
    await vault.call(ALICE, "smart_context.share_context", key=CONTEXT, shared=True)
    (row,) = (await vault.call(BOB, "smart_context.list_contexts"))["contexts"]
    assert (row["key"], row["shared"], row["person"]) == (CONTEXT, True, ALICE)
    await vault.call(BOB, "smart_context.save_context", key=CONTEXT, items=["more.md"])
    assert "more.md" in await vault.answer(ALICE, "smart_context.get_context", {"key": CONTEXT})
    for name, params in (
        ("smart_context.delete_context", {}),
        ("smart_context.share_context", {"shared": False}),
    ):
        with pytest.raises(CommandFailed, match="Only the person whose context it is"):
            await vault.call(BOB, name, key=CONTEXT, **params)
    await vault.call(ALICE, "smart_context.share_context", key=CONTEXT, shared=False)
    with pytest.raises(CommandFailed, match="There is no context"):
        await vault.call(BOB, "smart_context.get_context", key=CONTEXT)
    assert await vault.call(ALICE, "smart_context.delete_context", key=CONTEXT) == {"deleted": True}


async def test_a_digest_opens_no_file_of_anothers_wherever_it_is_written(vault):
    """Written past the commands' own check, as by an import or a program's request."""
    file = {"id": "f", "name": "x.txt", "file_type": "text/plain", "storage_key": vault.file}
    message = {"id": "m", "role": "user", "content": "Read it", "files": [file]}
    bobs = vault.host.services.storage.for_person(BOB)
    await bobs.chats.update("bobs", lambda document: document.update(messages=[message]))
    assert await bobs.blobs.read(vault.file) is None
    await vault.call(BOB, "memory.share_chat", chat_id="bobs", shared=True)
    async with vault.browser(BOB) as browser:
        assert (await browser.get(f"/api/files/{vault.file}")).status_code == 404
        assert (await browser.get(f"/api/files/{NO_FILE}")).status_code == 404
    # Who sends the same bytes has the file by that.
    async with vault.browser(BOB) as browser:
        sent = await browser.post(
            "/api/files", content=b"secret words of a file", headers={"X-File-Name": "own.txt"}
        )
        assert sent.json()["storage_key"] == vault.file
        assert (await browser.get(f"/api/files/{vault.file}")).status_code == 200


async def test_files_of_others_stay_in_a_chat_that_is_no_longer_shared(vault):
    await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=True)
    async with vault.browser(BOB) as browser:
        sent = (
            await browser.post("/api/files", content=b"of Bob", headers={"X-File-Name": "b.txt"})
        ).json()
    await vault.call(BOB, "chat.send", chat_id=CHAT, message="This", files=[sent], stream=False)
    await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=False)
    async with vault.browser(ALICE) as browser:
        assert (await browser.get(f"/api/files/{sent['storage_key']}")).text == "of Bob"


async def test_a_copy_is_the_copying_persons(vault):
    await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=True)
    made = (await vault.call(BOB, "memory.copy_chat", chat_id=CHAT))["chat_id"]
    assert await vault.call(ALICE, "memory.load_chat", chat_id=made) == {"messages": []}
    rows = (await vault.call(BOB, "memory.list_chats"))["chats"]
    assert {row["id"]: row["person"] for row in rows} == {CHAT: ALICE, made: BOB}


async def test_of_two_people_who_make_one_chat_at_once_one_has_it(vault):
    async def make(person):
        return await vault.answer(
            person, "memory.save_chat", {"chat_id": "new", "data": {"title": person}}
        )

    answers = await asyncio.gather(*map(make, (ALICE, BOB)))
    assert sum("CommandFailed" in answer for answer in answers) == 1
    titles = [
        (await vault.call(person, "memory.load_chat", chat_id="new")).get("title")
        for person in (ALICE, BOB)
    ]
    winner = (ALICE, BOB)["CommandFailed" in answers[0]]
    assert titles == [person if person == winner else None for person in (ALICE, BOB)]


async def test_a_deleted_chat_keeps_its_id_for_its_person(vault):
    for name in ("memory.restore_chat", "memory.purge_chat", "memory.save_chat"):
        params = {"data": {"title": "mine"}} if name == "memory.save_chat" else {}
        with pytest.raises(CommandFailed):
            await vault.call(BOB, name, chat_id="secret-deleted", **params)
    await vault.call(ALICE, "memory.restore_chat", chat_id="secret-deleted")


async def test_a_page_hears_of_a_chat_that_is_shared_and_taken_back(vault):
    bobs = Socket(vault, BOB)
    await bobs.until("ui.register_panel")
    for shared in (True, False):
        await vault.call(ALICE, "memory.share_chat", chat_id=CHAT, shared=shared)
    async with asyncio.timeout(PATIENCE_S):
        await bobs.until("memory.chat_shared")
    told = [e["params"] for e in bobs.events if e["method"] == "memory.chat_shared"]
    await vault.call(ALICE, "chat.send", chat_id=CHAT, message="Alone again", stream=False)
    vault.host.emit("test.of_a_plugin", {}, BOB)
    await bobs.until("test.of_a_plugin")
    await bobs.leave()
    assert [params["shared"] for params in told] == [True, False]
    assert "Alone again" not in json.dumps(bobs.events)
    assert not {"chat.started", "chat.finished"} & bobs.names()


async def test_what_one_person_sends_for_import_takes_no_place_of_another_s(
    tmp_path, tmp_path_factory
):
    async with served_over("files", tmp_path, tmp_path_factory) as vault:
        async with vault.browser(ALICE) as alice, vault.browser(BOB) as bob:
            mine = (await alice.post("/api/imports", content=b"[]")).json()["upload"]
            for _ in range(9):
                sent = (await bob.post("/api/imports", content=b"[]")).json()["upload"]
        found = await vault.answer(ALICE, "memory.import", {"upload": mine})
        assert "is not there" not in found
        assert "is not there" in await vault.answer(ALICE, "memory.import", {"upload": sent})
