"""Files and links that go with a message."""

import os

import pytest

from smart_context.base.disk import folders
from smart_context.base.errors import CommandFailed, InvalidParams, PathRefused
from smart_context.host.request.prompt import prompt_messages
from smart_context.storage.files.blobs import FileBlobs
from tests.folding_folders import FoldingFolder
from tests.host.conftest import until
from tests.storage.files.test_blobs import PNG

pytestmark = pytest.mark.anyio


async def test_files_and_links_are_stored_on_the_question(bench):
    stored = await bench.host.services.storage.blobs.put("plan.md", b"Sail on Sunday.")
    await bench.call(
        "chat.send",
        chat_id="c1",
        message="When?",
        files=[stored.to_dict()],
        links=[{"url": "https://example.org/a", "title": "  The\nclub "}],
    )
    question, _ = await bench.messages("c1")
    (file,) = question.files
    (link,) = question.links
    assert {key: file[key] for key in ("name", "file_type", "storage_key")} == {
        "name": "plan.md",
        "file_type": "text/markdown",
        "storage_key": stored.storage_key,
    }
    assert (link["url"], link["title"]) == ("https://example.org/a", "The club")
    assert (
        await bench.host.services.storage.blobs.read(link["storage_key"])
        == "The club\nhttps://example.org/a\n"
    )


async def test_a_title_that_can_not_be_encoded_is_stored_with_replacements(bench):
    links = [{"url": "https://example.org", "title": "a\ud800b"}]
    await bench.call("chat.send", chat_id="c1", message="When?", links=links)
    (link,) = (await bench.messages("c1"))[0].links
    assert link["title"] == "a\ufffdb"
    assert (
        await bench.host.services.storage.blobs.read(link["storage_key"])
        == "a\ufffdb\nhttps://example.org\n"
    )


@pytest.mark.parametrize(
    ("params", "told"),
    [
        pytest.param({"files": [{"storage_key": "0" * 64}]}, "unknown key", id="never stored"),
        pytest.param({"files": [{}]}, "unknown key", id="no key"),
        pytest.param({"files": [{}] * 21}, "at most 20", id="too many files"),
        pytest.param({"links": [{"url": "javascript:alert(1)"}]}, "http", id="a script"),
        pytest.param({"links": [{"url": "https://a\nb"}]}, "http", id="a line break"),
        pytest.param({"links": [{"url": f"https://{'a' * 2000}"}]}, "2,000", id="a long address"),
        pytest.param({"links": [{"url": "https://x"}] * 21}, "at most 20", id="too many links"),
        pytest.param({"files": "plan.md"}, "files", id="no list"),
    ],
)
async def test_what_can_not_be_attached_is_refused_before_anything_is_stored(bench, params, told):
    with pytest.raises(InvalidParams, match=told):
        await bench.call("chat.send", chat_id="c1", message="When?", **params)
    assert await bench.messages("c1") == ()
    assert bench.model.asked == []


async def test_a_file_of_the_vault_is_attached_as_it_is_now(bench):
    (bench.vault / "notes").mkdir()
    (bench.vault / "notes/plan.md").write_text("Sail.")
    stored = await bench.call("chat.attach_vault_file", path="notes/plan.md")
    (bench.vault / "notes/plan.md").write_text("Row.")
    assert stored["name"] == "plan.md"
    assert await bench.host.services.storage.blobs.read(stored["storage_key"]) == "Sail."


@pytest.mark.parametrize(
    ("path", "error"),
    [
        pytest.param("../x", PathRefused, id="out of the vault"),
        pytest.param(".vault.toml", CommandFailed, id="hidden"),
        pytest.param("nowhere.md", CommandFailed, id="missing"),
        pytest.param("folder", CommandFailed, id="a folder"),
        pytest.param("PLAN.md", CommandFailed, id="another spelling"),
        pytest.param("plan.md.", PathRefused, id="a dot at its end"),
    ],
)
async def test_what_is_no_file_of_the_vault_is_not_attached(bench, monkeypatch, path, error):
    monkeypatch.setattr(folders, "Folder", FoldingFolder)
    (bench.vault / "plan.md").write_text("Sail.")
    (bench.vault / ".vault.toml").write_text("")
    (bench.vault / "folder").mkdir()
    with pytest.raises(error):
        await bench.call("chat.attach_vault_file", path=path)


IMAGE = {"file_type": "image/png", "storage_key": "k", "name": "a\nb.png"}


def test_an_image_that_is_not_shown_is_named():
    (message,) = prompt_messages("", [], "Look", files=[IMAGE])
    assert (
        message["content"] == "Look\n\n[An image is attached that can't be shown to you: a b.png]"
    )


def test_an_image_that_is_shown_is_a_part_of_its_own():
    (message,) = prompt_messages("", [], "Look", files=[IMAGE], images={"k": "data:x"})
    assert message["content"] == [
        {"type": "text", "text": "Look"},
        {"type": "image_url", "image_url": {"url": "data:x"}},
    ]


@pytest.mark.parametrize("images", [True, False])
async def test_images_go_to_models_that_take_them(make_bench, running, images):
    bench = make_bench()
    bench.configure(
        f'[llm]\nbase_url = "http://127.0.0.1:9/v1"\nimages = {str(images).lower()}\n'
        '[llm.categories]\nchat = "m"\n'
    )
    async with running(bench):
        stored = await bench.host.services.storage.blobs.put("a.png", PNG)
        await bench.call("chat.send", chat_id="c1", message="Look", files=[stored.to_dict()])
        await bench.call("chat.send", chat_id="c1", message="Again")
        first = bench.model.asked[-1].messages[0]["content"]
    if images:
        assert first[1]["image_url"]["url"].startswith("data:image/png;base64,")
    else:
        assert "can't be shown to you: a.png" in first


async def test_files_that_no_chat_uses_are_removed_while_the_host_runs(
    make_bench, running, monkeypatch
):
    monkeypatch.setattr("smart_context.host.clearing.FIRST_AFTER_S", 0)
    bench = make_bench()
    folder = bench.vault / ".memory" / "files"
    stored = await FileBlobs(folder).put("old.txt", b"old")
    for path in folder.iterdir():
        os.utime(path, (0, 0))
    async with running(bench):
        await until(lambda: not (folder / stored.storage_key).exists())
