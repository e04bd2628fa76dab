"""Describes the parts of a vault, for both the page and the command line.

All names come from the vault, so each is escaped to one harmless line.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from smart_context.base.config.addresses import displayed_address, host_warning, open_warning
from smart_context.base.results import TrustFilesResult, TrustPartResult, TrustResult, TrustState
from smart_context.base.text.names import shown
from smart_context.base.text.scores import counted
from smart_context.vault.trust.files import TEMPLATES_FOLDER
from smart_context.vault.trust.parts import Pin, Review, VaultPart, files_by_folder, parts_of

STATE_WORDS: Mapping[TrustState, str] = {
    "trusted": "trusted",
    "off": "not trusted yet",
    "changed": "changed since you trusted it",
    "partly": "asked for more than you trusted",
    "refused": "it can't be trusted",
}
"""The state of a part for people."""

_PURPOSES = {"chat": "answers", "fast": "topics", "embedding": "embeddings"}
_DOES = {
    "plugins": "Programs that run with your rights.",
    "roles": "They shape what the model is told.",
    "instructions": "They are told to the model in every chat.",
    "agents": "Programs that use MCP may set filters, pin and hide messages.",
    "storage": "Your chats are kept there, instead of in this folder, from the next start on.",
    "access": "It says who may open this vault on the server, and as whom.",
    "git": "Roles may ask git what has changed in this folder.",
}
_ONE_THING = {
    "git": (1, "git"),
    "instructions": (2, "instructions"),
    "agents": (2, "changes by agents"),
    "storage": (1, "this vault's database"),
    "access": (1, "who may open it"),
}
"""Parts that are one thing: 1 for a singular verb, 2 for a plural one, and the words."""
_TITLES = {
    "plugins": "Plugins",
    "roles": "Roles and templates",
    "instructions": "Instructions",
    "agents": "Changes by agents",
    "access": "Who may open this vault",
    "git": "git",
}


def review_view(review: Review, root: Path) -> TrustResult:
    """All parts of the vault with their states, as a JSON object."""
    return {
        "vault": _whole(str(root)),
        "digest": review.digest,
        "summary": summary(review),
        "parts": [_part_view(part, review) for part in review.parts],
    }


def summary(review: Review) -> str:
    """The parts in use that are off, in one sentence; empty if there are none."""
    things = [_endpoints(review), *(thing for part in review.missed for thing in _things(part))]
    things = [thing for thing in things if thing[0]]
    if not things:
        return ""
    verb = "is" if sum(count for count, _ in things) == 1 else "are"
    return f"Restricted: {_joined([words for _, words in things])} {verb} off until you trust it."


def in_words(part: TrustPartResult) -> str:
    """The warnings about a part of a view, and what the part does."""
    return " ".join((*part["warnings"], part["does"]))


def purposes(categories: Collection[str]) -> str:
    """The things that models of these categories are asked for, in words."""
    return _joined([words for category, words in _PURPOSES.items() if category in categories])


def _endpoints(review: Review) -> tuple[int, str]:
    """The endpoints that are off, counted and in words; with purposes if some are on."""
    count = sum(part.pin.kind == "endpoint" for part in review.missed)
    named = "this vault's endpoint" if count == 1 else f"{count} endpoints"
    wanted = {pin for part in review.parts if part.pin.kind == "endpoint" for pin in part.pins}
    off = wanted - review.grant.pins
    if off == wanted:
        return count, named
    return count, f"{named} for {purposes({pin.category for pin in off})}"


def _things(part: VaultPart) -> list[tuple[int, str]]:
    """The contents of a part other than an endpoint, counted and in words."""
    if thing := _ONE_THING.get(part.pin.kind):
        return [thing]
    if part.pin.kind == "plugins":
        return [_amount(len(part.used_for), "plugin")]
    if part.pin.kind == "roles":
        names = [*(part.files.files if part.files else ()), *part.refused]
        templates = sum(name.startswith(TEMPLATES_FOLDER) for name in names)
        return [_amount(len(names) - templates, "role"), _amount(templates, "template")]
    return []


def _part_view(part: VaultPart, review: Review) -> TrustPartResult:
    pin = part.pin
    view: TrustPartResult = {
        "id": part.id,
        "kind": pin.kind,
        "state": _state(part, review),
        "title": _title(pin),
        "warnings": [],
        "does": _does(part),
        "groups": [],
        "refused": [_whole(f"{pin.kind}/{name}") for name in part.refused],
    }
    if pin.kind == "endpoint":
        return _endpoint_view(view, part, review)
    if pin.kind == "plugins":
        grouped = files_by_folder(sorted(part.files.files if part.files else ()))
        return {**view, "groups": [_group(name, files, part) for name, files in grouped.items()]}
    if pin.kind == "roles":
        files = [_whole(f"roles/{name}") for name in sorted(part.files.files if part.files else ())]
        return {**view, "groups": [{"name": "", "is_on": True, "files": files}]}
    return view


def _title(pin: Pin) -> str:
    is_storage = pin.kind == "storage"
    return f"Database {_whole(pin.content)}" if is_storage else _TITLES.get(pin.kind, "")


def _does(part: VaultPart) -> str:
    does = _DOES.get(part.pin.kind, "")
    return f"{does} “{_whole(part.text)}”" if part.pin.kind == "instructions" else does


def _endpoint_view(view: TrustPartResult, part: VaultPart, review: Review) -> TrustPartResult:
    base_url = _whole(displayed_address(part.pin.content))
    variable = _whole(part.pin.api_key_env)
    address = part.pin.content
    named = f"{models} " if (models := _models(part)) else ""
    key = f" with the value of {variable}" if variable else ", without a key"
    return {
        **view,
        "title": f"Endpoint {base_url}",
        "warnings": list(filter(None, (host_warning(address), open_warning(address)))),
        "does": named
        + f"Your chats and notes are sent there for {purposes(part.used_for)}{key}."
        + _widened(part, review),
        "base_url": base_url,
        "api_key_env": variable,
        "used_for": list(part.used_for),
        "models": {category: _whole(model) for category, model in part.models},
    }


def _models(part: VaultPart) -> str:
    """The models that an endpoint is asked for, in a sentence; empty if none is known."""
    names = {_whole(model) for _, model in part.models}
    if len(names) < 2:  # noqa: PLR2004 - one model for all that the next sentence names
        return f"Model: {names.pop()}." if names else ""
    listed = [f"{_whole(model)} for {_PURPOSES[category]}" for category, model in part.models]
    return f"Models: {_joined(listed)}."


def _widened(part: VaultPart, review: Review) -> str:
    """A sentence about an endpoint that is trusted for other models than it is asked for."""
    granted = next((known for known in parts_of(review.grant.pins) if known.pin == part.pin), None)
    if granted is None or review.grant.covers(part):
        return ""
    new = purposes({*part.used_for}.difference(granted.used_for))
    return f" You trusted it for {purposes(granted.used_for)} only; {new} are new and off."


def _group(name: str, files: Sequence[str], part: VaultPart) -> TrustFilesResult:
    return {
        "name": _whole(name),
        "is_on": name in part.used_for,
        "files": [_whole(f"plugins/{file}") for file in files],
    }


def _state(part: VaultPart, review: Review) -> TrustState:
    if review.grant.covers(part):
        return "trusted"
    if part.refused:
        return "refused"
    if part.pins & review.grant.pins:
        return "partly"
    return "changed" if review.grant.was_for(part) else "off"


def _whole(name: object) -> str:
    """A name on one line, in full, because it is reviewed."""
    return shown(name, limit=None)


def _amount(count: int, word: str) -> tuple[int, str]:
    return count, counted(count, word)


def _joined(things: Sequence[str]) -> str:
    if len(things) < 2:  # noqa: PLR2004 - nothing to join
        return "".join(things)
    return f"{', '.join(things[:-1])} and {things[-1]}"
