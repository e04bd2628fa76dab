"""Tools within a turn: calls, results, rounds and refusals."""

import asyncio
from dataclasses import replace

import pytest

from smart_context.base.errors import CommandFailed, ModelFailed
from smart_context.host.request.tools import Tool
from smart_context.host.turns.rounds import MAX_CALLS, MAX_ROUNDS
from smart_context.llm.models import AnswerPiece, ToolCall, Usage
from tests.host.conftest import until
from tests.scripted import Scripted

pytestmark = pytest.mark.anyio

NO_TOOLS = ModelFailed("registry/gemma does not support tools", status=400)


def reader(run=None, **options):
    async def read(arguments):
        return f"text of {arguments['path']}"

    return Tool(
        name="read_file",
        description="Reads a file.",
        parameters={
            "type": "object",
            "properties": {"path": {"type": "string"}, "from_line": {"type": "integer"}},
            "required": ["path"],
        },
        run=run or read,
        **options,
    )


def offer(bench, *tools, as_text=False):
    async def handler(turn):
        turn.tools.extend(tools or [reader()])
        turn.request = replace(turn.request, as_text=as_text)

    bench.host.bus.subscribe("pipeline.prompt", handler)


def asks(arguments='{"path": "a.md"}', *, text="", call_id="c1", name="read_file", **more):
    call = ToolCall(id=call_id, name=name, arguments=arguments)
    return Scripted(pieces=(text,) if text else (), tool_calls=(call,), **more)


async def send(bench, message="Hello?", **params):
    await bench.call("chat.send", message=message, chat_id="c1", **params)
    return (await bench.messages("c1"))[-1]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_model_gets_what_it_asks_for_and_then_answers(bench, stream):
    offer(bench)
    bench.reply(
        asks(text="Let me look."),
        Scripted(pieces=("Done.",), usage=Usage(prompt_tokens=9, completion_tokens=1)),
    )
    answer = await send(bench, stream=stream)

    first, second = bench.model.asked
    assert [tool["function"]["name"] for tool in first.tools] == ["read_file"]
    assert first.messages == ({"role": "user", "content": "Hello?"},)
    called = {"name": "read_file", "arguments": '{"path": "a.md"}'}
    assert second.messages[1:] == (
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [{"id": "c1", "type": "function", "function": called}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "text of a.md"},
    )
    call = {
        "type": "tool_call",
        "state": "result",
        "tool_call_id": "c1",
        "tool_name": "read_file",
        "args": {"path": "a.md"},
        "result": "text of a.md",
    }
    assert list(answer.parts) == [
        {"type": "text", "text": "Let me look."},
        call,
        {"type": "text", "text": "Done."},
    ]
    assert bench.named("chat.tool") == [{"chat_id": "c1", "message_id": answer.id, "call": call}]


async def test_the_next_turn_brings_the_call_with_its_result(bench):
    offer(bench)
    bench.reply(asks(), "Done.", "And again.")
    await send(bench)
    await send(bench, "More?")
    roles = [message["role"] for message in bench.model.asked[-1].messages]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]


async def test_handlers_see_the_last_word_as_the_response(bench):
    offer(bench)
    seen = []

    async def look(turn):
        seen.append((turn.response, len(turn.request.steps)))
        turn.response = "Changed."

    bench.host.bus.subscribe("pipeline.post_process", look)
    bench.reply(asks(text="Hm."), "Done.")
    answer = await send(bench)
    assert seen == [("Done.", 2)]
    assert answer.parts[-1] == {"type": "text", "text": "Changed."}


@pytest.mark.parametrize("stream", [True, False])
async def test_after_five_rounds_the_model_is_asked_once_more_without_tools(bench, stream):
    offer(bench)
    bench.reply(*[asks(call_id=f"c{n}") for n in range(MAX_ROUNDS)], "Enough.")
    answer = await send(bench, stream=stream)
    assert [bool(asked.tools) for asked in bench.model.asked] == [True] * 5 + [False]
    told = [event["call"]["tool_call_id"] for event in bench.named("chat.tool")]
    assert told == [part["tool_call_id"] for part in answer.parts[:-1]]
    assert answer.text == "Enough."
    assert len([part for part in answer.parts if part["type"] == "tool_call"]) == MAX_ROUNDS


async def test_a_model_that_asks_even_then_fails_and_keeps_what_was_done(bench):
    offer(bench)
    bench.reply(*[asks(call_id=f"c{n}") for n in range(MAX_ROUNDS + 1)])
    with pytest.raises(ModelFailed, match="empty answer"):
        await send(bench)
    answer = (await bench.messages("c1"))[-1]
    assert len(answer.parts) == MAX_ROUNDS
    assert answer.error


async def read_badly(arguments):
    raise CommandFailed("That may not be read.")


async def read_worse(arguments):
    raise RuntimeError("a secret detail")


async def read_nothing(arguments):
    return None


async def read_in_vain(arguments):
    raise asyncio.CancelledError  # as a task does that a later one replaces


@pytest.mark.parametrize(
    ("request_", "tool", "told"),
    [
        pytest.param(
            asks(name="rm"),
            reader(),
            "Tool 'rm' not found; the tools are: read_file.",
            id="unknown",
        ),
        pytest.param(asks("{oops"), reader(), "The arguments are not JSON", id="no JSON"),
        pytest.param(asks('{"path": NaN}'), reader(), "NaN is not JSON", id="NaN"),
        pytest.param(asks("[" * 100_000), reader(), "not JSON", id="deep JSON"),
        pytest.param(asks("[1]"), reader(), "not a JSON object", id="no object"),
        pytest.param(asks('{"a":' * 900 + "1" + "}" * 900), reader(), "nested more", id="deep"),
        pytest.param(asks(f'{{"path": "{"x" * 300_000}"}}'), reader(), "at most 200,000", id="big"),
        pytest.param(asks(""), reader(), "path: missing", id="nothing"),
        pytest.param(asks('{"path": 1}'), reader(), "path: expected string, found 1", id="type"),
        pytest.param(asks('{"path": "a", "x": 1}'), reader(), "x: unknown", id="other key"),
        pytest.param(
            asks('{"path": "a", "from_line": true}'), reader(), "expected integer", id="bool"
        ),
        pytest.param(asks(), reader(read_badly), "That may not be read.", id="refused"),
        pytest.param(asks(), reader(read_worse), "read_file failed unexpectedly.", id="broken"),
        pytest.param(asks(), reader(read_nothing), "read_file failed unexpectedly.", id="no text"),
        pytest.param(asks(), reader(read_in_vain), "read_file was interrupted.", id="replaced"),
    ],
)
async def test_a_bad_call_is_answered_not_a_crash(bench, request_, tool, told):
    offer(bench, tool)
    bench.reply(request_, "I see.")
    answer = await send(bench)
    assert answer.parts[0]["state"] == "error"
    assert told in answer.parts[0]["result"]
    assert bench.model.asked[1].messages[-1]["content"] == answer.parts[0]["result"]
    assert answer.text == "I see."


async def test_half_characters_in_arguments_and_results_can_be_stored(bench):
    async def read(arguments):
        return "a\ud800b"

    offer(bench, reader(read))
    bench.reply(asks('{"path": "\\ud83d"}'), "I see.")
    answer = await send(bench)
    assert answer.parts[0]["result"] == "a\ufffdb"
    assert answer.parts[0]["args"] == {"path": "\ufffd"}


async def test_calls_of_one_id_or_of_none_are_kept_apart(bench):
    offer(bench)
    twice = ToolCall(id="same", name="read_file", arguments='{"path": "a.md"}')
    none = ToolCall(id="", name="read_file", arguments='{"path": "b.md"}')
    bench.reply(Scripted(tool_calls=(twice, twice, none)), "Done.")
    answer = await send(bench)
    ids = [part["tool_call_id"] for part in answer.parts[:3]]
    assert ids[0] == "same"
    assert len(set(ids)) == 3
    assert "" not in ids
    assert len(bench.model.asked[1].messages) == 1 + 1 + 3


async def test_of_very_many_calls_the_last_are_told_that_they_were_not_done(bench):
    done = []

    async def read(arguments):
        done.append(arguments)
        return "text"

    offer(bench, reader(read))
    calls = tuple(
        ToolCall(id=str(n), name="read_file", arguments='{"path": "a"}')
        for n in range(MAX_CALLS + 2)
    )
    bench.reply(Scripted(tool_calls=calls), "Done.")
    answer = await send(bench)
    assert len(done) == MAX_CALLS
    states = [part["state"] for part in answer.parts[:-1]]
    assert states == ["result"] * MAX_CALLS + ["error"] * 2


async def test_a_result_without_end_is_cut(bench):
    async def read(arguments):
        return "x" * 1_000_000

    offer(bench, reader(read))
    bench.reply(asks(), "Done.")
    answer = await send(bench)
    assert len(answer.parts[0]["result"]) < 101_000
    assert answer.parts[0]["result"].endswith("[Cut: the result is longer.]")


async def test_stop_in_mid_tool_keeps_what_was_done_before(bench):
    began = asyncio.Event()

    async def read(arguments):
        if arguments["path"] == "slow.md":
            began.set()
            await asyncio.Event().wait()
        return "text"

    offer(bench, reader(read))
    bench.reply(asks(text="First."), asks('{"path": "slow.md"}', text="Then.", call_id="c2"))
    task = asyncio.create_task(send(bench))
    await until(began.is_set)
    assert await bench.call("chat.stop", chat_id="c1") == {"chat_id": "c1", "stopped": True}
    answer = await task
    assert [part.get("text") or part.get("result") for part in answer.parts[:3]] == [
        "First.",
        "text",
        "Then.",
    ]
    assert answer.parts[3]["type"] == "info"
    assert answer.extra["stopped"] is True
    assert not answer.generating


async def test_stop_in_mid_answer_keeps_steps_and_text_once(bench):
    offer(bench)
    gate = asyncio.Event()
    bench.reply(asks(text="First."), Scripted(pieces=("Half", " done"), gate=gate, hold_after=1))
    task = asyncio.create_task(send(bench))
    await until(lambda: len(bench.named("chat.token")) == 2)
    await bench.call("chat.stop", chat_id="c1")
    answer = await task
    assert answer.text == "First.\nHalf"


async def test_pieces_of_all_rounds_are_told_with_one_count(bench):
    offer(bench)
    bench.reply(asks(text="First."), "Done.")
    await send(bench)
    assert [(t["offset"], t["text"]) for t in bench.named("chat.token")] == [
        (0, "First."),
        (6, "Done."),
    ]


async def test_a_failure_after_a_tool_keeps_the_steps(bench):
    offer(bench)
    bench.reply(asks(text="First."), ModelFailed("It broke.", status=500))
    with pytest.raises(ModelFailed):
        await send(bench)
    answer = (await bench.messages("c1"))[-1]
    assert answer.error == "It broke."
    assert [part["type"] for part in answer.parts] == ["text", "tool_call"]


@pytest.mark.parametrize("stream", [True, False])
async def test_a_model_that_takes_no_tools_is_asked_in_plain_text_from_then_on(bench, stream):
    offer(bench)
    block = "Let me see.\n\n```read_file\na.md\n```"
    bench.reply(NO_TOOLS, block, "Done.", "Yes.")
    answer = await send(bench, stream=stream)
    refused, asked, again = bench.model.asked
    assert refused.tools
    assert not asked.tools
    system, user = asked.messages
    assert "```read_file\n<path>\n```" in system["content"]
    assert user == {"role": "user", "content": "Hello?"}
    assert again.messages[2:] == (
        {"role": "assistant", "content": 'Let me see.\n\n```read_file\n{"path": "a.md"}\n```'},
        {"role": "user", "content": "Result of read_file:\ntext of a.md"},
    )
    assert [part["type"] for part in answer.parts] == ["text", "tool_call", "text"]
    assert answer.text == "Let me see.\nDone."

    await send(bench, "And now?", stream=stream)
    assert not bench.model.asked[-1].tools
    assert {message["role"] for message in bench.model.asked[-1].messages} == {
        "system",
        "user",
        "assistant",
    }


async def test_the_setting_asks_in_plain_text_at_once(bench):
    offer(bench, as_text=True)
    bench.reply("```read_file\na.md\nb.md\n```\nand\n```python\nread_file\n```", "Done.")
    answer = await send(bench)
    assert not bench.model.asked[0].tools
    assert [part.get("args") for part in answer.parts[1:3]] == [{"path": "a.md"}, {"path": "b.md"}]
    assert answer.parts[0]["text"] == "and\n```python\nread_file\n```"


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(ModelFailed("bad request", status=400), id="another 400"),
        pytest.param(ModelFailed("tools are on fire", status=500), id="a server's trouble"),
        pytest.param(ModelFailed("no tools here"), id="no answer at all"),
    ],
)
async def test_another_failure_is_not_asked_again(bench, failure):
    offer(bench)
    bench.reply(failure)
    with pytest.raises(ModelFailed):
        await send(bench)
    assert len(bench.model.asked) == 1


async def test_tools_of_a_wrong_type_are_undone(bench, caplog):
    async def spoil(turn):
        turn.tools = ["read_file"]

    bench.host.bus.subscribe("pipeline.prompt", spoil)
    answer = await send(bench)
    assert answer.text == "An answer in words"
    assert bench.model.asked[0].tools == ()
    assert "turn.tools: expected Tool, found str" in caplog.text


async def test_text_that_is_taken_back_is_a_thought_and_no_part_of_the_answer(bench):
    offer(bench)
    later = (
        AnswerPiece(text="Now. "),
        AnswerPiece(takes_back=True, reasoning="Yes."),
        AnswerPiece(text="Four."),
    )
    bench.reply(asks(text="Let me look."), Scripted(pieces=later))
    answer = await send(bench)
    assert [(part["type"], part.get("text")) for part in answer.content] == [
        ("text", "Let me look."),
        ("tool_call", None),
        ("reasoning", "Now. Yes."),
        ("text", "Four."),
    ]
    (taken,) = bench.named("chat.was_thought")
    shown = "".join(token["text"] for token in bench.named("chat.token"))
    assert shown[taken["since"] : taken["until"]] == "Now. "


async def test_a_model_that_only_thought_is_said_to_have_given_no_answer(bench):
    bench.reply(Scripted(pieces=(AnswerPiece(reasoning="Hm."),)))
    with pytest.raises(ModelFailed, match="thought, and gave no answer after it"):
        await send(bench)
    answer = (await bench.messages("c1"))[-1]
    assert [part["type"] for part in answer.content] == ["reasoning"]


async def test_an_endpoint_that_wants_turns_is_asked_again_in_that_order(bench):
    broken = ModelFailed("no", status=400)
    refused = ModelFailed("Conversation roles must alternate user/assistant/…", status=500)
    model = bench.reply(broken, refused, "Yes.", refused, refused)
    with pytest.raises(ModelFailed, match="no"):
        await send(bench, "One?")
    answer = await send(bench, "Two?")
    assert answer.text == "Yes."
    contents = [[m["content"] for m in asked.messages] for asked in model.asked]
    assert contents[1:] == [["One?", "Two?"], ["One?\n\nTwo?"]]
    with pytest.raises(ModelFailed, match="alternate"):
        await send(bench, "Three?")
    assert len(model.asked) == 5
