"""The settings that a plugin declares, and the check of the user's values."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from smart_context.base.config.document import Table, dotted, found, number_fault

_log = logging.getLogger(__name__)

SettingType = Literal["number", "integer", "boolean", "string", "list"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSpec:
    """One setting of a plugin."""

    type: SettingType  # `list` is an array of strings
    default: Any  # the value when the user sets none
    minimum: float | None = None  # smallest number allowed, included
    maximum: float | None = None  # largest number allowed, included
    choices: tuple[Any, ...] = ()  # the only values allowed; empty for any
    description: str = ""  # for people, in one sentence
    is_retired: bool = False  # earlier versions had it; a value is ignored with a warning

    def fault(self, value: object) -> str | None:
        """The fault of a value, or `None`."""
        wrong = self._type_fault(value)
        if wrong is None and self.choices and value not in self.choices:
            allowed = " or ".join(repr(choice) for choice in self.choices)
            return f"expected {allowed}, found {found(value)}"
        return wrong

    def _type_fault(self, value: object) -> str | None:
        if self.type in {"number", "integer"}:
            return number_fault(
                value, minimum=self.minimum, maximum=self.maximum, whole=self.type == "integer"
            )
        if self.type == "boolean":
            return (
                None if isinstance(value, bool) else f"expected true or false, found {found(value)}"
            )
        if self.type == "string":
            return None if isinstance(value, str) else f"expected a string, found {found(value)}"
        if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
            return None
        return f"expected an array of strings, found {found(value)}"


ENABLED = SettingSpec(type="boolean", default=False, description="Whether the plugin runs.")


def read_settings(table: Table, specs: Mapping[str, SettingSpec]) -> dict[str, Any]:
    """A plugin's effective settings: the user's where valid, else the defaults."""
    table.allow(specs.keys())
    effective: dict[str, Any] = {}
    for name, spec in specs.items():
        if spec.is_retired:
            if name in table:
                key = dotted((*table.path, name))
                _log.warning("%s is ignored: this version has no such setting. Remove it.", key)
            continue
        value = table.values.get(name, spec.default)
        if name in table and (message := spec.fault(value)):
            table.fault(name, message)
            value = spec.default
        effective[name] = float(value) if spec.type == "number" else value
    return effective
