import subprocess
import sys
from pathlib import Path
from types import MappingProxyType

import pytest

from smart_context.chat.messages import Arrived
from smart_context.storage.files.answers import (
    ANSWER_SUFFIX,
    FileAnswers,
    FileJournal,
)
from smart_context.storage.ports import AnswerClaimed
from tests.chat.made_documents import full_disk, put, said


@pytest.fixture
def path(tmp_path):
    return tmp_path / "chats" / f"c.{ANSWER_SUFFIX}"


def interrupted(path, *pieces):
    with FileJournal(path, "m1") as journal:
        for piece in pieces:
            journal.append(piece)


def recover(path):
    """What the next answer of the chat finds."""
    with FileJournal(path, "m2") as journal:
        return journal.claim()


def test_what_had_arrived_is_recovered(path):
    interrupted(path, "Hello", " ", "", "wörld\n", "\ud83d")
    assert recover(path)[:2] == ("m1", "Hello wörld\n\ud83d")


def test_pieces_before_a_step_belong_to_it(path):
    call = {"type": "tool_call", "state": "result", "tool_call_id": "c1", "result": "text"}
    with FileJournal(path, "m1") as journal:
        journal.append("Let me look.")
        journal.step([{"type": "text", "text": "Let me look."}])
        journal.step([MappingProxyType(call)])
        journal.append("It says")
    assert recover(path) == ("m1", "It says", ({"type": "text", "text": "Let me look."}, call))


def test_nothing_is_written_before_the_first_piece(path):
    journal = FileJournal(path, "m1")
    journal.append("")
    assert not path.parent.exists()
    journal.finish()


def test_a_finished_answer_leaves_nothing(path):
    journal = FileJournal(path, "m1")
    journal.append("Hello")
    journal.finish()
    journal.finish()
    journal.append("late")
    assert not path.exists()
    assert recover(path) is None


def test_each_piece_is_on_disk_as_soon_as_it_is_appended(path):
    journal = FileJournal(path, "m1")
    journal.append("one")
    journal.append("two")
    assert path.read_text().splitlines()[1:] == ['"one"', '"two"']
    journal.close()


def test_an_answer_that_is_being_written_is_not_interrupted(path):
    journal = FileJournal(path, "m1")
    journal.append("Hello")
    assert FileAnswers(path.parent).interrupted() == []
    with pytest.raises(AnswerClaimed):
        recover(path)
    journal.close()
    assert FileAnswers(path.parent).interrupted() == ["c"]
    assert recover(path)[:2] == ("m1", "Hello")


def test_what_was_left_stays_until_the_next_answer_begins(path):
    interrupted(path, "Hello")
    with FileJournal(path, "m2") as journal:
        assert journal.claim().text == "Hello"
    with FileJournal(path, "m2") as journal:
        journal.claim()
        journal.append("Hi")
    assert recover(path)[:2] == ("m2", "Hi")


def test_an_answer_of_which_nothing_arrived_leaves_no_file(path):
    journal = FileJournal(path, "m1")
    assert journal.claim() is None
    assert path.exists()
    journal.close()
    assert not path.exists()


@pytest.mark.parametrize(
    ("content", "found"),
    [
        pytest.param(b"", None, id="empty"),
        pytest.param(b'{"message_id": "m1"', None, id="cut in the first line"),
        pytest.param(b'{"message_id": "m1"}\n', ("m1", ""), id="nothing arrived"),
        pytest.param(b'{"message_id": "m1"}\n"a"\n"b', ("m1", "a"), id="cut in a piece"),
        pytest.param(b'{"message_id": "m1"}\n"a"\n\0\0\n"b"\n', ("m1", "a"), id="zeros"),
        pytest.param(b'{"message_id": 7}\n"a"\n', None, id="an id that is no text"),
        pytest.param(b'["m1"]\n"a"\n', None, id="a head that is no object"),
        pytest.param(b'{"message_id": "m1"}\n7\n"a"\n', ("m1", "a"), id="a piece that is no text"),
        pytest.param(
            b'{"message_id": "m1"}\n"a"\n{"steps": [{"type": "text"}, 7]}\n"b"\n{"steps": 7}\n',
            ("m1", "b", ({"type": "text"},)),
            id="steps, and some that are none",
        ),
        pytest.param(b"[" * 100_000 + b"\n", None, id="absurdly nested"),
        pytest.param(b"\xff\n", None, id="not UTF-8"),
    ],
)
def test_a_damaged_journal_gives_what_can_be_read(path, content, found):
    put(path, content)
    expected = found and Arrived(*found)
    assert recover(path) == expected


def test_interrupted_chats_are_those_with_a_journal(path):
    interrupted(path, "Hello")
    put(path.parent / "d.json", said("a"))
    put(path.parent / f"bad id.{ANSWER_SUFFIX}", b"")
    assert FileAnswers(path.parent).interrupted() == ["c"]


def test_a_folder_that_does_not_exist_has_no_interrupted_chats(tmp_path):
    assert FileAnswers(tmp_path / "none").interrupted() == []


def test_what_a_full_disk_refused_is_written_once_there_is_room(path, caplog):
    path.parent.mkdir()
    journal = FileJournal(path, "m1")
    journal.append("Hello")
    with full_disk(200):
        journal.append("x" * 1000)
        journal.append("y")
        before = path.read_bytes()
    journal.flush()
    journal.append("z")
    journal.close()
    assert before.splitlines()[1:] == [b'"Hello"']
    assert caplog.text.count("not journalled") == 1
    assert recover(path)[:2] == ("m1", f"Hello{'x' * 1000}yz")


def test_a_journal_is_not_written_through_a_link(path, tmp_path):
    victim = put(tmp_path / "victim", b"precious")
    path.parent.mkdir()
    path.symlink_to(victim)
    interrupted(path, "Hello")
    assert recover(path) is None
    assert victim.read_bytes() == b"precious"


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_killed_process_leaves_what_had_arrived(tmp_path):
    program = f"""
import sys
from smart_context.storage.files.answers import FileJournal
from pathlib import Path
journal = FileJournal(Path({str(tmp_path)!r}) / "c.{ANSWER_SUFFIX}", "m1")
for number in range(100):
    journal.append(f"{{number}} ")
print("there", flush=True)
sys.stdin.readline()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        process.stdout.readline()
        assert FileAnswers(tmp_path).interrupted() == []
        process.kill()
    assert FileAnswers(tmp_path).interrupted() == ["c"]
    assert recover(tmp_path / f"c.{ANSWER_SUFFIX}").text.split() == [str(n) for n in range(100)]
