import psycopg
import pytest

from smart_context.chat.messages import Arrived
from smart_context.storage.ports import AnswerClaimed
from tests.postgres_server import PostgresServer

WITHOUT_GRACE = """
CREATE OR REPLACE FUNCTION is_over(lease timestamptz) RETURNS boolean
    LANGUAGE sql VOLATILE RETURN lease < clock_timestamp()
"""


def execute(url, statement):
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else cursor.rowcount


def test_a_lease_lasts_twenty_seconds_and_is_then_taken_by_another(url, opened):
    one, other = opened(), opened()
    journal = one.answers.journal("c", "m")
    journal.claim()
    journal.append("half")
    journal.flush()
    ((left_s,),) = execute(
        url, "SELECT extract(epoch FROM held_until - clock_timestamp())::float FROM answer"
    )
    assert 15 < left_s <= 20
    assert list(other.answers.interrupted()) == []
    execute(url, WITHOUT_GRACE)  # the server of the tests may be younger than a lease
    execute(url, "UPDATE answer SET held_until = clock_timestamp() - interval '1 ms'")
    assert list(other.answers.interrupted()) == ["c"]
    taken = other.answers.take_over("c")
    assert taken.arrived == Arrived("m", "half")
    journal.append(" and more")
    journal.flush()
    assert journal.problem
    taken.remove()
    assert execute(url, "SELECT * FROM answer") == []


def test_after_a_restart_of_the_database_a_lease_can_still_be_renewed(tmp_path, opened):
    server = PostgresServer()
    server.make()
    server.start()
    try:
        storage, other = opened(server.url()), opened(server.url())
        journal = storage.answers.journal("c", "m")
        journal.claim()
        execute(server.url(), "UPDATE answer SET held_until = now() - interval '1 hour'")
        assert list(other.answers.interrupted()) == []
        with pytest.raises(AnswerClaimed):
            other.answers.journal("c", "n").claim()
    finally:
        server.stop()


SLOW = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM pg_sleep(0.3); RETURN NEW;
END $$;
CREATE TRIGGER slow BEFORE UPDATE ON answer FOR EACH ROW
    WHEN (octet_length(NEW.journal) > octet_length(OLD.journal)) EXECUTE FUNCTION slow();
"""
"""Each write of what has arrived takes its time, as on a busy server."""


def test_whoever_asks_again_waits_for_no_other_answers(url, opened):
    storage, other = opened(), opened()
    journals = [storage.answers.journal(f"c{n}", "m") for n in range(25)]
    for journal in journals:
        journal.claim()
    execute(url, SLOW)
    for journal in journals:
        journal.append("a piece")
    journals[0].finish()
    assert other.answers.journal("c0", "n").claim() is None


def test_what_arrives_is_written_within_seconds_without_being_asked_for(url, opened):
    storage = opened()
    journal = storage.answers.journal("c", "m")
    journal.claim()
    journal.append("half")
    with psycopg.connect(url, autocommit=True) as connection:
        while not connection.execute("SELECT FROM answer WHERE journal <> ''").rowcount:
            connection.execute("SELECT pg_sleep(0.05)")
    assert journal.problem == ""
