"""`system.settings` and `system.change_settings`: every setting without an editor.

A setting has a dotted name, as in the file: `llm.base_url`, `plugins.smart_context.keep_pairs`.
Changes are written into the user's `config.toml`, or into the vault's `.vault.toml` if the user
says so; comments, order and unknown keys of the file stay.
"""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import tomlkit
from tomlkit.exceptions import ParseError, TOMLKitError

from smart_context.app.composition import read_vault, trust_of
from smart_context.app.following import Follower
from smart_context.base.config import (
    CATEGORIES,
    CONFIG_NAME,
    USER_CONFIG_NAME,
    SettingSpec,
    read_config,
    read_user_config,
    user_folder,
)
from smart_context.base.config.addresses import AddressRefused, plain_address
from smart_context.base.config.document import MAX_BYTES, TomlUnreadable, parse_toml
from smart_context.base.config.endpoints import CACHE_TTL_S
from smart_context.base.config.files import MOST_INSTRUCTIONS
from smart_context.base.config.provider_keys import provider_keys
from smart_context.base.disk.files import FileReplaced, read_file, replace_unless_changed
from smart_context.base.disk.places import Place, place_of
from smart_context.base.environment import environment
from smart_context.base.errors import CommandFailed, ConfigInvalid, Fault, InvalidParams, shortened
from smart_context.base.values import JsonObject
from smart_context.host.commands.registry import Caller, check_owner
from smart_context.host.host import Host
from smart_context.host.plugins.loader import declared_settings
from smart_context.llm.providers import PROVIDERS
from smart_context.vault.trust.written import parts_written, written_values

Scope = Literal["user", "vault"]

_MISSING = object()
_MOST_KEY_CHARS = 4_000
_MOST_CHANGED = 1 << 16
_LIMITED: tuple[tuple[str, Literal["number", "integer"], float | None, float, float, str], ...] = (
    (
        "timeout_s",
        "number",
        60.0,
        0.1,
        3_600,
        "How long the next words may take; the first, ten times as long.",
    ),
    ("max_retries", "integer", 2, 0, 10, "How often a failed request is sent again."),
    (
        *("context_window", "integer", None, 1_000, 100_000_000),
        "Tokens that the model takes at most, its answer included.",
    ),
    (
        *("cache_ttl_s", "number", CACHE_TTL_S, 0, 7 * 86_400),
        "How long the provider keeps what it has read, at a lower price.",
    ),
)
"""Settings of an endpoint: name, type, default, minimum, maximum and description."""

_text = partial(SettingSpec, type="string", default="")
_ENDPOINT = {
    "base_url": _text(
        description="A server that speaks the OpenAI API; its address mostly ends with /v1."
    ),
    "api_key_env": _text(description="The environment variable that holds the key."),
    **{
        name: SettingSpec(type=kind, default=default, minimum=least, maximum=most, description=told)
        for name, kind, default, least, most, told in _LIMITED
    },
    "images": SettingSpec(
        type="boolean", default=False, description="Attached images are sent to the model."
    ),
}
_PURPOSES = {
    "chat": "Answers your messages. Without one, the closest passages of your notes are shown.",
    "fast": "Finds topics and writes titles. Without one, this computer does; nothing is sent.",
    "embedding": "Compares messages with topics. Without one, this computer does; nothing is sent.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting."""

    spec: SettingSpec  # its type, default and limits
    group: str  # the part of the settings page that it belongs to
    scopes: tuple[Scope, ...] = ("user", "vault")  # the files that may set it
    is_object: bool = False  # True if it can also be a table, such as `llm.categories.chat`

    def row(self, name: str) -> JsonObject:
        """The setting as a row of the page's form."""
        spec = {**asdict(self.spec), "choices": list(self.spec.choices)}
        return {"name": name, "group": self.group, **spec, "scopes": list(self.scopes)}


_CONNECTIONS = "llm.connections."
_CONNECTION = Setting(spec=_text(description="A connection."), group="models", is_object=True)


def known_settings(
    plugin_settings: Mapping[str, Mapping[str, SettingSpec]],
) -> Mapping[str, Setting]:
    """All settings by their dotted names."""
    found = {f"llm.{name}": Setting(spec=spec, group="models") for name, spec in _ENDPOINT.items()}
    for category in CATEGORIES:
        spec = _text(description=_PURPOSES[category])
        found[f"llm.categories.{category}"] = Setting(spec=spec, group="models", is_object=True)
    found["vault.name"] = Setting(
        spec=_text(description="What this vault is called."),
        group="vault",
        scopes=("vault",),
    )
    found["chat.instructions"] = Setting(
        spec=_text(
            description=f"Told to the model in each chat; {MOST_INSTRUCTIONS:,} letters at most."
        ),
        group="context",
    )
    found["mcp.write"] = Setting(
        spec=SettingSpec(
            type="boolean",
            default=False,
            description="Agents that you connected may pick topics, pin and hide messages.",
        ),
        group="context",
    )
    for plugin, specs in plugin_settings.items():
        group = "context" if plugin == "smart_context" else "plugins"
        for name, spec in specs.items():
            if spec.is_retired:
                continue
            scopes: tuple[Scope, ...] = ("vault",) if name == "enabled" else ("user", "vault")
            found[f"plugins.{plugin}.{name}"] = Setting(spec=spec, group=group, scopes=scopes)
    return found


class SettingsCommands:
    """The page's commands about settings."""

    def __init__(self, host: Host, follower: Follower) -> None:
        self._host = host
        self._follower = follower

    def register(self) -> None:
        """Register the commands."""
        self._host.commands.register("system.settings", self.settings)
        self._host.commands.register("system.change_settings", self.change_settings)

    async def settings(self, caller: Caller) -> JsonObject:
        """Give all settings: values, where each comes from, and what each may be."""
        check_owner(caller.person)
        return await asyncio.to_thread(self._settings)

    async def change_settings(
        self,
        values: dict[str, Any],
        caller: Caller,
        scope: Literal["user", "vault"] = "user",
        revision: str = "",
    ) -> JsonObject:
        """Change settings; `null` removes a value from the file, even that of an unknown setting.

        `llm.connections.ID` and its fields can be changed, too, as by `system.connect`. A file with
        faults only accepts changes that fix some of them and add none.

        Args:
            values: By dotted name. `llm.api_key` is the key for the endpoint that `llm.base_url`
                then names; it goes to the key store, never into a settings file.
            scope: The file: `user`, for all vaults, or `vault`.
            revision: The revision of the settings that were read; if empty, any is accepted.
        """
        check_owner(caller.person)
        root = self._host.config.root
        try:
            await asyncio.to_thread(change_settings, root, values, scope, revision)
        except ConfigInvalid as error:
            raise InvalidParams("; ".join(map(str, shortened(error.faults)))) from error
        await self._follower.load_now()
        return await asyncio.to_thread(self._settings)

    def _settings(self) -> JsonObject:
        config = self._host.config
        # a database's address may hold a password
        folder = None if config.storage.url else str(config.memory_dir)
        return {**settings_of(config.root), "storage": {"folder": folder}}


def settings_of(root: Path) -> JsonObject:
    """All settings of the vault at `root`; blocks.

    Returns:
        `revision` of both files; `values` by dotted name; `sources` of each (`default`, `user`,
        `vault`); `schema`, a row for each setting; `files`, the path of each scope; `keys`, where
        the key of each endpoint is kept, without the keys; `providers` to choose from; `faults`
        of the files; while there are any, the previous settings stay in force.

    Raises:
        CommandFailed: If a file can't be read.
    """
    known = known_settings(declared_settings(root))
    texts = {scope: _read(place) for scope, place in _places(root).items()}
    tables = {scope: _parsed(place, texts[scope]) for scope, place in _places(root).items()}
    values: JsonObject = {}
    sources: dict[str, str] = {}
    for name, setting in known.items():
        values[name], sources[name] = setting.spec.default, "default"
        for scope in setting.scopes:
            found = _at(tables[scope], name)
            if found is not _MISSING:
                values[name], sources[name] = found, scope
    return {
        "revision": _revision(texts),
        "values": values,
        "sources": sources,
        "schema": [setting.row(name) for name, setting in known.items()],
        "files": {scope: str(place) for scope, place in _places(root).items()},
        "keys": _keys(values),
        "providers": known_providers(),
        "faults": [
            {"scope": scope, **asdict(fault)}
            for scope in texts
            for fault in shortened(_faults(root, scope, texts[scope]))
        ],
    }


def tables_of(root: Path) -> Mapping[Scope, Mapping[str, Any]]:
    """The top tables of both files; blocks.

    Raises:
        CommandFailed: If a file can't be read.
    """
    return {scope: _parsed(place, _read(place)) for scope, place in _places(root).items()}


def change_settings(root: Path, values: Mapping[str, Any], scope: Scope, revision: str) -> None:
    """Write settings into one of the files; blocks.

    The file keeps its other values, comments and order. Endpoints, instructions and permissions of
    agents that this change writes into a vault's file are trusted, but not those from before.

    Raises:
        CommandFailed: If the files have changed since `revision`.
        InvalidParams: If a name is unknown or not for that file.
        ConfigInvalid: If a value is invalid; nothing is written.
        StoreFailed: If the disk refuses.
    """
    values = dict(values)
    key = values.pop("llm.api_key", None)
    known = known_settings(declared_settings(root))
    place = _places(root)[scope]
    found = read_file(place, max_bytes=MAX_BYTES)
    texts = {name: _read(other) for name, other in _places(root).items()}
    _check_names(values, known, scope, _parsed(place, texts[scope]))
    if revision and revision != _revision(texts):
        raise CommandFailed(
            "The settings were changed elsewhere since you opened them. Load them again; "
            "nothing was saved."
        )
    text = _changed(place, texts[scope], values)
    _check(root, scope, texts[scope], text)
    keyed = None if key is None else _keyed_address(text, texts, scope, key)
    if text != texts[scope]:
        try:
            replace_unless_changed(place, text.encode(), found[0] if found else None)
        except FileReplaced as conflict:
            raise CommandFailed(
                "Another program changed your settings just now. Try again; nothing was saved."
            ) from conflict
    if keyed is not None:
        _store_key(keyed, key)
    if scope == "vault" and not _faults(root, scope, text):
        _trust_written(root, written_values(_parsed(place, texts[scope]), values))


def _keyed_address(text: str, texts: Mapping[Scope, str], scope: Scope, key: object) -> str:
    """The address of the endpoint in the changed settings, for which the key is.

    Raises:
        InvalidParams: If there is none, or the key is malformed.
    """
    check_key(key)
    base_url = _at(parse_toml(text).values, "llm.base_url")
    if base_url is _MISSING and scope == "vault":
        base_url = _at(parse_toml(texts["user"]).values, "llm.base_url")
    if not isinstance(base_url, str):
        raise InvalidParams("A key needs an endpoint: give llm.base_url, too.")
    return base_url


def check_key(key: object) -> None:
    """Refuse a malformed key of a provider; raises `InvalidParams`."""
    is_plain = isinstance(key, str) and key.strip().isascii() and key.strip().isprintable()
    if not is_plain or len(str(key)) > _MOST_KEY_CHARS:
        raise InvalidParams("A key is a text of plain letters, digits and marks, on one line.")


def _store_key(base_url: str, key: object) -> None:
    """Store a provider's key, or forget it if it is empty; blocks.

    Raises:
        InvalidParams: If the address can't be used.
    """
    try:
        address = plain_address(base_url).rstrip("/")
    except AddressRefused as refusal:
        raise InvalidParams(f"The address can't be used: {refusal}") from None
    if plain := str(key).strip():
        provider_keys().put(address, plain)
    else:
        provider_keys().forget(address)


def known_providers() -> list[JsonObject]:
    """The providers to choose from; `has_key` is True if the environment has a key for it."""
    known = environment()
    return [
        {**asdict(provider), "has_key": bool(known.get(provider.api_key_env))}
        for provider in PROVIDERS
    ]


def _check_names(
    values: Mapping[str, Any], known: Mapping[str, Setting], scope: Scope, table: Mapping[str, Any]
) -> None:
    for name, value in values.items():
        setting = known.get(name) or known.get(".".join(name.split(".")[:3]))
        if name.startswith(_CONNECTIONS):
            setting = _CONNECTION
        if setting is None and value is None and _at(table, name) is not _MISSING:
            continue  # an unknown setting can be removed
        if setting is None or (name not in known and not setting.is_object):
            raise InvalidParams(f"There is no setting {name!r}; system.settings lists all.")
        if scope not in setting.scopes:
            raise InvalidParams(f"{name} can't be set in that file; it belongs to the vault.")


def _changed(place: Place, text: str, values: Mapping[str, Any]) -> str:
    """The text of a settings file with changed values."""
    document = _document(place, text)
    for name, value in values.items():
        *tables, last = name.split(".")
        table: Any = document
        for part in tables:
            if not isinstance(table.get(part), Mapping):
                if value is None:
                    break
                table[part] = tomlkit.table(is_super_table=part != tables[-1])
            table = table[part]
        else:
            if value is None:
                table.pop(last, None)
            else:
                table[last] = _toml(value)
    return tomlkit.dumps(document)


def _toml(value: Any) -> Any:
    if isinstance(value, Mapping):
        table = tomlkit.inline_table()
        table.update({name: inner for name, inner in value.items() if inner is not None})
        return table
    try:
        return tomlkit.item(value)
    except (TOMLKitError, ValueError, TypeError) as error:
        raise InvalidParams(f"A settings file can't hold this value: {error}") from None


def _check(root: Path, scope: Scope, before: str, text: str) -> None:
    """Refuse a text with faults, unless it fixes some of the old ones and adds none.

    Raises:
        ConfigInvalid: With the added faults; if there are none, with the remaining ones.
    """
    left = _faults(root, scope, text)
    known = {(fault.key, fault.message) for fault in _faults(root, scope, before) if left}
    added = [fault for fault in left if (fault.key, fault.message) not in known]
    if added or (left and len(left) >= len(known)):
        raise ConfigInvalid(Path(str(_places(root)[scope])), added or left)


def _faults(root: Path, scope: str, text: str) -> Sequence[Fault]:
    declared = declared_settings(root)
    try:
        if scope == "user":
            read_user_config(user_folder(), declared, text=text)
        else:
            read_config(root, plugin_settings=declared, text=text)
    except ConfigInvalid as error:
        return error.faults
    return ()


def _trust_written(root: Path, written: Mapping[str, Any]) -> None:
    trust = trust_of(root)
    try:
        review = trust.review(read_vault(root))
    except ConfigInvalid:  # the user's own file has faults, so nothing is trusted
        return
    if made := parts_written(review, written):
        trust.trust(review, made)


def _places(root: Path) -> Mapping[Scope, Place]:
    """The files of settings, by scope; the user's may be a link."""
    own = (user_folder() / USER_CONFIG_NAME).resolve()
    return {"user": place_of(own), "vault": place_of(root / CONFIG_NAME)}


def _read(place: Place) -> str:
    found = read_file(place, max_bytes=MAX_BYTES)
    try:
        return "" if found is None else found[1].decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CommandFailed(f"{place.name} is not UTF-8. Save it in that encoding.") from None


def _document(place: Place, text: str) -> tomlkit.TOMLDocument:
    """The document of a settings file, with comments and order, to be changed."""
    if len(text) > _MOST_CHANGED:
        raise CommandFailed(
            f"The settings file {place.name} is longer than {_MOST_CHANGED:,} characters, too long "
            "to be changed here. Change it in an editor."
        )
    try:
        return tomlkit.parse(text)
    except (TOMLKitError, RecursionError, ValueError) as error:
        line = error.line if isinstance(error, ParseError) else None
        raise _unreadable(place, line) from error


def _parsed(place: Place, text: str) -> Mapping[str, Any]:
    try:
        return parse_toml(text).values
    except TomlUnreadable as error:
        raise _unreadable(place, error.fault.line) from error


def _unreadable(place: Place, line: int | None) -> CommandFailed:
    where = f" from line {line} on" if line else ""
    return CommandFailed(
        f"The settings file {place.name} can't be read{where}, so the earlier settings still "
        "apply. Correct it, then try again."
    )


def _at(table: object, name: str) -> Any:
    for part in name.split("."):
        if not isinstance(table, Mapping) or part not in table:
            return _MISSING
        table = table[part]
    return table


def _revision(texts: Mapping[Scope, str]) -> str:
    joined = "\0".join(texts[scope] for scope in sorted(texts))
    return hashlib.sha256(joined.encode()).hexdigest()[:16]


def _keys(values: Mapping[str, Any]) -> Mapping[str, str]:
    """The source of each endpoint's key: the key store, or a variable that is set."""
    places = dict(provider_keys().places())
    variable = values.get("llm.api_key_env")
    if isinstance(variable, str) and variable and environment().get(variable):
        places[str(values.get("llm.base_url"))] = variable
    return places
