"""`plugin.toml` is read with every fault at once."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from smart_context.base.errors import ManifestInvalid
from smart_context.base.resources import asset
from smart_context.host.plugins.manifest import read_manifest, version_numbers

WHOLE = """\
id = "notes"
name = "Notes"
version = "0.1"
min_host_version = "0.1.0"
description = "Counts."
entry = "main:Plugin"
subscribes = ["pipeline.output"]
commands = ["notes.count"]
[panel]
title = "Notes"
[settings.minimum]
type = "integer"
default = 1
minimum = 1
description = "Least."
[settings.how]
type = "string"
default = "a"
choices = ["a", "b"]
"""


def read(tmp_path, text, **options):
    path = tmp_path / "plugin.toml"
    path.write_text(text)
    return read_manifest(path, **options)


def test_a_whole_manifest_is_read(tmp_path):
    manifest = read(tmp_path, WHOLE, expected_id="notes")
    assert (manifest.id, manifest.name, manifest.version) == ("notes", "Notes", "0.1")
    assert (manifest.module, manifest.class_name) == ("main", "Plugin")
    assert (manifest.subscribes, manifest.commands) == (("pipeline.output",), ("notes.count",))
    assert (manifest.panel.title, manifest.panel.position) == ("Notes", "right")
    assert manifest.settings["minimum"].default == 1
    assert manifest.settings["how"].choices == ("a", "b")


def test_the_least_manifest_has_no_panel_and_no_settings(tmp_path):
    text = 'id = "a"\nname = "A"\nversion = "1"\nentry = "main:Plugin"\n'
    manifest = read(tmp_path, text)
    assert (manifest.panel, manifest.settings, manifest.min_host_version) == (None, {}, "0.0.0")


def test_every_fault_is_listed_with_its_line(tmp_path):
    with pytest.raises(ManifestInvalid) as raised:
        read(
            tmp_path,
            """\
id = "Notes"
colour = 1
version = "new"
entry = "main"
subscribes = "pipeline.output"
commands = ["other.count", 3]
[panel]
position = "above"
[settings.a]
type = "number"
default = "x"
[settings.b]
type = "thing"
[settings.c]
type = "integer"
default = 0
minimum = 1
[settings.enabled]
type = "boolean"
default = true
""",
        )
    found = {(fault.line, fault.key) for fault in raised.value.faults}
    assert found == {
        (1, "id"),
        (2, "colour"),
        (3, "version"),
        (4, "entry"),
        (5, "subscribes"),
        (6, "commands"),
        (7, "panel.title"),
        (8, "panel.position"),
        (11, "settings.a.default"),
        (12, "settings.b.default"),
        (13, "settings.b.type"),
        (16, "settings.c.default"),
        (18, "settings.enabled"),
        (None, "name"),
    }


@pytest.mark.parametrize("plugin_id", ["chat", "memory", "system", "ui", "pipeline"])
def test_an_id_of_the_hosts_own_is_refused(tmp_path, plugin_id):
    text = f'id = "{plugin_id}"\nname = "A"\nversion = "1"\nentry = "main:Plugin"\n'
    with pytest.raises(ManifestInvalid, match="belongs to the host"):
        read(tmp_path, text)


def test_the_id_is_the_folders_name(tmp_path):
    with pytest.raises(ManifestInvalid, match="expected the folder's name 'other'"):
        read(tmp_path, WHOLE, expected_id="other")


def test_a_missing_or_unreadable_manifest_is_one_fault(tmp_path):
    with pytest.raises(ManifestInvalid, match="no such file"):
        read_manifest(tmp_path / "plugin.toml")
    with pytest.raises(ManifestInvalid, match="not TOML"):
        read(tmp_path, "id =")


@pytest.mark.parametrize("huge", [f"1{'0' * 400}", f"0x{'F' * 5_000}"])
@pytest.mark.parametrize("key", ["minimum", "maximum", "default"])
def test_an_integer_that_is_too_large_for_toml_is_a_fault(tmp_path, key, huge):
    spec = {"type": '"number"', "default": "0", key: huge}
    table = "\n".join(f"{name} = {value}" for name, value in spec.items())
    with pytest.raises(ManifestInvalid, match=rf"a\.{key}: expected a number.* a huge number"):
        read(tmp_path, f"{WHOLE}\n[settings.a]\n{table}\n")


@pytest.mark.parametrize(
    ("kind", "choices"),
    [
        pytest.param("string", '["a", 1]', id="a number among strings"),
        pytest.param("integer", f"[0x{'F' * 5_000}]", id="an integer without end"),
    ],
)
def test_a_choice_of_another_kind_is_a_fault(tmp_path, kind, choices):
    setting = f'[settings.a]\ntype = "{kind}"\ndefault = "a"\nchoices = {choices}\n'
    with pytest.raises(ManifestInvalid, match=r"settings\.a\.choices: expected a"):
        read(tmp_path, f"{WHOLE}\n{setting}")


def test_the_shipped_manifest_is_valid():
    manifest = read_manifest(asset("plugin.toml"))
    assert manifest.id == "smart_context"
    assert manifest.panel.title == "Smart Context"
    assert manifest.settings["similarity_threshold"].type == "number"


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("1", (1, 0, 0)), ("0.10", (0, 10, 0)), ("1.2.3", (1, 2, 3))],
)
def test_versions_are_compared_by_number(version, numbers):
    assert version_numbers(version) == numbers


VALUES = st.sampled_from(
    ['"a"', "1", "true", "[]", "{}", "1.5", '["a.b"]', "2026-01-01", '"integer"', '"list"']
)
KEYS = st.sampled_from(
    [
        "id",
        "name",
        "version",
        "entry",
        "subscribes",
        "commands",
        "panel",
        "settings",
        "odd",
        "settings.s.type",
        "settings.s.default",
        "settings.s.choices",
        "panel.icon",
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(KEYS, VALUES, max_size=8) | st.text(max_size=30))
def test_any_text_is_a_manifest_or_invalid(tmp_path, content):
    if isinstance(content, dict):
        content = "\n".join(f"{key} = {value}" for key, value in content.items())
    path = tmp_path / "plugin.toml"
    path.write_bytes(content.encode("utf-8", "replace"))
    with pytest.raises(ManifestInvalid):
        read_manifest(path)
