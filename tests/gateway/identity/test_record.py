import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from smart_context.base.disk.places import Place
from smart_context.gateway.identity.issued import Issued, Opening, answer_of, digest
from smart_context.gateway.identity.record import IssuedRecord
from smart_context.gateway.requests.units import chat_units
from tests.gateway.saying import assistant, user

LONG = "The keeper lit the lamp at dusk and kept it burning until dawn."


async def no_text(_chat, _message):
    return ""


def found(record):
    units = list(chat_units([user("q"), assistant(LONG)]))
    return asyncio.run(record.issued.chat_of(units, no_text))


def test_answers_are_known_after_a_restart(tmp_path):
    record = IssuedRecord(Place(tmp_path), "a")
    record.add(answer_of(LONG, chat="one", message="m", response="resp_1"))
    record.add(Opening(chat="one", first=digest("q"), program="p", at=5.0))
    record.see("one")
    again = IssuedRecord(Place(tmp_path), "a")
    again.refresh()
    assert found(again) == "one"
    assert again.issued.by_response == {"resp_1": "one"}
    assert again.issued.retried(list(chat_units([user("q")])), "p", 6.0) is None


def test_no_text_of_an_answer_is_kept(tmp_path):
    IssuedRecord(Place(tmp_path), "a").add(answer_of(LONG, chat="one", message="m"))
    assert "keeper" not in (tmp_path / "clients" / "a.jsonl").read_text(encoding="utf-8")


def test_another_key_knows_nothing_of_them(tmp_path):
    IssuedRecord(Place(tmp_path), "a").add(answer_of(LONG, chat="one", message="m"))
    other = IssuedRecord(Place(tmp_path), "b")
    other.refresh()
    assert found(other) is None


def test_what_another_server_adds_is_taken_up(tmp_path):
    ours = IssuedRecord(Place(tmp_path), "a")
    ours.refresh()
    IssuedRecord(Place(tmp_path), "a").add(answer_of(LONG, chat="one", message="m"))
    ours.refresh()
    assert found(ours) == "one"


def test_damaged_lines_are_passed_over(tmp_path):
    record = IssuedRecord(Place(tmp_path), "a")
    record.add(answer_of(LONG, chat="one", message="m"))
    path = tmp_path / "clients" / "a.jsonl"
    path.write_bytes(b'\xff\n{"a":1}\n[]\n' + path.read_bytes() + b'{"chat":"ha')
    again = IssuedRecord(Place(tmp_path), "a")
    again.refresh()
    assert found(again) == "one"


def test_requests_that_read_at_the_same_time_read_each_line_once(tmp_path):
    writer = IssuedRecord(Place(tmp_path), "a")
    short = [answer_of(f"a{at}", chat="one", message=str(at)) for at in range(300)]
    writer.add(*short)
    rounds, threads = 40, 4
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(rounds):
            reader = IssuedRecord(Place(tmp_path), "a")
            counted, together = _Counted(), Barrier(threads)
            reader.issued = counted
            reading = [pool.submit(_refreshed, reader, together) for _ in range(threads)]
            assert [read.result() for read in reading] == [None] * threads
            assert counted.notes == len(short)


class _Counted(Issued):
    notes = 0

    def note(self, row):
        self.notes += 1
        super().note(row)


def _refreshed(reader, together):
    together.wait()
    reader.refresh()
