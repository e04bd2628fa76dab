"""`[storage]`: the database of chats, and the service that carries events between processes."""

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
"""The beginning of a URL, up to a user or a host: the next part may be a password."""

_PORT = re.compile(r"(?::\d*)?(?:[/?,]|$)")
_NAMED_PASSWORD = re.compile(r"(password\s*=\s*)[^&\s]+", re.IGNORECASE)
_EVENTS, _EVENTS_EXAMPLE = ("redis", "rediss"), "redis://host:6379/0"


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """The storage of chats, and of all that belongs to them."""

    url: str = ""  # the database, `postgresql://…`; empty: the memory folder
    events: str = ""  # the service that carries events, `redis://…`; empty: the database

    @property
    def shown(self) -> str:
        """The addresses, without passwords."""
        return " ".join(without_password(url) for url in (self.url, self.events) if url)


IN_FILES = StorageSettings()


def read_storage(storage: Table) -> StorageSettings:
    """The settings in `[storage]`."""
    storage.allow(("url", "events"))
    return StorageSettings(
        url=_url(storage, "url", _DATABASES, _DATABASE_EXAMPLE),
        events=_url(storage, "events", _EVENTS, _EVENTS_EXAMPLE),
    )


def storage_in(environ: Mapping[str, str], otherwise: StorageSettings) -> StorageSettings:
    """The storage that the environment names; what it leaves out is taken from the settings.

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
    """The instruction for a missing driver of a database."""
    return f"PostgreSQL needs a driver that is not installed here. To add it: {how_to_add('team')}"


def without_password(url: str) -> str:
    """A URL without its password, even if it is mistyped."""
    head, sign, rest = url.rpartition("@")
    found = _USER.match(head if sign else url)
    assert found is not None  # noqa: S101 - it matches any text
    if sign:
        url = f"{found[0]}@{rest}" if ":" in head[found.end() :] else url
    elif not _PORT.match(url, found.end()):
        url = f"{found[0]}:…"
    return _NAMED_PASSWORD.sub(r"\1…", url)


def _can_be_split(url: str) -> bool:
    """True if the parts of a URL, such as its password, can be told apart."""
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
