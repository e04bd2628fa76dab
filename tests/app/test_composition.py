import os

import pytest

from smart_context.app.composition import composed, make_host, models_of, read_vault

pytestmark = pytest.mark.anyio


async def test_the_responder_and_the_plugins_share_one_index_of_the_notes(tmp_path):
    (tmp_path / "a.md").write_text("Roses want sun.")
    os.utime(tmp_path / "a.md", (1, 1))  # not changed just now, so it is read once
    async with composed(read_vault(tmp_path)) as parts:
        host = make_host(parts)
        assert host.notes is parts.notes
        async with models_of(parts.config, host.notes) as others:
            asked = [{"role": "user", "content": "Which sun do roses want?"}]
            answer = await others.chat.complete(asked)
        assert "Roses want sun." in answer.text
        assert parts.notes.index.revision == 1
        await parts.notes.ask(lambda index: index.close())
