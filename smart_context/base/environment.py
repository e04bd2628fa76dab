"""Reads and changes the environment; no other module does."""

import os
from collections.abc import Mapping
from pathlib import Path


def environment() -> Mapping[str, str]:
    """The process's environment variables; on Windows a name is found in any case.

    A copy would be a `dict`, which knows those names in upper case alone.
    """
    return os.environ  # noqa: TID251 - this is the place that the rule points to


def user_folder(environ: Mapping[str, str] | None = None, home: Path | None = None) -> Path:
    """The folder of the user's own settings for all vaults; may not exist.

    Args:
        environ: The environment variables; by default those of this process.
        home: The user's home folder; by default that of who runs this process.
    """
    environ = environment() if environ is None else environ
    configured = Path(environ.get("XDG_CONFIG_HOME") or environ.get("APPDATA") or "")
    settings = configured if configured.is_absolute() else (home or Path.home()) / ".config"
    return settings / "smart-context"


def refuse_onnxruntime_telemetry() -> None:
    """Keep `onnxruntime` from reporting to its maker; to be called before its import.

    On import, its builds write a device id below the home folder and resolve their maker's host.
    Its own `disable_telemetry_events` comes too late for both.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # noqa: TID251 - native code reads no other setting
