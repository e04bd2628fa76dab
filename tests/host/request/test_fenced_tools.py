"""Requests for files in plain text."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.host.request.fenced_tools import in_plain_text, requests_in, with_instructions
from smart_context.host.request.tools import Tool


async def nothing(arguments):
    return ""


def tool(name, *fields):
    return Tool(
        name=name,
        description=f"What {name} does.",
        parameters={"type": "object", "properties": {f: {"type": "string"} for f in fields}},
        run=nothing,
    )


TOOLS = (tool("read_file", "path"), tool("list_files", "folder"))


@pytest.mark.parametrize(
    ("text", "kept", "requests"),
    [
        pytest.param("Just words.", "Just words.", [], id="no block"),
        pytest.param(
            "```read_file\na b.md\n```", "", [("read_file", {"path": "a b.md"})], id="one"
        ),
        pytest.param(
            "```read_file\na.md\n\n b.md \n```",
            "",
            [("read_file", {"path": "a.md"}), ("read_file", {"path": "b.md"})],
            id="one a line",
        ),
        pytest.param(
            "```list_files\n```", "", [("list_files", {})], id="an empty block has no arguments"
        ),
        pytest.param(
            '~~~~ read_file \n{"path": "a.md",\n "from_line": 3}\n~~~~',
            "",
            [("read_file", {"path": "a.md", "from_line": 3})],
            id="an object, other fences",
        ),
        pytest.param(
            "Look:\n```read_file\na.md", "Look:", [("read_file", {"path": "a.md"})], id="unclosed"
        ),
        pytest.param(
            "````markdown\n```read_file\na.md\n```\n````\nend",
            "````markdown\n```read_file\na.md\n```\n````\nend",
            [],
            id="within another block",
        ),
        pytest.param(
            "```read_file\r\na.md\r\n```\r\n", "", [("read_file", {"path": "a.md"})], id="CRLF"
        ),
        pytest.param("```write_file\na.md\n```", "```write_file\na.md\n```", [], id="another name"),
    ],
)
def test_requests_are_taken_out_of_a_text(text, kept, requests):
    found_text, found = requests_in(text, TOOLS)
    assert found_text == kept
    assert [(name, json.loads(arguments)) for name, arguments in found] == requests


@given(st.text(alphabet="`~read_file{} \nab\r"))
def test_any_text_can_be_looked_through(text):
    kept, requests = requests_in(text, TOOLS)
    if not requests:
        assert kept == text.strip("\n")


def test_the_instructions_name_each_tool_and_stand_behind_the_prompt():
    text = with_instructions("Be brief.\n", TOOLS)
    assert text.startswith("Be brief.\n\n# Requests\n")
    assert "What list_files does.\n\n```list_files\n<folder>\n```" in text
    assert with_instructions("Be brief.", ()) == "Be brief."
    assert with_instructions(" ", TOOLS).startswith("# Requests")


@given(st.dictionaries(st.just("path"), st.text(max_size=30)))
def test_a_call_as_text_is_read_back_as_the_same_call(arguments):
    call = {"id": "1", "function": {"name": "read_file", "arguments": json.dumps(arguments)}}
    prompt = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    (said,) = in_plain_text(prompt)
    kept, found = requests_in(said["content"], TOOLS)
    assert kept == ""
    assert [(name, json.loads(text)) for name, text in found] == [("read_file", arguments)]
