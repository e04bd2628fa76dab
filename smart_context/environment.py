"""The one place that reads and changes the environment."""

import os
from collections.abc import Mapping


def environment() -> Mapping[str, str]:
    """The process's environment variables, as they are now."""
    return dict(os.environ)  # noqa: TID251 - this is the place that the rule points to


def refuse_onnxruntime_telemetry() -> None:
    """Keep `onnxruntime` from reporting to its maker; call it before the library is imported.

    Its builds write a device id below the home folder and resolve their maker's host as soon as
    they are imported. Its own `disable_telemetry_events` comes too late for both.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # noqa: TID251 - native code reads no other setting
