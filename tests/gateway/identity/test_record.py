import asyncio

import pytest

from smart_context.gateway.identity.issued import ChatOpening, IssuedAnswers, answer_of, digest
from smart_context.gateway.identity.record import IssuedRecord
from smart_context.gateway.requests.units import chat_units
from smart_context.storage.files.logs import FileLogs
from tests.gateway.saying import assistant, user

pytestmark = pytest.mark.anyio

LONG = "The keeper lit the lamp at dusk and kept it burning until dawn."


async def no_text(_chat, _message):
    return ""


async def found(record):
    units = list(chat_units([user("q"), assistant(LONG)]))
    return await record.issued.chat_of(units, no_text)


async def test_answers_are_known_after_a_restart(tmp_path):
    record = IssuedRecord(FileLogs(tmp_path), "a")
    await record.add(answer_of(LONG, chat="one", message="m", response="resp_1"))
    await record.add(ChatOpening(chat="one", first=digest("q"), program="p", at=5.0))
    await record.see("one")
    again = IssuedRecord(FileLogs(tmp_path), "a")
    await again.refresh()
    assert await found(again) == "one"
    assert again.issued.by_response == {"resp_1": "one"}
    assert again.issued.retried(list(chat_units([user("q")])), "p", 6.0) is None


async def test_no_text_of_an_answer_is_kept(tmp_path):
    await IssuedRecord(FileLogs(tmp_path), "a").add(answer_of(LONG, chat="one", message="m"))
    assert "keeper" not in (tmp_path / "clients" / "a.jsonl").read_text(encoding="utf-8")


async def test_another_key_knows_nothing_of_them(tmp_path):
    await IssuedRecord(FileLogs(tmp_path), "a").add(answer_of(LONG, chat="one", message="m"))
    other = IssuedRecord(FileLogs(tmp_path), "b")
    await other.refresh()
    assert await found(other) is None


async def test_what_another_server_adds_is_taken_up(tmp_path):
    ours = IssuedRecord(FileLogs(tmp_path), "a")
    await ours.refresh()
    await IssuedRecord(FileLogs(tmp_path), "a").add(answer_of(LONG, chat="one", message="m"))
    await ours.refresh()
    assert await found(ours) == "one"


async def test_damaged_lines_are_passed_over(tmp_path):
    record = IssuedRecord(FileLogs(tmp_path), "a")
    await record.add(answer_of(LONG, chat="one", message="m"))
    path = tmp_path / "clients" / "a.jsonl"
    path.write_bytes(b'\xff\n{"a":1}\n[]\n' + path.read_bytes() + b'{"chat":"ha')
    again = IssuedRecord(FileLogs(tmp_path), "a")
    await again.refresh()
    assert await found(again) == "one"


async def test_requests_that_read_at_the_same_time_read_each_line_once(tmp_path):
    writer = IssuedRecord(FileLogs(tmp_path), "a")
    short = [answer_of(f"a{at}", chat="one", message=str(at)) for at in range(300)]
    await writer.add(*short)
    for _ in range(40):
        reader = IssuedRecord(FileLogs(tmp_path), "a")
        reader.issued = counted = _Counted()
        await asyncio.gather(*(reader.refresh() for _ in range(4)))
        assert counted.notes == len(short)


class _Counted(IssuedAnswers):
    notes = 0

    def note(self, row):
        self.notes += 1
        super().note(row)
