"""Files of strangers are read in a child: what takes too much is named, and the others go on."""

import asyncio
import io
import json
import os
import sqlite3
import threading
import zipfile
from contextlib import closing

import pytest

from smart_context.base.processes.child import Child
from smart_context.importing import reading
from smart_context.importing.found import NotReadable
from smart_context.importing.reading import Assets, ImportReader
from smart_context.importing.taking_in import Importer
from tests.importing.samples import CHATGPT, SAMPLES
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio

ENDLESS = """
CREATE VIEW responses AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)
SELECT n AS id, n AS conversation_id, '' AS datetime_utc, 'a' AS prompt, 'b' AS response FROM r
"""
HUGE = """
CREATE TABLE responses (id, conversation_id, datetime_utc, system,
    prompt GENERATED ALWAYS AS (hex(zeroblob(300000000))) VIRTUAL, response);
CREATE TABLE conversations (id, name);
INSERT INTO responses VALUES ('a', 'b', '', '', 'c')
"""


def activity(day, html):
    """A question to Gemini and its answer, as Takeout has them."""
    return {
        "header": "Gemini Apps",
        "title": f"Prompted {day}",
        "time": f"2026-01-{day:02}T10:00:00Z",
        "safeHtmlItem": [{"html": html}],
    }


async def taken(*paths):
    return (await Importer(memory_storage()).run(paths)).row()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        pytest.param(ENDLESS, "no chats of a known program", id="a view without an end"),
        pytest.param(HUGE, "more than 384 MiB", id="a column of any length"),
    ],
)
async def test_a_database_that_computes_its_rows_is_refused_in_words(tmp_path, script, words):
    with closing(sqlite3.connect(tmp_path / "logs.db")) as made:
        made.executescript(script)
    (failed,) = (await taken(tmp_path / "logs.db"))["failed"]
    assert words in failed["error"]


async def test_a_conversation_that_takes_too_much_is_named_and_the_others_come_in(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(reading, "_STEP_S", 0.4)
    monkeypatch.setattr(reading, "_STEP_S_FOR_EACH_MIB", 0)
    rows = [activity(1, "<p>Short"), activity(2, "<b>a " * 300_000), activity(3, "<p>Short")]
    path = tmp_path / "activity.json"
    path.write_text(json.dumps(rows))
    account = await taken(path)
    assert account["new"] == 2
    (failed,) = account["failed"]
    assert failed["title"] == "Prompted 2"
    assert "it takes longer than 0.4 s" in failed["error"]


async def test_an_import_that_waits_for_the_processor_has_not_used_its_time(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "_WHOLE_S", 0.3)
    original = reading._served

    def served(*arguments):
        sum(range(5_000_000))  # others work meanwhile
        return original(*arguments)

    monkeypatch.setattr(reading, "_served", served)
    name, content = SAMPLES["claude"]
    path = tmp_path / name
    path.write_bytes(content)
    account = await taken(path)
    assert (account["new"], account["failed"]) == (1, [])


async def test_what_comes_before_an_entry_that_takes_too_much_to_parse_is_read(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(reading, "_STEP_S", 0.4)
    monkeypatch.setattr(reading, "_STEP_S_FOR_EACH_MIB", 0)
    path = tmp_path / "activity.json"
    path.write_text(json.dumps([activity(1, "<p>Short"), {"nested": [[]] * 3_000_000}]))
    account = await taken(path)
    assert account["new"] == 1
    assert "the rest was not read: it takes longer" in account["failed"][0]["error"]


async def test_a_small_archive_that_unpacks_to_much_is_refused(tmp_path):
    one, many = tmp_path / "one.zip", tmp_path / "many.zip"
    with zipfile.ZipFile(one, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b" " * (8 << 20) + b"]")
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", b"[" + b" " * 1_000_000 + b"]")
        entries = archive.filelist  # all of them share the same bytes
        entries += [entries[0]] * 20
    many.write_bytes(content.getvalue())
    account = await taken(one, many)
    assert [failed["file"] for failed in account["failed"]] == [str(one), str(many)]
    assert all("which no export needs" in failed["error"] for failed in account["failed"])


async def test_an_import_that_is_cancelled_ends_its_child(tmp_path, monkeypatch):
    started, running = threading.Event(), []

    def run(self, *arguments, **limits):
        running.append(self)
        started.set()
        return Child.run(self, *arguments, **limits)

    class Watched(Child):
        pass

    Watched.run = run
    monkeypatch.setattr(reading, "Child", Watched)
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([CHATGPT] * 2_000))
    importing = asyncio.create_task(taken(path))
    await asyncio.to_thread(started.wait)
    importing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await importing
    assert {child.pid for child in running} == {None}


def test_a_child_that_was_taken_over_gets_nothing_but_checked_values():
    for told in ({"id": 1}, {"id": "a", "role": "user", "parts": "no list"}):
        with pytest.raises((reading.ChildFailed, KeyError)):
            reading._made(reading.FoundMessage, told)


def test_a_device_is_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with ImportReader() as reader, pytest.raises(NotReadable, match="a device or a pipe"):
        reader.files_in(tmp_path / "pipe", "pipe")


def test_the_names_of_files_are_looked_through_only_so_often(monkeypatch):
    monkeypatch.setattr(reading, "_MOST_COMPARED", 10)
    assets = Assets(files={f"{number}-picture-{number}": number for number in range(10)})
    assert assets._known_as("picture-3") == "3-picture-3"
    assert assets._known_as("picture-4") == ""
    assert assets._known_as("4-picture") == "4-picture-4"
    assert assets._known_as("picture-3") == "3-picture-3"


async def test_many_files_are_read_by_one_child(tmp_path, monkeypatch):
    pids = set()
    original = Child.run

    def run(self, *arguments, **limits):
        answer = original(self, *arguments, **limits)
        pids.add(self.pid)
        return answer

    monkeypatch.setattr(Child, "run", run)
    name, content = SAMPLES["claude"]
    for number in range(4):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / name).write_bytes(content)
    account = await taken(*(tmp_path / str(number) / name for number in range(4)))
    assert (account["new"], account["unchanged"], len(pids)) == (1, 3, 1)
