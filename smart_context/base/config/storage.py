"""`[storage]`: where chats are kept, and how processes tell each other of events."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from smart_context.base.config.document import Table, settings_in
from smart_context.base.environment import environment, user_folder
from smart_context.base.errors import ConfigInvalid, Fault
from smart_context.base.installed import how_to_add

STORAGE_VARIABLE = "SMART_CONTEXT_STORAGE"
EVENTS_VARIABLE = "SMART_CONTEXT_EVENTS"

_DATABASES, _DATABASE_EXAMPLE = ("postgresql", "postgres"), "postgresql://user@host/name"
_USER = re.compile(r"(?:(?:postgres(?:ql)?|rediss?|mysql):?/*)?[^:/?@]*", re.IGNORECASE)
"""The beginning of a URL, up to a user or a host: what comes next may be a password."""

_PORT = re.compile(r"(?::\d*)?(?:[/?,]|$)")
_NAMED_PASSWORD = re.compile(r"(password\s*=\s*)[^&\s]+", re.IGNORECASE)
_EVENTS, _EVENTS_EXAMPLE = ("redis", "rediss"), "redis://host:6379/0"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """Where chats, and all that stands beside them, are kept."""

    url: str = ""  # the database, `postgresql://…`; empty: the memory folder
    events: str = ""  # what carries events between processes, `redis://…`; empty: the database

    @property
    def shown(self) -> str:
        """What is named, without passwords."""
        return " ".join(without_password(url) for url in (self.url, self.events) if url)


IN_FILES = StorageSettings()


def read_storage(storage: Table) -> StorageSettings:
    """What `[storage]` says."""
    storage.allow(("url", "events"))
    return StorageSettings(
        url=_url(storage, "url", _DATABASES, _DATABASE_EXAMPLE),
        events=_url(storage, "events", _EVENTS, _EVENTS_EXAMPLE),
    )


def storage_in(environ: Mapping[str, str], otherwise: StorageSettings) -> StorageSettings:
    """What the environment says, which wins, or the settings.

    Raises:
        ConfigInvalid: A variable holds no address of its kind.
    """
    faults = []

    def named(variable: str, schemes: tuple[str, ...], example: str) -> str:
        url = environ.get(variable, "").strip()
        if url and not _is_of(url, schemes):
            message = f"expected an address such as {example!r}, found {without_password(url)!r}"
            faults.append(Fault(key=variable, message=message))
        return url

    url = named(STORAGE_VARIABLE, _DATABASES, _DATABASE_EXAMPLE)
    events = named(EVENTS_VARIABLE, _EVENTS, _EVENTS_EXAMPLE)
    if faults:
        raise ConfigInvalid(Path("the environment"), faults)
    return StorageSettings(url=url or otherwise.url, events=events or otherwise.events)


def may_name_storage(root: Path) -> bool:
    """False if the chats of the vault at `root` are certainly kept in its memory folder.

    Raises:
        ConfigInvalid: If a settings file can't be read.
    """
    if environment().get(STORAGE_VARIABLE):
        return True
    own = user_folder() / "config.toml"
    return any(_has_storage(path) for path in (root / ".vault.toml", own))


def _has_storage(path: Path) -> bool:
    with settings_in(path, may_be_link=True) as top:
        return "storage" in top


def is_database(url: str) -> bool:
    """True for the URL of a database that chats can be kept in."""
    return _is_of(url, _DATABASES)


def _is_of(url: str, schemes: tuple[str, ...]) -> bool:
    return url.partition("://")[0] in schemes


def no_driver() -> str:
    """What to do where the driver of a database is missing."""
    return f"PostgreSQL needs a driver that is not installed here. To add it: {how_to_add('team')}"


def without_password(url: str) -> str:
    """A URL as it can be shown, however it was mistyped."""
    head, sign, rest = url.rpartition("@")
    found = _USER.match(head if sign else url)
    assert found is not None  # noqa: S101 - it matches any text
    if sign:
        url = f"{found[0]}@{rest}" if ":" in head[found.end() :] else url
    elif not _PORT.match(url, found.end()):
        url = f"{found[0]}:…"
    return _NAMED_PASSWORD.sub(r"\1…", url)


def _can_be_split(url: str) -> bool:
    """False for a URL whose parts, a password among them, nobody can tell."""
    try:
        return bool(urlsplit(url).scheme)
    except ValueError:
        return False


def _url(storage: Table, name: str, schemes: tuple[str, ...], example: str) -> str:
    url = storage.text(name) if name in storage else ""
    if url and not (_is_of(url, schemes) and _can_be_split(url)):
        storage.fault(name, f"expected an address such as {example!r}")
        return ""
    return url
