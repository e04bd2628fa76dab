from types import SimpleNamespace

import pytest

from smart_context.base.values import OWNER
from smart_context.host.commands.registry import Caller
from smart_context.plugin.atlas import commands
from smart_context.plugin.atlas.atlases import PersonsAtlas

pytestmark = pytest.mark.anyio


async def test_what_is_pending_is_told_of_the_chats_that_are_shown(monkeypatch):
    mine = PersonsAtlas(unread=7)
    shown = commands.account

    def account(*args, **kwargs):
        mine.unread, mine.built_at = 0, "2026-01-01T00:00:00Z"  # all were read meanwhile
        return shown(*args, **kwargs)

    async def current(*_args, **_kwargs):
        return mine

    monkeypatch.setattr(commands, "account", account)
    monkeypatch.setattr(commands.AtlasCommands, "_current", current)
    unused = dict.fromkeys(commands.AtlasCommands.__dataclass_fields__, SimpleNamespace())
    found = await commands.AtlasCommands(**unused).atlas(Caller(person=OWNER), limit=9)
    assert (found["chats"], found["pending"], found["built_at"]) == (0, 7, None)
