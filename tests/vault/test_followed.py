import asyncio
import os
from contextlib import asynccontextmanager

import pytest

from smart_context.storage.files.caches import FileCaches
from smart_context.vault.followed import FollowedVault
from smart_context.vault.index.vault_index import INDEX_FILE
from tests.patience import PATIENCE_S, settled
from tests.vault.links import outlinks

pytestmark = pytest.mark.anyio


@pytest.fixture
def root(tmp_path):
    (tmp_path / "a.md").write_text("[[b]] about roses")
    os.utime(tmp_path / "a.md", (1, 1))  # not changed just now, so it is read once
    return tmp_path


@asynccontextmanager
async def followed(notes):
    following = asyncio.create_task(notes.follow())
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield notes
    finally:
        following.cancel()
        with pytest.raises(asyncio.CancelledError):
            await following


async def until(holds):
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.01)


async def test_nothing_is_looked_at_until_somebody_asks(root):
    notes = FollowedVault(root, root / ".memory", caches=FileCaches(root / ".memory"))
    async with followed(notes):
        await settled()
        assert notes.index.revision == 0
        assert await notes.ask(lambda index: index.files_below("")) == ["a.md"]
        await until(lambda: notes.index.is_watched)
    assert not notes.index.is_watched
    assert sorted(path.name for path in root.iterdir()) == ["a.md"]


async def test_a_search_for_passages_and_a_question_about_links_share_one_index(root):
    notes = FollowedVault(root, root / ".memory", caches=FileCaches(root / ".memory"))
    async with followed(notes):
        assert [passage.source for passage in await notes.find("roses", 3)] == ["a.md"]
        revision = notes.index.revision
        assert revision == 1
        assert await notes.ask(lambda index: outlinks(index, "a.md")) == ()
        assert notes.index.revision == revision


@pytest.mark.slow
async def test_all_who_listen_are_told_of_changes_and_the_search_follows(root):
    notes = FollowedVault(root, root / ".memory", caches=FileCaches(root / ".memory"))
    heard: list = []
    stop = notes.on_change(heard.append)
    async with followed(notes):
        assert await notes.find("tulips", 3) == []
        await until(lambda: notes.index.is_watched)
        (root / "b.md").write_text("tulips")
        await until(lambda: heard)
        assert heard[0].added == ("b.md",)
        assert [passage.source for passage in await notes.find("tulips", 3)] == ["b.md"]
        assert await notes.ask(lambda index: index.files_below("")) == ["a.md", "b.md"]
        stop()
        told = len(heard)
        (root / "b.md").unlink()
        while await notes.ask(lambda index: index.files_below("")) != ["a.md"]:
            await asyncio.sleep(0.01)
        assert len(heard) == told


async def test_the_index_moves_into_the_memory_folder_once_that_is_there(root):
    notes = FollowedVault(root, root / "memory", caches=FileCaches(root / "memory"))
    assert await notes.ask(lambda index: index.names.all()) == []  # nobody has looked yet
    await notes.ask(lambda index: index.refresh())
    (root / "memory").mkdir()
    (root / "memory/chat.md").write_text("no note")
    assert await notes.ask(lambda index: index.names.all()) == ["a.md"]
    assert (root / "memory" / "index" / INDEX_FILE).is_file()
    again = FollowedVault(root, root / "memory", caches=FileCaches(root / "memory"))
    assert await again.ask(lambda index: index.names.all()) == ["a.md"]
    await again.ask(lambda index: index.close())
    await notes.ask(lambda index: index.close())


async def test_a_memory_folder_that_takes_no_file_leaves_the_index_where_it_is(root):
    notes = FollowedVault(root, root / ".memory", caches=FileCaches(root / ".memory"))
    await notes.ask(lambda index: index.refresh())
    (root / ".memory").mkdir()
    (root / ".memory/index").write_text("in the way")
    assert await notes.ask(lambda index: index.names.all()) == ["a.md"]
    assert await notes.ask(lambda index: index.outline("a.md").length) == 17
    await notes.ask(lambda index: index.close())
