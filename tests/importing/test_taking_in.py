"""What comes in with a chat besides its messages, and what an import says of it."""

from dataclasses import replace

import pytest

from smart_context.base.values import OWNER, PersonId
from smart_context.importing.found import FoundChat, thought
from smart_context.importing.reading import ChatFile
from smart_context.importing.taking_in import Importer
from smart_context.plugin.choices.sidecars import document_names
from smart_context.plugin.choices.state import FilterState
from smart_context.storage.files.storage import file_storage
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio


@pytest.fixture
def storage():
    return memory_storage()


@pytest.fixture
def imported(storage, monkeypatch, tmp_path):
    """Imports chats as a reader found them."""

    async def imported(*chats, storage=storage):
        monkeypatch.setattr(ChatFile, "chats", lambda *_: iter(chats))
        path = tmp_path / "chats.json"
        path.touch()
        return await Importer(storage).run([path])

    return imported


def chat_of(*said, instructions="", hidden=()):
    chat = FoundChat(client="chatbox", id="one", instructions=instructions)
    for place, text in enumerate(said):
        chat.add(str(place), ("user", "assistant")[place % 2], text)
        chat.messages[-1].is_hidden = place in hidden
    return chat


async def only(storage):
    (row,) = await storage.chats.listing.rows(OWNER)
    return row.id, await storage.chats.load(row.id)


async def choices(storage, chat, person=OWNER):
    read = await storage.documents.read(chat, document_names(person)[0])
    return FilterState.from_dict(read[0].value)


async def test_messages_that_are_hidden_there_come_in_hidden(storage, imported):
    await imported(chat_of("Hello", "Hi", "Aside", hidden={2}))
    chat, document = await only(storage)
    assert (await choices(storage, chat)).hidden == (document["messages"][2]["id"],)


async def test_a_hidden_message_that_was_released_here_stays_so_and_new_ones_are_hidden(
    storage, imported
):
    await imported(chat_of("Hello", "Hi", "Aside", hidden={2}))
    chat, _ = await only(storage)
    (name,) = document_names(OWNER)[:1]
    (before,) = await storage.documents.read(chat, name)
    released = FilterState(active_topics=("Boats",)).to_dict()
    await storage.documents.replace(chat, name, released, expected=before.revision)
    await imported(chat_of("Hello", "Hi", "Aside", "Well", hidden={2, 3}))
    _, document = await only(storage)
    state = await choices(storage, chat)
    assert state.hidden == (document["messages"][3]["id"],)
    assert state.active_topics == ("Boats",)


async def test_a_person_of_a_team_has_what_they_brought_hidden_in_their_own_choices(
    storage, imported
):
    person = PersonId("ada")
    chat = chat_of("Hello", "Aside", hidden={1})
    await imported(chat, storage=replace(storage, person=person))
    chat_id = chat.chat_id_for(person)
    assert len((await choices(storage, chat_id, person)).hidden) == 1
    assert not (await choices(storage, chat_id)).hidden


@pytest.mark.parametrize("damaged", [b"{", b'{"hidden": "all"}'])
async def test_what_comes_in_hidden_does_not_replace_choices_that_can_not_be_read(
    tmp_path, damaged, imported
):
    chat = chat_of("Hello", "Aside", hidden={1})
    folder = tmp_path / "memory"
    folder.mkdir()
    beside = folder / f"{chat.chat_id_for(OWNER)}.filter.json"
    beside.write_bytes(damaged)
    account = await imported(chat, storage=file_storage(folder))
    assert "can't be read" in account.failed[0]["error"]
    assert beside.read_bytes() == damaged
    assert not (folder / f"{chat.chat_id_for(OWNER)}.json").exists()


async def test_a_hidden_thought_is_no_part_of_the_answer_that_is_shown(storage, imported):
    chat = chat_of("Hello")
    chat.add("t", "assistant").parts.append(thought("Hm"))
    chat.messages[-1].is_hidden = True
    chat.add("a", "assistant", "Hi")
    await imported(chat)
    chat_id, document = await only(storage)
    assert [message["content"] for message in document["messages"]][2] == "Hi"
    assert (await choices(storage, chat_id)).hidden == (document["messages"][1]["id"],)


async def test_a_system_prompt_becomes_the_instructions_of_the_chat(storage, imported):
    await imported(chat_of("Hello", instructions=" Answer in Latin. "))
    _, document = await only(storage)
    assert document["instructions"] == "Answer in Latin."


async def test_other_instructions_come_in_later_unless_they_were_changed_here(storage, imported):
    await imported(chat_of("Hello"))
    account = await imported(chat_of("Hello", instructions="Answer in Latin."))
    chat, document = await only(storage)
    assert (account.grown, document["instructions"]) == (1, "Answer in Latin.")
    again = await imported(chat_of("Hello", instructions="Answer in Latin."))
    assert (again.grown, again.unchanged) == (0, 1)

    def change(document):
        document["instructions"] = "Answer in Greek."

    await storage.chats.update(chat, change)
    await imported(chat_of("Hello", "Hi", instructions="Answer in Gothic."))
    _, document = await only(storage)
    assert document["instructions"] == "Answer in Greek."
    assert len(document["messages"]) == 2


async def test_instructions_that_were_taken_away_here_do_not_come_back(storage, imported):
    await imported(chat_of("Hello", instructions="Answer in Latin."))
    chat, _ = await only(storage)
    await storage.chats.update(chat, lambda document: document.pop("instructions"))
    await imported(chat_of("Hello", instructions="Answer in Latin, please."))
    assert "instructions" not in (await only(storage))[1]


async def test_a_system_prompt_that_is_too_long_for_instructions_is_told(storage, imported):
    account = await imported(chat_of("Hello", instructions="x" * 20_001))
    (failed,) = account.failed
    assert "its system prompt was left out" in failed["error"]
    assert account.new == 1
