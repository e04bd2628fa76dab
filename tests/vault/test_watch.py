import asyncio

import pytest

from smart_context.vault.index import VaultIndex
from smart_context.vault.watch import watch_vault
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_the_index_follows_while_it_is_watched(tmp_path):
    (tmp_path / "a.md").write_text("[[b]]")
    index = VaultIndex(tmp_path, tmp_path / ".memory")
    seen: asyncio.Queue = asyncio.Queue()
    async with asyncio.timeout(PATIENCE_S):
        watch = asyncio.create_task(watch_vault(index, seen.put_nowait))
        assert (await seen.get()).added == ("a.md",)
        while not index.is_watched:
            await asyncio.sleep(0)
        (tmp_path / "b.md").write_text("")
        assert (await seen.get()).added == ("b.md",)
        assert index.outlinks("a.md") == ("b.md",)
        (tmp_path / ".obsidian").mkdir()
        (tmp_path / ".obsidian/x.md").write_text("")
        (tmp_path / "b.md").unlink()
        assert (await seen.get()).removed == ("b.md",)
        assert index.outlinks("a.md") == ()
        watch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await watch
    assert index.is_watched is False
    index.close()
