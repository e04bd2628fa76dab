"""Logs are found among those of many chats."""

import pytest

from smart_context.storage.postgres.database import Database
from smart_context.storage.postgres.logs import _FOUND, _SINCE

FILL = (
    "INSERT INTO chat (id) SELECT 'c' || n FROM generate_series(1, 5000) AS n",
    "INSERT INTO log (chat, kind, name, added) SELECT number, '', 'receipts', 1 FROM chat",
    (
        "INSERT INTO log (chat, kind, name, added)"
        " SELECT NULL, 'clients', 'key' || n, 1 FROM generate_series(1, 5000) AS n"
    ),
    "INSERT INTO log_line (log, number, line) SELECT number, 1, 'x' FROM log",
    "ANALYZE",
)


@pytest.fixture
def database(url):
    found = Database(url)
    yield found
    found.close()


def rows(database, statement, asked):
    return database.run(lambda connection: connection.execute(statement, asked).fetchall())


@pytest.mark.parametrize("statement", [_FOUND, _SINCE], ids=["found", "since"])
def test_a_log_is_found_without_reading_those_of_other_chats(database, statement):
    def fill(connection):
        for each in FILL:
            connection.execute(each)

    database.run(fill)
    for asked in (
        {"chat": "c7", "kind": "", "name": "receipts", "place": 0},
        {"chat": None, "kind": "clients", "name": "key7", "place": 0},
    ):
        assert len(rows(database, statement, asked)) == 1
        plan = str(rows(database, f"EXPLAIN {statement}", asked))
        assert "Index" in plan
        assert "Seq Scan" not in plan
