import asyncio
import contextlib
import sys
from pathlib import Path

import pytest

from smart_context.vault.index.vault_index import VaultIndex
from smart_context.vault.watching import watch_vault
from tests.patience import PATIENCE_S
from tests.vault.links import outlinks
from tests.vaults import kept_index

WATCHES = Path("/proc/self/fdinfo")

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_the_index_follows_while_it_is_watched(tmp_path):
    (tmp_path / "a.md").write_text("[[b]]")
    index = kept_index(tmp_path, tmp_path / ".memory")
    seen: asyncio.Queue = asyncio.Queue()
    async with asyncio.timeout(PATIENCE_S):
        watch = asyncio.create_task(watch_vault(index, seen.put_nowait))
        assert (await seen.get()).added == ("a.md",)
        while not index.is_watched:
            await asyncio.sleep(0)
        (tmp_path / "b.md").write_text("")
        assert (await seen.get()).added == ("b.md",)
        assert outlinks(index, "a.md") == ("b.md",)
        (tmp_path / ".obsidian").mkdir()
        (tmp_path / ".obsidian/x.md").write_text("")
        (tmp_path / "b.md").unlink()
        assert (await seen.get()).removed == ("b.md",)
        assert outlinks(index, "a.md") == ()
        watch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watch
    assert index.is_watched is False
    index.close()


@contextlib.asynccontextmanager
async def watched(vault):
    """An index that is watched, and the queue of what it is told."""
    index = kept_index(vault, vault / ".memory")
    seen: asyncio.Queue = asyncio.Queue()
    async with asyncio.timeout(PATIENCE_S):
        watch = asyncio.create_task(watch_vault(index, seen.put_nowait))
        while not index.is_watched:
            await asyncio.sleep(0.001)
        yield index, seen
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)
    index.close()


async def until(seen, is_so):
    while not is_so():
        await seen.get()


async def test_folders_that_come_later_are_followed_too(tmp_path):
    (tmp_path / "a.md").write_text("")
    async with watched(tmp_path) as (index, seen):
        (tmp_path / "new" / "inner").mkdir(parents=True)
        (tmp_path / "new" / "inner" / "b.md").write_text("")
        await until(seen, lambda: index.names.all() == ["a.md", "new/inner/b.md"])
        (tmp_path / "new" / "inner" / "c.md").write_text("")
        await until(seen, lambda: "new/inner/c.md" in index.names.all())
        (tmp_path / "new").rename(tmp_path / "other")
        await until(
            seen, lambda: index.names.all() == ["a.md", "other/inner/b.md", "other/inner/c.md"]
        )
        (tmp_path / "other" / "inner" / "d.md").write_text("")
        await until(seen, lambda: "other/inner/d.md" in index.names.all())


async def test_a_folder_that_is_no_longer_ignored_is_followed(tmp_path):
    (tmp_path / ".gitignore").write_text("drafts\n")
    (tmp_path / "drafts").mkdir()
    (tmp_path / "drafts" / "a.md").write_text("")
    async with watched(tmp_path) as (index, seen):
        assert index.names.all() == []
        (tmp_path / ".gitignore").write_text("")
        await until(seen, lambda: index.names.all() == ["drafts/a.md"])
        (tmp_path / "drafts" / "b.md").write_text("")
        await until(seen, lambda: index.names.all() == ["drafts/a.md", "drafts/b.md"])


async def test_the_ignore_files_above_the_vault_are_watched_too(tmp_path):
    vault = tmp_path / "above" / "vault"
    vault.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (vault / "a.md").write_text("")
    (vault / "b.md").write_text("")
    async with watched(vault) as (index, seen):
        (tmp_path / "other.md").write_text("")
        (tmp_path / ".gitignore").write_text("b.md\n")
        await until(seen, lambda: index.names.all() == ["a.md"])
        (tmp_path / "above" / ".gitignore").write_text("!b.md\n")
        await until(seen, lambda: index.names.all() == ["a.md", "b.md"])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts the watches of inotify")
async def test_what_a_link_leads_to_is_not_watched(tmp_path):
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    (vault / "folder").mkdir(parents=True)
    for number in range(20):
        (outside / str(number)).mkdir(parents=True)
    (vault / "link").symlink_to(outside)
    (vault / "folder" / "link").symlink_to("/")
    before = inotify_watches()
    async with watched(vault) as (index, seen):
        assert inotify_watches() - before == 2  # the vault and its folder
        (outside / "1" / "stray.md").write_text("")
        (vault / "folder" / "a.md").write_text("")
        assert (await seen.get()).added == ("folder/a.md",)
        assert index.names.all() == ["folder/a.md"]


def inotify_watches():
    found = 0
    for entry in WATCHES.iterdir():
        with contextlib.suppress(OSError):  # it was closed meanwhile
            found += entry.read_text().count("inotify wd")
    return found


async def test_a_vault_that_is_gone_is_an_error(tmp_path):
    index = VaultIndex(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        await watch_vault(index, lambda _changes: None)
    index.close()
