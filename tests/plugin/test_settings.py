"""Each of the plugin's settings has one default, wherever users read it."""

import re
import tomllib
from dataclasses import asdict

from smart_context.base.config.files import starter_config
from smart_context.base.resources import asset
from smart_context.host.plugins.manifest import read_manifest
from smart_context.plugin.settings import FilterSettings
from smart_context.relevance.judge.calibrate import DEFAULT_THRESHOLD, PROBABLY
from smart_context.relevance.select import select_messages
from smart_context.web.pages.views.settings_view import STRICTNESS

DECLARED = {
    name: spec
    for name, spec in read_manifest(asset("plugin.toml")).settings.items()
    if not spec.is_retired
}


def test_the_defaults_of_the_code_are_those_that_plugin_toml_declares():
    assert asdict(FilterSettings()) == {name: spec.default for name, spec in DECLARED.items()}


def test_what_the_pages_call_normal_is_the_default():
    assert STRICTNESS["Normal"] == DEFAULT_THRESHOLD


def test_the_settings_file_of_a_new_vault_has_the_defaults():
    written = tomllib.loads(starter_config())["plugins"]["smart_context"]
    assert written.pop("enabled")
    assert written
    assert written == {name: DECLARED[name].default for name in written}


def test_messages_are_selected_at_the_default_threshold():
    assert DECLARED["similarity_threshold"].default == DEFAULT_THRESHOLD
    assert select_messages.__kwdefaults__["threshold"] == DEFAULT_THRESHOLD


def test_users_read_which_score_means_probably():
    words = DECLARED["similarity_threshold"].description
    assert [float(number) for number in re.findall(r"\d\.\d+", words)] == [PROBABLY]
