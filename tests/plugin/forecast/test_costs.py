"""What messages cost, counted once, and what a request costs by part."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from smart_context.chat.compaction import summary_message
from smart_context.chat.messages import Message
from smart_context.plugin.forecast.costs import (
    HISTORY_PARTS,
    MAX_CHATS,
    TokenLedger,
    TokensByPart,
    attached_tokens,
    history_tokens,
)

CHAT = (
    Message(id="s", role="system", content="Be brief."),
    Message(id="sum", role="system", content="So far.", is_summary=True),
    Message(id="q", role="user", content="Hello"),
    Message(id="a", role="assistant", content="Hi\u200b there"),
)


class Counting:
    """Counts characters, and remembers the texts."""

    def __init__(self):
        self.texts = []

    def __call__(self, text):
        self.texts.append(text)
        return len(text)


@pytest.fixture
def count():
    return Counting()


@pytest.fixture
def ledger(count):
    return TokenLedger(lambda: count)


def sent_as(message):
    """A system text counts with the blank line after it, as a part of the system prompt does."""
    return f"{message.text}\n\n" if message.role == "system" else message.text


def test_a_message_is_counted_once(ledger, count):
    assert ledger.uncounted("c", CHAT) == sum(len(m.text) for m in CHAT)
    first = ledger.costs("c", CHAT)
    assert ledger.uncounted("c", CHAT) == 0
    again = ledger.costs("c", tuple(replace(m) for m in CHAT))
    assert count.texts == [sent_as(m) for m in CHAT]
    assert np.array_equal(first.tokens, again.tokens)
    assert again.tokens.tolist() == [len(sent_as(m)) for m in CHAT]


def test_a_message_that_has_changed_is_counted_again(ledger, count):
    ledger.costs("c", CHAT)
    changed = replace(CHAT[2], content="Hello again")
    assert ledger.uncounted("c", (changed,)) == len("Hello again")
    assert ledger.costs("c", (changed,)).tokens.tolist() == [len("Hello again")]
    assert count.texts[-1] == "Hello again"


def test_parts_and_hidden_text_go_with_the_position(ledger):
    costs = ledger.costs("c", CHAT)
    assert [HISTORY_PARTS[part] for part in costs.parts] == [
        *("system", "summary", "history", "history"),
    ]
    assert {place: str(found) for place, (found,) in costs.hidden_text.items()} == {
        3: "1 invisible character (U+200B zero width space)"
    }


def test_a_clearing_is_a_message_and_no_summary(ledger):
    clearing = summary_message("c", "Gone.", boundary="a", created_at="", kind="cleared")
    (part,) = ledger.costs("c", (clearing,)).parts
    assert HISTORY_PARTS[part] == "history"


@pytest.mark.parametrize(
    "forget",
    [
        pytest.param(lambda ledger: ledger.forget("c"), id="a deleted chat"),
        pytest.param(
            lambda ledger: [ledger.costs(f"other {n}", CHAT) for n in range(MAX_CHATS)],
            id="the chat that was asked for longest ago",
        ),
    ],
)
def test_a_chat_is_forgotten(ledger, forget):
    ledger.costs("c", CHAT)
    forget(ledger)
    assert ledger.uncounted("c", CHAT) > 0


def test_messages_that_are_gone_are_forgotten(ledger):
    long_chat = [Message(id=f"m{n}", role="user", content="Hi") for n in range(300)]
    ledger.costs("c", long_chat)
    ledger.costs("c", long_chat[:1])
    assert ledger.uncounted("c", long_chat) == 2 * 299


def deciding(candidates, stored, is_in):
    reasons = SimpleNamespace(is_in=np.array(is_in))
    decision = SimpleNamespace(candidates=candidates, selection=SimpleNamespace(reasons=reasons))
    return SimpleNamespace(messages=stored), decision


@pytest.mark.parametrize(
    ("is_in", "tokens"),
    [
        pytest.param(
            [True] * 4, {"system": 11, "summary": 9, "history": 14, "attachments": 0}, id="all in"
        ),
        pytest.param(
            [True, False, True, False],
            {"system": 11, "summary": 0, "history": 5, "attachments": 0},
            id="what is out costs nothing",
        ),
    ],
)
def test_the_history_is_summed_by_part(ledger, is_in, tokens):
    view, decision = deciding(CHAT, CHAT, is_in)
    costs = ledger.costs("c", CHAT)
    found = history_tokens(decision, costs, attached_tokens(view, decision, costs, len))
    assert found == TokensByPart(**tokens)
    assert found.total == sum(tokens.values())


@pytest.mark.parametrize(
    ("role", "is_in", "attached"),
    [
        pytest.param("user", True, len(" [the file]"), id="a question with a file"),
        pytest.param("user", False, 0, id="left out"),
        pytest.param("assistant", True, 0, id="an answer carries no files"),
    ],
)
def test_what_is_attached_counts_apart_from_what_was_written(ledger, role, is_in, attached):
    files = ({"storage_key": "k"},)
    written = Message(id="q", role=role, content="Read this", files=files)
    sent = replace(written, content="Read this [the file]")
    view, decision = deciding((sent,), (written,), [is_in])
    costs = ledger.costs("c", (sent,))
    found = history_tokens(decision, costs, attached_tokens(view, decision, costs, len))
    assert found.attachments == attached
    assert found.total == (len(sent.text) if is_in else 0)
