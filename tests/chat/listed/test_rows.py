import json
import time
from types import SimpleNamespace

import pytest

from smart_context.chat.documents.document import read_version
from smart_context.chat.ids import ChatId
from smart_context.chat.listed.rows import row_of, unmarked


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("A claim[^1] here.\n\n[^1]: The source.", "A claim here. The source."),
        ("# Head\n\n**Bold** *it* __b__ ~~gone~~ ==hi== `x`", "Head Bold it b gone hi x"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a | b 1 | 2"),
        ("> [!note] Title\n> > - [x] done", "Title done"),
        ("[here](https://x.y/a_(b) 't') ![pic](p.png) <https://z.w>", "here pic https://z.w"),
        ("See [it][1].\n\n[1]: https://a.b", "See it."),
        ("[[Note|alias]] ![[Embedded]]", "alias Embedded"),
        ("Title\n===\ntext\n\n---\n~~~py\ncode\n~~~", "Title text code"),
        (r"\*not\* so \[x\]", "*not* so [x]"),
        ("a == b, 2 * 3 * 4, x[0](y), a[0][1]", "a == b, 2 * 3 * 4, x[0](y), a[0][1]"),
        ("snake_case_name, __init__.py, 1. one", "snake_case_name, __init__.py, 1. one"),
    ],
)
def test_a_plain_line_has_the_words_and_none_of_the_marks(text, plain):
    assert " ".join(unmarked(text).split()) == plain


@pytest.mark.parametrize("mark", ["[", "-", "> ", "[[a", "__a", "[a](", "[^", "==", "[a]:", "*a"])
def test_marks_without_an_end_cost_no_more_than_they_are_many(mark):
    def took(count):
        began = time.process_time()
        unmarked(mark * count)
        return time.process_time() - began

    assert took(40_000) < 12 * took(10_000) + 0.05


@pytest.mark.parametrize("origin", ["split_from", "forked_from"])
def test_a_chat_made_of_older_messages_is_as_new_as_its_making(origin):
    said = [{"role": "user", "content": "Hi", "created_at": "2026-01-05T10:00:00Z"}]
    made = {"messages": said, origin: {"chat_id": "a", "at": "2026-03-01T10:00:00Z"}}

    def updated_at(document):
        version = read_version(json.dumps(document).encode())
        return row_of(ChatId("b"), version, SimpleNamespace(mtime_ns=0)).updated_at

    assert updated_at(made) == "2026-03-01T10:00:00Z"
    said.append({**said[0], "created_at": "2026-03-02T10:00:00Z"})
    assert updated_at(made) == "2026-03-02T10:00:00Z"
