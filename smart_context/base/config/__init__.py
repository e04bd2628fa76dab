"""The user's settings, `.vault.toml` and `config.toml`, as values."""

from smart_context.base.config.endpoints import (
    CATEGORIES,
    Connection,
    Endpoints,
    EndpointSettings,
)
from smart_context.base.config.files import (
    CONFIG_NAME,
    USER_CONFIG_NAME,
    UserConfig,
    VaultConfig,
    read_config,
    read_memory_dir,
    read_user_config,
    starter_config,
)
from smart_context.base.config.settings import SettingSpec
from smart_context.base.environment import environment, user_folder

__all__ = [
    "CATEGORIES",
    "CONFIG_NAME",
    "USER_CONFIG_NAME",
    "Connection",
    "EndpointSettings",
    "Endpoints",
    "SettingSpec",
    "UserConfig",
    "VaultConfig",
    "environment",
    "read_config",
    "read_memory_dir",
    "read_user_config",
    "starter_config",
    "user_folder",
]
