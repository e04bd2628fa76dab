"""Trusts vaults as a user does: by the product's own record, in a folder of the tests' own."""

import os
from contextlib import suppress
from pathlib import Path

from smart_context.app.composition import read_vault
from smart_context.base.config import UserConfig, read_config
from smart_context.base.errors import ConfigInvalid
from smart_context.host.plugins.loader import declared_settings
from smart_context.vault.trust.parts import admitted
from smart_context.vault.trust.vault import RECORD_NAME, TrustRecord, VaultTrust


def record_in(config_home):
    """The record of a user whose configuration lies in that folder."""
    return TrustRecord(Path(config_home) / "smart-context" / RECORD_NAME)


def trust(vault, config_home=None):
    """What `smart-context trust VAULT --yes` does; a vault with faults wants nothing yet."""
    of = VaultTrust(Path(vault), record_in(config_home or os.environ["XDG_CONFIG_HOME"]))
    with suppress(ConfigInvalid):
        grant_all(of, read_vault(Path(vault)))


def grant_all(of, config):
    """Grant a vault what it wants now."""
    review = of.review(config)
    of.trust(review, review.restricted)


def settings_of(vault, of, **more):
    """The settings of a vault under what it was granted, without keys."""
    config = read_config(vault, plugin_settings=declared_settings(vault, **more))
    return admitted(config, UserConfig(roles=vault / "no such folder"), of.grant(), {})
