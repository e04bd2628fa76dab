"""Notes near the selected topics: by words, by meaning, and what is said when that fails."""

import asyncio
from types import SimpleNamespace

import pytest

from smart_context.base.errors import ModelFailed
from smart_context.chat.messages import Message
from smart_context.llm.offline.embedded import NAME as EMBEDDED
from smart_context.llm.offline.embedded import EmbeddedEmbedder
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.notes.suggestions import WORDS_ONLY, Suggestions
from smart_context.relevance.note_vectors import NoteVectors
from smart_context.storage.files.caches import FileCaches
from smart_context.vault.followed import FollowedVault
from tests.patience import PATIENCE_S
from tests.plugin.labelled_notes import NOTES, UNRELATED, WANTED
from tests.scripted import ScriptedEmbedder

pytestmark = pytest.mark.anyio

FEW = {"a.md": "Alpha is first.", "sub/b.md": "Beta is about bread.", "c.md": "Cello lessons."}


class Chat:
    """Suggestions for one chat, whose selected topics a test sets; what runs later waits."""

    def __init__(self, vault, embedder):
        self.topics = []
        self.messages = ()
        self.later = []
        caches = FileCaches(vault / ".memory")
        self.notes = FollowedVault(vault, vault / ".memory", caches=caches)
        self.suggestions = Suggestions(
            vault=self.notes,
            vectors=NoteVectors(caches, embedder, self.notes.index.read),
            is_embedded=embedder.name == EMBEDDED,
            view_of=self._view,
            run=lambda _key, work: self.later.append(work),
        )

    async def _view(self, chat_id):
        state = FilterState().select(self.topics)
        sidecar = SimpleNamespace(state=state, topics=())
        return SimpleNamespace(sidecar=sidecar, topics=(), messages=self.messages)

    async def about(self, *topics, limit=6):
        self.topics = list(topics)
        return await self.suggestions.suggest_notes("c", limit)

    async def settle(self):
        while self.later:
            await self.later.pop()

    def close(self):
        for work in self.later:
            work.close()
        self.notes.index.close()


@pytest.fixture
def chat(vault):
    made = []

    def make(embedder):
        made.append(Chat(vault, embedder))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.mark.slow
async def test_the_nearest_note_is_suggested_whether_or_not_it_has_the_words(notes, chat):
    notes(NOTES)
    embedder = EmbeddedEmbedder()
    one = chat(embedder)
    await one.about("anything")
    await one.settle()
    first = [(await one.about(topic))["notes"][:1] for topic, _ in WANTED]
    await one.settle()
    wrong = [
        (topic, found)
        for (topic, wanted), found in zip(WANTED, first, strict=True)
        if found != [wanted]
    ]
    assert len(wrong) <= 1, wrong
    unrelated = [(await one.about(topic))["notes"] for topic in UNRELATED]
    assert sum(map(len, unrelated)) <= 2
    await embedder.aclose()


async def test_the_nearest_to_any_of_several_topics_are_suggested(notes, chat):
    notes(FEW)
    found = await chat(ScriptedEmbedder(dimension=512)).about("bread", "cello lessons")
    assert found["about"] == ["bread", "cello lessons"]
    assert sorted(found["notes"]) == ["c.md", "sub/b.md"]
    assert found["remark"] == ""


async def test_when_the_embedder_is_down_words_decide_and_it_is_said(notes, chat):
    notes(FEW)
    embedder = ScriptedEmbedder()
    embedder.error = ModelFailed("down")
    one = chat(embedder)
    assert await one.about("bread") == {
        "notes": ["sub/b.md"],
        "about": ["bread"],
        "remark": WORDS_ONLY,
    }
    embedder.error = None
    assert (await one.about("bread"))["remark"] == ""


async def test_only_notes_that_share_words_are_sent_to_an_endpoint(notes, chat):
    notes(FEW)
    embedder = ScriptedEmbedder()
    one = chat(embedder)
    await one.about("bread")
    await one.settle()
    sent = {text for call in embedder.asked for text in call}
    assert sent == {"bread", "sub, b\nBeta is about bread."}


async def test_without_topics_what_was_asked_counts_and_not_the_answers(notes, chat):
    notes(FEW)
    one = chat(ScriptedEmbedder(dimension=512))
    one.messages = [
        Message(id="1", role="user", content="bread"),
        Message(id="2", role="assistant", content="Alpha and cello lessons."),
    ]
    assert (await one.about())["notes"] == ["sub/b.md"]


async def test_a_chat_about_nothing_gets_nothing(notes, chat):
    notes(FEW)
    one = chat(ScriptedEmbedder())
    assert await one.about() == {"notes": [], "about": [], "remark": ""}


async def test_the_command_knows_the_chats_own_topics(notes, served):
    notes(FEW)
    async with asyncio.timeout(PATIENCE_S), served() as running:
        await running.call("set_filter", chat_id="c", topics=["bread"])
        suggested = await running.call("suggest_notes", chat_id="c", limit=1)
        assert suggested == {"notes": ["sub/b.md"], "about": ["bread"], "remark": ""}
