"""The commands that shorten a chat's context, and the guard of the model's window."""

import asyncio
import json
from dataclasses import replace

import pytest

from smart_context.app.composition import WindowedHistoryBuilder
from smart_context.base.errors import CommandFailed, ModelFailed, RequestTooLong
from smart_context.host.commands.compaction import CLEARED
from smart_context.llm.models import Usage
from tests.host.conftest import until
from tests.patience import PATIENCE_S
from tests.scripted import Scripted

pytestmark = pytest.mark.anyio


async def counted(messages, previous, model):
    before = f"{previous} and then " if previous else ""
    return f"{before}{len(messages)} messages"


WINDOW = (
    '[llm]\nbase_url = "http://127.0.0.1:9/v1"\ncontext_window = 1000\n'
    '[llm.categories]\nchat = "local"\n'
)


@pytest.fixture
def started(make_bench, running):
    """A bench whose histories are the product's."""

    def start(config="", digest=counted):
        bench = make_bench(digest=digest)
        bench.configure(config)

        class Around:
            async def __aenter__(self):
                self.context = running(bench)
                await self.context.__aenter__()
                histories = WindowedHistoryBuilder(lambda: bench.host.config)
                bench.builder = histories
                return bench

            async def __aexit__(self, *details):
                await self.context.__aexit__(*details)

        return Around()

    return start


async def talk(bench, *texts):
    for text in texts:
        await bench.call("chat.send", chat_id="c1", message=text)


async def compacted(bench):
    """The messages, once there is a summary among them."""
    async with asyncio.timeout(PATIENCE_S):
        while not any(message.is_summary for message in await bench.messages("c1")):
            await asyncio.sleep(0.005)
    return await bench.messages("c1")


def sent(bench):
    return [message["content"] for message in bench.model.asked[-1].messages]


async def test_a_summary_is_sent_in_place_of_what_it_stands_for_and_can_be_undone(started):
    async with started() as bench:
        await talk(bench, "One", "Two")
        made = await bench.call("chat.compact", chat_id="c1")
        assert made["summarised"] == 4
        stored = await bench.messages("c1")
        assert len(stored) == 5
        assert (stored[-1].id, stored[-1].is_summary) == (made["message_id"], True)
        await talk(bench, "Three")
        assert sent(bench) == ["4 messages", "Three"]

        undone = await bench.call("chat.undo_compaction", chat_id="c1")
        assert undone["message_id"] == made["message_id"]
        await talk(bench, "Four")
        assert sent(bench)[0] == "One"
        assert len(await bench.messages("c1")) == 8
        with pytest.raises(CommandFailed, match="Summary not found"):
            await bench.call("chat.undo_compaction", chat_id="c1")


async def test_the_last_turn_stays_word_for_word_after_a_summary(started):
    async with started() as bench:
        await talk(bench, "One", "Two", "Three")
        made = await bench.call("chat.compact", chat_id="c1")
        assert made["summarised"] == 4
        assert [message.is_summary for message in await bench.messages("c1")].index(True) == 4
        await talk(bench, "Four")
        assert sent(bench)[:2] == ["4 messages", "Three"]
        assert sent(bench)[-1] == "Four"


async def test_a_second_summary_takes_up_the_first(started):
    async with started() as bench:
        await talk(bench, "One")
        await bench.call("chat.compact", chat_id="c1")
        await talk(bench, "Two")
        await bench.call("chat.compact", chat_id="c1")
        await talk(bench, "Three")
        assert sent(bench) == ["2 messages and then 2 messages", "Three"]
        await bench.call("chat.undo_compaction", chat_id="c1")
        await talk(bench, "Four")
        assert sent(bench)[:2] == ["2 messages", "Two"]


async def test_a_cleared_context_starts_again_and_is_no_summary_to_go_on_from(started):
    async with started() as bench:
        await talk(bench, "One")
        await bench.call("chat.clear_context", chat_id="c1")
        await talk(bench, "Two")
        assert sent(bench) == [CLEARED, "Two"]
        await bench.call("chat.compact", chat_id="c1")
        await talk(bench, "Three")
        assert sent(bench) == ["2 messages", "Three"]


async def test_a_summary_that_is_not_shorter_than_what_it_replaces_is_not_stored(started):
    async def wordy(messages, previous, model):
        return "a summary of many words " * 20

    async with started(digest=wordy) as bench:
        await talk(bench, "One", "Two")
        stored = await bench.messages("c1")
        with pytest.raises(CommandFailed, match="with a summary, 104 tokens of messages"):
            await bench.call("chat.compact", chat_id="c1")
        assert await bench.messages("c1") == stored
        await talk(bench, "Three")
        assert sent(bench)[0] == "One"
        await talk(bench, "Long. " * 200)
        assert (await bench.call("chat.compact", chat_id="c1"))["summarised"] == 8


async def test_a_summary_is_cleared_though_nothing_was_said_since_and_both_are_undone(started):
    async with started() as bench:
        await talk(bench, "One")
        await bench.call("chat.compact", chat_id="c1")
        assert (await bench.call("chat.clear_context", chat_id="c1"))["summarised"] == 0
        with pytest.raises(CommandFailed, match="Nothing was said"):
            await bench.call("chat.clear_context", chat_id="c1")
        await talk(bench, "Two")
        assert sent(bench) == [CLEARED, "Two"]
        await bench.call("chat.undo_compaction", chat_id="c1")
        await talk(bench, "Three")
        assert sent(bench)[:2] == ["2 messages", "Two"]
        await bench.call("chat.undo_compaction", chat_id="c1")
        await talk(bench, "Four")
        assert sent(bench)[:2] == ["One", "An answer in words"]


@pytest.mark.parametrize("command", ["chat.compact", "chat.clear_context"])
async def test_nothing_to_sum_up_is_said(started, command):
    async with started() as bench:
        with pytest.raises(CommandFailed, match="Nothing was said"):
            await bench.call(command, chat_id="c1")
        assert not (bench.vault / ".memory" / "c1.json").exists()


async def test_a_chat_that_is_being_answered_is_not_compacted(started):
    async with started() as bench:
        gate = asyncio.Event()
        bench.reply(Scripted(pieces=("Yes",), gate=gate))
        task = asyncio.create_task(talk(bench, "One"))
        await until(lambda: bench.model.asked)
        for command in ("compact", "clear_context", "undo_compaction"):
            with pytest.raises(CommandFailed, match="still being answered"):
                await bench.call(f"chat.{command}", chat_id="c1")
        gate.set()
        await task


async def test_a_chat_that_changes_meanwhile_is_left_alone(started):
    async def slowly(messages, previous, model):
        path = bench.vault / ".memory" / "c1.json"
        path.write_text(json.dumps({"messages": []}))
        return "too late"

    async with started(digest=slowly) as bench:
        await talk(bench, "One")
        with pytest.raises(CommandFailed, match="changed meanwhile"):
            await bench.call("chat.compact", chat_id="c1")
        assert await bench.messages("c1") == ()


async def test_near_the_window_a_chat_is_compacted_after_the_turn(started):
    async with started(WINDOW) as bench:
        bench.reply(*["word " * 125] * 3, Scripted(pieces=("Yes",), usage=None), "Last")
        await talk(bench, *["word " * 125] * 2)
        assert not any(message.is_summary for message in await bench.messages("c1"))
        await talk(bench, "word " * 125)
        stored = await compacted(bench)
        (place,) = [at for at, message in enumerate(stored) if message.is_summary]
        assert 0 < place < len(stored) - 1
        assert stored[place + 1].role == "user"
        await talk(bench, "And now?")
        assert sent(bench)[0] == f"{place} messages"


async def test_what_the_endpoint_counted_decides(started):
    async with started(WINDOW) as bench:
        usage = Usage(prompt_tokens=990, completion_tokens=1)
        bench.reply("word " * 125, "word " * 125, Scripted(pieces=("word " * 300,), usage=usage))
        await talk(bench, "One", "Two", "Three")
        assert await compacted(bench)


async def test_without_a_window_nothing_is_compacted_or_left_out(started):
    async with started() as bench:
        bench.reply(*["word " * 2000] * 3)
        await talk(bench, "One", "Two", "Three")
        assert len(sent(bench)) == 5
        assert not any(message.is_summary for message in await bench.messages("c1"))


async def test_a_request_never_exceeds_the_window_and_what_is_protected_stays(started, caplog):
    async with started(WINDOW) as bench:
        await bench.host.services.storage.chats.save(
            "c1",
            {
                "messages": [
                    {"id": f"m{n}", "role": "user", "content": f"{n} " + "word " * 90}
                    for n in range(20)
                ]
            },
        )

        async def protect(turn):
            turn.request = replace(turn.request, protected=frozenset({"m0"}))

        bench.host.bus.subscribe("pipeline.context", protect)
        await talk(bench, "word " * 200)
        history = sent(bench)[:-1]
        assert history[0].startswith("0 ")
        assert history[-1].startswith("19 ")
        assert 4 < len(history) < 8
        assert "14 messages don't fit the window" in caplog.text


async def test_without_anybody_to_write_summaries_that_is_said(started):
    async with started(digest=None) as bench:
        await talk(bench, "One")
        with pytest.raises(CommandFailed, match="can't write summaries"):
            await bench.call("chat.compact", chat_id="c1")


async def test_a_failing_digest_leaves_the_chat_as_it_was(started):
    async def fail(messages, previous, model):
        raise ModelFailed("It broke.")

    async with started(digest=fail) as bench:
        await talk(bench, "One")
        with pytest.raises(ModelFailed):
            await bench.call("chat.compact", chat_id="c1")
        assert len(await bench.messages("c1")) == 2


async def test_two_windows_that_ask_at_once_get_one_summary(started):
    gate = asyncio.Event()

    async def slowly(messages, previous, model):
        await gate.wait()
        return "Once."

    async with started(digest=slowly) as bench:
        await talk(bench, "One")
        both = [asyncio.create_task(bench.call("chat.compact", chat_id="c1")) for _ in range(2)]
        await until(lambda: bench.host.compactions._under_way)
        for command in ("clear_context", "undo_compaction"):
            with pytest.raises(CommandFailed, match="is being summarized"):
                await bench.call(f"chat.{command}", chat_id="c1")
        gate.set()
        first, second = await asyncio.gather(*both)
        assert first == second
        assert sum(message.is_summary for message in await bench.messages("c1")) == 1
        with pytest.raises(CommandFailed, match="Nothing was said"):
            await bench.call("chat.compact", chat_id="c1")


async def test_a_window_that_closes_does_not_end_the_summary_of_another(started):
    gate = asyncio.Event()

    async def slowly(messages, previous, model):
        await gate.wait()
        return "Once."

    async with started(digest=slowly) as bench:
        await talk(bench, "One")
        gone = asyncio.create_task(bench.call("chat.compact", chat_id="c1"))
        await until(lambda: bench.host.compactions._under_way)
        stays = asyncio.create_task(bench.call("chat.compact", chat_id="c1"))
        gone.cancel()
        gate.set()
        assert (await stays)["summarised"] == 2


async def test_a_chat_goes_on_while_it_is_summed_up(started):
    gate = asyncio.Event()

    async def slowly(messages, previous, model):
        await gate.wait()
        return f"{len(messages)} messages"

    async with started(digest=slowly) as bench:
        await talk(bench, "One")
        task = asyncio.create_task(bench.call("chat.compact", chat_id="c1"))
        await until(lambda: bench.host.compactions._under_way)
        await talk(bench, "Two")
        gate.set()
        await task
        texts = [message.text for message in await bench.messages("c1")]
        assert texts[:4:2] == ["One", "2 messages"]
        assert texts[3] == "Two"
        await talk(bench, "Three")
        assert sent(bench) == ["2 messages", "Two", "An answer in words", "Three"]


async def test_a_slow_summary_near_the_window_is_not_started_again_with_each_turn(started):
    gate = asyncio.Event()
    begun = []

    async def slowly(messages, previous, model):
        begun.append(len(messages))
        await gate.wait()
        return "Short."

    async with started(WINDOW, digest=slowly) as bench:
        bench.reply(*["word " * 125] * 3, "Yes.")
        await talk(bench, *["word " * 125] * 3)
        await until(lambda: begun)
        await talk(bench, "And?")
        gate.set()
        await compacted(bench)
        assert len(begun) == 1


async def test_a_summary_that_lost_its_place_can_be_undone(started):
    async with started() as bench:
        await talk(bench, "One", "Two")
        made = await bench.call("chat.compact", chat_id="c1")
        document = await bench.host.services.storage.chats.load("c1")
        del document["messages"][3]
        (bench.vault / ".memory" / "c1.json").write_text(json.dumps(document))
        await until(lambda: bench.named("memory.chat_changed"))
        undone = await bench.call("chat.undo_compaction", chat_id="c1")
        assert undone["message_id"] == made["message_id"]
        assert [m.text for m in await bench.messages("c1")][::2] == ["One", "Two"]


async def test_a_summary_can_be_undone_by_its_name(started):
    async with started() as bench:
        await talk(bench, "One")
        first = await bench.call("chat.compact", chat_id="c1")
        await talk(bench, "Two")
        second = await bench.call("chat.compact", chat_id="c1")
        await bench.call("chat.undo_compaction", chat_id="c1", message_id=first["message_id"])
        left = [message.id for message in await bench.messages("c1") if message.is_summary]
        assert left == [second["message_id"]]
        with pytest.raises(CommandFailed, match="Summary not found"):
            await bench.call("chat.undo_compaction", chat_id="c1", message_id="nobody")


async def test_a_known_model_has_a_window_without_any_setting(started):
    known = WINDOW.replace("context_window = 1000\n", "").replace("local", "gpt-4")
    async with started(known) as bench:
        await bench.host.services.storage.chats.save(
            "c1",
            {
                "messages": [
                    {"id": f"m{n}", "role": "user", "content": "word " * 900} for n in range(20)
                ]
            },
        )
        await talk(bench, "And now?")
        assert 6 <= len(sent(bench)) <= 9


async def test_a_message_that_is_too_long_by_itself_is_not_sent_and_the_next_turn_works(started):
    async with started(WINDOW) as bench:
        with pytest.raises(RequestTooLong, match="The model takes 1,000, of which 100"):
            await talk(bench, "word " * 900)
        assert not bench.model.asked
        _question, answer = await bench.messages("c1")
        assert answer.error.startswith("The message is too long for local")
        await talk(bench, "Short.")
        assert sent(bench) == ["Short."]


async def test_the_last_question_and_its_answer_stay_however_long_they_are(started):
    async with started(WINDOW) as bench:
        bench.reply("Yes.", "word " * 500, "And so on.")
        await talk(bench, "One", "word " * 310)
        stored = await compacted(bench)
        assert [message.is_summary for message in stored] == [False, False, True, False, False]
