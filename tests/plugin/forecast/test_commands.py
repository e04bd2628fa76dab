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
    assert full.keys() - brief.keys() == {
        *("body", "messages"),
        *("prompt", "prompt_tokens", "prompt_sources"),
    }
    assert {name: full[name] for name in brief} == brief


async def test_new_instructions_are_in_a_brief_preview_at_once(served, notes, chat):
    notes({"a.md": "A note."})
    async with served() as running:
        await running.call("add_notes", chat_id=chat, paths=["a.md"])
        for text in ("", "Be kind.", "Be very kind indeed.", ""):
            await running.call("chat.set_instructions", chat_id=chat, text=text)
            brief = await running.call("preview", chat_id=chat, message="Hi", brief=True)
            full = await running.call("preview", chat_id=chat, message="Hi")
            assert brief["parts"] == full["parts"]
            assert bool(full["parts"]["instructions"]) is bool(text)


async def test_the_exact_text_tells_where_each_of_its_texts_comes_from(served, notes, chat):
    notes({"a.md": "A note."})
    async with served() as running:
        await running.call("add_notes", chat_id=chat, paths=["a.md"])
        await running.call("chat.set_instructions", chat_id=chat, text="Be kind.")
        shown = await running.call("preview", chat_id=chat, message="Hi")
    system, *said, asked = shown["prompt_sources"]
    assert [(one["part"], one["at"]) for one in system] == [
        ("instructions", 0),
        ("contexts", shown["prompt"][0]["content"].index("# Attached notes")),
    ]
    assert [[one["part"] for one in sources] for sources in (*said, asked)] == [
        *(["history"] for _ in said),
        ["message"],
    ]


async def test_messages_behind_a_summary_are_listed_with_their_reason(served, vault):
    messages = [{"id": f"m{n}", "role": "user", "content": f"Words {n}"} for n in range(3)]
    of_all = {"is_summary": True, "summarizes": ["m0", "m1", "m2"]}
    summary = {"id": "s", "role": "system", "content": "So far: words.", **of_all}
    store = FileChats(vault / ".memory")
    await store.save(chat := "c", {"messages": [*messages, summary]})
    await store.close()
    async with served() as running:
        shown = await running.call("preview", chat_id=chat, message="Hi")
        behind = {row["id"]: row for row in shown["messages"] if row["kind"] == "summarised"}
        assert list(behind) == ["m0", "m1", "m2"]
        assert {row["short"] for row in behind.values()} == {"Not sent – behind a summary"}
        assert {row["reason"] for row in behind.values()} == {"out: behind a summary"}
        asked = await running.call("reasons", chat_id=chat, message_ids=list(behind))
        assert asked["reasons"] == behind
        await running.call("chat.send", chat_id=chat, message="Hi")
        receipt = await running.call("receipt", chat_id=chat)
        assert [row | {"text": ""} for row in receipt["messages"]] == [
            row | {"text": ""} for row in shown["messages"]
        ]
        assert shown["cost"]["saved"] == receipt["cost"]["saved"] == 0


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


async def test_a_preview_says_why_the_server_reads_again_what_it_has_read(served):
    async with served() as running:
        for message in ("cats sleep", "boats sail", "cats purr"):
            await running.call("chat.send", chat_id="c", message=message, stream=False)

        async def told():
            preview = await running.call("preview", chat_id="c", message="And?", brief=True)
            return preview["reread_because"]

        assert not await told()
        chat = await running.call("memory.load_chat", chat_id="c")
        await running.call("hide", chat_id="c", message_ids=[chat["messages"][1]["id"]])
        assert await told() == "an earlier message is no longer sent"
        await running.call("set_role", chat_id="c", role="reviewer")
        assert await told() == "what stands before them has changed"
