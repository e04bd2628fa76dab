"""Providers of models that speak the OpenAI API, servers for one's own machine, and windows."""

from collections.abc import Mapping
from dataclasses import dataclass

import tomli

from smart_context.base.resources import text_beside


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider."""

    name: str  # its name for people
    base_url: str  # the address of its OpenAI-compatible API
    # the environment variable that usually holds its key; empty if it takes none
    api_key_env: str = ""
    keys_url: str = ""  # the page where a user makes a key; empty if it takes none


_DATA = tomli.loads(text_beside(__file__, "providers.toml"))
_WINDOWS: Mapping[str, int] = _DATA["windows"]

PROVIDERS = tuple(Provider(**row) for row in _DATA["providers"])
"""Providers on the internet. Nothing is sent to one before the user chooses it."""

LOCAL_SERVERS = tuple(Provider(**row) for row in _DATA["local"])
"""Servers at their usual ports on this machine; looked for only after a click."""


def context_window(model: str | None) -> int | None:
    """The tokens of a request and its answer together; `None` if unknown.

    Args:
        model: The model's id, with or without a vendor prefix (`openai/gpt-4o`).
    """
    bare = (model or "").lower().rpartition("/")[2]
    matches = [family for family in _WINDOWS if bare.startswith(family)]
    return _WINDOWS[max(matches, key=len)] if matches else None
