"""One small file of each program, as it writes them."""

import json
import sqlite3

MAPPING = {
    "root": {"id": "root", "parent": None, "children": ["a"], "message": None},
    "sys": {
        "parent": "root",
        "message": {
            "author": {"role": "system"},
            "content": {"content_type": "text", "parts": [""]},
        },
    },
    "a": {
        "parent": "sys",
        "message": {
            "author": {"role": "user"},
            "create_time": 1700000001,
            "content": {
                "content_type": "multimodal_text",
                "parts": ["Hello", {"asset_pointer": "sediment://file_abc"}],
            },
        },
    },
    "b": {
        "parent": "a",
        "message": {
            "author": {"role": "assistant"},
            "content": {"content_type": "text", "parts": ["First"]},
        },
    },
    "t": {
        "parent": "a",
        "message": {
            "author": {"role": "assistant"},
            "content": {"content_type": "thoughts", "thoughts": [{"content": "Let me look"}]},
        },
    },
    "call": {
        "parent": "t",
        "message": {
            "author": {"role": "assistant"},
            "recipient": "web.search",
            "content": {"content_type": "code", "text": "boats"},
        },
    },
    "result": {
        "parent": "call",
        "message": {
            "author": {"role": "tool", "name": "web.search"},
            "content": {"content_type": "execution_output", "text": "ferries"},
        },
    },
    "d": {
        "parent": "result",
        "message": {
            "author": {"role": "assistant"},
            "metadata": {"model_slug": "gpt-4o"},
            "content": {"content_type": "text", "parts": ["Second"]},
        },
    },
}
CHATGPT = {"conversation_id": "g1", "title": "Boats", "create_time": None, "current_node": "d"}


def said(role, text, **fields):
    return {"type": role, "message": {"role": role, "content": text}, "sessionId": "s1", **fields}


def text(said):
    return [{"type": "text", "text": said}]


def lines(*rows):
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode()


def listed(*rows):
    return json.dumps(rows, ensure_ascii=False).encode()


SAMPLES = {
    "chatgpt": ("conversations.json", listed({**CHATGPT, "mapping": MAPPING})),
    "claude": (
        "conversations.json",
        listed(
            {
                "uuid": "c1",
                "name": "Boats",
                "created_at": "2026-01-01T00:00:00Z",
                "chat_messages": [
                    {"uuid": "1", "sender": "human", "content": text("Hello")},
                    {
                        "uuid": "2",
                        "sender": "assistant",
                        "content": [
                            {"type": "thinking", "thinking": "Let me look"},
                            {"type": "tool_use", "id": "t", "name": "search", "input": {}},
                            {"type": "tool_result", "tool_use_id": "t", "content": "ferries"},
                            {"type": "text", "text": "Second"},
                        ],
                    },
                ],
            }
        ),
    ),
    "gemini": (
        "MyActivity.json",
        listed(
            {
                "header": "Gemini Apps",
                "title": "Prompted Hello",
                "time": "2026-01-01T10:00:00Z",
                "safeHtmlItem": [{"html": "<p>Second &amp; last</p>"}],
            }
        ),
    ),
    "claude-code": (
        "s1.jsonl",
        lines(
            {"type": "summary", "summary": "Boats", "leafUuid": "2"},
            said("user", "Hello", uuid="1", parentUuid=None, timestamp="2026-01-01T10:00:00Z"),
            said("user", "aside", uuid="x", parentUuid="1", isSidechain=True),
            said(
                "assistant",
                [{"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a"}}],
                uuid="2",
                parentUuid="1",
            ),
            said("user", [{"type": "tool_result", "tool_use_id": "t", "content": "text"}],
                 uuid="3", parentUuid="2"),
            said("assistant", [{"type": "text", "text": "Second"}], uuid="4", parentUuid="3"),
        ),
    ),
    "codex": (
        "rollout-1.jsonl",
        lines(
            {"type": "session_meta", "payload": {"id": "x1", "timestamp": "2026-01-01T10:00:00Z"}},
            {
                "type": "response_item",
                "payload": {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "<environment_context>x"}],
                },
            },
            {
                "type": "response_item",
                "payload": {
                    "type": "message",
                    "role": "user",
                    "content": [{"type": "input_text", "text": "Hello"}],
                },
            },
            {"type": "event_msg", "payload": {"type": "user_message", "message": "Hello"}},
            {
                "type": "response_item",
                "payload": {
                    "type": "function_call", "name": "shell", "call_id": "t", "arguments": "{}",
                },
            },
            {
                "type": "response_item",
                "payload": {"type": "function_call_output", "call_id": "t", "output": "files"},
            },
            {
                "type": "response_item",
                "payload": {
                    "type": "message",
                    "role": "assistant",
                    "content": [{"type": "output_text", "text": "Second"}],
                },
            },
        ),
    ),
    "aider": (
        ".aider.chat.history.md",
        b"# aider chat started at 2026-01-01 10:00:00\n\n> notice\n\n#### Hello\n\nSecond\n",
    ),
    "open-webui": (
        "chats.json",
        listed(
            {
                "id": "w1",
                "title": "Boats",
                "chat": {
                    "history": {
                        "currentId": "2",
                        "messages": {
                            "1": {"id": "1", "parentId": None, "role": "user", "content": "Hello"},
                            "2": {
                                "id": "2",
                                "parentId": "1",
                                "role": "assistant",
                                "content": '<details type="reasoning">\n<summary>x</summary>'
                                "\n> hm\n</details>\nSecond",
                                "model": "llama",
                            },
                        },
                    }
                },
            }
        ),
    ),
    "librechat": (
        "chat.json",
        json.dumps(
            {
                "conversationId": "l1",
                "title": "Boats",
                "messagesTree": [
                    {
                        "messageId": "1",
                        "isCreatedByUser": True,
                        "text": "Hello",
                        "children": [{"messageId": "2", "text": "Second"}],
                    }
                ],
            }
        ).encode(),
    ),
    "lobechat": (
        "lobe.json",
        json.dumps(
            {
                "mode": "pglite",
                "data": {
                    "topics": [{"id": "t1", "title": "Boats"}],
                    "messages": [
                        {"id": "2", "topicId": "t1", "role": "assistant", "content": "Second",
                         "createdAt": "2026-01-01T10:00:01Z", "parentId": "1"},
                        {"id": "1", "topicId": "t1", "role": "user", "content": "Hello",
                         "createdAt": "2026-01-01T10:00:00Z"},
                    ],
                },
            }
        ).encode(),
    ),
    "sillytavern": (
        "Ann - 2026.jsonl",
        lines(
            {"user_name": "You", "character_name": "Ann", "chat_metadata": {}},
            {"name": "You", "is_user": True, "mes": "Hello"},
            {"name": "Ann", "is_user": False, "mes": "Second", "swipes": ["First", "Second"],
             "swipe_id": 1},
        ),
    ),
    "chatbox": (
        "chatbox.json",
        json.dumps(
            {
                "session:1": {
                    "id": "b1",
                    "name": "Boats",
                    "messages": [
                        {"id": "1", "role": "user", "contentParts": text("Hello")},
                        {"id": "2", "role": "assistant",
                         "contentParts": [{"type": "text", "text": "Second"}]},
                    ],
                }
            }
        ).encode(),
    ),
    "openai": (
        "asked.json",
        json.dumps(
            {"messages": [{"role": "user", "content": "Hello"},
                          {"role": "assistant", "content": "Second"}]}
        ).encode(),
    ),
    "opencode": (
        "export.json",
        json.dumps(
            {
                "info": {"id": "ses_1", "title": "Boats", "time": {"created": 1767261600000}},
                "messages": [
                    {"info": {"id": "msg_1", "role": "user", "time": {"created": 1767261600000}},
                     "parts": [{"type": "text", "text": "Hello"},
                               {"type": "text", "text": "<file>", "synthetic": True}]},
                    {"info": {"id": "msg_2", "role": "assistant", "modelID": "gpt-4o"},
                     "parts": [{"type": "step-start"},
                               {"type": "reasoning", "text": "Let me look"},
                               {"type": "tool", "tool": "read", "callID": "c1",
                                "state": {"status": "completed", "input": {"path": "a"},
                                          "output": "sails"}},
                               {"type": "text", "text": "Second"}]},
                ],
            }
        ).encode(),
    ),
    "gemini-cli": (
        "session-2026-01-01T10-00-abc.json",
        json.dumps(
            {
                "sessionId": "g1", "projectHash": "ff", "startTime": "2026-01-01T10:00:00Z",
                "messages": [
                    {"id": "1", "type": "user", "content": "Hello"},
                    {"id": "2", "type": "info", "content": "A notice"},
                    {"id": "3", "type": "gemini", "content": "Second", "model": "gemini-3-pro",
                     "thoughts": [{"subject": "Look", "description": "Let me look"}]},
                ],
            }
        ).encode(),
    ),
    "qwen-code": (
        "q1.jsonl",
        lines(
            {"uuid": "1", "parentUuid": None, "sessionId": "q1", "type": "user",
             "timestamp": "2026-01-01T10:00:00Z",
             "message": {"role": "user", "parts": [{"text": "Hello"}]}},
            {"uuid": "2", "parentUuid": "1", "sessionId": "q1", "type": "system",
             "subtype": "ui_telemetry", "systemPayload": {}},
            {"uuid": "3", "parentUuid": "2", "sessionId": "q1", "type": "assistant",
             "model": "coder-model", "message": {"role": "model", "parts": [{"text": "Second"}]}},
        ),
    ),
    "deepseek": (
        "conversations.json",
        listed(
            {
                "id": "d1", "title": "Boats", "inserted_at": "2026-01-01T10:00:00+08:00",
                "mapping": {
                    "root": {"id": "root", "parent": None, "message": None},
                    "1": {"id": "1", "parent": "root",
                          "message": {"files": [], "model": "deepseek-chat",
                                      "fragments": [{"type": "REQUEST", "content": "Hello"}]}},
                    "2": {"id": "2", "parent": "1",
                          "message": {"files": [], "model": "deepseek-chat",
                                      "fragments": [{"type": "RESPONSE", "content": "Second"}]}},
                },
            }
        ),
    ),
    "continue": (
        "c1.json",
        json.dumps(
            {
                "sessionId": "c1", "title": "Boats", "workspaceDirectory": "file:///p",
                "history": [
                    {"message": {"role": "user", "content": "Hello"}, "contextItems": []},
                    {"message": {"role": "assistant", "content": "Second"}, "contextItems": []},
                ],
            }
        ).encode(),
    ),
}  # fmt: skip
"""By program: a file's name and content; each says Hello, then Second."""


def llm_log(path):
    """The older tables of `llm`'s log."""
    with sqlite3.connect(path) as database:
        database.executescript(
            "CREATE TABLE conversations (id TEXT, name TEXT, model TEXT);"
            "CREATE TABLE responses (id TEXT, model TEXT, prompt TEXT, response TEXT,"
            " conversation_id TEXT, datetime_utc TEXT);"
            "INSERT INTO conversations VALUES ('k1', 'Boats', 'gpt-4o');"
            "INSERT INTO responses VALUES ('r1', 'gpt-4o', 'Hello', 'Second', 'k1',"
            " '2026-01-01T10:00:00');"
        )
    database.close()
    return path


def opencode_log(path):
    """A session of opencode as its database has it, with one that its agent began for itself."""
    export = json.loads(SAMPLES["opencode"][1])
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    database.executescript(
        "CREATE TABLE session (id TEXT, parent_id TEXT, title TEXT, time_created INTEGER);"
        "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);"
        "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);"
        "INSERT INTO session VALUES ('ses_1', NULL, 'Boats', 1767261600000),"
        " ('ses_2', 'ses_1', 'Look (@explore subagent)', 1767261600001);"
    )
    for place, row in enumerate(export["messages"]):
        name, data = row["info"]["id"], json.dumps({**row["info"], "id": None})
        database.execute("INSERT INTO message VALUES (?, 'ses_1', ?, ?)", (name, place, data))
        for number, part in enumerate(row["parts"]):
            database.execute(
                "INSERT INTO part VALUES (?, ?, 'ses_1', ?)",
                (f"{name}-{number}", name, json.dumps(part)),
            )
    database.commit()
    return database
