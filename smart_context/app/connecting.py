"""Adds connections to a settings file and removes them, without changing the others."""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from smart_context.app.composition import read_vault
from smart_context.app.settings import Scope, change_settings, check_key, tables_of
from smart_context.base.config import CATEGORIES, EndpointSettings
from smart_context.base.config.addresses import AddressRefused, plain_address
from smart_context.base.config.endpoints import EMBEDDED
from smart_context.base.config.provider_keys import provider_keys
from smart_context.base.errors import CommandFailed
from smart_context.llm.connections import (
    all_connections,
    endpoint_of_choice,
    free_id,
    model_at,
    name_of,
)

_Table = Mapping[str, Any]


def connect(
    root: Path,
    endpoint: EndpointSettings,
    key: str = "",
    *,
    name: str = "",
    scope: Scope = "user",
    answers: bool = True,
) -> str:
    """Write a connection into one of the files; returns its id; blocks.

    A connection to the same address is changed. The endpoint that answered before stays a
    connection.

    Args:
        endpoint: The endpoint with the chosen model.
        key: The key to store; empty for none.
        answers: True if the model becomes the one that answers.

    Raises:
        CommandFailed: If `answers` is True without a model; nothing is changed.
        ConfigInvalid: If a value is invalid; nothing is written.
    """
    if answers and not endpoint.model:
        raise CommandFailed("Choose a model of this server first; nothing was changed.")
    if key:
        check_key(key)
    llm = _table(tables_of(root)[scope], "llm")
    known = _table(llm, "connections")
    in_use = {one.endpoint.base_url: one.id for one in all_connections(read_vault(root))}
    ids = in_use | {_address(_table(known, one)): one for one in [*known]}
    values: dict[str, Any] = {}
    for kept, model, variable in _answering(llm) if answers else ():
        if kept in in_use and kept != endpoint.base_url:
            values |= _written(in_use[kept], name_of(kept), kept, variable, model)
    called = name or name_of(endpoint.base_url)
    found = ids.get(endpoint.base_url) or free_id(called, {*known, *ids.values()})
    shown = name or _table(known, found).get("name") or called
    address, variable = endpoint.base_url, endpoint.api_key_env
    model = endpoint.model or _table(known, found).get("model", "")
    values |= _written(found, shown, address, variable, model)
    if answers:
        values["llm.categories.chat"] = {"connection": found, "model": endpoint.model}
    change_settings(root, values, scope, "")
    if key:
        provider_keys().put(endpoint.base_url, key.strip())
    return found


def disconnect(root: Path, connection: str) -> None:
    """Remove a connection and its uses from the files, and forget its key; blocks.

    Raises:
        CommandFailed: If no connection has that id.
    """
    every = {one.id: one for one in all_connections(read_vault(root))}
    if connection not in every:
        ids = ", ".join(every) or "none"
        raise CommandFailed(f"There is no connection {connection!r}; connected are: {ids}.")
    gone = every[connection].endpoint
    _take_out(root, connection, (gone.base_url, gone.api_key_env), tuple(tables_of(root)))


def _take_out(
    root: Path, connection: str, place: tuple[str, str], scopes: tuple[Scope, ...]
) -> None:
    """Remove a connection and the uses of its place from files; forget an unused key."""
    for scope in scopes:
        llm = _table(tables_of(root)[scope], "llm")
        if values := dict.fromkeys(_using(llm, connection, place)):
            change_settings(root, values, scope, "")
    left = (_addresses(_table(table, "llm")) for table in tables_of(root).values())
    if place[0] not in chain.from_iterable(left):
        provider_keys().forget(place[0])


def use_model(root: Path, model: str, category: str, scope: Scope = "user") -> None:
    """Write the model of a category into one of the files; blocks.

    Args:
        model: `CONNECTION/MODEL`, or a model of the endpoint that answers; `embedded` for none.

    Raises:
        CommandFailed: If no model is connected.
    """
    value: Any = model
    if model != EMBEDDED:
        config = read_vault(root)
        found = endpoint_of_choice(config, model)
        if found is None and config.chat is not None:
            found = model_at(config, config.chat, model)
        if found is None:
            raise CommandFailed("No model is connected yet. Connect one: smart-context models add")
        value = _category_value(tables_of(root)[scope], found)
    change_settings(root, {f"llm.categories.{category}": value}, scope, "")


def remove_model(root: Path, category: str) -> None:
    """Remove the model of a category from the user's file; blocks.

    Its connection goes with the last category that uses it.
    """
    llm = _table(tables_of(root)["user"], "llm")
    place = _place(llm, _table(llm, "categories").get(category))
    change_settings(root, {f"llm.categories.{category}": None}, "user", "")
    llm = _table(tables_of(root)["user"], "llm")
    left = {_place(llm, value) for value in _table(llm, "categories").values()}
    if place[0] and place not in left:
        _take_out(root, "", place, ("user",))


def _category_value(tables: _Table, endpoint: EndpointSettings) -> Any:
    """The value of a category in a file, to use this endpoint and model."""
    llm = _table(tables, "llm")
    known = _table(llm, "connections")
    place = endpoint.base_url, endpoint.api_key_env
    for one in known:
        if _place(llm, {"connection": one}) == place:
            return {"connection": one, "model": endpoint.model}
    if _own_place(llm) == place:
        return endpoint.model
    own = {"model": endpoint.model, "base_url": place[0]}
    return own | ({"api_key_env": place[1]} if place[1] else {})


def _answering(llm: _Table) -> Iterator[tuple[str, str, str]]:
    """Address, model and variable of the answering endpoint, unless the file lists it already."""
    value = _table(llm, "categories").get("chat")
    model = value.get("model") if isinstance(value, Mapping) else value
    address, env = _place(llm, value)
    known = _table(llm, "connections")
    if address and address not in {_address(_table(known, one)) for one in known}:
        yield address, str(model), env


def _addresses(llm: _Table) -> Iterator[str]:
    """The addresses in a file."""
    yield _address(llm)
    for name in ("connections", "categories"):
        tables = _table(llm, name)
        yield from (_address(_table(tables, one)) for one in tables)


def _using(llm: _Table, connection: str, place: tuple[str, str]) -> Iterator[str]:
    """The dotted names of a file's settings that concern a connection."""
    known = _table(llm, "connections")
    for one in known:
        if one == connection or _own_place(_table(known, one)) == place:
            yield f"llm.connections.{one}"
    categories = _table(llm, "categories")
    for category in CATEGORIES:
        value = categories.get(category)
        named = value.get("connection") if isinstance(value, Mapping) else None
        if named == connection or _place(llm, value) == place:
            yield f"llm.categories.{category}"
    if _own_place(llm) == place:
        yield from (f"llm.{name}" for name in ("base_url", "api_key_env") if name in llm)


def _place(llm: _Table, value: object) -> tuple[str, str]:
    """The address and the key's variable of a category's endpoint; both empty if it is embedded."""
    if value in (None, "embedded"):
        return "", ""
    own = value if isinstance(value, Mapping) else {}
    if "connection" in own:
        own = _table(_table(llm, "connections"), str(own["connection"]))
    address = _address(own) or _address(llm)
    inherits = address == _address(llm) and "api_key_env" not in own
    return address, str((llm if inherits else own).get("api_key_env", ""))


def _own_place(table: _Table) -> tuple[str, str]:
    """The address and the key's variable that are in a table itself."""
    return _address(table), str(table.get("api_key_env", ""))


def _written(found: str, name: str, base_url: str, env: str, model: str) -> dict[str, Any]:
    """The settings of a connection by dotted name."""
    values = {
        "name": name,
        "base_url": base_url,
        "api_key_env": env or None,
        "model": model or None,
    }
    return {f"llm.connections.{found}.{key}": value for key, value in values.items()}


def _table(table: _Table, name: str) -> _Table:
    found = table.get(name)
    return found if isinstance(found, Mapping) else {}


def _address(table: _Table) -> str:
    """The address in a table, normalised as in endpoints; empty if there is none."""
    try:
        return plain_address(str(table.get("base_url", ""))).rstrip("/")
    except AddressRefused:
        return ""
