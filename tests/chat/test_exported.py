"""Chats with summaries go out as what was said, and come back as they were."""

import json

from smart_context.chat.exported import exported, file_name
from smart_context.web.pages.markup.markdown import Markdown

SAID = [
    {"id": "m0", "role": "user", "content": "Of bread"},
    {"id": "m1", "role": "assistant", "content": "Rye"},
    {
        "id": "s",
        "role": "system",
        "content": "In short",
        "is_summary": True,
        "summarizes": ["m0", "m1"],
        "topics": ["Bread"],
    },
]
FENCED = "```"
DOCUMENT = {"title": "T", "messages": SAID}


def test_messages_for_the_api_are_those_that_were_said():
    texts = [m["content"] for m in json.loads(exported("c", DOCUMENT, "openai"))["messages"]]
    assert texts == ["Of bread", "Rye"]


def test_a_summary_is_named_where_people_read_it():
    assert "> [!info] Summary\n> In short" in exported("c", DOCUMENT, "markdown")
    assert "<h2>Summary " in exported("c", DOCUMENT, "html")


def test_as_json_all_is_as_stored_with_a_mark_that_says_which_chat_it_is():
    marked = json.loads(exported("c", DOCUMENT, "json"))
    assert marked == {"smart_context": {"export": 1, "chat_id": "c"}, **DOCUMENT}
    assert json.loads(exported("d", marked, "json"))["smart_context"]["chat_id"] == "d"


def test_a_chat_without_a_title_gets_the_name_that_the_list_shows():
    untitled = {"messages": SAID}
    assert file_name("c", untitled, "markdown") == "Of bread-c.md"
    assert "<h1>Of bread</h1>" in exported("c", untitled, "html")


CALL = {"type": "tool_call", "tool_call_id": "t", "tool_name": "look", "args": {"a": 1}}
CALLED = {
    "id": "m2",
    "role": "assistant",
    "content": [
        {"type": "reasoning", "text": "hm"},
        {**CALL, "state": "result", "result": "ferries"},
        {**CALL, "tool_call_id": "open", "state": "call"},
        {"type": "text", "text": "By ferry"},
    ],
    "files": [{"id": "f", "name": "Map.pdf", "storage_key": "k"}],
    "links": [{"id": "l", "url": "https://example.org/a", "title": "Times"}],
}


def test_messages_for_the_api_have_calls_with_their_results():
    rows = json.loads(exported("c", {"messages": [CALLED]}, "openai"))["messages"]
    called, result, said = rows
    assert called["tool_calls"] == [
        {"id": "t", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
    ]
    assert result == {"role": "tool", "tool_call_id": "t", "content": "ferries"}
    assert said == {"role": "assistant", "content": "By ferry"}


def test_calls_of_other_programs_are_named_and_given_as_the_api_takes_them():
    code = {**CALL, "tool_name": "web.run", "args": "print(1)", "state": "result", "result": "1"}
    document = {"messages": [{"id": "m", "role": "assistant", "content": [code]}]}
    called, _ = json.loads(exported("c", document, "openai"))["messages"]
    function = called["tool_calls"][0]["function"]
    assert (function["name"], json.loads(function["arguments"])) == (
        "web_run",
        {"input": "print(1)"},
    )


def test_markdown_names_files_links_and_blocks_as_obsidian_reads_them():
    text = exported("c", {"messages": [CALLED]}, "markdown")
    assert "> *Attached:* Map.pdf\n" in text
    assert "> [Times](https://example.org/a)\n\n^m2\n" in text


def test_thoughts_and_calls_are_folded_in_code_that_their_text_can_not_close():
    hostile = "a\n````\n<script>alert(1)</script>\n> [!danger] x"
    called = {**CALL, "state": "result", "result": hostile}
    document = {"messages": [{"id": "m", "role": "assistant", "content": [called]}]}
    text = exported("c", document, "markdown")
    quoted = "\n> > ".join(["`" * 5, *hostile.split("\n"), "`" * 5])
    assert f"> [!quote] Assistant\n> > [!example]- look\n> > {FENCED}" in text
    assert f"> > {quoted}\n" in text
    page = exported("c", document, "html", Markdown().render)
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "<details><summary>look</summary>" in page
    assert page.count("<pre") == 2
