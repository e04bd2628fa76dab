"""Chats with summaries go out as what was said, and come back as they were."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.chat.exported import attached_name, exported, file_name
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


KEY = "0" * 64
HARD = (
    "-rf",
    "\u202eevil",
    "a\u200bb",
    "../x",
    ".hidden",
    "\x1b[2J",
    "Half \ud800",
    "\u3164",
    "番" * 90,
)


@given(st.text() | st.sampled_from(HARD), st.from_regex(r"[A-Za-z0-9_-]{1,128}", fullmatch=True))
def test_names_of_files_fit_everywhere_and_hide_nothing(text, chat_id):
    for name in (file_name(chat_id, {"title": text}, "markdown"), attached_name(KEY, text)):
        assert len(name.encode()) <= 240
        assert not name.startswith(("-", "."))
        assert not set(name) & set('/\\:*?"<>|')
        assert not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in name)
        assert "\u3164" not in name


def test_a_title_that_names_a_device_of_windows_names_none_as_a_file():
    assert file_name("c", {"title": "nul.txt"}, "markdown") == "_nul.txt-c.md"
    assert file_name("c", {"title": "AUX"}, "json") == "_AUX-c.json"


def test_a_name_keeps_the_id_of_its_chat_and_the_ending_of_its_file():
    assert file_name("x" * 128, {"title": "番" * 90}, "html").endswith(f"番-{'x' * 128}.html")
    assert file_name("-x", {"title": "\u202e"}, "json") == "chat-x.json"
    assert attached_name(KEY, "\u202eMap.\u200bpdf") == f"{KEY}-Map.pdf"


BREAKS = ["\r", "\r\n", "\n", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("end", BREAKS)
def test_no_line_break_in_a_text_or_a_field_leaves_its_callout(end):
    said = f"a{end}# b{end}> [!danger] c"
    called = {**CALL, "tool_name": said, "args": said, "state": "result", "result": said}
    content = [{"type": "text", "text": said}, {"type": "reasoning", "text": said}, called]
    message = {
        "id": "m",
        "role": "assistant",
        "content": content,
        "model": said,
        "created_at": said,
    }
    message["files"] = [{"id": "f", "name": said, "storage_key": KEY}]
    message["links"] = [{"id": "l", "url": f"https://example.org/{said}", "title": said}]
    document = {"title": said, "created_at": said, "messages": [message]}
    text = exported("c", document, "markdown", attached={KEY: "files/a"})
    front, _, body = text.removeprefix("---\n").partition("---\n")
    assert [line.partition(":")[0] for line in front.splitlines()] == [
        "title",
        "chat_id",
        "created",
        "tags",
    ]
    assert all(not line or line.startswith((">", "^m")) for line in body.splitlines())
    quoted = [line.removeprefix("> ") for line in body.splitlines() if line.startswith("> [!")]
    assert len(quoted) == 1


def test_markdown_and_a_page_name_the_model_of_an_answer():
    said = {
        "id": "m",
        "role": "assistant",
        "content": "Hi",
        "model": "gpt-4o",
        "created_at": "today",
    }
    asked = {"id": "q", "role": "user", "content": "Hello", "model": "gpt-4o"}
    document = {"messages": [asked, said]}
    assert "> [!quote] Assistant · gpt-4o · today\n" in exported("c", document, "markdown")
    assert "> [!question] You\n" in exported("c", document, "markdown")
    hostile = {"messages": [{**said, "model": "<b>"}]}
    assert "<h2>Assistant · &lt;b&gt; <time>" in exported("c", hostile, "html")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://example.org/a_(b)", "[Look](https://example.org/a_%28b%29)"),
        ("obsidian://open?vault=a", "[Look](obsidian://open?vault=a)"),
        ("javascript:alert(1)", "Look"),
        ("data:text/html,x", "Look"),
        ("file:///etc/passwd", "Look"),
        ("https://a.org/) [x](javascript:alert(1)", "Look"),
    ],
)
def test_only_addresses_that_a_page_opens_are_links(url, shown):
    link = {"id": "l", "url": url, "title": "Look"}
    document = {"messages": [{"id": "m", "role": "user", "content": "", "links": [link]}]}
    assert exported("c", document, "markdown").splitlines()[-3] == f"> {shown}"


def test_a_title_of_a_link_or_file_is_no_markdown():
    link = {"id": "l", "url": "https://a.org", "title": "](javascript:alert(1)) ![x"}
    file = {"id": "f", "name": "![x](http://a.org/pixel.png)", "storage_key": KEY}
    message = {"id": "m", "role": "user", "content": "", "links": [link], "files": [file]}
    page = Markdown().render(exported("c", {"messages": [message]}, "markdown"))
    assert "<img" not in page
    assert 'href="javascript' not in page


@pytest.mark.parametrize("form", ["markdown", "json", "openai", "html"])
def test_half_a_character_stops_no_export(form):
    said = [{"id": "m1\ud800", "role": "user", "content": "Hello\ud800"}]
    text = exported("c1", {"title": "Boats\ud800", "messages": said}, form)
    assert "Hello\ufffd" in text
    assert text.encode()
