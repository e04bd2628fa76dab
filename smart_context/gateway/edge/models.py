"""The models that clients may request, and the endpoint of each."""

from typing import Any

from starlette.responses import JSONResponse, Response

from smart_context.base.config import EndpointSettings, VaultConfig

EMBEDDED = "embedded/passages"


def endpoint_for(config: VaultConfig, model: str) -> EndpointSettings | None:
    """The endpoint of the category that names the model; else the chat model's."""
    named = (config.chat, config.fast, config.embedding)
    found = next((endpoint for endpoint in named if endpoint and endpoint.model == model), None)
    return found or config.chat


def known_models(config: VaultConfig) -> list[str]:
    """The models that the settings name; the embedded one if they name none."""
    named = (config.chat, config.fast, config.embedding)
    return [*dict.fromkeys(e.model for e in named if e)] or [EMBEDDED]


def models_view(names: list[str], created: int) -> Response:
    """A list of models."""
    return JSONResponse({"object": "list", "data": [_view(name, created) for name in names]})


def model_view(name: str, created: int) -> Response:
    """One model."""
    return JSONResponse(_view(name, created))


def _view(name: str, created: int) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": created, "owned_by": "smart-context"}
