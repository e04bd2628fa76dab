"""Kills imports at twenty places, lets each go on, and tells which ended with other chats.

    python -m tests.importing.killed FOLDER

A process of its own, since it forks: each import runs in a child, which dies at one of its calls
to the file system.
"""

import asyncio
import json
import os
import signal
import sys
import zipfile
from pathlib import Path

from smart_context.base.disk.places import place_of
from smart_context.base.values import OWNER
from smart_context.importing.taking_in import Importer
from smart_context.storage.files.storage import file_storage
from tests.importing.samples import CHATGPT, MAPPING

PLACES = 20
CHATS = 6
CALLS = {"open", "os.link", "os.mkdir", "os.remove", "os.rename"}


def archives(folder):
    """This month's export, and the next one, in which each chat goes on."""
    more = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["And now?"]}}
    first = {
        key: {**node, "message": {**node["message"], "create_time": 1767261600}}
        if node.get("message")
        else node
        for key, node in MAPPING.items()
    }
    longer = {**first, "e": {"parent": "d", "message": more}}
    paths = []
    for name, mapping, last in (("first", first, "d"), ("second", longer, "e")):
        chats = [
            {**CHATGPT, "conversation_id": f"g{number}", "mapping": mapping, "current_node": last}
            for number in range(CHATS)
        ]
        paths.append(folder / f"{name}.zip")
        with zipfile.ZipFile(paths[-1], "w") as archive:
            archive.writestr("conversations.json", json.dumps(chats))
            archive.writestr("file_abc-sail.txt", "The sail is red.")
    return paths


def imported(vault, paths, dies_at=0):
    """Import in a child, which dies at a call; the number of its calls, or 0 if it died.

    Chats are stored side by side, so two imports differ by some calls.
    """
    read, write = os.pipe()
    child = os.fork()
    if not child:
        calls = 0

        def hook(event, _):
            nonlocal calls
            if event in CALLS:
                calls += 1
                if calls == dies_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        account = asyncio.run(Importer(file_storage(place_of(vault)), None).run(paths))
        assert not account.failed, account.failed
        os.write(write, str(calls).encode())
        os._exit(0)
    os.close(write)
    _, status = os.waitpid(child, 0)
    with os.fdopen(read) as told:
        calls = int(told.read() or 0)
    assert calls or os.WIFSIGNALED(status), (status, dies_at)
    return calls


async def kept(vault):
    """All documents, by chat, and what each attached file holds."""
    storage = file_storage(place_of(vault))
    rows = await storage.chats.listing.rows(OWNER)
    documents = {row.id: await storage.chats.load(row.id) for row in rows}
    files = [
        await storage.blobs.read(file["storage_key"])
        for document in documents.values()
        for message in document["messages"]
        for file in message.get("files", ())
    ]
    return {"documents": documents, "files": files}


def main(folder):
    """Print how many imports were killed, and which ended with other chats."""
    paths = archives(folder)

    def fresh(name):
        vault = folder / name
        vault.mkdir()
        return vault

    whole = fresh("whole")
    calls = imported(whole, paths)
    expected = asyncio.run(kept(whole))
    assert len(expected["documents"]) == CHATS
    assert len(expected["files"]) == CHATS
    others = []
    places = [1 + calls * number // PLACES for number in range(PLACES)]
    for place in places:
        vault, at = fresh(f"killed-{place}"), place
        while finished_after := imported(vault, paths, dies_at=at):  # there were fewer this time
            vault, at = fresh(f"killed-{place}-{at}"), finished_after - 5
        imported(vault, paths)
        if asyncio.run(kept(vault)) != expected:
            others.append(place)
    print(json.dumps({"killed": len(places), "calls": calls, "others": others}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
