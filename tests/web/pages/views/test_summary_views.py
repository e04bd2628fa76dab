import pytest

from smart_context.chat.compaction import summary_message
from smart_context.chat.messages import Message, MessageId
from smart_context.web.pages.views.message_views import (
    CompactionView,
    compaction_view,
    summary_view,
)


def summary(text="*Summary of 2 messages.*", *, name="s", boundary="m1", kind="compacted"):
    return summary_message(MessageId(name), text, boundary=boundary, created_at="", kind=kind)


def said(*names):
    return [Message(id=MessageId(name), role="user", content=name) for name in names]


@pytest.mark.parametrize(
    ("text", "title", "by", "rest"),
    [
        pytest.param(
            "*Summary of 2 messages, written by gpt-4o.*\n\nCats.",
            "Summary of 2 messages",
            "written by gpt-4o",
            "Cats.",
            id="by a model",
        ),
        pytest.param(
            "*Summary of 1 message, made without a language model (it said: *no.*): quotes.*\n\n"
            "### Facts\n\n- Cats.",
            "Summary of 1 message",
            "made without a language model (it said: *no.*): quotes",
            "### Facts\n\n- Cats.",
            id="with a vendor's words in it",
        ),
        pytest.param(
            "Cats.\n\n*Summary of 2 messages.*\n\n",
            "Summary of the messages above",
            "",
            "Cats.\n\n*Summary of 2 messages.*\n\n",
            id="of another program",
        ),
        pytest.param("", "Summary of the messages above", "", "", id="empty"),
    ],
)
def test_a_card_tells_once_what_a_summary_says_of_itself(text, title, by, rest):
    view, shown = summary_view(summary(text))
    assert (view.title, view.by, view.is_cleared, shown.text) == (title, by, False, rest)


def test_a_cleared_context_says_that():
    view, _ = summary_view(summary("Gone.", kind="cleared"))
    assert (view.title, view.is_cleared) == ("Context cleared here", True)


def test_the_newest_usable_summary_counts_and_what_it_stands_for():
    first, lost = summary(name="s1"), summary(name="s2", boundary="gone")
    messages = [*said("m0", "m1"), first, *said("m2"), lost]
    seen = compaction_view(messages, messages)
    assert seen == CompactionView(summary="s1", boundary="m1", count=2)
    assert compaction_view(messages, messages[1:4]).count == 1
    assert compaction_view(messages, messages[3:]).count == 0
    assert compaction_view(said("m0"), said("m0")) == CompactionView()
