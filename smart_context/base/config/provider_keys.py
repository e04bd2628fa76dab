"""The keys of providers that the user entered on the page or the command line.

They are kept in the system's key store where the package `keyring` finds one, else in a file of
mode 0600 in the user's configuration folder. Never in a vault. Everything here blocks.
"""

import importlib
import importlib.util
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from smart_context.base.disk.places import Place
from smart_context.base.disk.shared_file import SharedFile
from smart_context.base.environment import user_folder

FILE_NAME = "provider-keys.json"
SERVICE = "smart-context"
IN_SYSTEM = "the system's key store"
_STORED = ""
"""The entry in the file for a key that is in the system's key store."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    keys: Mapping[str, str] = field(default_factory=dict)


_RECORD = TypeAdapter(_Record)


class ProviderKeys:
    """Keys by the base URL of the endpoint that they are for; no other endpoint gets them.

    Args:
        folder: The user's configuration folder; made when a key is first stored.
        system: The system's key store, as `keyring` gives it; `None`: the file alone.
    """

    def __init__(self, folder: Path, system: Any = None) -> None:
        self._file = SharedFile(place=Place(folder, (FILE_NAME,)), adapter=_RECORD, empty=_Record())
        self._system = system

    def of(self, base_url: str) -> str | None:
        """The key of an endpoint; `None` if there is none, or it can't be read."""
        kept = self._file.read()[1].keys.get(base_url)
        if kept != _STORED or kept is None:
            return kept
        return self._from_system(base_url)

    def places(self) -> Mapping[str, str]:
        """The place of each endpoint's key, in words for people."""
        kept = self._file.read()[1].keys
        return {url: IN_SYSTEM if key == _STORED else str(self._file) for url, key in kept.items()}

    def put(self, base_url: str, key: str) -> None:
        """Store a key in place of the previous one; raises `StoreFailed` if it can't be written."""
        kept = _STORED if self._into_system(base_url, key) else key
        self._file.update(lambda known: replace(known, keys={**known.keys, base_url: kept}))

    def forget(self, base_url: str) -> None:
        """Forget a key, if there is one; raises `StoreFailed` if it can't be written."""
        if self._system is not None and self._file.read()[1].keys.get(base_url) == _STORED:
            try:
                self._system.delete_password(SERVICE, base_url)
            except Exception:  # noqa: BLE001 - of any backend; the key may be gone already
                _logger.warning("the system's key store did not forget the key of %s", base_url)
        self._file.update(
            lambda known: replace(
                known, keys={url: key for url, key in known.keys.items() if url != base_url}
            )
        )

    def _from_system(self, base_url: str) -> str | None:
        try:
            key: str | None = self._system.get_password(SERVICE, base_url) if self._system else None
        except Exception:  # noqa: BLE001 - a locked or broken store, of any backend
            _logger.warning("the system's key store did not give the key of %s", base_url)
            return None
        return key

    def _into_system(self, base_url: str, key: str) -> bool:
        if self._system is None:
            return False
        try:
            self._system.set_password(SERVICE, base_url, key)
        except Exception:  # noqa: BLE001 - a locked or broken store, of any backend
            _logger.warning("the system's key store took no key; it is kept in %s", self._file)
            return False
        return True


def provider_keys() -> ProviderKeys:
    """The keys of this user."""
    return ProviderKeys(user_folder(), _system_store())


def _system_store() -> Any:
    """The system's key store; `None` without `keyring`, or where it finds none."""
    if importlib.util.find_spec("keyring") is None:
        return None
    library: Any = importlib.import_module("keyring")
    try:
        backend = library.get_keyring()
        store = backend if backend.priority >= 1 else None
    except Exception:  # noqa: BLE001 - of any backend; the file serves as well
        return None
    return store
