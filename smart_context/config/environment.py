"""The one place that reads the environment."""

import os
from collections.abc import Mapping


def environment() -> Mapping[str, str]:
    """The process's environment variables, as they are now."""
    return dict(os.environ)  # noqa: TID251 - this is the place that the rule points to
