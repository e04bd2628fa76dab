"""Addresses of databases as they are shown."""

import pytest

from smart_context.base.config.storage import without_password


@pytest.mark.parametrize(
    "url",
    [
        *("postgresql://u@h/x", "postgresql://h:5432/x", "postgresql:///x", "redis://h:6379/0"),
        *("/home/a@b/notes", "notes", "postgresql://h1:1,h2:2/x?target_session_attrs=any", ""),
    ],
)
def test_an_address_without_a_password_is_shown_as_it_is(url):
    assert without_password(url) == url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:secret@h/x", "postgresql://u@h/x"),
        ("postgresql://u:secret@secret@h/x", "postgresql://u@h/x"),
        ("postgresql://u:secret/secret@h/x", "postgresql://u@h/x"),
        ("postgres:/u:secret@h/x", "postgres:/u@h/x"),
        ("postgresql//u:secret@h/x", "postgresql//u@h/x"),
        ("psotgresql://u:secret@h/x", "psotgresql@h/x"),
        ("u:secret@h/x", "u@h/x"),
        ("postgresql://u:secret/h/x", "postgresql://u:…"),
        ("postgresql://[u:secret@h/x", "postgresql://[u@h/x"),
        ("redis://:secret@h", "redis://@h"),
        ("postgresql://h/x?user=u&password=secret&a=b", "postgresql://h/x?user=u&password=…&a=b"),
    ],
)
def test_no_password_is_shown_however_an_address_was_mistyped(url, shown):
    assert without_password(url) == shown
