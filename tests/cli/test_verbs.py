"""The command line as a user meets it: results on stdout, words on stderr, fitting exit codes."""

import asyncio
import base64
import json
import re
import shutil
import socket
import sys
from urllib.parse import unquote

import pytest

from smart_context import __version__
from smart_context.app.composition import open_storage
from smart_context.chat.files.attached_file import key_of
from smart_context.chat.files.file_text import text_of
from smart_context.relevance.judge.calibrate import DEFAULT_THRESHOLD
from smart_context.storage.files.blobs import FileBlobs
from tests.fake_openai import FakeOpenAI
from tests.serving import serving
from tests.vaults import about, write_chat


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def test_the_version_is_that_of_the_package(smart_context):
    assert smart_context("--version") == (0, f"smart-context {__version__}\n", "")


def test_deleted_chats_are_listed_restored_and_removed_for_ever(smart_context, vault):
    assert "The trash is empty." in smart_context("chats", "trash", cwd=vault)[1]
    for chat in ("gone", "kept"):
        write_chat(vault, chat, about("Hello", "Hi"), title=f"Chat {chat}")
        with_trash(vault, chat)
    out = smart_context("chats", "trash", cwd=vault)[1]
    assert "Chat gone" in out
    listed = json.loads(smart_context("chats", "trash", "--format", "json", cwd=vault)[1])
    assert listed["total"] == 2
    assert "is back" in smart_context("chats", "restore", "kept", cwd=vault)[1]
    assert "Chat kept" in smart_context("chats", "list", cwd=vault)[1]
    assert smart_context("chats", "purge", "gone", cwd=vault)[0] == 1  # nobody says yes
    assert "1 deleted chat" in smart_context("chats", "purge", "gone", "--yes", cwd=vault)[1]
    code, _, err = smart_context("chats", "restore", "gone", cwd=vault)
    assert code == 1
    assert "There is no chat 'gone' in the trash." in err


def with_trash(vault, chat):
    """Deletes a chat, as the page does."""
    asyncio.run(open_storage(vault).chats.delete(chat))


def test_chats_are_listed_newest_first_for_people_and_for_programs(smart_context, vault):
    code, out, _ = smart_context("chats", "list", cwd=vault)
    assert code == 0
    assert out.splitlines()[1].startswith("year-of-projects")
    code, out, _ = smart_context("chats", "list", "--vault", vault, "--format", "json")
    rows = json.loads(out)
    assert {row["chat_id"]: row["messages"] for row in rows}["year-of-projects"] >= 40
    assert any(re.search(r"[\u4e00-\u9fff]", row["title"]) for row in rows)


def test_a_chat_that_is_not_there_is_named_and_the_newest_are_offered(smart_context, vault):
    code, out, err = smart_context("chats", "show", "nope", cwd=vault)
    assert (code, out) == (1, "")
    assert "nope" in err
    assert "short-story" in err


def test_a_chat_goes_out_and_comes_in_whole(smart_context, vault, tmp_path):
    target = tmp_path / "chat.json"
    assert (
        smart_context("chats", "export", "gartenjahr", "--as", "json", "-o", target, cwd=vault)[0]
        == 0
    )
    assert smart_context("chats", "import", target, "--chat-id", "copy", cwd=vault)[0] == 0
    original = json.loads((vault / ".memory/gartenjahr.json").read_text(encoding="utf-8"))
    copy = json.loads((vault / ".memory/copy.json").read_text(encoding="utf-8"))
    assert copy["messages"] == original["messages"]
    code, _, err = smart_context("chats", "import", target, "--chat-id", "copy", cwd=vault)
    assert code == 1
    assert "already" in err


def test_a_chat_goes_into_a_folder_that_is_made(smart_context, vault, tmp_path):
    folder = tmp_path / "out"
    assert smart_context("chats", "export", "gartenjahr", "-o", folder, cwd=vault)[0] == 0
    (file,) = folder.iterdir()
    assert file.name.endswith("-gartenjahr.md")


PICTURE = b"\x89PNG\r\n\x1a\n" + b"\0" * 40
LISTING = b'{"messages": [{"id": "m", "role": "user", "content": "not a chat"}], "branches": []}'
LINK = b"Cats\nhttps://example.org/cats\n"
ATTACHED = {"A [nice] picture: \u732b.png": PICTURE, "log.json": LISTING}


@pytest.fixture
def with_files(tmp_path):
    """A vault with a chat that has files, one of them in another version of an answer."""
    vault = tmp_path / "with files"
    (vault / ".memory").mkdir(parents=True)
    blobs = FileBlobs(vault / ".memory/files", text_of)
    kept = [asyncio.run(blobs.put(name, content)).to_dict() for name, content in ATTACHED.items()]
    asked = {"id": "m1", "role": "user", "content": "Look", "files": kept[:1]}
    other = {"id": "m2", "role": "user", "content": "Or this", "files": kept[1:]}
    branch = {"id": "b", "after": "m1", "created_at": "2026-01-01T00:00:00Z", "messages": [other]}
    address = {"id": "l", "url": "https://example.org/cats", "title": "Cats"}
    address["storage_key"] = asyncio.run(blobs.put("link.txt", LINK)).storage_key
    said = {"id": "m3", "role": "assistant", "content": "A cat", "links": [address]}
    document = {"title": "Cats", "messages": [asked, said], "branches": [branch]}
    (vault / ".memory/cats.json").write_text(json.dumps(document))
    return vault


@pytest.mark.parametrize("of", ["the folder", "its file", "a ZIP"])
def test_attached_files_go_out_beside_the_chats_and_come_in_again(
    smart_context, with_files, tmp_path, of
):
    out, other = tmp_path / "out", tmp_path / "other"
    other.mkdir()
    done = smart_context("chats", "export", "--all", "--as", "json", "-o", out, cwd=with_files)
    assert (done[0], "1 chat and 2 files" in done[1]) == (0, True)
    assert sorted(path.read_bytes() for path in (out / "files").iterdir()) == sorted(
        ATTACHED.values()
    )
    given = {"the folder": out, "its file": out / "Cats-cats.json"}
    if of == "a ZIP":
        given[of] = shutil.make_archive(str(tmp_path / "out"), "zip", out)
    code, told, _ = smart_context("chats", "import", given[of], "--format", "json", cwd=other)
    account = json.loads(told)
    assert (code, account["new"], account["files"], account["failed"]) == (0, 1, 2, [])
    assert json.loads((other / ".memory/cats.json").read_bytes()) == json.loads(
        (with_files / ".memory/cats.json").read_bytes()
    )
    blobs = FileBlobs(other / ".memory/files", text_of)
    for content in (*ATTACHED.values(), LINK):
        assert asyncio.run(blobs.content(key_of(content))) == content
    told = smart_context("chats", "import", given[of], "--format", "json", cwd=other)[1]
    again = json.loads(told)
    assert (again["new"], again["unchanged"], again["files"]) == (0, 1, 0)


def test_a_file_that_is_another_than_its_name_says_is_not_brought_in(
    smart_context, with_files, tmp_path
):
    out, other = tmp_path / "out", tmp_path / "other"
    other.mkdir()
    smart_context("chats", "export", "cats", "--as", "json", "-o", out, cwd=with_files)
    for path in (out / "files").iterdir():
        path.write_bytes(b"something else")
    told = smart_context("chats", "import", out, "--format", "json", cwd=other)[1]
    assert (json.loads(told)["new"], json.loads(told)["files"]) == (1, 0)


def test_markdown_shows_files_where_they_lie_and_a_page_holds_them(
    smart_context, with_files, tmp_path
):
    smart_context("chats", "export", "cats", "-o", tmp_path / "out", cwd=with_files)
    text = (tmp_path / "out/Cats-cats.md").read_text(encoding="utf-8")
    label, place = re.search(r"> !\[(.+)\]\((\S+)\)", text).groups()
    assert label == "A \\[nice\\] picture: \u732b.png"
    assert (tmp_path / "out" / unquote(place)).read_bytes() == PICTURE
    page = smart_context("chats", "export", "cats", "--as", "html", cwd=with_files)[1]
    assert f'<img src="data:image/png;base64,{base64.b64encode(PICTURE).decode()}"' in page
    assert "img-src data:;" in page


def test_half_a_character_goes_out_replaced(smart_context, tmp_path):
    (tmp_path / ".memory").mkdir()
    halves = r'{"messages": [{"id": "m0", "role": "user", "content": "half \ud800 of one"}]}'
    (tmp_path / ".memory/chat.json").write_text(halves)
    target = tmp_path / "chat.md"
    target.write_text("what was there before")
    code, _, err = smart_context("chats", "export", "chat", "-o", target, cwd=tmp_path)
    assert (code, err) == (0, "")
    assert "half \ufffd of one" in target.read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="has no such device")
def test_what_goes_to_a_device_is_written_to_it(smart_context, vault):
    for verb, written in (
        (("chats", "export", "short-story"), "> [!question] You"),
        (("contexts", "build", "Start here.md"), "# Start here"),
        (("pack", "--task", "Be brief.", "--target", "Home"), "Be brief."),
    ):
        code, out, err = smart_context(*verb, "-o", "/dev/stdout", cwd=vault)
        assert code == 0, err
        assert written in out


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b"[]", b'{"messages": 3}', b"\xff\xfe", b"[" * 5000]
)
def test_an_import_of_something_else_is_refused_and_writes_nothing(
    smart_context, vault, tmp_path, content
):
    before = tree(vault)
    (tmp_path / "odd.json").write_bytes(content)
    code, _, err = smart_context("chats", "import", tmp_path / "odd.json", cwd=vault)
    assert code == 1
    assert "odd.json" in err
    assert tree(vault) == before


def test_search_finds_messages_in_any_chat(smart_context, vault):
    code, out, _ = smart_context(
        "chats",
        "search",
        "青城山",
        cwd=vault,
    )
    assert code == 0
    assert "chengdu-plan" in out


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("topics", "nope"), id="topics"),
        pytest.param(("filter", "nope"), id="filter"),
        pytest.param(("receipt", "nope"), id="receipt"),
        pytest.param(("chats", "show", "nope"), id="chats show"),
    ],
)
def test_a_mistyped_chat_is_said_to_be_none(smart_context, vault, command):
    code, out, err = smart_context(*command, cwd=vault)
    assert (code, out) == (1, "")
    assert "There is no chat nope in this vault. Its newest chats: " in err


def test_what_a_new_chat_would_send_can_be_seen(smart_context, vault):
    code, out, _ = smart_context("filter", "new", "-m", "hello", "--show-prompt", cwd=vault)
    assert code == 0
    assert out == "[user]\nhello\n"


def test_the_filter_says_for_each_message_whether_and_why_and_changes_nothing(smart_context, vault):
    write_chat(
        vault,
        "pets",
        about("My cat sleeps on the sofa", "Cats sleep 15 hours a day", "Set sail at dawn", "Aye"),
    )
    before = {name: data for name, data in tree(vault).items() if "embeddings" not in name}
    command = ("filter", "pets", "--topics", "Sleeping Cats", "--format", "json")
    code, out, _ = smart_context(*command, cwd=vault)
    result = json.loads(out)
    assert code == 0
    assert [message["id"] for message in result["messages"]] == ["m0", "m1", "m2", "m3"]
    assert result["messages"][1]["in"]
    assert result["messages"][1]["reason"] == "in: about Sleeping Cats"
    assert {name: d for name, d in tree(vault).items() if "embeddings" not in name} == before


def test_show_prompt_prints_the_very_messages_that_the_endpoint_receives(
    smart_context, endpoint_vault
):
    vault, endpoint = endpoint_vault
    write_chat(vault, "c", about("cats sleep", "yes they do", "boats sail", "in the wind"))
    with serving(vault) as server:
        server.ask("smart_context.set_filter", chat_id="c", topics=["cats sleep"])
        code, out, _ = smart_context(
            "filter", "c", "--show-prompt", "-m", "and now?", "--format", "json", cwd=vault
        )
        assert code == 0
        server.ask("chat.send", chat_id="c", message="and now?")
    sent = next(r for r in endpoint.chat_requests if r.body["model"] == "gpt-4o")
    shown = json.loads(out)
    assert shown["messages"] == sent.messages


@pytest.fixture
def endpoint_vault(tmp_path):

    folder = tmp_path / "served"
    folder.mkdir()
    with FakeOpenAI() as endpoint:
        (folder / ".vault.toml").write_text(
            f'[llm]\nbase_url = "{endpoint.base_url}"\n[llm.categories]\nchat = "gpt-4o"\n'
            'fast = "gpt-4o-mini"\nembedding = "text-embedding-3-small"\n'
        )
        yield folder, endpoint


def test_topics_are_found_without_a_model_and_stored(smart_context, vault):
    code, out, _ = smart_context("topics", "year-of-projects", "--refresh", cwd=vault)
    assert code == 0
    assert "Instructions & Preferences" in out
    stored = json.loads((vault / ".memory/year-of-projects.json").read_text(encoding="utf-8"))
    labels = [topic["label"] for topic in stored["topics"] if not topic.get("sticky")]
    assert 3 <= len(labels) <= 8


def test_init_writes_a_config_that_holds_and_never_overwrites_one(smart_context, tmp_path):
    folder = tmp_path / "new notes"
    code, out, _ = smart_context("init", folder)
    assert code == 0
    assert "doctor" in out
    assert smart_context("doctor", folder)[0] == 0
    text = (folder / ".vault.toml").read_text(encoding="utf-8")
    code, _, err = smart_context("init", folder)
    assert code == 1
    assert "not changed" in err
    assert (folder / ".vault.toml").read_text(encoding="utf-8") == text


def test_doctor_changes_nothing_in_the_vault(smart_context, vault):
    before = tree(vault)
    code, out, _ = smart_context("doctor", vault)
    assert code == 0
    assert f"similarity_threshold = {DEFAULT_THRESHOLD}" in out
    assert tree(vault) == before


def test_doctor_says_what_a_hostile_file_could_reach(smart_context, vault):
    rows = json.loads(smart_context("doctor", vault, "--format", "json")[1])
    row = next(row for row in rows if row["what"] == "readers of files and code")
    assert (row["state"] == "ok") == ("reach no file" in row["found"])
    assert bool(row["next"]) == (row["state"] == "note")


def test_doctor_says_how_many_lines_of_ignore_files_do_not_count(smart_context, vault):
    (vault / ".gitignore").write_text("".join(f"*{number}\n" for number in range(1_500)))
    _, out, _ = smart_context("doctor", vault)
    assert "500 lines of .gitignore and .scignore in the vault's top folder don't count" in out


def test_doctor_says_which_endpoint_is_down_and_what_to_do(smart_context, tmp_path):
    (tmp_path / ".vault.toml").write_text(
        '[llm]\nbase_url = "http://127.0.0.1:1/v1"\nmax_retries = 0\n[llm.categories]\nchat = "m"\n'
    )
    smart_context("trust", tmp_path, "--yes")
    code, out, _ = smart_context("doctor", tmp_path, "--format", "json")
    assert code == 1
    failed = [row for row in json.loads(out) if row["state"] == "failed"]
    assert any("127.0.0.1:1" in row["found"] for row in failed)


FAULTY = """\
[vault]
name = 3
memory_dir = "../elsewhere"
colour = "red"

[llm]
api_key = "sk-abcdefghijklmnopqrstuvwx"

[plugins.smart_context]
enabled = true
similarity_threshold = "high"
recent_messages = -1
"""


@pytest.mark.parametrize("verb", ["serve", "doctor"])
def test_every_fault_of_the_config_is_listed_with_its_line(smart_context, tmp_path, verb):
    (tmp_path / ".vault.toml").write_text(FAULTY)
    code, out, err = smart_context(verb, tmp_path)
    assert (code, out) == (2, "")
    for line, key in [
        (2, "name"),
        (3, "memory_dir"),
        (4, "colour"),
        (7, "api_key"),
        (11, "similarity_threshold"),
        (12, "recent_messages"),
    ]:
        assert re.search(rf"line {line}\b.*{key}", err), key
    assert "sk-abcdefg" not in err
    assert sorted(p.name for p in tmp_path.iterdir()) == [".vault.toml"]


def test_a_port_in_use_is_said_and_not_a_traceback(smart_context, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, _, err = smart_context("serve", tmp_path, "--port", port, "--no-browser")
    assert code == 1
    assert str(port) in err


def test_another_address_needs_a_token(smart_context, tmp_path):
    code, _, err = smart_context("serve", tmp_path, "--host", "0.0.0.0", "--no-browser")
    assert code == 2
    assert "token" in err


@pytest.mark.parametrize("token", ["", "   ", "a", "fifteen-letters", " fifteen-letters\n"])
@pytest.mark.parametrize("verb", ["serve", "demo"])
def test_a_token_that_can_be_guessed_is_bad_usage(smart_context, tmp_path, verb, token):
    folder = [tmp_path] if verb == "serve" else []
    for options, env in (["--token", token], {}), ([], {"SMART_CONTEXT_TOKEN": token}):
        if not token and env:
            continue  # an empty variable counts as none, everywhere
        code, out, err = smart_context(verb, *folder, "--no-browser", *options, env=env)
        assert (code, out) == (2, "")
        assert "at least 16 characters" in err
        assert f"found {len(token.strip())}" in err
        assert "fifteen" not in err


def test_a_folder_that_is_not_there_is_bad_usage(smart_context):
    code, _, err = smart_context("serve", "/no/such/folder")
    assert code == 2
    assert "/no/such/folder" in err


def test_a_new_plugin_works_once_it_is_trusted_and_enabled(smart_context, tmp_path):
    vault = tmp_path / "v"
    vault.mkdir()
    assert smart_context("plugins", "new", "word_count", "--vault", vault)[0] == 0
    assert smart_context("plugins", "enable", "word_count", "--vault", vault)[0] == 0
    _, out, _ = smart_context("plugins", "list", "--vault", vault)
    assert "untrusted" in out

    code, _, err = smart_context("trust", vault)
    assert code == 1
    assert "--yes" in err
    assert "plugins/word_count/main.py" in err
    assert smart_context("trust", vault, "--yes")[0] == 0

    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    with serving(vault, env=env, trusted=False) as server, server.connect() as client:
        assert client.call("word_count.count", text="one two")["words"] == 2
        client.call("chat.send", chat_id="c", message="hello")
        assert client.wait_for("word_count.counted")["total"] > 0
        client.wait_for("ui.register_panel", id="word_count")
        assert server.request("GET", "/panels/word_count/panel.js")[0] == 200
        assert server.request("GET", "/panels/word_count/main.py")[0] == 404

    (vault / "plugins/word_count/main.py").write_text("raise SystemExit\n")
    with serving(vault, env=env, trusted=False) as server:
        states = {p["id"]: p["state"] for p in server.ask("system.plugins")["plugins"]}
    assert states == {"smart_context": "running", "word_count": "untrusted"}

    assert smart_context("plugins", "disable", "word_count", "--vault", vault)[0] == 0
    _, out, _ = smart_context("plugins", "list", "--vault", vault)
    assert "disabled" in out


@pytest.mark.parametrize("name", ["Word", "2words", "a/b", "../x", "x" * 65])
def test_a_plugins_name_that_can_be_none_is_bad_usage(smart_context, tmp_path, name):
    assert smart_context("plugins", "new", name)[0] == 2
    assert not (tmp_path / "plugins").exists()


def test_enabling_keeps_the_comments_of_the_config(smart_context, tmp_path):
    (tmp_path / ".vault.toml").write_text("# mine\n[vault]\nname = 'N' # short\n")
    smart_context("plugins", "disable", "smart_context", cwd=tmp_path)
    text = (tmp_path / ".vault.toml").read_text()
    assert "# mine" in text
    assert "# short" in text
    assert "enabled = false" in text


def test_a_plugin_that_fails_is_one_line_in_the_log_and_a_traceback_only_when_asked_for(
    smart_context, tmp_path
):
    folder = tmp_path / "plugins" / "broken"
    folder.mkdir(parents=True)
    (folder / "main.py").write_text("1 / 0\n")
    (folder / "plugin.toml").write_text(
        'id = "broken"\nname = "Broken"\nversion = "1"\nentry = "main:Plugin"\n'
    )
    (tmp_path / ".vault.toml").write_text("[plugins.broken]\nenabled = true\n")
    assert smart_context("trust", tmp_path, "--yes")[0] == 0
    code, out, err = smart_context("plugins", "list", cwd=tmp_path)
    assert code == 0
    assert "failed" in out
    assert "ZeroDivisionError" in err


def test_a_chat_says_where_it_has_versions_and_prints_another(smart_context, tmp_path):
    def said(name, role):
        return {"id": name, "role": role, "content": f"says {name}"}

    branch = {"id": "b", "after": "q", "created_at": "", "messages": [said("a1", "assistant")]}
    document = {"messages": [said("q", "user"), said("a2", "assistant")], "branches": [branch]}
    (tmp_path / ".memory").mkdir()
    stored = tmp_path / ".memory/chat.json"
    stored.write_text(json.dumps(document))
    before = stored.read_bytes()
    _, out, _ = smart_context("chats", "show", "chat", cwd=tmp_path)
    assert "> Version 2 of 2; print another with --at: a1\n\nsays a2" in out
    code, out, _ = smart_context("chats", "show", "chat", "--at", "a1", cwd=tmp_path)
    assert code == 0
    assert "says a1" in out
    assert "says a2" not in out
    assert "> Version 1 of 2; print another with --at: a2" in out
    code, _, err = smart_context("chats", "show", "chat", "--at", "none", cwd=tmp_path)
    assert code == 1
    assert "no message 'none'" in err
    assert stored.read_bytes() == before
