"""What the user has set: `.vault.toml`, read once and passed on as values."""

from smart_context.config.endpoints import EndpointSettings
from smart_context.config.environment import environment, refuse_onnxruntime_telemetry
from smart_context.config.settings import SettingSpec
from smart_context.config.starter import starter_config
from smart_context.config.vault import CONFIG_NAME, VaultConfig, read_config, read_memory_dir

__all__ = [
    "CONFIG_NAME",
    "EndpointSettings",
    "SettingSpec",
    "VaultConfig",
    "environment",
    "read_config",
    "read_memory_dir",
    "refuse_onnxruntime_telemetry",
    "starter_config",
]
