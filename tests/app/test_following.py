"""What a served vault's settings and trust say is taken up, whatever goes wrong on the way."""

import asyncio
from contextlib import AsyncExitStack
from types import SimpleNamespace

import pytest

from smart_context.app.composition import read_vault, settings_files, trust_of
from smart_context.app.following import Follower, stamps_of
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


async def test_a_change_that_can_not_be_taken_up_is_logged_and_the_next_one_is(tmp_path, caplog):
    reloaded = asyncio.Queue()

    async def reload(config, _models=None):
        reloaded.put_nowait(config.name)
        if config.name == "bad":
            raise OSError("no space left")

    host = SimpleNamespace(
        config=read_vault(tmp_path),
        services=SimpleNamespace(trust=trust_of(tmp_path)),
        notes=None,
        reload=reload,
        emit=lambda *_: None,
    )
    async with AsyncExitStack() as replaced, asyncio.timeout(PATIENCE_S):
        stamps = stamps_of(settings_files(tmp_path))
        running = asyncio.create_task(Follower(host, stamps, replaced, each_s=0.001).run())
        for name in ("bad", "good one"):
            (tmp_path / ".vault.toml").write_text(f'[vault]\nname = "{name}"\n')
            while await reloaded.get() != name:
                pass
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert "changed settings could not be loaded" in caplog.text
    assert "no space left" in caplog.text
