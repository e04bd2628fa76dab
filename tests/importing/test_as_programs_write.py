"""What real files of the programs hold, beyond the small samples; each was seen in one."""

import html
import json
import sqlite3
import zipfile

import pytest

from smart_context.base.values import OWNER
from smart_context.chat.documents.branches import show_version, unreachable
from smart_context.importing.taking_in import Importer
from tests.importing.brought import PICTURE, PNG, brought, only, parts, words
from tests.importing.samples import CHATGPT, MAPPING, lines, listed, said
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio


def node(parent, role, text, **fields):
    content = {"content_type": "text", "parts": [text]}
    return {"parent": parent, "message": {"author": {"role": role}, "content": content, **fields}}


async def test_chatgpt_names_its_dat_files_and_shows_each_once(tmp_path):
    shown = {"content_type": "multimodal_text",
             "parts": [{"asset_pointer": "sediment://aa#file_1#p_0.png"}, "See"]}  # fmt: skip
    asked = {
        "parent": "root",
        "message": {
            "author": {"role": "user"},
            "content": shown,
            "metadata": {"attachments": [{"id": "file_1"}, {"id": "file_2", "name": "Log.txt"}]},
        },
    }
    chat = {**CHATGPT, "current_node": "a", "mapping": {"a": asked}}
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations-000.json", listed(chat))
        archive.writestr("conversation_asset_file_names.json", '{"file_1.dat": "Sail.png"}')
        archive.writestr("file_1.dat", PNG)
        archive.writestr("file_2.dat", "wind")
    document = await only(path)
    files = document["messages"][0]["files"]
    assert [(file["name"], file["file_type"]) for file in files] == [
        ("Sail.png", "image/png"),
        ("Log.txt", "text/plain"),
    ]


async def test_chatgpt_thinks_in_a_channel_and_draws_with_a_tool(tmp_path):
    nodes = {
        "a": node(None, "user", "Draw"),
        "b": node("a", "assistant", "A boat, then", channel="analysis"),
        "c": node("b", "tool", "", metadata={"attachments": [{"id": "file_9"}]}),
        "d": node("c", "assistant", "Here it is", channel="final"),
    }
    (tmp_path / "export").mkdir()
    (tmp_path / "export" / "file_9-x.png").write_bytes(PNG)
    chat = {**CHATGPT, "current_node": "d", "mapping": nodes}
    (tmp_path / "export" / "conversations.json").write_bytes(listed(chat))
    document = await only(tmp_path / "export")
    assert parts(document, "reasoning") == [{"type": "reasoning", "text": "A boat, then"}]
    assert {message["role"] for message in document["messages"]} == {"user", "assistant"}
    (file,) = [file for message in document["messages"] for file in message.get("files", ())]
    assert file["name"] == "file_9-x.png"


async def test_chatgpt_draws_with_code_quotes_pages_and_marks_its_sources(tmp_path):
    mark = "\ue200cite\ue202turn0search1\ue201"
    source = {"matched_text": mark, "alt": "([e.org](https://e.org))"}
    drawn = {"messages": [{"message_type": "image", "image_url": "file-service://file-plot1"}]}
    quote = {"content_type": "tether_quote", "title": "Sails", "url": "https://e.org", "text": "ab"}
    nodes = {
        "a": node(None, "user", "Draw"),
        "b": node("a", "assistant", '{"q": "sails"}', recipient="web.run"),
        "c": node("b", "tool", "Found two", metadata={"aggregate_result": drawn}),
        "d": {"parent": "c", "message": {"author": {"role": "tool"}, "content": quote}},
        "e": node("d", "assistant", f"Red {mark}, blue \ue200cite\ue202x\ue201.",
                  metadata={"content_references": [source]}),
    }  # fmt: skip
    chat = {**CHATGPT, "current_node": "e", "default_model_slug": "gpt-4o", "mapping": nodes}
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", listed(chat))
        archive.writestr("file-plot1-a.png", PNG)
        archive.writestr("shared_conversations.json", listed({"id": "s", "conversation_id": "g1",
                                                              "is_anonymous": True}))  # fmt: skip
    documents, account = await brought(path)
    assert (account["new"], account["unchanged"]) == (1, 0)
    _, answer = documents["Boats"]["messages"]
    (called,) = parts(documents["Boats"], "tool_call")
    assert (called["args"], called["result"]) == (
        {"q": "sails"},
        "Found two\n\nSails\nhttps://e.org\nab",
    )
    assert answer["content"][-1]["text"] == "Red ([e.org](https://e.org)), blue ."
    assert (answer["model"], answer["files"][0]["name"]) == ("gpt-4o", "file-plot1-a.png")


async def test_a_version_after_a_call_that_became_part_of_an_answer_can_be_shown(tmp_path):
    nodes = {
        "a": node(None, "user", "Draw"),
        "b": node("a", "assistant", "{}", recipient="web.run"),
        "c": node("b", "assistant", "{}", recipient="python"),
        "d": node("c", "assistant", "First"),
        "e": node("c", "assistant", "Second"),
    }
    chat = {**CHATGPT, "current_node": "e", "mapping": nodes}
    document = await only(tmp_path / "conversations.json", [chat])
    (branch,) = document["branches"]
    assert unreachable(document) == []
    show_version(document, branch["messages"][0]["id"], new_id=lambda: "b", now="")
    assert document["messages"][-1]["content"] == "First"


async def test_a_file_that_powershell_wrote_is_read_and_other_encodings_are_told(tmp_path):
    said = '{"messages": [{"role": "user", "content": "Schön"}]}'
    document = await only(tmp_path / "wide.json", b"\xff\xfe" + said.encode("utf-16-le"))
    assert words(document) == ["Schön"]
    (tmp_path / "latin.json").write_bytes(said.encode("latin-1"))
    account = (await Importer(memory_storage()).run([tmp_path / "latin.json"])).row()
    assert "expected UTF-8" in account["failed"][0]["error"]


async def test_calls_of_claude_have_no_ids(tmp_path):
    content = [
        {"type": "tool_use", "id": None, "name": "search", "input": {"q": "a"}},
        {"type": "tool_result", "name": "search", "content": [{"type": "text", "text": "one"}]},
        {"type": "tool_use", "name": "draw", "input": {}},
        {"type": "tool_result", "name": "draw", "content": "two"},
        {"type": "text", "text": "Done"},
    ]
    rows = [{"uuid": "1", "sender": "human", "content": [{"type": "voice_note", "text": "Draw"}]},
            {"uuid": "2", "sender": "assistant", "content": content}]  # fmt: skip
    document = await only(tmp_path / "c.json", [{"uuid": "c1", "name": "x", "chat_messages": rows}])
    assert words(document) == ["Draw", "Done"]
    called = [(part["tool_name"], part["result"]) for part in parts(document, "tool_call")]
    assert called == [("search", "one"), ("draw", "two")]


async def test_chatgpt_without_times_metadata_or_a_current_node_is_read(tmp_path):
    chats = [
        {"id": "g1", "title": None, "mapping": MAPPING},
        {"id": "g2", "mapping": {}},
        {"conversation_id": "g3", "create_time": None},
    ]
    documents, account = await brought(tmp_path / "conversations.json", chats)
    assert (account["new"], account["unchanged"], account["unreadable"]) == (1, 0, 2)
    assert words(documents["g1"])[-1] == "Second"


async def test_claude_has_a_tree_whose_root_is_no_message(tmp_path):
    root = "00000000-0000-4000-8000-000000000000"
    rows = [
        {"uuid": "1", "parent_message_uuid": root, "sender": "human", "text": "Hello"},
        {"uuid": "2", "parent_message_uuid": "1", "sender": "assistant", "text": "First"},
        {"uuid": "3", "parent_message_uuid": "1", "sender": "assistant", "text": "Second",
         "files": [{"file_name": "gone.pdf"}],
         "attachments": [{"file_name": "a.txt", "extracted_content": "wind"}]},
    ]  # fmt: skip
    chat = {"uuid": "c1", "name": "", "chat_messages": rows, "current_leaf_message_uuid": "3"}
    document = await only(tmp_path / "dump.json", {"conversations": [chat]})
    said, wind, missing = parts({"messages": document["messages"][1:]}, None)
    assert (said["text"], wind["text"]) == ("Second", "a.txt:\n\nwind")
    assert missing == {"type": "info", "text": "[gone.pdf, not in the import]"}
    assert document["branches"][0]["messages"][0]["content"] == "First"


async def test_claude_code_has_titles_commands_echoes_and_pictures(tmp_path):
    picture = {"type": "base64", "media_type": "image/png", "data": PICTURE.partition(",")[2]}
    shown = [{"type": "text", "text": "This?"}, {"type": "image", "source": picture}]
    rows = [
        {"type": "summary", "summary": "Of another session", "leafUuid": "elsewhere"},
        {"type": "ai-title", "aiTitle": "Made", "sessionId": "s1"},
        said("user", "<local-command-stdout>Set model</local-command-stdout>", uuid="0"),
        said("user", "<command-name>/review</command-name><command-args>a.py</command-args>",
             uuid="1", parentUuid="0"),
        said("user", "<bash-input>ls</bash-input>", uuid="2", parentUuid="1"),
        said("user", shown, uuid="3", parentUuid="2"),
        {"type": "custom-title", "customTitle": "Boats", "sessionId": "s1"},
        {"type": "system", "subtype": "compact_boundary", "uuid": "4", "parentUuid": None,
         "logicalParentUuid": "3"},
        said("user", "So far: boats.", uuid="5", parentUuid="4", isCompactSummary=True),
    ]  # fmt: skip
    document = await only(tmp_path / "s1.jsonl", lines(*rows))
    assert document["title"] == "Boats"
    assert words(document) == ["/review a.py", "!ls", "This?", "So far: boats."]
    assert document["messages"][2]["files"][0]["file_type"] == "image/png"
    assert document["messages"][3]["is_summary"] is True


async def test_blocks_of_a_reply_of_claude_code_are_one_message_though_calls_ran_side_by_side(
    tmp_path,
):
    def block(uuid, parent, **content):
        message = {"role": "assistant", "id": "msg_1", "model": "m", "content": [content]}
        return {**said("assistant", "", uuid=uuid, parentUuid=parent), "message": message}

    def result(uuid, parent, call):
        content = [{"type": "tool_result", "tool_use_id": call, "content": f"{call}!"}]
        return said("user", content, uuid=uuid, parentUuid=parent)

    rows = [
        said("user", [{"type": "text", "text": "<ide_opened_file>a.py"},
                      {"type": "text", "text": "Fix it"}], uuid="0"),
        block("1", "0", type="text", text="I look"),
        block("2", "1", type="tool_use", id="A", name="Read", input={}),
        block("3", "2", type="tool_use", id="B", name="Read", input={}),
        result("4", "2", "A"),
        result("5", "3", "B"),
        {"type": "attachment", "uuid": "6", "parentUuid": "4",
         "attachment": {"type": "queued_command", "commandMode": "prompt", "prompt": "Tests, too"}},
        {**said("assistant", [{"type": "text", "text": "API Error"}], uuid="7", parentUuid="6"),
         "isApiErrorMessage": True},
        said("assistant", [{"type": "text", "text": "Done"}], uuid="8", parentUuid="7"),
    ]  # fmt: skip
    document = await only(tmp_path / "s1.jsonl", lines(*rows))
    assert "branches" not in document
    assert [m["role"] for m in document["messages"]] == ["user", "assistant", "user", "assistant"]
    assert [
        message["content"] for message in document["messages"] if message["role"] == "user"
    ] == [
        "Fix it",
        "Tests, too",
    ]
    assert [part["result"] for part in parts(document, "tool_call")] == ["A!", "B!"]


async def test_a_session_that_was_at_work_when_it_came_in_goes_on_in_the_same_message(tmp_path):
    rows = [
        said("user", "Fix it", uuid="1"),
        said("assistant", [{"type": "tool_use", "id": "A", "name": "Read", "input": {}}], uuid="2"),
        said("user", [{"type": "tool_result", "tool_use_id": "A", "content": "ok"}], uuid="3"),
        said("assistant", [{"type": "text", "text": "Done"}], uuid="4"),
    ]
    storage, path = memory_storage(), tmp_path / "s1.jsonl"
    for count in (2, 4):
        documents, account = await brought(path, lines(*rows[:count]), storage)
    assert (account["grown"], account["messages"]) == (1, 0)
    called, answer = documents["s1"]["messages"][1]["content"]
    assert (called["result"], answer["text"]) == ("ok", "Done")

    def edit(document):
        document["messages"][1]["content"] = "Changed here"

    (row,) = await storage.chats.listing.rows(OWNER)
    await storage.chats.update(row.id, edit)
    documents, account = await brought(path, storage=storage)
    assert account["unchanged"] == 1
    assert words(documents["s1"]) == ["Fix it", "Changed here"]


def codex_message(role, *content, kinds=()):
    about = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": list(kinds)}}
    payload = {"type": "message", "role": role, "content": list(content), **about}
    return {"type": "response_item", "payload": payload}


def input_text(text):
    return {"type": "input_text", "text": text}


async def test_codex_marks_what_the_user_wrote_and_sums_up(tmp_path):
    rows = [
        {"type": "session_meta", "payload": {"id": "x2", "timestamp": "2026-01-01T10:00:00Z"}},
        {"type": "session_meta", "payload": {"id": "x1", "timestamp": "2025-01-01T10:00:00Z"}},
        codex_message("developer", input_text("Be brief")),
        codex_message("user", input_text("# A list of skills"), kinds=["skills"]),
        codex_message("user", input_text("<turn_aborted>")),
        codex_message("user", input_text("See"), {"type": "input_image", "image_url": PICTURE},
                      kinds=["user.text", "user.image"]),
        {"type": "compacted", "payload": {"message": "So far: boats.", "replacement_history": []}},
        {"type": "event_msg", "payload": {"type": "thread_name_updated", "thread_name": "Boats"}},
        {"type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch",
                                              "call_id": "t", "input": "*** Begin"}},
        {"type": "response_item", "payload": {"type": "custom_tool_call_output", "call_id": "t",
                                              "output": [input_text("Done")]}},
        {"type": "event_msg", "payload": {"type": "item_completed", "item": {"text": "again"}}},
    ]  # fmt: skip
    document = await only(tmp_path / "rollout.jsonl", lines(*rows))
    assert (document["title"], document["source"]["id"]) == ("Boats", "x2")
    assert [message["role"] for message in document["messages"]] == ["user", *["assistant"] * 2]
    assert document["messages"][0]["files"]
    assert document["messages"][1]["is_summary"] is True
    (called,) = parts(document, "tool_call")
    assert (called["args"], called["result"]) == ("*** Begin", "Done")


async def test_turns_that_codex_took_back_are_a_branch_and_sessions_of_its_agents_no_chats(
    tmp_path,
):
    about = {"id": "x1", "timestamp": "2026-01-01T10:00:00Z"}
    rows = [{"type": "session_meta", "payload": about}]
    for text in ("One", "Bad", "Worse"):
        rows += [codex_message("user", input_text(text)),
                 codex_message("assistant", input_text(f"{text}!"))]  # fmt: skip
    rows += [{"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 2}},
             codex_message("user", input_text("Two"))]  # fmt: skip
    document = await only(tmp_path / "rollout.jsonl", lines(*rows))
    assert words(document) == ["One", "One!", "Two"]
    assert words(document["branches"][0]) == ["Bad", "Bad!", "Worse", "Worse!"]
    spawned = {**about, "source": {"subagent": {"thread_spawn": {}}}}
    rows[0] = {"type": "session_meta", "payload": spawned}
    agents = tmp_path / "agent.jsonl"
    agents.write_bytes(lines(*rows))
    account = (await Importer(memory_storage()).run([agents])).row()
    assert (account["new"], account["unreadable"]) == (0, 1)


async def test_what_is_typed_into_aider_one_after_the_other_is_a_message_each(tmp_path):
    history = (
        "# aider chat started at 2026-01-01 10:00:00\n\n> notice\n\n#### /add a.py\n\n> Added\n\n"
        "#### Fix it\n#### and test\n\nDone\n\n> Tokens: 2\n\n#### Thanks\n"
    )
    document = await only(tmp_path / ".aider.chat.history.md", history.encode())
    assert words(document) == ["/add a.py", "Fix it\nand test", "Done", "Thanks"]


async def test_a_chat_about_the_history_of_aider_is_not_taken_for_it(tmp_path):
    quoted = "Explain this:\n# aider chat started at 2026-01-01 10:00:00\n\n#### Hello"
    messages = [{"role": "user", "content": quoted}, {"role": "assistant", "content": "A log."}]
    document = await only(tmp_path / "asked.json", {"messages": messages})
    assert (document["source"]["client"], words(document)) == ("openai", [quoted, "A log."])


async def test_codex_of_early_2025_is_read(tmp_path):
    rows = [
        {"id": "x1", "timestamp": "2025-05-01T10:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [input_text("Hello")]},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Hi"}],
        },
    ]
    document = await only(tmp_path / "rollout-2025.jsonl", lines(*rows))
    assert (document["source"], words(document)) == (
        {"client": "codex", "id": "x1"},
        ["Hello", "Hi"],
    )


async def test_gemini_has_other_products_other_verbs_and_feedback(tmp_path):
    def activity(title, at, answer="", header="Gemini Apps"):
        html = {"safeHtmlItem": [{"html": f"<p>{answer}</p>"}]} if answer else {}
        return {"header": header, "title": title, "time": f"2026-01-01T10:00:0{at}Z", **html}

    rows = [
        activity("Prompted What sails? Attached 2 files.", 1, "Boats"),
        activity("Asked Bard: And flies?", 2),
        activity("Eingegeben: Was schwimmt?", 3, "Enten"),
        activity("Gave feedback: good response", 4, "Thanks"),
        activity("Searched for boats", 5, header="Search"),
    ]
    documents, account = await brought(tmp_path / "MyActivity.json", rows)
    assert set(documents) == {"What sails?", "And flies?", "Eingegeben: Was schwimmt?"}
    assert account["new"] == 3


async def test_open_webui_has_pictures_and_texts_of_files(tmp_path):
    files = [
        {"type": "image", "url": PICTURE},
        {"type": "file", "name": "a.txt", "file": {"data": {"content": "wind"}}},
    ]
    asked = {"id": "1", "parentId": None, "role": "user", "content": "See", "files": files}
    chat = {"id": "w1", "chat": {"history": {"currentId": "1", "messages": {"1": asked}}}}
    document = await only(tmp_path / "chats.jsonl", lines(chat))
    assert words(document) == ["a.txt:\n\nwind"]
    assert document["messages"][0]["files"][0]["file_type"] == "image/png"


async def test_open_webui_of_before_output_has_calls_and_code_in_its_text(tmp_path):
    def quoted(value):
        return html.escape(json.dumps(value))

    text = (
        '<details type="reasoning" done="true">\n<summary>T</summary>\n> 1 &lt; 2\n</details>\n'
        f'Look\n<details type="tool_calls" done="true" id="t" name="find" '
        f'arguments="{quoted(json.dumps({"q": 1}))}" result="{quoted("two <b>")}">\n'
        "<summary>Tool Executed</summary>\n</details>\n"
        f'<details type="code_interpreter" done="true" output="{quoted({"stdout": "2"})}">\n'
        "<summary>Analyzed</summary>\n```python\n1 + 1\n```\n</details>\nTwo"
    )
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": text}]
    document = await only(
        tmp_path / "flat.jsonl", lines({"id": "w1", "chat": {"messages": messages}})
    )
    thought, look, found, ran, two = document["messages"][1]["content"]
    assert [part["text"] for part in (thought, look, two)] == ["1 < 2", "Look", "Two"]
    assert (found["args"], found["result"]) == ({"q": 1}, "two <b>")
    assert (ran["args"], ran["result"]) == ("```python\n1 + 1\n```", {"stdout": "2"})


async def test_lobechat_has_tools_between_messages_and_threads_beside_them(tmp_path):
    def row(key, role, text, parent=None, **fields):
        return {"id": key, "role": role, "content": text, "parentId": parent, "topicId": "t",
                "createdAt": int(key), **fields}  # fmt: skip

    rows = [
        row("5", "user", "Aside", "2", threadId="h"),
        row("4", "assistant", "Found", "3"),
        row("2", "assistant", "", "1", tools=[{"id": "c", "apiName": "find", "arguments": "{}"}]),
        row("1", "user", "Hello"),
        row("3", "tool", "two", "2"),
    ]
    data = {"messages": rows, "topics": [], "messagePlugins": [{"id": "3", "toolCallId": "c"}]}
    document = await only(tmp_path / "lobe.json", {"data": data})
    assert words({"messages": document["messages"][:1] + document["messages"][2:]}) == [
        "Hello",
        "Found",
    ]
    assert parts(document, "tool_call")[0]["result"] == "two"
    assert words(document["branches"][0]) == ["Aside"]


async def test_a_flat_list_of_librechat_needs_no_parents(tmp_path):
    rows = [{"messageId": str(n), "isCreatedByUser": n == 1, "text": str(n)} for n in (1, 2)]
    document = await only(tmp_path / "l.json", {"conversationId": "l1", "messages": rows})
    assert words(document) == ["1", "2"]


async def test_groups_and_branches_of_sillytavern_are_chats_of_their_own(tmp_path):
    unnamed = {"user_name": "unused", "character_name": "unused"}

    def spoken(name, text):
        return {"name": name, "is_user": name == "You", "mes": text}

    def chat(name, metadata, *rows):
        (tmp_path / f"{name}.jsonl").write_bytes(
            lines({**unnamed, "chat_metadata": metadata}, *rows)
        )

    begin = [spoken("Ann", "Hi"), spoken("You", "Hello")]
    rolled = {"name": "Ann", "is_system": True, "mes": "", "extra": {"tool_invocations": [
        {"id": "d", "name": "Roll", "parameters": '{"n": 6}', "result": "4"}]}}  # fmt: skip
    chat("main", {"integrity": "i"}, *begin, rolled, spoken("Ann", "Four"))
    chat("Branch #1", {"integrity": "i", "main_chat": "main"}, *begin, spoken("Ann", "Five"))
    chat("one", {}, spoken("Bob", "I am Bob"), spoken("You", "And?"), spoken("Cy", "Cy"))
    chat("two", {}, spoken("Bob", "I am Bob"), spoken("You", "Again"))
    storage = memory_storage()
    account = (await Importer(storage).run([tmp_path])).row()
    assert (account["new"], account["failed"]) == (4, [])
    found = {
        document["messages"][-1]["content"] if isinstance(document["messages"][-1]["content"], str)
        else words(document)[-1]: document
        for document in [await storage.chats.load(row.id)
                         for row in await storage.chats.listing.rows(OWNER)]
    }  # fmt: skip
    assert set(found) == {"Four", "Five", "**Cy:** Cy", "Again"}
    assert found["**Cy:** Cy"]["title"] == "Bob, Cy"
    assert parts(found["Four"], "tool_call")[0]["args"] == {"n": 6}


@pytest.mark.parametrize(
    "at",
    ["2026-01-01T10:20:30.000Z", "January 1, 2026 10:20am", "2026-01-01@10h20m30s", 1767262830000,
     "2026-1-1 @10h 20m 30s 123ms"],
)  # fmt: skip
async def test_sillytavern_writes_times_in_many_ways(tmp_path, at):
    about = {"user_name": "You", "character_name": "Ann", "chat_metadata": {}}
    said_by = {"name": "Ann", "is_user": False, "mes": "Hello", "send_date": at,
               "swipe_id": 0, "swipes": ["Hello", {"mes": "Hi"}],
               "swipe_info": [{}, {"send_date": at, "extra": {"reasoning": "hm"}}]}  # fmt: skip
    document = await only(tmp_path / "Ann.jsonl", lines(about, said_by))
    (other,) = document["branches"][0]["messages"]
    assert [part["text"] for part in other["content"]] == ["hm", "Hi"]
    for message in (*document["messages"], other):
        assert message["created_at"].startswith("2026-01-01T10:20:")


async def test_chatbox_has_threads_versions_and_backups(tmp_path):
    def message(name, role, text):
        return {"id": name, "role": role, "contentParts": [{"type": "text", "text": text}]}

    session = {
        "id": "b1",
        "name": "Boats",
        "messages": [message("1", "user", "Hello"), message("2", "assistant", "Second")],
        "threads": [{"id": "t1", "name": "Before", "messages": [message("0", "user", "Older")]}],
        "messageForksHash": {
            "1": {"position": 1, "lists": [{"messages": [message("3", "assistant", "First")]},
                                           {"messages": []}]}
        },
    }  # fmt: skip
    path = tmp_path / "backup.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "manifest.json", '{"format": "chatbox-backup", "sessions": [{"id": "b1"}]}'
        )
        archive.writestr("sessions/b1/session.json", json.dumps(session))
    documents, _ = await brought(path)
    assert words(documents["Boats"]) == ["Hello", "Second"]
    (branch,) = documents["Boats"]["branches"]
    assert (branch["after"], branch["messages"][0]["content"]) == (
        documents["Boats"]["messages"][0]["id"],
        "First",
    )
    assert words(documents["Before"]) == ["Older"]


async def test_each_line_of_openai_messages_is_a_chat(tmp_path):
    def asked(text):
        shown = [
            {"type": "text", "text": text},
            {"type": "image_url", "image_url": {"url": PICTURE}},
        ]
        calls = [{"id": "t", "function": {"name": "look", "arguments": "{}"}}]
        return {"messages": [{"role": "user", "content": shown},
                             {"role": "assistant", "content": None, "tool_calls": calls},
                             {"role": "tool", "tool_call_id": "t", "content": "Seen"}]}  # fmt: skip

    documents, account = await brought(tmp_path / "tuning.jsonl", lines(asked("One"), asked("Two")))
    assert account["new"] == 2
    for document in documents.values():
        assert document["messages"][0]["files"][0]["file_type"] == "image/png"
        assert parts(document, "tool_call")[0]["result"] == "Seen"


async def test_llm_keeps_threads_that_share_messages(tmp_path):
    """As version 0.36 writes them: threads point at messages, which point at those before."""
    path = tmp_path / "logs.db"
    with sqlite3.connect(path) as database:
        database.executescript(
            "CREATE TABLE threads (id TEXT, name TEXT, tip_message_hash TEXT, datetime_utc TEXT);"
            "CREATE TABLE turns (id TEXT, thread_id TEXT, parent_message_hash TEXT,"
            " tip_message_hash TEXT, model TEXT, datetime_utc TEXT);"
            "CREATE TABLE messages (hash TEXT, parent_hash TEXT, role TEXT);"
            "CREATE TABLE parts (id INTEGER, message_hash TEXT, position INTEGER, type TEXT,"
            " tool_name TEXT, text TEXT, payload TEXT);"
            "CREATE TABLE fragments (id INTEGER, content TEXT);"
            "CREATE TABLE attachments (id TEXT, type TEXT, path TEXT, url TEXT, content BLOB);"
            "INSERT INTO threads VALUES ('k1', 'Boats', 'a2', ''), ('k2', 'Fork', 'a1', '');"
            "INSERT INTO turns VALUES ('1', 'k1', 'u1', 'c1', 'm', '2026-01-01T10:00:00'),"
            " ('2', 'k1', 'r1', 'a1', 'm', '2026-01-01T10:00:01'),"
            " ('3', 'k1', 'u2', 'a2', 'm', '2026-01-01T10:00:02'),"
            " ('4', 'k1', 'u1', 'b1', 'm', '2026-01-01T10:00:03');"
            "INSERT INTO messages VALUES ('s', NULL, 'system'), ('u1', 's', 'user'),"
            " ('c1', 'u1', 'assistant'), ('r1', 'c1', 'tool'), ('a1', 'r1', 'assistant'),"
            " ('u2', 'a1', 'user'), ('a2', 'u2', 'assistant'), ('b1', 'u1', 'assistant');"
            "INSERT INTO fragments VALUES (7, 'Hello');"
        )
        rows = [
            ("s", 0, "text", None, "Be kind", None),
            ("u1", 0, "text", None, None, {"text_ref": [{"fragment": 7}, {"literal": "!"}]}),
            ("c1", 0, "tool_call", "look", None, {"tool_call_id": "t", "arguments": {"a": 1}}),
            ("r1", 0, "tool_result", "look", None, {"tool_call_id": "t", "output": "ferries"}),
            ("a1", 0, "reasoning", None, "hm", None),
            ("a1", 1, "text", None, "First", None),
            ("u2", 0, "text", None, "And this?", None),
            ("u2", 1, "attachment", None, None, {"attachment": {"id": "p"}}),
            ("a2", 0, "text", None, "Second", None),
            ("b1", 0, "text", None, "Otherwise", None),
        ]
        for number, (*row, payload) in enumerate(rows):
            stored = payload and json.dumps(payload)
            database.execute(
                "INSERT INTO parts VALUES (?, ?, ?, ?, ?, ?, ?)", (number, *row, stored)
            )
        database.execute(
            "INSERT INTO attachments VALUES ('p', 'image/png', '/home/a/Sail.png', NULL, ?)", (PNG,)
        )
    database.close()
    documents, _ = await brought(path)
    chat = documents["Boats"]
    assert words(chat) == ["Hello!", "First", "And this?", "Second"]
    assert chat["instructions"] == "Be kind"
    assert chat["branches"][0]["messages"][0]["content"] == "Otherwise"
    (called,) = parts(chat, "tool_call")
    assert (called["args"], called["result"]) == ({"a": 1}, "ferries")
    assert parts(chat, "reasoning")
    assert chat["messages"][2]["files"][0]["name"] == "Sail.png"
    assert chat["messages"][3]["model"] == "m"
    assert words(documents["Fork"]) == ["Hello!", "First"]


async def test_llm_of_before_its_threads_has_calls_reasoning_and_files(tmp_path):
    path = tmp_path / "logs.db"
    with sqlite3.connect(path) as database:
        database.executescript(
            "CREATE TABLE conversations (id TEXT, name TEXT, model TEXT);"
            "CREATE TABLE responses (id TEXT, model TEXT, prompt TEXT, response TEXT,"
            " conversation_id TEXT, datetime_utc TEXT, reasoning TEXT);"
            "CREATE TABLE tool_calls (id INTEGER, response_id TEXT, name TEXT, arguments TEXT,"
            " tool_call_id TEXT);"
            "CREATE TABLE tool_results (id INTEGER, response_id TEXT, name TEXT, output TEXT,"
            " tool_call_id TEXT);"
            "CREATE TABLE attachments (id TEXT, type TEXT, path TEXT, url TEXT, content BLOB);"
            "CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT,"
            ' "order" INTEGER);'
            "INSERT INTO conversations VALUES ('k1', 'Boats', 'm');"
            "INSERT INTO responses VALUES"
            " ('r1', 'm', 'Hello', '', 'k1', '2026-01-01T10:00:00', 'hm'),"
            " ('r2', 'm', '', 'Second', 'k1', '2026-01-01T10:00:01', NULL);"
            "INSERT INTO tool_calls VALUES (1, 'r1', 'look', '{}', 't');"
            "INSERT INTO tool_results VALUES (1, 'r2', 'look', 'ferries', 't');"
            "INSERT INTO prompt_attachments VALUES ('r1', 'p', 0);"
        )
        database.execute("INSERT INTO attachments VALUES ('p', 'image/png', NULL, NULL, ?)", (PNG,))
    database.close()
    document = await only(path)
    assert words(document) == ["Hello", "Second"]
    assert document["messages"][0]["files"][0]["file_type"] == "image/png"
    assert [part["type"] for part in document["messages"][1]["content"]] == [
        *("reasoning", "tool_call", "text"),
    ]
    assert parts(document, "tool_call")[0]["result"] == "ferries"
