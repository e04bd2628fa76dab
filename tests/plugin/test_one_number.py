"""Whatever shows the tokens of one thing shows the same number, before it is sent and after."""

import pytest

from tests.scripted import ScriptedChatModel

pytestmark = pytest.mark.anyio

TEXTS = {
    "English": {
        "notes": {
            "Starter.md": "# Starter\n\nFeed it daily.\n\n- flour\n- water\n\nKeep it warm.\n",
            "Loaf.md": "# Loaf\n\n\nBake at 230 °C for 40 minutes.\n\n    dough = flour + water\n",
        },
        "name": "Baking Notes",
        "instructions": "Answer in one sentence.\n\nName your source.",
        "said": [
            "How warm should the starter be?",
            "About 26 °C.",
            "And the dough?",
            "A bit less.",
        ],
        "elsewhere": ["Which hotel was it?", "The Santa Maria.\n\nIn Trastevere."],
        "question": "How long does it rise?",
    },
    "Chinese": {
        "notes": {
            "酵种.md": "# 酵种\n\n每天喂养一次。\n\n- 面粉\n- 水\n\n保持温暖。\n",
            "面包.md": "# 面包\n\n\n在230度烤40分钟。\n\n    面团 = 面粉 + 水\n",
        },
        "name": "烘焙笔记",
        "instructions": "请用一句话回答。\n\n请说明来源。",
        "said": ["酵种应该多暖?", "大约26度。", "那面团呢?", "稍低一点。"],
        "elsewhere": ["是哪家酒店?", "圣玛丽亚酒店。\n\n在特拉斯提弗列。"],
        "question": "要发酵多久?",
    },
}


def document(texts):
    roles = ["user", "assistant"] * len(texts)
    return {
        "messages": [
            {"id": f"m{n}", "role": role, "content": text}
            for n, (role, text) in enumerate(zip(roles, texts, strict=False))
        ]
    }


@pytest.fixture(params=TEXTS)
def texts(request):
    return TEXTS[request.param]


@pytest.fixture(params=["gpt-4o", "qwen2.5-7b"])
async def running(request, served, notes, texts):
    """A chat with instructions, notes under a name and of its own, and something recalled."""
    notes(texts["notes"])
    async with served(chat=ScriptedChatModel(lambda _: "An answer", name=request.param)) as running:
        await running.call("memory.save_chat", chat_id="c", data=document(texts["said"]))
        await running.call("memory.save_chat", chat_id="other", data=document(texts["elsewhere"]))
        yield running


async def attached(running, texts):
    first, second = texts["notes"]
    await running.call("save_context", key=texts["name"], items=[first])
    await running.call("attach_context", chat_id="c", key=texts["name"])
    await running.call("add_notes", chat_id="c", paths=[second])
    await running.call("recall", chat_id="c", from_chat="other")
    await running.call("chat.set_instructions", chat_id="c", text=texts["instructions"])


async def test_notes_cost_in_a_chat_what_the_builder_said(running, texts):
    built = await running.call("preview_context", items=[*texts["notes"]], key=texts["name"])
    items = [item["tokens"] for depth in built["depths"] for item in depth["items"]]
    assert all(items)
    assert sum(items) + built["tokens_around"] == built["tokens"]
    await running.call("save_context", key=texts["name"], items=[*texts["notes"]])
    await running.call("chat.set_instructions", chat_id="c", text=texts["instructions"])
    (chip,) = (await running.call("attach_context", chat_id="c", key=texts["name"]))["contexts"]
    bar = await running.call("preview", chat_id="c", message=texts["question"], brief=True)
    await running.call("chat.send", chat_id="c", message=texts["question"], stream=False)
    receipt = await running.call("receipt", chat_id="c")
    (section,) = [each for each in receipt["sections"] if each["name"] == texts["name"]]
    found = [chip["tokens"], bar["parts"]["contexts"], section["tokens"]]
    assert found == [built["tokens"]] * 3 == [receipt["parts"]["contexts"]] * 3


async def test_every_part_has_one_number_wherever_it_is_shown(running, texts):
    await attached(running, texts)
    asked = {"chat_id": "c", "message": texts["question"]}
    chips = await running.call("chat_contexts", chat_id="c")
    recalled = (await running.call("recalls", chat_id="c"))["recalls"]
    bar = await running.call("preview", **asked, brief=True)
    exact = await running.call("preview", **asked)
    told = await running.call("reasons", chat_id="c", message_ids=["m0", "m1", "m2", "m3"])
    await running.call("chat.send", **asked, stream=False)
    receipt = await running.call("receipt", chat_id="c")
    (listed,) = (await running.call("receipts", chat_id="c"))["receipts"]
    total = (await running.call("costs"))["total"]

    assert all(bar["parts"][name] for name in ("instructions", "contexts", "recalls", "history"))
    assert bar["parts"] == exact["parts"] == receipt["parts"]
    assert chips["tokens"] == sum(chip["tokens"] for chip in chips["contexts"])
    assert chips["tokens"] == bar["parts"]["contexts"]
    assert sum(row["tokens"] for row in recalled) == bar["parts"]["recalls"]
    totals = [bar["tokens"], exact["tokens"], receipt["tokens"], listed["tokens"], total["sent"]]
    assert totals == [sum(bar["parts"].values())] * 5
    for shown in (exact, receipt):
        assert sum(shown["prompt_tokens"]) + shown["parts"]["tools"] == shown["tokens"]
    sections = {each["name"]: each["tokens"] for each in receipt["sections"]}
    for chip in chips["contexts"]:
        assert sections[chip["key"]] == chip["tokens"]
    assert sections["Instructions"] == bar["parts"]["instructions"]
    assert sections.get("Tools", 0) == bar["parts"]["tools"]
    rows = {row["id"]: row["tokens"] for row in receipt["messages"]}
    assert {id_: row["tokens"] for id_, row in told["reasons"].items()} == rows
    assert sum(rows.values()) == bar["parts"]["history"] + bar["parts"]["system"]


async def test_each_message_costs_what_the_exact_text_says(running, texts):
    exact = await running.call("preview", chat_id="c", message=texts["question"])
    rows = [row["tokens"] for row in exact["messages"]]
    assert [*rows, exact["parts"]["message"]] == exact["prompt_tokens"]
