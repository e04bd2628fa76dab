"""`config.toml` in the user's configuration folder: settings for all vaults.

It needs no trust: it is the user's own file. A vault's settings override it, but a vault's
endpoints only once the user trusts them.
"""

from dataclasses import dataclass, field
from pathlib import Path

from smart_context.base.config.document import settings_in
from smart_context.base.config.endpoints import Endpoints, read_endpoints
from smart_context.base.config.table import Table
from smart_context.base.config.vault import refuse_secrets

USER_CONFIG_NAME = "config.toml"
ROLES_FOLDER = "roles"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserConfig:
    """The user's settings for all vaults.

    Attributes:
        endpoints: Used where a vault names none, or none that is trusted.
        roles: The user's own roles, `<name>.toml`, with `templates/` below; may not exist.
    """

    endpoints: Endpoints = field(default_factory=dict)
    roles: Path


def read_user_config(folder: Path) -> UserConfig:
    """The settings in the user's folder; the defaults when there is no file.

    Raises:
        ConfigInvalid: With every fault and its line.
    """
    with settings_in(folder / USER_CONFIG_NAME, may_be_link=True) as top:
        top.allow(("llm", "roles"))
        config = UserConfig(
            endpoints=read_endpoints(top.table("llm")),
            roles=_read_roles_folder(top.table("roles"), folder),
        )
        refuse_secrets(top)
    return config


def _read_roles_folder(roles: Table, folder: Path) -> Path:
    """The folder that `[roles] folder` names; it may begin with `~` or be relative."""
    roles.allow(("folder",))
    named = roles.text("folder", ROLES_FOLDER, max_chars=1_000)
    try:
        path = folder / Path(named).expanduser()
        is_wrong = "folder" in roles and not path.is_dir()
    except (OSError, RuntimeError, ValueError):
        path, is_wrong = folder / ROLES_FOLDER, True
    if is_wrong:
        roles.fault("folder", "expected a folder that exists")
    return path
