"""Everything that chooses what is sent, in any order: nothing fails, undo gives back what was.

After each step a message is previewed, and the endpoint gets what was shown, at the same count.
"""

import asyncio
import itertools
import json
import re
from contextlib import AsyncExitStack
from dataclasses import replace
from types import SimpleNamespace

import hypothesis
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from smart_context.app.composition import running_host
from smart_context.base.errors import SmartContextError
from smart_context.base.values import OWNER
from smart_context.host.commands.registry import Caller
from smart_context.plugin.choices.state import FilterState
from smart_context.topics.values import Topic
from tests.fake_openai import FakeOpenAI
from tests.patience import PATIENCE_S
from tests.trusting import trust
from tests.vaults import KEY, settings_text, write_chat

CHAT, OTHER = "talk", "elsewhere"
WORDS = {
    "cats": "cats purr sleep kittens",
    "boats": "boats sail wind harbour",
    "bread": "bread dough flour oven",
}
CALL = {
    "type": "tool_call",
    "state": "result",
    "tool_call_id": "call_1",
    "tool_name": "read_files",
    "args": {"paths": ["Cats.md"]},
    "result": "# Cats 猫",
}
LEFT_OUT_ALL_THE_SAME = ("hidden", "hidden_tool", "failed", "notice", "summarised", "old_tool")
ABOUT_UNDO = ("undo_steps", "undo_words", "moved", "cost")


def said():
    """Exchanges about three things in turn, a standing instruction and a call of a tool."""
    for number in range(4):
        for name, words in WORDS.items():
            yield {"role": "user", "content": f"{number}: {words} {name} 帆?"}
            yield {"role": "assistant", "content": f"{words} {number}"}
    yield {"role": "user", "content": "Always answer in one sentence."}
    yield {"role": "assistant", "content": [{"type": "text", "text": "I look."}, CALL]}


MESSAGES = [{"id": f"m{n}", **each} for n, each in enumerate(said())]
TOPICS = [
    *(
        {"id": f"t{n}", "label": label, "count": 8}
        for n, label in enumerate(["cats purr", "boats sail", "bread dough"])
    ),
    {
        "label": "Instructions & Preferences",
        "sticky": True,
        "message_ids": ["m24"],
        "count": 1,
    },
]


ROW = ("id", "kind", "reason", "tokens")
RECALLS = [
    {"from_chat": OTHER},
    {"from_chat": OTHER, "topics": ["boats sail"]},
    {"query": "harbour wind", "max_tokens": 30},
    {"messages": [{"chat_id": OTHER, "message_ids": ["m1", "m0"]}]},
]
COMMANDS = {"again": "set_filter"}
CHOICES = st.builds(
    SimpleNamespace,
    name=st.sampled_from(
        [
            *("set_filter", "again", "pin", "hide", "release", "set_threshold"),
            *("set_similarity_mode", "set_file_tools", "attach_context", "detach_context"),
            *("add_notes", "recall", "forget_recall", "set_role", "add_topic", "rename_topic"),
            *("merge_topics", "delete_topic", "compact_topics", "split", "assign"),
        ]
    ),
    numbers=st.lists(st.integers(0, 99), min_size=1, max_size=4),
    is_on=st.booleans(),
)


class Choosing(RuleBasedStateMachine):
    """A chat that two clients steer at once."""

    endpoint: FakeOpenAI
    folder: pytest.TempPathFactory

    def __init__(self):
        super().__init__()
        self.runner = asyncio.Runner()
        self.vault = self.folder.mktemp("vault")
        text = settings_text(self.endpoint.base_url).replace('"gpt-4o-mini"', '"embedded"')
        (self.vault / ".vault.toml").write_text(text, encoding="utf-8")
        (self.vault / "Cats.md").write_text("# Cats\n\nThey purr. 猫\n", encoding="utf-8")
        (self.vault / "Boats.md").write_text("# Boats\n\nThey sail.\n", encoding="utf-8")
        write_chat(self.vault, CHAT, MESSAGES, topics=TOPICS)
        write_chat(self.vault, OTHER, MESSAGES[:6], topics=TOPICS[:3])
        trust(self.vault)
        self.clients = [
            SimpleNamespace(id=name, person=OWNER, chat_id=CHAT, send=lambda *_: None)
            for name in ("first", "second")
        ]
        self.callers = itertools.cycle([Caller(OWNER, client) for client in self.clients])
        self.before = []  # the choices before each step that undo takes back, as far as known
        self.open = AsyncExitStack()
        self.runner.run(self.start())

    async def start(self):
        self.host = await self.open.enter_async_context(running_host(self.vault))
        self.running = 0

        def told(name, payload, _):
            if name == "smart_context.extraction":
                self.running += 1 if payload["state"] == "running" else -1

        self.host.on_event(told)
        await self.call("smart_context.pause_atlas", paused=True)

    def teardown(self):
        self.runner.run(self.open.aclose())
        self.runner.close()

    # What clients do

    async def call(self, name, **params):
        return await self.host.commands.call(name, params, next(self.callers))

    async def tried(self, name, **params):
        """The result of a command, or `None` if it was refused with words for the user."""
        refused = ""
        try:
            return await self.call(name, **params)
        except SmartContextError as error:
            refused = str(error)
        assert not re.search("unexpectedly|interrupted", refused), (name, params, refused)
        return None

    async def quiet(self):
        """Wait until no extraction runs."""
        async with asyncio.timeout(PATIENCE_S):
            while self.running:
                await asyncio.sleep(0.002)

    async def choices(self):
        """What was chosen, as it is stored."""
        path = self.vault / ".memory" / f"{CHAT}.filter.json"
        document = json.loads(path.read_bytes()) if path.exists() else {}
        return FilterState.from_dict(document)

    async def seen(self):
        """All that a client is shown of the chat's choices."""
        topics = await self.call("smart_context.get_topics", chat_id=CHAT)
        shown = await self.call("smart_context.preview", chat_id=CHAT, message="And?")
        for result in (topics, shown):
            for name in ABOUT_UNDO:
                result.pop(name, None)
        return topics, shown

    async def steps(self):
        return (await self.call("smart_context.get_topics", chat_id=CHAT))["undo_steps"]

    async def chosen(self, name, params):
        """Choose something; it is one step to undo, or nothing has changed."""
        before, count = await self.choices(), await self.steps()
        await self.tried(name, **params)
        await self.quiet()
        after, now = await self.choices(), await self.steps()
        if now == count:
            assert after == before, (name, params)
        self.before += [before, *[None] * (now - count - 1)] if now > count else []
        return now - count

    async def sends_what_is_shown(self):
        message = "And now, 帆?"
        brief = await self.call("smart_context.preview", chat_id=CHAT, message=message, brief=True)
        shown = await self.call("smart_context.preview", chat_id=CHAT, message=message)
        start = len(self.endpoint.chat_requests)
        await self.call("chat.send", chat_id=CHAT, message=message)
        (request,) = self.endpoint.chat_requests[start:]
        receipt = await self.call("smart_context.receipt", chat_id=CHAT)
        assert shown["body"] == request.body == receipt["body"]
        assert brief["parts"] == shown["parts"] == receipt["parts"]
        assert shown["tokens"] == receipt["tokens"] == sum(shown["parts"].values())
        for each in (shown, receipt):
            assert sum(each["prompt_tokens"]) + each["parts"]["tools"] == each["tokens"]
        foreseen, measured = shown["cost"], receipt["cost"]
        assert (foreseen["sent"], foreseen["saved"]) == (measured["sent"], measured["saved"])
        told = [[row[name] for name in ROW] for row in shown["messages"] if row["in"]]
        await self.sends_what_was_said(shown["messages"])
        assert told == [[row[name] for name in ROW] for row in receipt["messages"] if row["in"]]
        count = await self.steps()
        await self.quiet()
        self.before += [None] * (await self.steps() - count)

    async def sends_what_was_said(self, rows):
        """All that was said while a topic was picked goes while one is picked, as it stands."""
        state, topics = (
            await self.choices(),
            await self.call("smart_context.topic_map", chat_id=CHAT),
        )
        known = [Topic(label=t["label"], count=0, id=t["id"]) for t in topics["topics"]]
        said = state.edits.held(known).said
        for row in rows:
            if {*said.get(row["id"], ())} & {*state.active_topics}:
                assert row["in"] or row["kind"] in LEFT_OUT_ALL_THE_SAME, row

    # Any of the choices. What is drawn does not depend on what there is: that is picked by numbers.

    async def a_choice(self, drawn):
        """The name and the parameters of a command that chooses."""
        state = await self.choices()
        topics = await self.call("smart_context.get_topics", chat_id=CHAT)
        labels = [*(t["label"] for t in topics["topics"] if not t.get("sticky")), "Nothing yet"]
        ids = [m["id"] for m in (await self.call("memory.load_chat", chat_id=CHAT))["messages"]]
        notes, contexts = ["Cats.md", "Boats.md"], ["Animals", "Fleet"]
        roles, new = ["", "reviewer", "planner", "nobody"], [None, "Cats purr", "boats sail", "猫"]
        numbers, number, is_on = drawn.numbers, drawn.numbers[0], drawn.is_on

        def some(known):
            """Some of these, in any order."""
            return list(dict.fromkeys(known[n % len(known)] for n in numbers)) if known else []

        def one(known):
            return known[number % len(known)]

        params = {
            "set_filter": {"topics": some(labels) if is_on else []},
            "again": {"topics": [*reversed(state.active_topics)]},
            "pin": {"message_ids": some(ids)},
            "hide": {"message_ids": some(ids)},
            "release": {"message_ids": some([*state.pinned, *state.hidden])},
            "set_threshold": {"threshold": one([None, -1, 0.2, 1])},
            "set_similarity_mode": {"enabled": is_on},
            "set_file_tools": {"on": is_on},
            "attach_context": {"key": one(contexts)},
            "detach_context": {"key": one(contexts)},
            "add_notes": {"paths": some(notes)},
            "recall": one(RECALLS),
            "forget_recall": {"recall_id": one([recall.id for recall in state.recalls] or ["x"])},
            "set_role": {"role": one(roles), "targets": some(notes) if is_on else []},
            "add_topic": {"label": one(new[1:]), "select": is_on},
            "rename_topic": {"label": one(labels), "new_label": one(new[1:])},
            "merge_topics": {"labels": some(labels), "new_label": one(new)},
            "delete_topic": {"label": one(labels)},
            "compact_topics": {"topics": some(labels), "summary": "They purr. 帆", "apply": True},
            "split": {"topics": some(labels), "move": True},
            "assign": {
                "message_ids": some(ids),
                "topic_id": one([None, *labels]),
                **({"not_topic_id": one([*labels, *labels[:1]])} if is_on else {}),
            },
        }[drawn.name]
        return f"smart_context.{COMMANDS.get(drawn.name, drawn.name)}", {"chat_id": CHAT, **params}

    @initialize()
    def save_contexts(self):
        async def run():
            for key, note in (("Animals", "Cats.md"), ("Fleet", "Boats.md")):
                await self.call("smart_context.save_context", key=key, items=[note])

        self.runner.run(run())

    @rule(drawn=CHOICES)
    def choose(self, drawn):
        async def run():
            await self.chosen(*await self.a_choice(drawn))
            await self.sends_what_is_shown()

        self.runner.run(run())

    @rule(drawn=st.lists(CHOICES, min_size=1, max_size=3))
    def choose_and_take_it_back(self, drawn):
        async def run():
            count = await self.steps()
            await self.call("smart_context.refresh_topics", chat_id=CHAT, wait=True)
            self.before += [None] * (await self.steps() - count)
            shown = await self.seen()
            steps = [await self.chosen(*await self.a_choice(each)) for each in drawn]
            for _ in range(sum(steps)):
                await self.undo_one()
            assert await self.seen() == shown
            await self.sends_what_is_shown()

        self.runner.run(run())

    async def undo_one(self):
        was = self.before.pop()
        count = await self.steps()
        undone = await self.call("smart_context.undo", chat_id=CHAT)
        await self.quiet()
        assert undone["left"] == await self.steps() == count - 1
        assert undone["undone_words"]
        if was is not None:
            now = await self.choices()
            edits = replace(was.edits, settled=now.edits.settled)
            said = {**was.edits.messages.said, **now.edits.messages.said}  # no step to undo
            messages = replace(was.edits.messages, said=now.edits.messages.said)
            assert now == replace(was, edits=replace(edits, messages=messages))
            assert now.edits.messages.said == said

    @rule()
    def undo(self):
        async def run():
            if self.before:
                await self.undo_one()
            else:
                assert not (await self.call("smart_context.undo", chat_id=CHAT))["undone_words"]
            await self.sends_what_is_shown()

        self.runner.run(run())

    @rule(drawn=st.tuples(CHOICES, CHOICES))
    def choose_both_at_once(self, drawn):
        async def run():
            choices = [await self.a_choice(each) for each in drawn]
            before = await self.steps()
            await asyncio.gather(*(self.tried(name, **params) for name, params in choices))
            await self.quiet()
            self.before += [None] * (await self.steps() - before)
            await self.sends_what_is_shown()

        self.runner.run(run())

    @rule()
    def restart(self):
        async def run():
            shown = await self.seen()
            await self.open.aclose()
            await self.start()
            assert await self.seen() == shown

        self.runner.run(run())
        self.before = []

    @rule(number=st.integers(0, 8), place=st.integers(0, 2))
    def change_the_conversation(self, number, place):
        async def run():
            messages = (await self.call("memory.load_chat", chat_id=CHAT))["messages"]
            asked = [m["id"] for m in messages if m["role"] == "user"][-3:]
            summaries = [m["id"] for m in messages if m.get("is_summary")] or [""]
            where = {"message_id": asked[place % len(asked)]}
            name, params = [
                ("chat.regenerate", where),
                ("chat.edit", {**where, "text": "Other words? 猫"}),
                ("chat.show_version", {**where, "version": 1}),
                ("chat.compact", {}),
                ("chat.clear_context", {}),
                ("chat.undo_compaction", {"message_id": summaries[-1]}),
                ("smart_context.refresh_topics", {"wait": True, "regroup": True}),
                ("chat.set_instructions", {"text": "Be kind. 猫"}),
                ("chat.set_instructions", {"text": ""}),
            ][number]
            await self.tried(name, chat_id=CHAT, **params)
            await self.quiet()
            self.before = [None] * await self.steps()
            await self.sends_what_is_shown()

        self.runner.run(run())


@pytest.fixture
def choosing(tmp_path_factory, monkeypatch):
    for name, value in KEY.items():
        monkeypatch.setenv(name, value)
    with FakeOpenAI() as endpoint:
        yield type("Choosing", (Choosing,), {"endpoint": endpoint, "folder": tmp_path_factory})


def test_whatever_is_chosen_in_whatever_order_is_sent_as_shown_and_can_be_undone(choosing):
    """A few examples; `--hypothesis-profile=thorough` tries many long ones."""
    wanted = hypothesis.settings().max_examples
    settings = hypothesis.settings(
        max_examples=max(3, wanted // 10), stateful_step_count=max(8, wanted // 40)
    )
    run_state_machine_as_test(choosing, settings=settings)
