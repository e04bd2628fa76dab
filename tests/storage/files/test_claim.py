import os

import pytest

from smart_context.storage.files import claims
from smart_context.storage.files.claims import RESERVED_BYTES, claim_answer, is_claimed
from smart_context.storage.ports import AnswerClaimed
from tests.chat.made_documents import full_disk
from tests.small_disk import fill, small_disk


@pytest.fixture
def path(tmp_path):
    return tmp_path / "chats" / "c.answer.jsonl"


def test_one_at_a_time_has_the_claim(path):
    claim = claim_answer(path)
    assert is_claimed(path)
    with pytest.raises(AnswerClaimed):
        claim_answer(path)
    claim.release()
    assert not is_claimed(path)
    claim_answer(path).release()


def test_a_file_that_was_removed_meanwhile_gives_no_claim_to_its_waiter(path, monkeypatch):
    claim = claim_answer(path)
    claim.append(b"one")
    lock = claims.try_lock

    def lock_after_it_was_removed(descriptor):
        claim.remove()
        return lock(descriptor)

    monkeypatch.setattr(claims, "try_lock", lock_after_it_was_removed)
    second = claim_answer(path, patience_s=0.02)
    monkeypatch.undo()
    assert path.exists()
    assert is_claimed(path)
    second.release()


def test_what_a_disk_takes_in_part_is_taken_back(path):
    claim = claim_answer(path)
    claim.append(b"whole\n")
    with full_disk(100), pytest.raises(OSError, match="too large"):
        claim.append(b"x" * 1_000)
    assert claim.read() == b"whole\n"
    claim.append(b"more\n")
    assert claim.read() == b"whole\nmore\n"
    claim.release()


def test_a_file_with_content_stays_when_released_and_goes_when_removed(path):
    claim = claim_answer(path)
    claim.append(b"one")
    claim.release()
    assert path.read_bytes() == b"one"
    claim_answer(path).remove()
    assert not path.exists()


def test_a_claim_that_was_let_go_writes_nothing(path):
    claim = claim_answer(path)
    claim.release()
    with pytest.raises(OSError, match="no longer claimed"):
        claim.append(b"late")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_plain_file_is_no_journal(path, make):
    path.parent.mkdir()
    make(path)
    with pytest.raises(OSError, match="not a plain file"):
        claim_answer(path)


def test_room_that_is_taken_beforehand_is_there_on_a_full_disk(path):
    path.parent.mkdir()
    with small_disk(path.parent):
        claim = claim_answer(path)
        claim.reserve()
        filler = fill(path.parent)
        pieces = [b"%6d\n" % number for number in range(RESERVED_BYTES // 7 - 1)]
        for piece in pieces:
            claim.append(piece)
        with pytest.raises(OSError, match="No space left"):
            claim.append(b"x" * RESERVED_BYTES)
        assert claim.read() == b"".join(pieces)
        filler.unlink()
        claim.append(b"the rest\n")
        claim.release()
        assert path.read_bytes() == b"".join([*pieces, b"the rest\n"])


def test_a_journal_with_room_of_which_nothing_was_used_leaves_no_file(path):
    claim = claim_answer(path)
    claim.reserve()
    claim.release()
    assert not path.exists()
