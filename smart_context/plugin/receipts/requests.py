"""The bodies of a turn's requests as its receipt stores them, and as clients get them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.host.request.sent import LISTS, request_body
from smart_context.plugin.receipts.receipt import MAX_PROMPT_BYTES, Receipt

MAX_PARAMETERS_CHARACTERS = 256 * 1024
"""Larger parameters are not stored; the tools of a coding agent take 30,000 to 120,000."""


def list_name(body: JsonObject) -> str:
    """The field that holds the messages as a list; empty if there is none."""
    return next((name for name in LISTS if isinstance(body.get(name), list)), "")


def parameters_of(body: JsonObject) -> JsonObject:
    """All fields of a body but its list of messages; empty if too large to store."""
    parameters = {name: value for name, value in body.items() if name != list_name(body)}
    return parameters if len(json.dumps(parameters)) <= MAX_PARAMETERS_CHARACTERS else {}


def client_fields(newest: Receipt) -> JsonObject:
    """What another program is expected to send with its next messages: what it sent last.

    Instructions of responses are left out if our role or contexts were put into them.
    """
    if newest.kind != "turn" or not newest.client:
        return {}
    if newest.list_name == "messages":
        return dict(newest.parameters)
    shaped = newest.parts.get("role") or newest.parts.get("contexts")
    names = ("model", "tools", "text", *(() if shaped else ("instructions",)))
    return {name: newest.parameters[name] for name in names if name in newest.parameters}


def stored_rounds(bodies: Sequence[JsonObject]) -> tuple[JsonObject, ...]:
    """The requests of a turn before the last, each by how it differs from the last.

    `same` is the number of messages that both begin with; `messages` are the others. None if that
    is too much to store.
    """
    if len(bodies) < 2:  # noqa: PLR2004 - one request has no rounds
        return ()
    last, parameters = bodies[-1], parameters_of(bodies[-1])
    rounds: list[JsonObject] = []
    for body in bodies[:-1]:
        messages = body["messages"]
        pairs = enumerate(zip(messages, last["messages"], strict=False))
        shorter = min(len(messages), len(last["messages"]))
        same = next((place for place, (one, other) in pairs if one != other), shorter)
        stored: JsonObject = {"same": same, "messages": messages[same:]}
        if (own := parameters_of(body)) != parameters:
            stored["parameters"] = own
        rounds.append(stored)
    return tuple(rounds) if len(json.dumps(rounds)) <= MAX_PROMPT_BYTES else ()


def shown_body(receipt: Receipt, prompt: Sequence[JsonObject] | None) -> JsonObject | None:
    """The last request's whole body; `None` if it is not known any more."""
    if prompt is None or not receipt.parameters:
        return None
    return _body(receipt.parameters, prompt, receipt.list_name)


def shown_rounds(receipt: Receipt) -> list[JsonObject]:
    """The whole bodies of a turn's requests, the last one included; empty if it made one."""
    last = shown_body(receipt, receipt.prompt)
    if last is None or not receipt.rounds:
        return []
    return [*(_round(receipt, each) for each in receipt.rounds), last]


def _round(receipt: Receipt, stored: Mapping[str, Any]) -> JsonObject:
    messages = [*receipt.prompt[: stored["same"]], *stored["messages"]]
    parameters = stored.get("parameters", receipt.parameters)
    return _body(parameters, messages, receipt.list_name)


def _body(parameters: Mapping[str, Any], messages: Sequence[Any], name: str) -> JsonObject:
    return request_body(parameters, messages, name) if name else dict(parameters)
