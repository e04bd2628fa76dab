"""`chats import` and `chats export`: what they say, write and refuse."""

import json

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
