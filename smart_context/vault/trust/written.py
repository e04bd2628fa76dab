"""The parts that the user wrote into a vault's settings, which need no review. Pure.

Only values that this change writes count, never parts that were off before: a file with faults has
no parts until the faults are fixed, and must not be trusted because they are.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from smart_context.base.config.addresses import AddressRefused, plain_address
from smart_context.vault.trust.parts import AGENTS_PIN, Review, VaultPart, instructions_pin


def written_values(before: Mapping[str, Any], values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of a change that the file did not hold before.

    Args:
        before: The file's tables before the change.
        values: By dotted name; `None` for a removed value.

    Returns:
        By dotted name, with each value of a table under a name of its own.
    """
    written: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            inner = {f"{name}.{key}": one for key, one in value.items()}
            written.update(written_values(before, inner))
        elif value is not None and value != _at(before, name):
            written[name] = value
    return written


def parts_written(review: Review, written: Mapping[str, Any]) -> tuple[VaultPart, ...]:
    """The parts that are off and hold only written values and values that were trusted before."""
    found = (
        _endpoint(part, review, written)
        if part.pin.kind == "endpoint"
        else _instructions_or_agents(part, written)
        for part in review.restricted
    )
    return tuple(part for part in found if part is not None)


def _instructions_or_agents(part: VaultPart, written: Mapping[str, Any]) -> VaultPart | None:
    told = written.get("chat.instructions")
    if isinstance(told, str) and part.pin == instructions_pin(told.strip()):
        return part
    return part if part.pin == AGENTS_PIN and written.get("mcp.write") is True else None


def _endpoint(part: VaultPart, review: Review, written: Mapping[str, Any]) -> VaultPart | None:
    """The endpoint, for the written models; `None` if its address or key came with the vault."""
    trusted = [pin for pin in review.grant.pins if pin.kind == "endpoint"]
    variables = {"", *(pin.api_key_env for pin in trusted), *_last(written, "api_key_env")}
    categories = {pin.category for pin in trusted}
    categories.update(name.split(".")[2] for name in written if name.startswith("llm.categories."))
    if any(name.startswith("llm.connections.") for name in written):
        categories.add("chat")
    chosen = tuple(category for category in part.used_for if category in categories)
    is_written = part.pin.content in map(_plain, _last(written, "base_url"))
    if is_written and part.pin.api_key_env in variables and chosen:
        return replace(part, used_for=chosen)
    return None


def _last(written: Mapping[str, Any], last: str) -> list[str]:
    """The written values of this name in any table."""
    return [str(value) for name, value in written.items() if name.rpartition(".")[2] == last]


def _plain(address: str) -> str:
    try:
        return plain_address(address).rstrip("/")
    except AddressRefused:
        return ""


def _at(table: object, name: str) -> Any:
    for part in name.split("."):
        table = table.get(part) if isinstance(table, Mapping) else None
    return table
