"""`chats import` and `chats export`: what they say, write and refuse."""

import json
import os
import re
import sys

import pytest


def put(path, content):
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture
def empty(tmp_path):
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


def test_an_import_that_found_nothing_ends_with_1_and_says_of_which_file(
    smart_context, empty, tmp_path
):
    blank = [{"id": name, "mapping": {}} for name in "abc"]
    file = put(tmp_path / "conversations.json", blank)
    code, out, err = smart_context("chats", "import", file, cwd=empty)
    assert code == 1
    assert "3 hold no messages that can be read" in out
    assert "conversations.json: holds no messages that can be read" in err
    code, out, _ = smart_context("chats", "import", file, "--format", "json", cwd=empty)
    assert (code, json.loads(out)["unreadable"], json.loads(out)["unchanged"]) == (1, 3, 0)
    (tmp_path / "folder").mkdir()
    code, _, err = smart_context("chats", "import", tmp_path / "folder", cwd=empty)
    assert code == 1
    assert "holds no chats of a known program" in err


def stored(vault, **titles):
    (vault / ".memory").mkdir(exist_ok=True)
    for chat_id, title in titles.items():
        messages = [{"id": "m", "role": "user", "content": f"Of {title}"}]
        put(vault / f".memory/{chat_id}.json", {"title": title, "messages": messages})


def test_titles_in_other_scripts_go_out_whatever_their_length(smart_context, empty, tmp_path):
    stored(empty, a="题" * 90, b="A" * 300, c="🧑‍🚀" * 90)
    for form in ("markdown", "json", "openai", "html"):
        out = tmp_path / form
        code, told, err = smart_context(
            "chats", "export", "--all", "--format", form, "-o", out, cwd=empty
        )
        assert (code, err) == (0, "")
        assert "Wrote 3 chats" in told
        assert len(list(out.iterdir())) == 3


def test_a_chat_that_can_not_go_out_stops_no_other_and_is_named(smart_context, empty, tmp_path):
    stored(empty, a="One", b="Two")
    put(empty / ".memory/broken.json", "{")
    out = tmp_path / "out"
    code, told, err = smart_context(
        "chats", "export", "a", "nope", "broken", "b", "-o", out, cwd=empty
    )
    assert code == 1
    assert "Wrote 2 chats" in told
    assert "nope: There is no chat nope" in err
    assert "broken: " in err
    assert sorted(path.name for path in out.iterdir()) == ["One-a.md", "Two-b.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="has other links, and no such pipes")
def test_nothing_is_written_through_what_lies_in_the_folder(smart_context, empty, tmp_path):
    stored(empty, a="One", b="Two", c="Three")
    out, other = tmp_path / "out", put(tmp_path / "other.md", "mine")
    out.mkdir()
    (out / "One-a.md").symlink_to(other)
    os.mkfifo(out / "Two-b.md")
    code, told, err = smart_context("chats", "export", "--all", "-o", out, cwd=empty)
    assert (code, other.read_text(encoding="utf-8")) == (1, "mine")
    assert "Wrote 1 chat " in told
    for name in ("One-a.md", "Two-b.md"):
        assert f"{name} is not a plain file (a link, a folder or a device)" in err


@pytest.mark.skipif(sys.platform == "win32", reason="has other links")
def test_attached_files_are_not_written_through_a_link(smart_context, empty, tmp_path):
    stored(empty, a="One")
    out, other = tmp_path / "out", tmp_path / "other"
    out.mkdir()
    other.mkdir()
    (out / "files").symlink_to(other)
    code, _, err = smart_context("chats", "export", "a", "-o", out, cwd=empty)
    assert (code, list(other.iterdir())) == (1, [])
    assert "files is a link" in err


def test_an_exported_page_draws_footnotes_of_its_messages_with_ids_of_their_own(
    smart_context, empty
):
    (empty / ".memory").mkdir()
    said = "是**“好”**的[^1]。\n\n[^1]: Wet."
    messages = [{"id": name, "role": "assistant", "content": said} for name in "ab"]
    put(empty / ".memory/chat.json", {"id": "chat", "title": "T", "messages": messages})
    _, page, _ = smart_context("chats", "export", "chat", "--as", "html", cwd=empty)
    ids = re.findall(r' id="(fn[^"]*)"', page)
    assert len(ids) == len(set(ids)) == 4
    assert set(re.findall(r' href="#([^"]*)"', page)) == set(ids)
    assert page.count("<strong>“好”</strong>") == 2


@pytest.mark.parametrize("wanted", [(), ("--chat-id", "other")], ids=["its id", "another id"])
def test_what_is_hidden_here_is_hidden_where_its_export_is_imported(
    smart_context, empty, tmp_path, wanted
):
    (empty / ".memory").mkdir()
    put(empty / ".memory/chat.json", {"messages": [{"id": "m1", "role": "user", "content": "No"}]})
    put(empty / ".memory/chat.filter.json", {"version": 1, "hidden": ["m1"], "pinned": []})
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / ".memory").mkdir(parents=True)
    file = tmp_path / "chat.json"
    smart_context("chats", "export", "chat", "--as", "json", "-o", str(file), cwd=empty)
    smart_context("chats", "import", str(file), *wanted, cwd=elsewhere)
    name = wanted[-1] if wanted else "chat"
    stored = json.loads((elsewhere / f".memory/{name}.filter.json").read_text())
    assert stored["hidden"] == ["m1"]
    assert "smart_context" not in (elsewhere / f".memory/{name}.json").read_text()
