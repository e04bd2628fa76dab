"""`smart-context trust`: what a vault wants is shown whole, asked about, listed and revoked."""

import json

import pytest

from tests.vault.trust.conftest import FILES, SETTINGS, write


@pytest.fixture
def hostile(tmp_path):
    """A stranger's vault that wants everything."""
    return write(tmp_path / "their vault", FILES)


def listed(smart_context):
    code, out, _ = smart_context("trust", "--list", "--format", "json")
    assert code == 0
    return json.loads(out)


def test_all_that_a_vault_wants_is_shown_and_nothing_is_granted_unasked(smart_context, hostile):
    code, out, err = smart_context("trust", hostile)
    assert (code, out) == (1, "")
    for wanted in (
        "http://127.0.0.1:9/v1",
        "THEIR_KEY",
        "http://127.0.0.1:10/v1",
        "plugins/one/main.py",
        "plugins/one/inner/more.py",
        "roles/cook.toml",
        "roles/templates/planning.j2",
        "git",
        "--yes",
    ):
        assert wanted in err
    assert listed(smart_context) == []


def test_what_is_trusted_is_listed_and_can_be_revoked(smart_context, hostile, tmp_path):
    assert smart_context("trust", hostile, "--yes")[0] == 0
    (row,) = listed(smart_context)
    assert row["vault"] == str(hostile)
    assert {part["kind"] for part in row["parts"]} == {"endpoint", "plugins", "roles", "git"}
    assert {
        "kind": "endpoint",
        "base_url": "http://127.0.0.1:9/v1",
        "api_key_env": "THEIR_KEY",
        "used_for": ["chat", "fast"],
    } in row["parts"]
    shown = smart_context("trust", "--list")[1]
    assert str(hostile) in shown
    assert "endpoint http://127.0.0.1:9/v1 for answers and topics, with THEIR_KEY" in shown
    assert "endpoint http://127.0.0.1:10/v1 for embeddings\n" in shown
    code, out, _ = smart_context("trust", hostile, "--yes")
    assert code == 0
    assert "trusted already" in out

    code, out, _ = smart_context("trust", "--revoke", hostile)
    assert code == 0
    assert "not trusted any more" in out
    assert listed(smart_context) == []
    assert smart_context("trust", "--revoke", hostile)[0] == 0
    assert smart_context("trust", hostile)[0] == 1


def test_a_vault_that_is_gone_can_be_revoked(smart_context, hostile, tmp_path):
    smart_context("trust", hostile, "--yes")
    hostile.rename(tmp_path / "moved")
    assert smart_context("trust", "--revoke", hostile)[0] == 0
    assert listed(smart_context) == []


def test_only_what_changed_is_asked_for_again(smart_context, hostile):
    smart_context("trust", hostile, "--yes")
    write(hostile, {".vault.toml": SETTINGS.replace(":9/", ":8/")})
    code, _, err = smart_context("trust", hostile)
    assert code == 1
    assert "Endpoint http://127.0.0.1:8/v1: changed since you trusted it" in err
    assert "Plugins: trusted" in err


def test_an_endpoint_that_is_asked_for_more_is_asked_for_again(smart_context, hostile):
    write(hostile, {".vault.toml": SETTINGS.replace('fast = "m"', "")})
    smart_context("trust", hostile, "--yes")
    write(hostile, {".vault.toml": SETTINGS})
    code, _, err = smart_context("trust", hostile)
    assert code == 1
    assert "Endpoint http://127.0.0.1:9/v1: asked for more than you trusted" in err
    assert "You trusted it for answers only; topics are new and off." in err
    rows = json.loads(smart_context("doctor", hostile, "--format", "json")[1])
    (row,) = (row for row in rows if row["what"] == "Endpoint http://127.0.0.1:9/v1")
    assert row["state"] == "failed"
    assert row["found"].startswith("partly off, asked for more than you trusted.")
    assert "topics are new" in row["found"]
    assert smart_context("trust", hostile, "--yes")[0] == 0
    assert "trusted already" in smart_context("trust", hostile)[1]


@pytest.mark.parametrize("make", ["init", "demo", "plain"])
def test_a_vault_that_we_made_or_a_plain_folder_has_nothing_to_ask_for(
    smart_context, vault, tmp_path, make
):
    folder = vault if make == "demo" else tmp_path / "notes"
    folder.mkdir(exist_ok=True)
    if make == "init":
        assert smart_context("init", folder)[0] == 0
    code, out, _ = smart_context("trust", folder)
    assert code == 0
    assert "nothing to trust" in out


def test_escape_codes_in_names_reach_no_terminal(smart_context, tmp_path):
    evil = "a\x1b[2K\rREADME\u202efdp"
    vault = write(tmp_path / f"v{evil}", {f"plugins/{evil}/{evil}.py": "", "roles/a\nb.toml": ""})
    for arguments in (("trust", vault), ("trust", vault, "--yes"), ("trust", "--list")):
        _, out, err = smart_context(*arguments)
        assert not {"\x1b", "\r", "\u202e"} & {*out, *err}
        assert "README" in out + err
    assert "roles/a\\nb.toml" in smart_context("trust", vault, "--format", "json")[1].replace(
        "\\\\", "\\"
    )


def test_what_can_be_trusted_is_and_what_can_not_is_named(smart_context, hostile):
    (hostile / "plugins/one/out.py").symlink_to("/etc/hostname")
    code, _, err = smart_context("trust", hostile, "--yes")
    assert code == 1
    assert "plugins/one/out.py: a link, not a plain file, or unreadable" in err
    (row,) = listed(smart_context)
    assert {part["kind"] for part in row["parts"]} == {"endpoint", "roles", "git"}


def test_list_stands_alone_and_needs_no_vault(smart_context, hostile):
    assert smart_context("trust", "--list", hostile)[0] == 2
    assert smart_context("trust", "--list", "--revoke")[0] == 2
    assert smart_context("trust", "--list")[:2] == (0, "You trust no vault yet.\n")


def test_doctor_lists_what_is_off_and_asks_nobody(smart_context, hostile):
    code, out, _ = smart_context("doctor", hostile, "--format", "json")
    rows = {row["what"]: row for row in json.loads(out)}
    assert code == 1
    for what in ("Endpoint http://127.0.0.1:9/v1", "Plugins", "Roles and templates"):
        assert rows[what]["state"] == "failed"
        assert f"smart-context trust {hostile}" in rows[what]["next"]
    assert rows["git"]["state"] == "note"
    assert rows["chat model"]["state"] == "note"
    assert rows["plugin one"]["found"] == "untrusted"


def test_faults_of_the_users_own_settings_are_bad_usage(smart_context, tmp_path):
    write(tmp_path, {"config/smart-context/config.toml": "[llm]\ntimeout_s = 'x'\n"})
    code, _, err = smart_context("doctor", tmp_path)
    assert code == 2
    assert "config.toml" in err
    assert "line 2: llm.timeout_s" in err


def test_a_host_that_passes_for_another_is_shown_in_ascii_or_refused(smart_context, tmp_path):
    foreign = SETTINGS.replace("127.0.0.1:9", "api.open\u0430i.com")
    vault = write(tmp_path / "foreign", {".vault.toml": foreign})
    for verb in ("trust", "doctor"):
        _, out, err = smart_context(verb, vault)
        assert "https://api.xn--openi-7ve.com/v1" in (out + err).replace("http:", "https:")
        assert "CYRILLIC SMALL LETTER A" in out + err
        assert "Model: m." in out + err
        assert "\u0430" not in out + err
    slash = SETTINGS.replace("127.0.0.1:9", "api.openai.com\u2044v1.evil.example")
    vault = write(tmp_path / "slash", {".vault.toml": slash})
    for verb in ("trust", "doctor"):
        code, out, err = smart_context(verb, vault)
        assert code != 0
        assert "expected a host" in out + err
        assert r"\u2044" in out + err
        assert "\u2044" not in out + err
