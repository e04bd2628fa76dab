"""Turns, from chat.send to the saved answer."""

import asyncio
import json
from dataclasses import replace

import pytest

from smart_context.base.errors import (
    ChatBusy,
    CommandFailed,
    InvalidParams,
    ModelFailed,
    StoreFailed,
)
from smart_context.host.turns import unsaved
from smart_context.host.turns.transcript import INTERRUPTED
from smart_context.llm.models import Usage
from smart_context.storage.files.storage import file_storage
from tests.chat.made_documents import full_disk
from tests.host.conftest import until
from tests.patience import PATIENCE_S
from tests.scripted import Scripted

pytestmark = pytest.mark.anyio

PHASES = [
    "pipeline.start",
    "pipeline.input",
    "pipeline.context",
    "pipeline.prompt",
    "pipeline.llm",
    "pipeline.post_process",
    "pipeline.output",
    "pipeline.end",
]
FAILED = [*PHASES[:5], "pipeline.error", "pipeline.end"]


def watch(bench):
    """The phases that are published from now on."""
    phases = []
    for name in (*PHASES, "pipeline.error"):

        async def note(turn, name=name):
            phases.append(name)

        bench.host.bus.subscribe(name, note, priority=-100)
    return phases


def on(bench, event, change, priority=0):
    async def handler(turn):
        change(turn)

    bench.host.bus.subscribe(event, handler, priority)


async def send(bench, message="Hello?", **params):
    return await bench.call("chat.send", message=message, **params)


def ends(bench):
    return [name for name, _ in bench.events if name in {"chat.finished", "chat.failed"}]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_turn_is_answered_saved_and_told(bench, stream):
    phases = watch(bench)
    bench.reply("All is well.")
    result = await send(bench, chat_id="c1", stream=stream)

    question, answer = await bench.messages("c1")
    assert result == {"chat_id": "c1", "message_ids": [question.id, answer.id]}
    assert (question.role, question.text) == ("user", "Hello?")
    assert (answer.role, answer.text) == ("assistant", "All is well.")
    assert question.created_at.endswith("Z")
    assert not answer.generating
    assert phases == PHASES
    assert bench.model.asked[0].streamed is stream
    assert bench.named("chat.started") == [{"chat_id": "c1", "message_id": answer.id}]
    assert bench.named("chat.finished") == [
        {"chat_id": "c1", "message_ids": [question.id, answer.id]}
    ]
    assert ends(bench) == ["chat.finished"]


async def test_pieces_carry_the_number_of_characters_before_them(bench):
    bench.reply(Scripted(pieces=("Héllo", " 🌍", "", " 你好")))
    await send(bench, chat_id="c1")
    tokens = bench.named("chat.token")
    assert [(token["offset"], token["text"]) for token in tokens] == [
        (0, "Héllo"),
        (5, " 🌍"),
        (7, " 你好"),
    ]
    assert {token["message_id"] for token in tokens} == {
        bench.named("chat.started")[0]["message_id"]
    }


async def test_no_pieces_are_told_when_not_streaming(bench):
    await send(bench, chat_id="c1", stream=False)
    assert bench.named("chat.token") == []


async def test_the_question_is_on_disk_before_the_model_is_asked(bench):
    gate = asyncio.Event()
    bench.reply(Scripted(pieces=("Yes",), gate=gate))
    task = asyncio.create_task(send(bench, chat_id="c1"))
    await until(lambda: bench.model.asked)
    document = json.loads((bench.vault / ".memory" / "c1.json").read_text())
    assert [message["content"] for message in document["messages"]] == ["Hello?", ""]
    assert document["messages"][1]["generating"] is True
    gate.set()
    await task
    document = json.loads((bench.vault / ".memory" / "c1.json").read_text())
    assert "generating" not in document["messages"][1]


async def test_the_answer_is_saved_before_output_and_before_the_end_is_told(bench):
    stored = []

    async def look(turn):
        stored.append([m.text for m in await bench.messages(turn.chat_id)])
        assert ends(bench) == []

    bench.host.bus.subscribe("pipeline.output", look)
    bench.reply("Saved.")
    await send(bench, chat_id="c1")
    assert stored == [["Hello?", "Saved."]]


async def test_the_model_gets_system_prompt_history_and_message_and_no_other_keys(bench):
    document = {
        "messages": [
            {"id": "a", "role": "user", "content": "First", "colour": "red"},
            {"id": "b", "role": "assistant", "content": "Second", "created_at": "2026-01-01"},
            {"id": "x", "role": "assistant", "content": "Part", "error": "cut off"},
        ]
    }
    await bench.host.services.storage.chats.save("c1", document)
    on(bench, "pipeline.prompt", lambda turn: setattr(turn, "system_prompt", "Be brief."))
    await send(bench, "Third", chat_id="c1")
    assert bench.model.asked[0].messages == (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "First"},
        {"role": "assistant", "content": "Second"},
        {"role": "user", "content": "Third"},
    )


@pytest.mark.parametrize("stream", [True, False])
async def test_what_handlers_leave_is_what_the_model_gets_and_the_lowest_has_the_last_word(
    bench, stream
):
    await send(bench, "One", chat_id="c1")
    seen = []

    def narrow(turn):
        turn.history = turn.history[:1]
        turn.message = "Changed"
        turn.metadata["by"] = "narrow"

    def extend(turn):
        seen.append((len(turn.history), turn.metadata))
        turn.history.append({"role": "assistant", "content": "Made up"})

    on(bench, "pipeline.context", extend, priority=-1)
    on(bench, "pipeline.context", narrow)
    await send(bench, "Two", chat_id="c1", stream=stream)
    assert seen == [(1, {"by": "narrow"})]
    assert [m["content"] for m in bench.model.asked[-1].messages] == ["One", "Made up", "Changed"]
    assert (await bench.messages("c1"))[2].text == "Two"


@pytest.mark.parametrize("stream", [True, False])
async def test_the_turn_carries_the_tokens_that_the_endpoint_counted(bench, stream):
    seen = []
    on(bench, "pipeline.output", lambda turn: seen.append(turn.usage))
    usage = Usage(prompt_tokens=3, completion_tokens=2)
    bench.reply(Scripted(pieces=("Yes",), usage=usage))
    await send(bench, chat_id="c1", stream=stream)
    assert seen == [usage]


class OneStream:
    """A model whose stream notes when it is closed, or can't be closed at all."""

    name = "one stream"

    def __init__(self, *, can_close):
        self.closed = 0
        if can_close:
            self.aclose = self._close

    async def _close(self):
        self.closed += 1

    def parameters(self, tools=(), *, streamed):
        return {"model": self.name}

    def stream(self, messages, *, tools=()):
        return self

    def __aiter__(self):
        return self

    async def __anext__(self):
        raise ModelFailed("The line is dead.")


@pytest.mark.parametrize("can_close", [True, False])
async def test_a_stream_is_closed_when_the_turn_is_over(bench, can_close):
    model = OneStream(can_close=can_close)
    bench.host.services.current.models = replace(bench.host.models, chat=model)
    with pytest.raises(ModelFailed, match="The line is dead"):
        await send(bench, chat_id="c1")
    assert model.closed == can_close


async def test_the_turn_carries_what_plugins_are_promised(bench):
    seen = []
    on(bench, "pipeline.output", seen.append)
    bench.reply("Answer")
    await send(bench, chat_id="c1")
    (turn,) = seen
    assert (turn.chat_id, turn.message, turn.original_message) == ("c1", "Hello?", "Hello?")
    assert (turn.history, turn.metadata, turn.system_prompt) == ([], {}, "")
    assert (turn.response, turn.aborted, turn.stopped) == ("Answer", False, False)
    assert list(turn.sent) == [{"role": "user", "content": "Hello?"}]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("history", None),
        ("history", ["text"]),
        ("message", 3),
        ("system_prompt", None),
        ("metadata", "x"),
        ("response", b"x"),
    ],
)
async def test_a_value_of_a_wrong_type_is_undone_and_logged(bench, caplog, name, value):
    await send(bench, "One", chat_id="c1")
    on(bench, "pipeline.context", lambda turn: setattr(turn, name, value))
    await send(bench, "Two", chat_id="c1")
    assert [m["content"] for m in bench.model.asked[-1].messages] == [
        "One",
        "An answer in words",
        "Two",
    ]
    assert "pipeline.context: " in caplog.text
    assert ends(bench) == ["chat.finished"] * 2


async def test_a_response_set_by_a_handler_replaces_the_model(bench):
    phases = watch(bench)
    on(bench, "pipeline.llm", lambda turn: setattr(turn, "response", "From a plugin"))
    await send(bench, chat_id="c1")
    assert bench.model.asked == []
    assert (await bench.messages("c1"))[1].text == "From a plugin"
    assert phases == PHASES


@pytest.mark.parametrize("phase", ["pipeline.post_process", "pipeline.output", "pipeline.end"])
async def test_a_response_changed_afterwards_is_what_is_saved(bench, phase):
    on(bench, phase, lambda turn: setattr(turn, "response", turn.response.upper()))
    bench.reply("quiet")
    await send(bench, chat_id="c1")
    assert (await bench.messages("c1"))[1].text == "QUIET"
    assert ends(bench) == ["chat.finished"]


@pytest.mark.parametrize("phase", PHASES[:5])
async def test_an_aborted_turn_does_not_ask_the_model_but_output_and_end_run(bench, phase):
    phases = watch(bench)
    reasons = []
    on(bench, phase, lambda turn: turn.abort("No secrets, please."))
    on(bench, "pipeline.output", lambda turn: reasons.append(turn.abort_reason))
    on(bench, "pipeline.end", lambda turn: reasons.append(turn.aborted))
    result = await send(bench, chat_id="c1")
    assert bench.model.asked == []
    assert reasons == ["No secrets, please.", True]
    assert phases == [*PHASES[: PHASES.index(phase) + 1], "pipeline.output", "pipeline.end"]
    answer = (await bench.messages("c1"))[1]
    assert answer.content == ({"type": "info", "text": "No secrets, please."},)
    assert result["message_ids"][1] == answer.id
    assert ends(bench) == ["chat.finished"]


async def test_an_aborting_handler_may_answer_itself(bench):
    def refuse(turn):
        turn.abort("policy")
        turn.response = "I'd rather not."

    on(bench, "pipeline.input", refuse)
    await send(bench, chat_id="c1")
    assert (await bench.messages("c1"))[1].text == "I'd rather not."


async def test_a_failing_model_leaves_the_question_the_part_and_the_reason(bench):
    phases = watch(bench)
    error = ModelFailed("The key was refused; check api_key_env.", status=401)
    bench.reply(Scripted(pieces=("Half ", "an answer"), error=error), "Now it works.")
    with pytest.raises(ModelFailed, match="check api_key_env"):
        await send(bench, chat_id="c1")

    question, answer = await bench.messages("c1")
    assert question.text == "Hello?"
    assert answer.text == "Half an answer"
    assert (answer.error, answer.error_code) == ("The key was refused; check api_key_env.", 401)
    assert not answer.generating
    assert phases == FAILED
    assert bench.named("chat.failed") == [{"chat_id": "c1", "error": answer.error}]
    assert ends(bench) == ["chat.failed"]

    await send(bench, "Again", chat_id="c1")
    assert [m["content"] for m in bench.model.asked[-1].messages] == ["Hello?", "Again"]
    assert (await bench.messages("c1"))[-1].text == "Now it works."


async def test_an_empty_answer_is_a_failure(bench):
    bench.reply(Scripted(pieces=(" \n",)))
    with pytest.raises(ModelFailed, match="scripted gave an empty answer"):
        await send(bench, chat_id="c1")
    assert ends(bench) == ["chat.failed"]


async def test_a_bug_in_a_phase_of_ours_is_a_failure_too(bench, caplog):
    def crash(_):
        raise RuntimeError("a bug")

    bench.model._replies = crash
    phases = watch(bench)
    with pytest.raises(CommandFailed, match="failed unexpectedly"):
        await send(bench, chat_id="c1")
    assert phases == FAILED
    assert "RuntimeError: a bug" in caplog.text
    assert "a bug" not in bench.named("chat.failed")[0]["error"]


async def test_a_handler_that_raises_does_not_end_the_turn(bench, caplog):
    def crash(_):
        raise RuntimeError("plugin bug")

    for phase in PHASES:
        on(bench, phase, crash)
    await send(bench, chat_id="c1")
    assert (await bench.messages("c1"))[1].text == "An answer in words"
    assert caplog.text.count("plugin bug") >= len(PHASES)


async def test_a_handler_that_hangs_delays_a_turn_but_does_not_hold_it(make_bench, running):
    async with running(make_bench(handler_timeout_s=0.01)) as bench:

        async def hang(_):
            await asyncio.Event().wait()

        bench.host.bus.subscribe("pipeline.context", hang)
        await send(bench, chat_id="c1")
        assert ends(bench) == ["chat.finished"]


async def test_stopping_keeps_what_has_arrived(bench):
    phases = watch(bench)
    gate = asyncio.Event()
    bench.reply(Scripted(pieces=("One ", "two ", "three"), gate=gate, hold_after=2), "Next.")
    task = asyncio.create_task(send(bench, chat_id="c1"))
    await until(lambda: len(bench.named("chat.token")) == 2)
    assert await bench.call("chat.stop", chat_id="c1") == {"chat_id": "c1", "stopped": True}

    assert bench.model.cancelled == 1
    answer = (await bench.messages("c1"))[1]
    assert answer.text == "One two "
    assert not answer.generating
    assert answer.extra["stopped"] is True
    assert ends(bench) == ["chat.finished"]
    assert phases == PHASES
    assert (await task)["message_ids"][1] == answer.id
    assert bench.host.turns.under_way("c1") is None

    await send(bench, "More", chat_id="c1")
    assert "One two " in [m["content"] for m in bench.model.asked[-1].messages]


async def test_an_answer_that_a_plugin_leaves_empty_is_not_called_stopped(bench):
    async def answer(turn):
        turn.response = ""

    bench.host.bus.subscribe("pipeline.llm", answer)
    await send(bench, chat_id="c1")
    (part,) = (await bench.messages("c1"))[1].content
    assert part == {"type": "info", "text": "The answer is empty."}


async def test_stopping_before_anything_arrived_says_so(bench):
    bench.reply(Scripted(gate=asyncio.Event()))
    task = asyncio.create_task(send(bench, chat_id="c1"))
    await until(lambda: bench.model.asked)
    await bench.call("chat.stop", chat_id="c1")
    await task
    (part,) = (await bench.messages("c1"))[1].content
    assert part == {"type": "info", "text": "Stopped before an answer came."}
    assert ends(bench) == ["chat.finished"]


async def test_stopping_while_a_plugin_works_does_not_ask_the_model(bench):
    begun = asyncio.Event()

    async def stubborn(_):
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return

    bench.host.bus.subscribe("pipeline.context", stubborn)
    task = asyncio.create_task(send(bench, chat_id="c1"))
    await begun.wait()
    await bench.call("chat.stop", chat_id="c1")
    await task
    assert bench.model.asked == []
    assert ends(bench) == ["chat.finished"]


async def test_stopping_while_the_question_is_being_saved_does_not_ask_the_model(bench):
    begun, goes_on, stop_called = asyncio.Event(), asyncio.Event(), asyncio.Event()
    update = bench.host.services.storage.chats.update

    async def slow_update(chat_id, change, **options):
        begun.set()
        await goes_on.wait()
        return await update(chat_id, change, **options)

    bench.host.services.storage.chats.update = slow_update
    task = asyncio.create_task(send(bench, chat_id="c1"))
    await begun.wait()
    answering = bench.host.turns.under_way("c1")
    stop, answering.stop = answering.stop, lambda: (stop(), stop_called.set())
    stopping = asyncio.create_task(bench.call("chat.stop", chat_id="c1"))
    await stop_called.wait()
    goes_on.set()
    assert (await stopping)["stopped"]
    await task
    assert bench.model.asked == []
    assert [m.role for m in await bench.messages("c1")] == ["user", "assistant"]
    assert ends(bench) == ["chat.finished"]


async def test_a_turn_that_will_not_end_is_ended_with_the_host(bench):
    begun = asyncio.Event()

    async def hang(_):
        begun.set()
        await asyncio.Event().wait()

    bench.host.bus.subscribe("pipeline.output", hang)
    task = asyncio.create_task(send(bench, chat_id="c1"))
    await begun.wait()
    await bench.host.turns.close(timeout_s=0.01)
    with pytest.raises(CommandFailed, match="was interrupted"):
        await task
    assert bench.host.turns.under_way("c1") is None
    assert len(ends(bench)) == 1
    assert (await bench.messages("c1"))[1].text == "An answer in words"


async def test_what_the_history_adds_to_the_question_is_sent_but_not_stored(bench):
    async def with_attachment(messages, **_more):
        *history, question = messages
        return [*history, question.with_content(f"{question.text}\n\n<FILE>")]

    bench.builder = with_attachment
    await send(bench, chat_id="c1")
    assert bench.model.asked[0].messages[-1]["content"] == "Hello?\n\n<FILE>"
    assert (await bench.messages("c1"))[0].text == "Hello?"


async def test_stopping_a_quiet_chat_does_nothing(bench):
    assert await bench.call("chat.stop", chat_id="c1") == {"chat_id": "c1", "stopped": False}
    assert bench.events == []


async def test_one_turn_at_a_time_per_chat_and_any_number_in_all(bench):
    gate = asyncio.Event()
    bench.reply(Scripted(pieces=("a",), gate=gate), Scripted(pieces=("b",), gate=gate))
    first = asyncio.create_task(send(bench, chat_id="c1"))
    second = asyncio.create_task(send(bench, chat_id="c2"))
    await until(lambda: len(bench.model.asked) == 2)
    with pytest.raises(CommandFailed, match="still being answered"):
        await send(bench, "Too early", chat_id="c1")
    gate.set()
    await asyncio.gather(first, second)
    assert len(await bench.messages("c1")) == 2


async def test_a_turn_can_begin_as_soon_as_the_end_is_told(bench):
    begun = []

    def again(name, payload, audience):
        if name == "chat.finished" and not begun:
            begun.append(asyncio.ensure_future(send(bench, "Again", chat_id="c1")))

    bench.host.on_event(again)
    await send(bench, chat_id="c1")
    await begun[0]
    assert len(await bench.messages("c1")) == 4


async def test_a_turn_goes_on_when_its_caller_goes_away(bench):
    gate = asyncio.Event()
    bench.reply(Scripted(pieces=("Still ", "here"), gate=gate, hold_after=1))
    task = asyncio.create_task(send(bench, chat_id="c1"))
    await until(lambda: bench.named("chat.token"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.set()
    await until(lambda: ends(bench))
    assert (await bench.messages("c1"))[1].text == "Still here"


async def test_stopping_the_host_keeps_the_part_and_leaves_nothing_generating(bench):
    bench.reply(Scripted(pieces=("Part ", "whole"), gate=asyncio.Event(), hold_after=1))
    task = asyncio.create_task(send(bench, chat_id="c1"))
    await until(lambda: bench.named("chat.token"))
    async with asyncio.timeout(PATIENCE_S):
        await bench.host.stop()
    await task
    document = json.loads((bench.vault / ".memory" / "c1.json").read_text())
    assert document["messages"][1]["content"] == "Part "
    assert "generating" not in document["messages"][1]
    assert ends(bench) == ["chat.finished"]


async def test_a_question_that_cannot_be_saved_starts_no_turn(bench):
    (bench.vault / ".memory").write_text("a file in place of the folder")
    with pytest.raises(StoreFailed):
        await send(bench, chat_id="c1")
    assert bench.model.asked == []
    assert ends(bench) == []
    assert bench.host.turns.under_way("c1") is None


@pytest.mark.parametrize("stream", [True, False])
async def test_an_answer_that_cannot_be_saved_fails_the_turn_and_is_saved_later(bench, stream):
    phases = watch(bench)
    path = bench.vault / ".memory" / "c1.json"
    kept = []

    def break_disk(turn):
        kept.append(path.read_bytes())
        path.unlink()
        path.mkdir()

    on(bench, "pipeline.post_process", break_disk)
    bench.reply("Written in vain")
    with pytest.raises(StoreFailed):
        await send(bench, chat_id="c1", stream=stream)
    assert ends(bench) == ["chat.failed"]
    assert "could not be saved" in bench.named("chat.failed")[0]["error"]
    assert phases == [*PHASES[:6], "pipeline.error", "pipeline.end"]

    path.rmdir()
    path.write_bytes(kept[0])
    document = await bench.call("memory.load_chat", chat_id="c1")
    assert document["messages"][1]["content"] == "Written in vain"
    assert not {"error", "generating"} & document["messages"][1].keys()
    assert not list(path.parent.glob("*.answer.jsonl"))


async def test_the_whole_answer_is_saved_once_a_full_disk_has_room(bench):
    await send(bench, chat_id="c1")
    bench.reply(Scripted(pieces=["x" * 1_000] * 12))
    chat = bench.vault / ".memory" / "c1.json"
    with full_disk(4_000), pytest.raises(StoreFailed):
        await send(bench, chat_id="c1")
    assert len(chat.read_bytes()) < 4_000
    (journal,) = chat.parent.glob("*.answer.jsonl")
    assert 2_000 < len(journal.read_bytes()) < 4_000

    with full_disk(4_000):
        document = await bench.call("memory.load_chat", chat_id="c1")
        assert document["messages"][3]["generating"]
    document = await bench.call("memory.load_chat", chat_id="c1")
    assert document["messages"][3]["content"] == "x" * 12_000
    assert not {"error", "generating"} & document["messages"][3].keys()
    assert not journal.exists()


async def test_an_answer_that_was_refused_is_saved_without_being_asked_for(bench, monkeypatch):
    monkeypatch.setattr(unsaved, "RETRY_S", 0.001)
    await send(bench, chat_id="c1")
    bench.reply("x" * 4_000)
    with full_disk(2_000), pytest.raises(StoreFailed):
        await send(bench, chat_id="c1")
    changes = len(bench.named("memory.chat_changed"))
    await until(lambda: len(bench.named("memory.chat_changed")) > changes)
    assert (await bench.messages("c1"))[3].text == "x" * 4_000


async def test_a_refused_answer_of_a_chat_that_is_deleted_is_forgotten(bench):
    await send(bench, chat_id="c1")
    bench.reply("x" * 4_000)
    with full_disk(2_000), pytest.raises(StoreFailed):
        await send(bench, chat_id="c1")
    await bench.call("memory.delete_chat", chat_id="c1")
    await bench.host.turns.save_unsaved("c1")
    assert not await bench.host.services.storage.chats.exists("c1")


async def test_the_next_turn_saves_the_refused_answer_first(bench):
    await send(bench, chat_id="c1")
    bench.reply("x" * 4_000, "More.")
    with full_disk(2_000), pytest.raises(StoreFailed):
        await send(bench, chat_id="c1")
    await send(bench, "Go on", chat_id="c1")
    assert [m.text for m in await bench.messages("c1")][3:] == ["x" * 4_000, "Go on", "More."]
    assert bench.model.asked[-1].messages[-2]["content"] == "x" * 4_000


async def test_without_a_chat_a_new_one_begins_and_is_opened(bench):
    result = await send(bench)
    assert len(await bench.messages(result["chat_id"])) == 2
    assert bench.page.chat_id == result["chat_id"]
    assert (await send(bench, "More"))["chat_id"] == result["chat_id"]
    assert (await send(bench, "New", chat_id=None))["chat_id"] != result["chat_id"]


@pytest.mark.parametrize("message", ["", " \n", "x" * 1_000_001])
async def test_a_message_without_text_or_without_end_is_refused(bench, message):
    with pytest.raises(InvalidParams, match="message: expected"):
        await send(bench, message, chat_id="c1")
    assert not (bench.vault / ".memory").exists()


async def test_half_a_character_is_replaced_and_whole_ones_stay(bench):
    await send(bench, "a\ud800b 🌍 \ud83c\udf0d", chat_id="c1")
    assert (await bench.messages("c1"))[0].text == "a\ufffdb 🌍 🌍"


async def test_regenerating_answers_again_and_keeps_what_followed_as_a_version(bench):
    bench.reply("First", "Second", "Better")
    await send(bench, "One", chat_id="c1")
    await send(bench, "Two", chat_id="c1")
    before = await bench.messages("c1")
    result = await bench.call("chat.regenerate", chat_id="c1", message_id=before[1].id)
    after = await bench.messages("c1")
    assert [message.text for message in after] == ["One", "Better"]
    assert result["message_ids"] == [before[0].id, after[1].id]
    assert after[1].id != before[1].id
    assert bench.model.asked[-1].messages == ({"role": "user", "content": "One"},)
    (branch,) = (await bench.host.services.storage.chats.load("c1"))["branches"]
    assert [m["content"] for m in branch["messages"]] == ["First", "Two", "Second"]
    assert branch["after"] == before[0].id
    assert ends(bench) == ["chat.finished"] * 3


async def test_the_former_version_comes_back_as_it_was(bench):
    bench.reply("First", "Second", "Better")
    await send(bench, "One", chat_id="c1")
    await send(bench, "Two", chat_id="c1")
    before = await bench.messages("c1")
    await bench.call("chat.regenerate", chat_id="c1", message_id=before[1].id)
    newer = (await bench.messages("c1"))[1].id
    listed = await bench.call("chat.list_versions", chat_id="c1")
    there = {"message_id": newer, "version": 2, "versions": 2}
    firsts = [before[1].id, newer]
    assert listed == {"chat_id": "c1", "versions": [{**there, "message_ids": firsts}]}
    shown = await bench.call("chat.show_version", chat_id="c1", message_id=newer, version=1)
    assert shown == {"chat_id": "c1", "message_id": before[1].id, "version": 1, "versions": 2}
    assert await bench.messages("c1") == before
    await bench.call("chat.show_version", chat_id="c1", message_id=newer)
    assert [message.text for message in await bench.messages("c1")] == ["One", "Better"]


async def test_a_former_answer_of_the_newest_question_stays_too(bench):
    bench.reply("First", "Better")
    await send(bench, "One", chat_id="c1")
    former = await bench.messages("c1")
    await bench.call("chat.regenerate", chat_id="c1", message_id=former[1].id)
    await bench.call("chat.show_version", chat_id="c1", message_id=former[1].id)
    assert await bench.messages("c1") == former


async def test_a_question_is_asked_again_in_other_words_as_a_version(bench):
    bench.reply("First", "Second", "Better")
    await send(bench, "One", chat_id="c1")
    await send(bench, "Two", chat_id="c1")
    before = await bench.messages("c1")
    call = {"message_id": before[2].id, "text": "Three"}
    result = await bench.call("chat.regenerate", chat_id="c1", **call)
    after = await bench.messages("c1")
    assert [message.text for message in after] == ["One", "First", "Three", "Better"]
    assert result["message_ids"] == [after[2].id, after[3].id]
    assert bench.model.asked[-1].messages[-1] == {"role": "user", "content": "Three"}
    await bench.call("chat.show_version", chat_id="c1", message_id=after[2].id, version=1)
    assert await bench.messages("c1") == before


async def test_a_question_is_not_asked_again_in_no_words(bench):
    await send(bench, "One", chat_id="c1")
    question = (await bench.messages("c1"))[0]
    with pytest.raises(InvalidParams, match="text: expected"):
        await bench.call("chat.regenerate", chat_id="c1", message_id=question.id, text=" ")


async def test_no_other_version_is_shown_while_an_answer_is_written(bench):
    bench.reply("First", Scripted(gate=asyncio.Event()))
    await send(bench, "One", chat_id="c1")
    former = (await bench.messages("c1"))[1].id
    again = {"chat_id": "c1", "message_id": former}
    task = asyncio.create_task(bench.call("chat.regenerate", **again))
    await until(lambda: len(bench.model.asked) == 2)
    with pytest.raises(ChatBusy, match="still being answered"):
        await bench.call("chat.show_version", **again)
    await bench.call("chat.stop", chat_id="c1")
    await task
    assert (await bench.call("chat.show_version", **again))["version"] == 1


async def test_the_version_of_a_chat_that_a_program_keeps_is_not_chosen_here(bench):
    source = {"client": "opencode", "id": "x", "key": "k"}
    branch = {"id": "b", "after": None, "messages": [{"id": "n", "role": "user", "content": "N"}]}
    document = {"messages": [{"id": "m", "role": "user", "content": "M"}], "source": source}
    await bench.host.services.storage.chats.save("c1", {**document, "branches": [branch]})
    with pytest.raises(CommandFailed, match="another program keeps the history"):
        await bench.call("chat.show_version", chat_id="c1", message_id="n")
    imported = {**document, "branches": [branch], "source": {"client": "chatgpt", "id": "x"}}
    await bench.host.services.storage.chats.save("c2", imported)
    assert (await bench.call("chat.show_version", chat_id="c2", message_id="n"))["version"] == 1


async def test_regenerating_a_question_answers_it_again(bench):
    bench.reply("First", "Better")
    await send(bench, "One", chat_id="c1")
    question = (await bench.messages("c1"))[0]
    await bench.call("chat.regenerate", chat_id="c1", message_id=question.id)
    assert [message.text for message in await bench.messages("c1")] == ["One", "Better"]


@pytest.mark.parametrize("message_id", ["nowhere", "first"])
async def test_what_answers_no_question_cannot_be_regenerated(bench, message_id):
    document = {"messages": [{"id": "first", "role": "assistant", "content": "Hi"}]}
    await bench.host.services.storage.chats.save("c1", document)
    with pytest.raises(CommandFailed, match=message_id):
        await bench.call("chat.regenerate", chat_id="c1", message_id=message_id)
    assert [message.text for message in await bench.messages("c1")] == ["Hi"]
    assert ends(bench) == []


async def test_a_message_is_edited_in_place_and_not_sent_again(bench):
    await send(bench, "Hwo?", chat_id="c1")
    question, answer = await bench.messages("c1")
    await bench.call("chat.edit", chat_id="c1", message_id=question.id, text="How?")
    await bench.call("chat.edit", chat_id="c1", message_id=answer.id, text="So.")
    assert [m.text for m in await bench.messages("c1")] == ["How?", "So."]
    assert [m.id for m in await bench.messages("c1")] == [question.id, answer.id]
    assert len(bench.model.asked) == 1


async def test_editing_what_is_not_there_or_to_nothing_is_refused(bench):
    await send(bench, chat_id="c1")
    with pytest.raises(CommandFailed, match="no message 'gone'"):
        await bench.call("chat.edit", chat_id="c1", message_id="gone", text="x")
    with pytest.raises(InvalidParams, match="text: expected"):
        await bench.call("chat.edit", chat_id="c1", message_id="gone", text=" ")


async def test_an_answer_being_written_cannot_be_edited(bench):
    bench.reply(Scripted(gate=asyncio.Event()))
    task = asyncio.create_task(send(bench, chat_id="c1"))
    await until(lambda: bench.model.asked)
    answer = (await bench.messages("c1"))[1]
    with pytest.raises(CommandFailed, match="still being written"):
        await bench.call("chat.edit", chat_id="c1", message_id=answer.id, text="x")
    await bench.call("chat.stop", chat_id="c1")
    await task


async def test_opening_a_chat_gives_what_has_arrived_of_its_answer(bench):
    assert await bench.call("chat.open", chat_id="c1") == {"chat_id": "c1", "answering": None}
    assert bench.page.chat_id == "c1"
    bench.reply(Scripted(pieces=("One ", "two"), gate=asyncio.Event(), hold_after=1))
    task = asyncio.create_task(send(bench))
    await until(lambda: bench.named("chat.token"))
    opened = await bench.call("chat.open", chat_id="c1")
    assert opened["answering"] == {
        "message_id": bench.named("chat.started")[0]["message_id"],
        "text": "One ",
    }
    assert (await bench.messages("c1"))[1].generating
    await bench.call("chat.stop")
    await task


async def test_a_new_chat_is_opened_and_not_stored(bench):
    result = await bench.call("chat.new")
    assert bench.page.chat_id == result["chat_id"]
    assert not (bench.vault / ".memory").exists()


async def test_log_lines_name_the_turn_and_hold_no_text(bench, caplog):
    caplog.set_level("DEBUG")
    bench.reply("private answer")
    await send(bench, "private question", chat_id="c1")
    turn_lines = [r.getMessage() for r in caplog.records if "turn" in r.getMessage()]
    assert len({line.split()[1] for line in turn_lines}) == 1
    assert "private" not in caplog.text


async def crashed(vault, *, text):
    """A chat as kill -9 leaves it in mid-answer."""
    storage = file_storage(vault / ".memory")
    store = storage.chats
    await store.save(
        "c1",
        {
            "messages": [
                {"id": "q", "role": "user", "content": "Why?"},
                {"id": "a", "role": "assistant", "content": "", "generating": True},
            ]
        },
    )
    journal = storage.answers.journal("c1", "a")
    journal.append(text)
    journal.close()
    await store.close()


@pytest.mark.parametrize("text", ["What had arrived", ""])
async def test_after_a_crash_the_answer_has_what_arrived_and_says_so(make_bench, running, text):
    bench = make_bench()
    await crashed(bench.vault, text=text)
    async with running(bench):
        await until(lambda: bench.named("memory.chat_changed"))
        document = json.loads((bench.vault / ".memory" / "c1.json").read_text())
        answer = document["messages"][1]
        assert answer["content"] == text
        assert answer["error"] == INTERRUPTED
        assert "generating" not in answer
        await until(lambda: not list((bench.vault / ".memory").glob("*.answer.jsonl")))


@pytest.mark.parametrize("command", ["chat.open", "memory.load_chat"])
async def test_a_chat_that_arrives_unfinished_is_repaired_when_it_is_read(bench, command):
    await crashed(bench.vault, text="Part")
    await bench.call(command, chat_id="c1")
    answer = (await bench.messages("c1"))[1]
    assert (answer.text, answer.error, answer.generating) == ("Part", INTERRUPTED, False)


async def test_the_next_turn_ends_what_was_left_unfinished(bench):
    await crashed(bench.vault, text="")
    await send(bench, chat_id="c1")
    assert [m.generating for m in await bench.messages("c1")] == [False] * 4
