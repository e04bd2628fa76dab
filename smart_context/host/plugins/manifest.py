"""Reads `plugin.toml`, a plugin's manifest."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast, get_args

from smart_context.base.config.document import (
    FaultCollector,
    Table,
    TomlUnreadable,
    found,
    number_fault,
    read_toml,
)
from smart_context.base.config.settings import SettingSpec, SettingType
from smart_context.base.errors import Fault, ManifestInvalid

MANIFEST_NAME = "plugin.toml"
RESERVED_IDS = frozenset({"chat", "memory", "pipeline", "system", "ui"})
POSITIONS = ("right", "left", "bottom")

_ID = re.compile(r"[a-z][a-z0-9_]{0,63}")
_VERSION_FORM = "one to three numbers, such as '0.1.0'"
_VERSION = re.compile(r"\d{1,6}(\.\d{1,6}){0,2}")
_EVENT = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")
_ENTRY = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
_KEYS = ("id", "name", "version", "min_host_version", "description", "entry", "subscribes")
_TABLES = ("commands", "panel", "settings")
_SETTING_KEYS = ("type", "default", "minimum", "maximum", "choices", "description", "retired")


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelSpec:
    """The position and title of a plugin's panel."""

    title: str
    icon: str
    position: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A plugin's manifest."""

    id: str  # the id of the plugin, in the names of its commands and its settings table
    name: str  # the name that users read
    version: str  # one to three numbers
    min_host_version: str  # the oldest host that it runs on
    description: str  # one sentence
    module: str  # the module to import; in a vault, below the plugin's folder
    class_name: str  # the class in it
    subscribes: tuple[str, ...] | None  # the events it may subscribe to; `None`: any
    commands: tuple[str, ...]  # its commands, each `<id>.verb`
    panel: PanelSpec | None  # its panel, if it has one
    settings: Mapping[str, SettingSpec]  # the settings for the user


def read_manifest(path: Path, *, expected_id: str | None = None) -> Manifest:
    """The manifest in a file.

    Args:
        expected_id: The name of the plugin's folder, if the id must equal it.

    Raises:
        ManifestInvalid: With every fault and its line.
    """
    try:
        document = read_toml(path, may_be_link=expected_id is None)
    except FileNotFoundError as error:
        raise ManifestInvalid(path, [Fault(message="there is no such file")]) from error
    except TomlUnreadable as error:
        raise ManifestInvalid(path, [error.fault]) from error
    faults = FaultCollector(document.lines)
    manifest = _read(Table(document.values, (), faults), expected_id)
    if listed := faults.listed():
        raise ManifestInvalid(path, listed)
    return manifest


def version_numbers(version: str) -> tuple[int, int, int]:
    """The numbers of a version, for comparison; missing ones are 0."""
    numbers = [int(number) for number in version.split(".")]
    major, minor, patch = [*numbers, 0, 0][:3]
    return major, minor, patch


def _read(top: Table, expected_id: str | None) -> Manifest:
    top.allow((*_KEYS, *_TABLES))
    plugin_id = _text(top, "id", _ID, "lower-case letters, digits and _, a letter first")
    if plugin_id in RESERVED_IDS:
        top.fault("id", f"{plugin_id!r} belongs to the host; choose another")
    elif plugin_id and expected_id not in {None, plugin_id}:
        top.fault("id", f"expected the folder's name {expected_id!r}, found {found(plugin_id)}")
    module, _, class_name = _text(top, "entry", _ENTRY, "'module:Class'").partition(":")
    commands = _names(top, "commands", re.compile(rf"{re.escape(plugin_id)}\.[a-z][a-z0-9_]*"))
    return Manifest(
        id=plugin_id,
        name=_text(top, "name"),
        version=_text(top, "version", _VERSION, _VERSION_FORM),
        min_host_version=_text(top, "min_host_version", _VERSION, _VERSION_FORM, default="0.0.0"),
        description=top.text("description"),
        module=module,
        class_name=class_name,
        subscribes=_names(top, "subscribes", _EVENT) if "subscribes" in top else None,
        commands=commands,
        panel=_panel(top.table("panel")) if "panel" in top else None,
        settings=_settings(top.table("settings")),
    )


def _text(
    table: Table,
    name: str,
    form: re.Pattern[str] | None = None,
    wanted: str = "a string",
    *,
    default: str | None = None,
) -> str:
    """A string of this form; another form is a fault, and so is a missing one without default."""
    if name not in table:
        if default is None:
            table.fault(name, f"missing; expected {wanted}")
        return default or ""
    text = table.text(name)
    if text and form and not form.fullmatch(text):
        table.fault(name, f"expected {wanted}, found {found(text)}")
        return ""
    return text


def _names(table: Table, name: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
    listed = table.values.get(name, [])
    if not isinstance(listed, list):
        table.fault(name, f"expected an array of names, found {found(listed)}")
        return ()
    for entry in listed:
        if not isinstance(entry, str) or not pattern.fullmatch(entry):
            shape = "'<id>.verb'" if name == "commands" else "an event such as 'pipeline.output'"
            table.fault(name, f"expected {shape}, found {found(entry)}")
    return tuple(entry for entry in listed if isinstance(entry, str))


def _panel(table: Table) -> PanelSpec:
    table.allow(("title", "icon", "position"))
    position = table.text("position", POSITIONS[0])
    if position not in POSITIONS:
        table.fault("position", f"expected one of {', '.join(POSITIONS)}, found {found(position)}")
    return PanelSpec(
        title=_text(table, "title"), icon=table.text("icon", "puzzle"), position=position
    )


def _settings(settings: Table) -> Mapping[str, SettingSpec]:
    if "enabled" in settings:
        settings.fault("enabled", "every plugin has this setting, so it can't be declared")
    return {name: _setting(settings.table(name)) for name in settings.values}


def _setting(table: Table) -> SettingSpec:
    table.allow(_SETTING_KEYS)
    if table.boolean("retired", default=False):
        return SettingSpec(type="string", default="", is_retired=True)
    kind = _text(table, "type")
    if kind and kind not in get_args(SettingType):
        kinds = ", ".join(get_args(SettingType))
        table.fault("type", f"expected one of {kinds}, found {found(kind)}")
        kind = ""
    limits = {name: _limit(table, name) for name in ("minimum", "maximum")}
    choices = table.values.get("choices", [])
    if not isinstance(choices, list):
        table.fault("choices", f"expected an array, found {found(choices)}")
        choices = []
    spec = SettingSpec(
        type=cast("SettingType", kind or "string"),
        default=table.values.get("default"),
        description=table.text("description"),
        **cast("dict[str, Any]", limits),
    )
    wrong_choice = next(filter(None, map(spec.fault, choices)), None)
    if kind and wrong_choice:
        table.fault("choices", wrong_choice)
    else:
        spec = replace(spec, choices=tuple(choices))
    if "default" not in table:
        table.fault("default", "missing; every setting needs a default")
    elif kind and (wrong := spec.fault(spec.default)):
        table.fault("default", wrong)
    return spec


def _limit(table: Table, name: str) -> float | None:
    if name not in table:
        return None
    value = table.values[name]
    if wrong := number_fault(value, minimum=None, maximum=None, whole=False):
        table.fault(name, wrong)
        return None
    return float(value)
