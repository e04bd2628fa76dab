"""What the user has set: `.vault.toml`, read once and passed on as values."""

from smart_context.config.endpoints import EndpointSettings
from smart_context.config.settings import SettingSpec
from smart_context.config.starter import starter_config
from smart_context.config.vault import CONFIG_NAME, VaultConfig, read_config, read_memory_dir
from smart_context.environment import environment

__all__ = [
    "CONFIG_NAME",
    "EndpointSettings",
    "SettingSpec",
    "VaultConfig",
    "environment",
    "read_config",
    "read_memory_dir",
    "starter_config",
]
