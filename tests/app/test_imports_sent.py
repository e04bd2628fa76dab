"""Files of chats that a page sends: kept until they are read, and never left behind."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from starlette.applications import Starlette

from smart_context.app.composition import composed, make_host, read_vault
from smart_context.app.import_commands import Imports
from smart_context.base.values import OWNER
from smart_context.host.commands.registry import Caller
from tests.importing.samples import SAMPLES
from tests.serving import serving
from tests.small_disk import small_disk
from tests.web.asking import asked_by


def test_a_file_that_the_disk_can_not_hold_leaves_nothing_and_odd_names_are_taken(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "vault").mkdir()
    with (
        small_disk(disk),
        serving(tmp_path / "vault", env={"TMPDIR": str(disk)}) as server,
    ):
        status, answer = server.request("POST", "/api/imports", b" " * (4 << 20))
        assert (status, "Free space" in str(answer)) == (507, True)
        assert [path for path in disk.rglob("*") if path.is_file()] == []
        for name in ("chats.%00", f"chats.{'j' * 300}"):
            sent = server.request("POST", "/api/imports", b"[]", {"X-File-Name": name})
            assert sent[0] == 200, sent


def test_a_trial_keeps_what_was_sent_for_the_import_itself(tmp_path):
    (tmp_path / "vault").mkdir()
    name, content = SAMPLES["claude"]
    with serving(tmp_path / "vault") as server:
        sent = server.request("POST", "/api/imports", content, {"X-File-Name": name})
        upload = sent[1]["upload"]
        trial = server.ask("memory.import", upload=upload, dry_run=True)
        assert (trial["new"], server.ask("memory.list_chats")["chats"]) == (1, [])
        assert server.ask("memory.import", upload=upload) == trial
        _, again = server.command("memory.import", upload=upload)
        assert "send it again" in str(again)
        assert server.command("memory.import")[0] == 422


def test_an_import_ends_with_the_server_and_says_what_is_kept(tmp_path):
    (tmp_path / "vault").mkdir()
    said = {
        "mapping": {"a": {"message": {"author": {"role": "user"}, "content": {"parts": ["a"]}}}}
    }
    chats = json.dumps([{"conversation_id": f"{number}", **said} for number in range(20_000)])
    with serving(tmp_path / "vault") as server, ThreadPoolExecutor() as others:
        name = {"X-File-Name": "conversations.json"}
        _, sent = server.request("POST", "/api/imports", chats.encode(), name)
        with server.connect() as client:
            answer = others.submit(server.command, "memory.import", upload=sent["upload"])
            client.wait_for("memory.import_progress", such_that=lambda told: told["chats"])
            assert server.stop() == 0
        status, told = answer.result()
        assert (status != 200, "Import the file again" in str(told)) == (True, True), told
    kept = [*(tmp_path / "vault" / ".memory").glob("*.json")]
    assert 0 < len(kept) < 20_000


def test_an_export_that_a_page_sends_again_is_known_whether_it_is_marked_or_older(tmp_path):
    (tmp_path / "vault").mkdir()
    messages = [{"id": "a1b2c3d4e5f6", "role": "user", "content": "Hello"}]
    older = json.dumps({"title": "Boats", "messages": messages}).encode()
    with serving(tmp_path / "vault") as server:

        def brought(content, name):
            _, sent = server.request("POST", "/api/imports", content, {"X-File-Name": name})
            return server.ask("memory.import", upload=sent["upload"])

        assert brought(older, "Boats-abc.json")["new"] == 1
        _, marked = server.request("GET", "/chats/abc/export?as=json")
        told = [brought(older, "Boats-abc.json")]
        told += [brought(json.dumps(marked).encode(), name) for name in ("", "mine.json")]
        assert [account["unchanged"] for account in told] == [1, 1, 1]
        (row,) = server.ask("memory.list_chats")["chats"]
        assert row["id"] == "abc"


def test_a_chat_that_came_in_goes_on_here_and_its_versions_can_be_shown(tmp_path):
    (tmp_path / "vault").mkdir()
    with serving(tmp_path / "vault") as server:
        _, sent = server.request("POST", "/api/imports", SAMPLES["chatgpt"][1])
        server.ask("memory.import", upload=sent["upload"])
        (row,) = server.ask("memory.list_chats")["chats"]
        status, page = server.request("GET", f"/chats/{row['id']}")
        assert (status, "writes this chat" in str(page), "1 / 2" in str(page)) == (
            200,
            False,
            False,
        )
        print(page)


@pytest.mark.anyio
async def test_files_that_are_sent_while_one_is_read_take_nothing_from_it(tmp_path):
    (tmp_path / "vault").mkdir()
    async with composed(read_vault(tmp_path / "vault")) as parts:
        imports = Imports(make_host(parts))
        app = Starlette(routes=imports.routes())
        transport = httpx2.ASGITransport(app=asked_by(app))
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as page:

            async def sent(content=b"[]", name="chats.json"):
                headers = {"X-File-Name": name}
                answer = await page.post("/api/imports", content=content, headers=headers)
                return answer.json()["upload"]

            async with imports._reading[OWNER]:
                name, content = SAMPLES["claude"]
                upload = await sent(content, name)
                reading = asyncio.create_task(imports.import_chats(Caller(OWNER), upload))
                await asyncio.sleep(0)
                for _ in range(9):
                    await sent()
            assert (await reading)["new"] == 1
        await imports.close()
