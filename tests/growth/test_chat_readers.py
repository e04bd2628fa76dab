"""What reads chats of other programs takes time in proportion to what their files hold."""

from pathlib import Path

import pytest

from smart_context.chat.documents.branches import versions_of
from smart_context.importing.found import FoundChat, paths_of
from smart_context.importing.program import Session
from smart_context.importing.programs import PROGRAMS
from smart_context.web.pages.pages import other_versions
from tests.growth.clock import MOST_GROWTH, MOST_MEMORY_GROWTH, growth, memory_growth

BY_NAME = {program.name: program for program in PROGRAMS}
MANY, FEWER = 3_000, 800


def session(client):
    def read(rows):
        return paths_of_all(BY_NAME[client].session.read(Session(rows=rows, name="n")))

    return client, read


def conversation(client):
    def read(item):
        program = BY_NAME[client]
        return paths_of_all((program.conversation or program.export).read(item))

    return client, read


def paths_of_all(found):
    return [paths_of(chat) for chat in ([found] if isinstance(found, FoundChat) else found)]


def nodes(parents, message):
    return {str(key): {"parent": parent, "message": message} for key, parent in parents}


def chatgpt_of_empty_nodes(count):
    """Many questions behind a long chain of nodes without a message."""
    asked = {"author": {"role": "user"}, "content": {"parts": ["a"]}}
    chain = nodes(((n, str(n - 1)) for n in range(count // 2)), None)
    leaves = nodes(((f"m{n}", str(count // 2 - 1)) for n in range(count // 2)), asked)
    return {"conversation_id": "c", "mapping": chain | leaves}


def chatgpt_from_last_to_first(count):
    asked = {"author": {"role": "user"}, "content": {"parts": ["a"]}}
    return {"conversation_id": "c", "current_node": "0",
            "mapping": nodes(((n, str(n - 1)) for n in reversed(range(count))), asked)}  # fmt: skip


def claude_code_row(kind, content, **fields):
    return {"type": kind, "sessionId": "s", "message": {"role": kind, "content": content}, **fields}


def claude_code_of_one_reply(count):
    """All results of the calls of one reply, the last first."""
    calls = [{"type": "tool_use", "id": str(n), "name": "R", "input": {}} for n in range(count)]
    given = [{"type": "tool_result", "tool_use_id": str(n), "content": "x"} for n in range(count)]
    return [claude_code_row("assistant", calls, uuid="a"),
            claude_code_row("user", given[::-1], uuid="r", parentUuid="a")]  # fmt: skip


def claude_code_of_results(count):
    given = [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]
    return [claude_code_row("user", given, uuid=str(n), parentUuid=str(n - 1))
            for n in range(count)]  # fmt: skip


def claude_code_of_other_lines(count):
    """Many messages behind a long chain of lines that are none."""
    chain = [{"type": "progress", "uuid": f"p{n}", "parentUuid": f"p{n - 1}", "sessionId": "s"}
             for n in range(count // 2)]  # fmt: skip
    last = f"p{count // 2 - 1}"
    return chain + [claude_code_row("user", "a", uuid=f"u{n}", parentUuid=last)
                    for n in range(count // 2)]  # fmt: skip


def codex_row(**payload):
    return {"type": "response_item", "payload": payload}


def codex_that_goes_back(count):
    asked = codex_row(type="message", role="user", content=[{"text": "a"}])
    back = {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}
    return [asked, back] * (count // 2)


def codex_of_calls(count):
    calls = [codex_row(type="function_call", call_id=str(n), name="f") for n in range(count)]
    given = [codex_row(type="function_call_output", call_id=str(n), output="x")
             for n in reversed(range(count))]  # fmt: skip
    return calls + given


def claude_of_calls(count):
    calls, given = {"type": "tool_use", "name": "f"}, {"type": "tool_result", "name": "f"}
    content = [calls] * count + [given] * count
    return {
        "uuid": "u",
        "chat_messages": [{"uuid": "1", "sender": "assistant", "content": content}],
    }


def openai_of_calls(count):
    calls = [{"id": str(n), "function": {"name": "f"}} for n in range(count)]
    given = [{"role": "tool", "tool_call_id": str(n)} for n in reversed(range(count))]
    return {"messages": [{"role": "assistant", "tool_calls": calls}, *given]}


def sillytavern_of_swipes(count):
    return [{"name": "B", "mes": "a", "swipes": ["a"] * count, "swipe_id": 0}]


def librechat_of_trees(count):
    rows = [{"messageId": str(n), "text": "a", "children": [{"messageId": f"{n}c", "text": "b"}]}
            for n in range(count)]  # fmt: skip
    return {"conversationId": "l", "messagesTree": rows}


def gemini_cli_that_goes_back(count):
    rows = [row for n in range(count) for row in
            ({"id": str(n), "type": "user", "content": "a"}, {"$rewindTo": str(n)})]  # fmt: skip
    return [{"sessionId": "g", "projectHash": "f"}, *rows]


def gemini_cli_of_parts(count):
    return [{"sessionId": "g", "projectHash": "f"},
            {"id": "1", "type": "gemini", "content": [{"text": "a" * 40}] * count}]  # fmt: skip


def qwen_code_of_other_lines(count):
    rows = [{"uuid": str(n), "parentUuid": str(n - 1), "sessionId": "q", "type": "system"}
            for n in range(count)]  # fmt: skip
    said = {"sessionId": "q", "type": "user", "message": {"parts": [{"text": "a"}]}}
    return rows + [{**said, "uuid": f"u{n}", "parentUuid": str(count - 1)} for n in range(count)]


def opencode_of_parts(count):
    """Many messages, and as many parts of one of them."""
    said = [{"id": f"msg_{n}", "role": "user"} for n in range(count)]
    parts = [{"id": f"prt_{n}", "messageID": "msg_0", "type": "text", "text": "a"}
             for n in range(count)]  # fmt: skip
    back = {"messageID": "msg_0", "partID": f"prt_{count - 1}"}
    return [{"id": "ses_1", "time": {}, "revert": back}, *said, *parts]


def opencode_of_files(count):
    """Paths of many sessions, messages and parts."""
    names = [f"{n:06}" for n in range(count)]
    return [
        *(Path(f"s/session/p/{name}.json") for name in names),
        *(Path(f"s/message/{name}/m{name}.json") for name in names),
        *(Path(f"s/part/m{names[0]}/{name}.json") for name in names),
    ]


READERS = (
    (conversation("chatgpt"), chatgpt_of_empty_nodes),
    (conversation("chatgpt"), chatgpt_from_last_to_first),
    (session("claude-code"), claude_code_of_one_reply),
    (session("claude-code"), claude_code_of_results),
    (session("claude-code"), claude_code_of_other_lines),
    (session("codex"), codex_that_goes_back),
    (session("codex"), codex_of_calls),
    (conversation("claude"), claude_of_calls),
    (conversation("openai"), openai_of_calls),
    (session("sillytavern"), sillytavern_of_swipes),
    (conversation("librechat"), librechat_of_trees),
    (session("gemini-cli"), gemini_cli_that_goes_back),
    (session("gemini-cli"), gemini_cli_of_parts),
    (session("qwen-code"), qwen_code_of_other_lines),
    (session("opencode"), opencode_of_parts),
    (("opencode", BY_NAME["opencode"].scattered.gather), opencode_of_files),
)


of_each_reader = pytest.mark.parametrize(
    ("reader", "make"),
    READERS,
    ids=lambda value: value[0] if isinstance(value, tuple) else value.__name__,
)


@of_each_reader
def test_eight_times_as_much_takes_about_eight_times_as_long(reader, make):
    assert growth(reader[1], make, longest=MANY) < MOST_GROWTH


@of_each_reader
def test_four_times_as_much_takes_about_four_times_the_memory(reader, make):
    assert memory_growth(reader[1], make, longest=FEWER) < MOST_MEMORY_GROWTH


def branches(count):
    return {"messages": [{"id": "m", "role": "user", "content": "a"}],
            "branches": [{"id": f"b{n}", "after": f"x{n - 1}", "messages": [{"id": f"x{n}"}]}
                         for n in range(count)]}  # fmt: skip


def branches_at_each_message(count):
    return {"messages": [{"id": f"m{n}", "role": "user", "content": "a"} for n in range(count)],
            "branches": [{"id": f"b{n}", "after": f"m{n}", "messages": [{"id": f"x{n}"}]}
                         for n in range(count)],
            "version_order": [f"x{n}" for n in range(count)]}  # fmt: skip


def removed_lists(count):
    """What an early release kept; each must be looked for among the answers of all."""
    asked = {"id": "q", "role": "user", "content": "a", "created_at": "2026-01-02"}
    given = {"id": "a", "role": "assistant", "content": "a", "created_at": "2026-01-02"}
    return {"messages": [asked, given],
            "removed": [{"removed_at": "2026-01-03", "messages": [
                {"id": f"r{n}", "role": "user", "content": "a", "created_at": "2026-01-01"},
                {"id": f"s{n}", "role": "assistant", "created_at": "2026-01-02"}]}
                        for n in range(count)]}  # fmt: skip


@pytest.mark.parametrize("make", [branches, branches_at_each_message, removed_lists])
@pytest.mark.parametrize("reader", [other_versions, versions_of])
def test_a_document_of_many_branches_is_read_in_proportion_to_them(reader, make):
    assert growth(reader, make, longest=MANY) < MOST_GROWTH
    assert memory_growth(reader, make, longest=FEWER) < MOST_MEMORY_GROWTH
