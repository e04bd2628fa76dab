"""The chat model of one chat, in place of the one of the settings.

A choice is kept in the chat's document under `model`: a category (`fast`), or a model of a
category's endpoint (`chat/gpt-4o`, `http://127.0.0.1:11434/v1/llama3`). It counts while a turn or a
command of that chat runs, and for nothing else.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from smart_context.base.config import EndpointSettings, VaultConfig
from smart_context.host.models import Models

MODEL = "model"
"""The key of a chat's own model in its document."""

MOST_CHARS = 1_000

_chosen: ContextVar[str] = ContextVar("chosen_model", default="")


class CurrentSettings:
    """The settings and models in use now; they change when the settings file does.

    While a chat's own model counts, it is the chat model of both.
    """

    def __init__(self, *, config: VaultConfig, models: Models) -> None:
        self._config = config
        self._models = models

    @property
    def config(self) -> VaultConfig:
        """The settings."""
        endpoint = self._own()
        return self._config if endpoint is None else replace(self._config, chat=endpoint)

    @config.setter
    def config(self, config: VaultConfig) -> None:
        self._config = config

    @property
    def default_config(self) -> VaultConfig:
        """The settings, whichever chat's own model counts."""
        return self._config

    @property
    def models(self) -> Models:
        """The models."""
        endpoint, known = self._own(), self._models
        if endpoint is None or known.other is None:
            return known
        return replace(known, chat=known.other(endpoint), chat_is_embedded=False)

    @models.setter
    def models(self, models: Models) -> None:
        self._models = models

    def _own(self) -> EndpointSettings | None:
        return endpoint_of_choice(self._config, _chosen.get())


def choice_in(document: Mapping[str, Any]) -> str:
    """The model that a chat's document names; empty for the default."""
    found = document.get(MODEL)
    return found if isinstance(found, str) and len(found) <= MOST_CHARS else ""


def endpoint_of_choice(config: VaultConfig, choice: str) -> EndpointSettings | None:
    """The endpoint and model of a choice; `None` for the default, or if the settings have none.

    Only endpoints that are in use can be chosen: what a vault brings must have been trusted.
    """
    known = {"chat": config.chat, "fast": config.fast}
    if choice in known:
        return known[choice]
    for name, endpoint in known.items():
        if endpoint is None:
            continue
        for prefix in (f"{name}/", f"{endpoint.base_url}/"):
            model = choice.removeprefix(prefix)
            if model and model != choice:
                same = model == endpoint.model
                # The window that was set is that of the endpoint's own model.
                return endpoint if same else replace(endpoint, model=model, context_window=None)
    return None


def choose(choice: str) -> None:
    """Let a choice count for the rest of this task, and for tasks that it starts."""
    _chosen.set(choice)


@contextmanager
def chosen(choice: str) -> Iterator[None]:
    """Let a choice count within a block."""
    token = _chosen.set(choice)
    try:
        yield
    finally:
        _chosen.reset(token)
