"""Histories as the settings say: attached texts and results keep within the model's window."""

from dataclasses import replace

import pytest

from smart_context.app.composition import WindowedHistoryBuilder, WindowedSummarizer
from smart_context.base.config import read_config
from smart_context.chat.messages import Message, MessageId
from smart_context.host.request.window import ATTACHED_SHARE
from smart_context.llm.estimating import estimate
from tests.scripted import ScriptedChatModel

pytestmark = pytest.mark.anyio


class Stored:
    async def read(self, id):  # noqa: A002  the seed's name
        return {"long": "word " * 20_000, "中": "我们坐船。" * 2_000, "short": "Hello."}.get(id)


@pytest.fixture
def config(tmp_path):
    def read(window="context_window = 4000", fast=""):
        (tmp_path / ".vault.toml").write_text(
            f'[llm]\nbase_url = "http://127.0.0.1:9/v1"\n{window}\n'
            f'[llm.categories]\nchat = "local"\n{fast}\n'
        )
        config = read_config(tmp_path, plugin_settings={})
        return replace(config, **config.named)

    return read


def carrier(*keys):
    files = tuple({"name": key, "storage_key": key} for key in keys)
    return Message(id=MessageId("m"), role="user", content="Look.", files=files)


@pytest.mark.parametrize("keys", [["long"], ["中"], ["short", "long", "中"]])
async def test_attached_texts_fill_half_of_a_request(config, keys):
    settings = config()
    (built,) = await WindowedHistoryBuilder(lambda: settings)([carrier(*keys)], files=Stored())
    most = 4_000 * 0.9 * ATTACHED_SHARE
    assert most * 0.8 < estimate(built.text) < most + 100 * len(keys)


async def test_without_a_window_all_of_a_text_goes(config):
    settings = config(window="")
    (built,) = await WindowedHistoryBuilder(lambda: settings)([carrier("long")], files=Stored())
    assert built.text.count("word ") == 20_000


async def test_texts_that_are_not_stored_are_read_first(config):
    settings = config()
    build = WindowedHistoryBuilder(lambda: settings)
    (built,) = await build(
        [carrier("new", "short")], files=Stored(), unstored={"new": "Not stored."}
    )
    assert "Not stored." in built.text
    assert "Hello." in built.text


async def test_a_small_fast_model_is_shown_small_parts(config):
    settings = config(fast='fast = { model = "tiny", context_window = 1000 }')
    model = ScriptedChatModel(lambda _: "Notes. " * 200, name="tiny")
    messages = [Message(id=MessageId("m"), role="user", content="word " * 50)] * 300
    written = await WindowedSummarizer(lambda: settings)(messages, "", model)
    assert len(model.asked) > 2
    for asked in model.asked:
        assert sum(estimate(message["content"]) for message in asked.messages) < 900
    assert estimate(written) < 200
