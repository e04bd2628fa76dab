"""Vectors of the embedded model, as the API has them."""

import base64
from typing import Any

from starlette.responses import JSONResponse, Response

from smart_context.gateway.edge.errors import GatewayError
from smart_context.gateway.requests.body import Body
from smart_context.llm.models import Embedder
from smart_context.llm.tokens import count_tokens

MAX_TEXTS = 2048
_FORMATS = ("float", "base64")


async def embedded_vectors(body: Body, embedder: Embedder) -> Response:
    """The answer to a request for embeddings.

    Raises:
        GatewayError: If the input is not text, or the format is not known.
    """
    texts = _texts(body.get("input"))
    encoding = body.get("encoding_format") or "float"
    if encoding not in _FORMATS:
        raise GatewayError(
            400, f"encoding_format: expected one of {_FORMATS}.", param="encoding_format"
        )
    vectors = await embedder.embed(texts)
    rows = [
        {
            "object": "embedding",
            "index": index,
            "embedding": base64.b64encode(row.astype("<f4").tobytes()).decode()
            if encoding == "base64"
            else row.tolist(),
        }
        for index, row in enumerate(vectors)
    ]
    tokens = sum(count_tokens(text) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    answer = {"object": "list", "data": rows, "model": embedder.name, "usage": usage}
    return JSONResponse(answer)


def _texts(given: Any) -> list[str]:
    if isinstance(given, str):
        return [given]
    if not isinstance(given, list) or not given:
        raise _refused("expected a text or a list of texts")
    if any(isinstance(entry, int | list) for entry in given):
        raise _refused("lists of tokens are not possible with the embedded model; send texts")
    if not all(isinstance(entry, str) for entry in given):
        raise _refused("expected a text or a list of texts")
    if len(given) > MAX_TEXTS:
        raise _refused(f"at most {MAX_TEXTS} texts at a time")
    return given


def _refused(reason: str) -> GatewayError:
    return GatewayError(400, f"input: {reason}.", param="input")
