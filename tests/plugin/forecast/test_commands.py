"""What a preview shows; that it is what is sent is tested with the receipts."""

import pytest

from smart_context.plugin.forecast.commands import without_image_data
from smart_context.storage.files.chats import FileChats

pytestmark = pytest.mark.anyio


@pytest.fixture
async def chat(vault):
    messages = [{"id": f"m{n}", "role": "user", "content": f"Words {n}"} for n in range(2)]
    messages += [{"id": "m2", "role": "user", "content": "Words \u200b 2"}]
    store = FileChats(vault / ".memory")
    await store.save("c", {"messages": messages})
    await store.close()
    return "c"


async def test_hidden_text_is_named_with_its_message(served, chat):
    async with served() as running:
        preview = await running.call("preview", chat_id=chat, message="Look <!-- here -->")
    assert [
        (place["message_id"], place["where"], place["kind"]) for place in preview["unseen"]
    ] == [
        ("m2", "a message of yours", "invisible"),
        ("", "your message", "comment"),
    ]


async def test_a_brief_preview_leaves_out_rows_and_prompt(served, chat):
    async with served() as running:
        brief = await running.call("preview", chat_id=chat, message="Hi", brief=True)
        full = await running.call("preview", chat_id=chat, message="Hi")
    assert full.keys() - brief.keys() == {"body", "messages", "prompt", "prompt_tokens"}
    assert {name: full[name] for name in brief} == brief


async def test_the_same_forecast_is_given_until_the_chat_changes(served, chat):
    async with served() as running:
        first = await running.call("preview", chat_id=chat, brief=True)
        await running.call("hide", chat_id=chat, message_ids=["m2"])
        second = await running.call("preview", chat_id=chat, brief=True)
    assert (first["in"], second["in"]) == (3, 2)
    assert second["tokens"] < first["tokens"]


def test_images_are_shown_by_their_type_and_size():
    text = {"type": "text", "text": "Look"}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 1200}}
    prompt = [{"role": "system", "content": "Hi"}, {"role": "user", "content": [text, image]}]
    shown = without_image_data(prompt)
    assert shown[0] == prompt[0]
    assert shown[1]["content"] == [
        text,
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,(1,200 characters)"}},
    ]
    assert prompt[1]["content"][1] is image
