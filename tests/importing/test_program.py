"""Files to which somebody has joined several sessions, as `cat` does."""

import pytest

from tests.importing.brought import brought, words
from tests.importing.samples import lines, said

pytestmark = pytest.mark.anyio


def of_claude_code(name, asked):
    row = {"uuid": f"{asked}-1", "parentUuid": None, "sessionId": name}
    return [said("user", asked, **row)]


def of_qwen_code(name, asked):
    message = {"role": "user", "parts": [{"text": asked}]}
    row = {"uuid": f"{asked}-1", "parentUuid": None, "sessionId": name, "type": "user"}
    return [{**row, "message": message}]


def of_codex(name, asked):
    content = [{"type": "input_text", "text": asked}]
    item = {"type": "message", "role": "user", "content": content}
    about = {"type": "session_meta", "payload": {"id": name}}
    return [about, {"type": "response_item", "payload": item}]


def of_gemini_cli(name, asked):
    about = {"sessionId": name, "projectHash": "ff"}
    return [about, {"id": "1", "type": "user", "content": asked}]


def of_sillytavern(name, asked):
    about = {"character_name": name, "chat_metadata": {"integrity": name}}
    return [about, {"name": "You", "is_user": True, "mes": asked}]


@pytest.mark.parametrize(
    "write", [of_claude_code, of_qwen_code, of_codex, of_gemini_cli, of_sillytavern]
)
async def test_each_session_of_a_file_is_a_chat(tmp_path, write):
    rows = [*write("one", "Boats?"), *write("two", "Birds?")]
    documents, account = await brought(tmp_path / "all.jsonl", lines(*rows))
    assert sorted(map(words, documents.values())) == [["Birds?"], ["Boats?"]]
    assert account["new"] == 2


async def test_a_session_that_goes_on_from_another_stays_one_chat(tmp_path):
    (first,) = of_claude_code("one", "Boats?")
    (second,) = of_claude_code("two", "Birds?")
    rows = [first, {**second, "parentUuid": first["uuid"]}]
    documents, _ = await brought(tmp_path / "all.jsonl", lines(*rows))
    assert [words(chat) for chat in documents.values()] == [["Boats?", "Birds?"]]


async def test_a_fork_that_is_taken_up_again_stays_one_chat(tmp_path):
    fork, *_ = of_codex("fork", "")
    rows = [fork, *of_codex("source", "Boats?"), *of_codex("fork", "Birds?")]
    documents, _ = await brought(tmp_path / "rollout.jsonl", lines(*rows))
    assert [words(chat) for chat in documents.values()] == [["Boats?", "Birds?"]]


async def test_sessions_without_ids_in_files_of_one_name_are_kept_apart(tmp_path):
    for asked in ("Boats?", "Birds?"):
        (tmp_path / asked).mkdir()
        (tmp_path / asked / "session.jsonl").write_bytes(lines(of_codex("", asked)[1]))
    documents, account = await brought(tmp_path)
    assert sorted(words(chat) for chat in documents.values()) == [["Birds?"], ["Boats?"]]
    assert account["new"] == 2
