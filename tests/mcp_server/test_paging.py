"""Pages keep their budget, lose nothing, and cursors work for their own call only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.errors import InvalidParams
from smart_context.llm.tokens import count_tokens
from smart_context.mcp_server.paging import PageRequest, as_json, page_of_rows, page_of_text


def asked(cursor="", max_tokens=200, tool="read_chat", **arguments):
    return PageRequest(tool=tool, arguments=arguments, cursor=cursor, max_tokens=max_tokens)


def all_pages(make, max_tokens=200):
    pages, cursor = [], ""
    while cursor is not None:
        page = make(asked(cursor, max_tokens))
        assert count_tokens(as_json(page)) <= max_tokens
        pages.append(page)
        cursor = page["next_cursor"]
    return pages


def test_a_text_comes_back_whole_from_pages_that_keep_the_budget():
    text = "One line of words.\n" * 100 + "千里之行始於足下" * 100 + "\U0001f600" * 50
    pages = all_pages(lambda call: page_of_text(call, {"path": "a.md"}, text, count_tokens))

    assert "".join(page["text"] for page in pages) == text
    assert len(pages) > 5


def test_rows_come_back_whole_and_a_long_one_goes_on_at_the_next_page():
    rows = [{"id": str(n), "content": f"word{n} " * size} for n, size in enumerate((3, 900, 2, 0))]
    pages = all_pages(lambda call: page_of_rows(call, {}, "messages", rows, count_tokens))

    texts = {row["id"]: "" for row in rows}
    for page in pages:
        for row in page["messages"]:
            texts[row["id"]] += row["content"]
    assert texts == {row["id"]: row["content"] for row in rows}


@given(st.lists(st.integers(0, 300), max_size=12), st.integers(150, 600))
def test_every_row_comes_once_whatever_the_budget(sizes, budget):
    rows = [{"id": n, "content": "ab " * size} for n, size in enumerate(sizes)]
    pages = all_pages(lambda call: page_of_rows(call, {}, "rows", rows, count_tokens), budget)

    assert "".join(row["content"] for page in pages for row in page["rows"]) == "".join(
        row["content"] for row in rows
    )


def test_fields_that_are_too_long_are_left_out_and_named():
    head = {"chat_id": "c", "body": ["long"] * 5_000}
    page = page_of_rows(asked(), head, "rows", [{"id": "m", "ids": ["x"] * 900}], count_tokens)

    assert page["left_out"] == ["body"]
    assert page["rows"] == [{"id": "m", "left_out": ["ids"]}]
    assert page["next_cursor"] is None


def test_private_keys_are_left_out_at_any_depth():
    page = page_of_rows(asked(), {"_a": 1}, "rows", [{"id": 1, "b": [{"_c": 2}]}], count_tokens)

    assert page == {"rows": [{"id": 1, "b": [{}]}], "next_cursor": None}


@pytest.mark.parametrize("cursor", ["x", "MDow", "=", "é", asked(chat_id="b").cursor_at(1)])
def test_a_cursor_of_another_call_is_refused(cursor):
    with pytest.raises(InvalidParams, match="leave it out to begin anew"):
        page_of_rows(asked(cursor, chat_id="a"), {}, "rows", [], count_tokens)


def test_a_budget_that_is_too_small_is_refused_and_a_huge_one_is_bounded():
    with pytest.raises(InvalidParams, match="100 or more"):
        page_of_text(asked(max_tokens=5), {}, "x", count_tokens)
    page = page_of_text(asked(max_tokens=10**15), {}, "word " * 300_000, count_tokens)
    assert page["next_cursor"]
    assert count_tokens(as_json(page)) <= 100_000
