"""What a served vault's settings and trust say is taken up, whatever goes wrong on the way."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from types import SimpleNamespace

import pytest

from smart_context.app import following
from smart_context.app.composition import read_vault, settings_files, trust_of
from smart_context.app.following import Follower, stamps_of
from smart_context.llm.openai.connection import EndpointClient
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


def vault_host(folder, reload):
    """A host of the folder that does nothing but reload."""
    return SimpleNamespace(
        config=read_vault(folder),
        services=SimpleNamespace(trust=trust_of(folder)),
        notes=None,
        reload=reload,
        emit=lambda *_: None,
    )


@asynccontextmanager
async def followed(host, folder):
    """Its settings are followed, in steps that take no time."""
    async with AsyncExitStack() as replaced, asyncio.timeout(PATIENCE_S):
        stamps = stamps_of(settings_files(folder))
        follower = Follower(host, stamps, EndpointClient(), replaced, each_s=0.001)
        running = asyncio.create_task(follower.run())
        yield
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_a_change_that_can_not_be_taken_up_is_logged_and_the_next_one_is(tmp_path, caplog):
    reloaded = asyncio.Queue()

    async def reload(config, _models=None):
        reloaded.put_nowait(config.name)
        if config.name == "bad":
            raise OSError("no space left")

    async with followed(vault_host(tmp_path, reload), tmp_path):
        for name in ("bad", "good one"):
            (tmp_path / ".vault.toml").write_text(f'[vault]\nname = "{name}"\n')
            while await reloaded.get() != name:
                pass
    assert "changed settings could not be loaded" in caplog.text
    assert "no space left" in caplog.text


async def test_settings_that_an_editor_empties_before_it_writes_them_are_not_taken_up_empty(
    tmp_path, monkeypatch
):
    reloaded, looks = [], asyncio.Queue()
    settings = tmp_path / ".vault.toml"
    settings.write_text('[vault]\nname = "before"\n')

    async def reload(config, _models=None):
        reloaded.append(config.name)

    def noted(paths):
        looks.put_nowait(None)
        return stamps_of(paths)

    monkeypatch.setattr(following, "stamps_of", noted)
    monkeypatch.setattr(following, "_FRESH_NS", 1e9 * PATIENCE_S)
    async with followed(vault_host(tmp_path, reload), tmp_path):
        settings.write_text("")
        for _ in range(3):
            await looks.get()
        settings.write_text('[vault]\nname = "after"\n')
        while not reloaded:
            await looks.get()
    assert reloaded == ["after"]
