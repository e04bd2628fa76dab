"""Placeholders take the place of ids, and nothing else."""

from smart_context.base.errors import CommandFailed
from smart_context.host.placeholders import Placeholders

MADE = Placeholders({"notes": "nobodys-1"})


def test_an_id_that_begins_like_anothers_stays():
    params = {"chat_ids": ["notes", "notes-2"], "folder": "notes"}
    put = MADE.put_into(params, ["chat_ids"])
    assert put == {"chat_ids": ["nobodys-1", "notes-2"], "folder": "notes"}


def test_a_result_names_the_id_that_was_asked_for():
    result = {"chat_id": "nobodys-1", "chats": {"nobodys-1": ["In nobodys-1"]}, "count": 1}
    asked = {"chat_id": "notes", "chats": {"notes": ["In notes"]}, "count": 1}
    assert MADE.take_out(result) == asked


def test_an_error_names_the_id_that_was_asked_for():
    error = CommandFailed("There is no chat 'nobodys-1'.", 7)
    MADE.take_out_of_error(error)
    assert error.args == ("There is no chat 'notes'.", 7)


def test_without_placeholders_nothing_is_copied():
    result = {"messages": []}
    assert Placeholders().take_out(result) is result
