"""What a provider can reuse of the previous request: everything up to the first difference."""

import pytest

from smart_context.plugin.receipts.receipt import (
    SentRequest,
    sent_request,
    shared_prefix_tokens,
)

pytestmark = pytest.mark.anyio


def message(role, content):
    return {"role": role, "content": content}


BLANK_LINE = 2
"""A system text counts with the blank line after it."""

SYSTEM, ASKED, SAID = message("system", "abcd"), message("user", "ef"), message("assistant", "ghi")
ALL = 6 + BLANK_LINE


@pytest.mark.parametrize(
    ("before", "after", "tokens"),
    [
        pytest.param([], [SYSTEM], None, id="nothing before"),
        pytest.param([SYSTEM, ASKED], [SYSTEM, ASKED], ALL, id="the same"),
        pytest.param([SYSTEM, ASKED], [SYSTEM, ASKED, SAID], ALL, id="something follows"),
        pytest.param([SYSTEM, ASKED, SAID], [SYSTEM, ASKED], ALL, id="something is gone"),
        pytest.param([SYSTEM, ASKED], [SYSTEM, SAID], 4 + BLANK_LINE, id="another speaker"),
        pytest.param([message("system", "abxx"), ASKED], [SYSTEM, ASKED], 2, id="differs within"),
        pytest.param([ASKED, SAID], [SYSTEM, ASKED, SAID], 0, id="something new in front"),
        pytest.param(
            [message("user", [{"type": "text", "text": "efx"}])],
            [message("user", [{"type": "text", "text": "efy"}, {"type": "image_url"}])],
            2,
            id="with images",
        ),
        pytest.param([message("assistant", None)], [SAID], 0, id="no text"),
    ],
)
def test_the_beginning_ends_where_requests_differ(before, after, tokens):
    first = sent_request(before, SentRequest(), len)
    assert shared_prefix_tokens(first, sent_request(after, first, len), len) == tokens


@pytest.mark.parametrize(
    ("before", "after", "tokens"),
    [
        pytest.param("[abc]", "[abc]", 5 + ALL, id="the same"),
        pytest.param("[abc]", "[abd]", 0, id="others"),
        pytest.param("", "[abc]", 0, id="new ones"),
        pytest.param("[abc]", "", 0, id="no more"),
        pytest.param(None, "[abc]", 5 + ALL, id="unknown before"),
    ],
)
def test_tools_come_before_all_messages(before, after, tokens):
    first = sent_request([SYSTEM, ASKED], SentRequest(), len, before)
    assert (
        shared_prefix_tokens(first, sent_request([SYSTEM, ASKED], first, len, after), len) == tokens
    )


async def test_receipts_tell_how_much_began_as_the_request_before(notes, served):
    notes({"a.md": "A note that stays. " * 50})
    async with served() as running:

        async def sent(text):
            await running.call("chat.send", chat_id="c", message=text, stream=False)
            receipt = await running.call("receipt", chat_id="c")
            return receipt["unchanged"], receipt["parts"]

        await running.call("add_notes", chat_id="c", paths=["a.md"])
        assert (await sent("hello"))[0] is None
        kept, parts = await sent("how are you")
        assert parts["contexts"] + 1 <= kept < sum(parts.values())
        await running.call("set_role", chat_id="c", role="planner")
        kept, parts = await sent("and now")
        assert parts["tools"] <= kept < parts["tools"] + 20
        await running.call("set_file_tools", chat_id="c", on=False)
        assert (await sent("and without tools"))[0] == 0, "tools come first"
        kept, parts = await sent("and again")
        assert parts["role"] + parts["contexts"] <= kept
        await running.call("set_file_tools", chat_id="c", on=True)
        await sent("and with tools")
    async with served() as running:
        await running.call("chat.send", chat_id="c", message="hello again", stream=False)
        receipt = await running.call("receipt", chat_id="c")
        assert receipt["unchanged"] > receipt["parts"]["contexts"], "it survives a restart"
