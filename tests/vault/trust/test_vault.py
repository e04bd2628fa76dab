"""What a vault may do: nothing at first, what was granted after that, each part by itself."""

import pytest

from smart_context.base.errors import TrustRequired
from smart_context.vault.trust.vault import TrustRecord, VaultTrust
from tests.trusting import settings_of
from tests.vault.trust.conftest import SETTINGS, fifo, link_out, off, write

ALL = ["endpoint", "git", "plugins", "roles"]


SWAPPED = """
[llm]
base_url = "http://127.0.0.1:10/v1"
[llm.categories]
chat = "m"
fast = "m"
embedding = { model = "e", base_url = "http://127.0.0.1:9/v1", api_key_env = "THEIR_KEY" }
[plugins.one]
enabled = true
"""
"""The same endpoints, each in the place of the other."""


@pytest.fixture
def trust(vault, record):
    return VaultTrust(vault, record)


def test_nothing_is_granted_until_the_user_says_so(vault, review, grant, trust, tmp_path):
    assert off(review(vault)) == ALL
    assert (trust.plugins(), trust.roles().contents, trust.allows_git()) == (None, {}, False)
    before = {path: path.read_bytes() for path in vault.rglob("*") if path.is_file()}
    grant(vault)
    assert off(review(vault)) == []
    assert "one/main.py" in trust.plugins().files
    assert trust.roles().contents["cook.toml"] == b'system_prompt = "You cook."'
    assert trust.allows_git()
    assert before == {path: path.read_bytes() for path in vault.rglob("*") if path.is_file()}


def test_nothing_is_read_of_roles_that_are_off(vault, trust):
    (vault / "roles/cook.toml").chmod(0)
    assert trust.roles().are_off
    assert "cook.toml" in trust.roles().names


@pytest.mark.parametrize(
    ("change", "restricted"),
    [
        pytest.param({"plugins/one/main.py": "changed"}, ["plugins"], id="code changed"),
        pytest.param({"plugins/one/panel.js": "new"}, ["plugins"], id="a panel's file is new"),
        pytest.param({"plugins/loose.py": ""}, ["plugins"], id="next to the plugins"),
        pytest.param({"plugins/one/.hidden": ""}, ["plugins"], id="hidden"),
        pytest.param({"roles/cook.toml": ""}, ["roles"], id="a role changed"),
        pytest.param({"roles/new.toml": ""}, ["roles"], id="a role is new"),
        pytest.param({"roles/templates/planning.j2": ""}, ["roles"], id="a template changed"),
        pytest.param(
            {".vault.toml": SETTINGS.replace(":9/", ":8/")}, ["endpoint"], id="another address"
        ),
        pytest.param(
            {".vault.toml": SETTINGS.replace("THEIR", "MY")}, ["endpoint"], id="another variable"
        ),
        pytest.param({".vault.toml": SWAPPED}, ["endpoint"], id="the same endpoints, swapped"),
        pytest.param(
            {
                ".vault.toml": SETTINGS.replace(
                    '"http://127.0.0.1:10/v1"', '"http://127.0.0.1:9/v1"'
                )
            },
            ["endpoint"],
            id="another category at a trusted address",
        ),
        pytest.param(
            {".vault.toml": SETTINGS.replace('fast = "m"', 'fast = "embedded"')},
            [],
            id="an embedded model is no change",
        ),
        pytest.param(
            {".vault.toml": SETTINGS.replace('"m"', '"n"')}, [], id="another model is no change"
        ),
        pytest.param({"note.md": "a note"}, [], id="a note is no change"),
    ],
)
def test_a_changed_part_is_off_again_and_the_others_go_on(vault, review, grant, change, restricted):
    grant(vault)
    write(vault, change)
    assert off(review(vault)) == restricted
    grant(vault)
    assert off(review(vault)) == []


def test_a_category_whose_endpoint_changed_is_off_and_the_others_go_on(vault, record, grant):
    trust = VaultTrust(vault, record)
    write(vault, {".vault.toml": SETTINGS.replace('fast = "m"', 'fast = "embedded"')})
    grant(vault)
    write(vault, {".vault.toml": SETTINGS})
    config = settings_of(vault, trust)
    assert config.restricted == {"fast"}
    assert config.chat.base_url == "http://127.0.0.1:9/v1"
    write(vault, {".vault.toml": SWAPPED})
    config = settings_of(vault, trust)
    assert config.restricted == {"chat", "fast", "embedding"}
    assert (config.chat, config.fast, config.embedding) == (None, None, None)


def test_what_goes_back_to_what_was_granted_is_on_again_unless_more_was_granted_since(
    vault, review, grant
):
    grant(vault)
    write(vault, {".vault.toml": SETTINGS.replace(":9/", ":8/")})
    write(vault, {".vault.toml": SETTINGS})
    assert off(review(vault)) == []
    write(vault, {".vault.toml": SETTINGS.replace(":9/", ":8/")})
    grant(vault)
    write(vault, {".vault.toml": SETTINGS})
    assert off(review(vault)) == ["endpoint"]


def test_only_the_parts_that_were_chosen_are_on(vault, review, grant, trust):
    grant(vault, "roles")
    assert off(review(vault)) == ["endpoint", "git", "plugins"]
    grant(vault, "git")
    assert off(review(vault)) == ["endpoint", "plugins"]
    assert trust.plugins() is None


def test_revoking_turns_all_off(vault, review, grant, trust):
    grant(vault)
    trust.revoke()
    assert off(review(vault)) == ALL
    trust.revoke()


def test_one_vaults_trust_is_not_anothers(vault, review, grant, tmp_path):
    grant(vault)
    vault.rename(tmp_path / "other")
    assert off(review(tmp_path / "other")) == ALL


@pytest.mark.parametrize("make", [link_out, fifo])
@pytest.mark.parametrize("folder", ["plugins/one", "roles"])
def test_what_can_not_be_pinned_can_not_be_trusted(vault, review, grant, make, folder):
    grant(vault)
    make(vault / folder)
    assert off(review(vault)) == [folder.partition("/")[0]]
    with pytest.raises(TrustRequired, match=r"(out|pipe)\.toml"):
        grant(vault)


def test_a_plain_folder_of_notes_wants_nothing(tmp_path, review):
    write(tmp_path / "notes", {"a.md": "a", "roles/Actor.md": "Hamlet", ".vault.toml": ""})
    assert review(tmp_path / "notes").parts == ()


@pytest.mark.parametrize("files", [(".git/HEAD",), ("HEAD", "objects/x", "refs/x")])
def test_git_is_missed_only_once_somebody_wanted_to_ask_it(tmp_path, record, files):
    vault = write(tmp_path / "notes", dict.fromkeys(files, ""))
    trust = VaultTrust(vault, record)

    def missed():
        return [part.pin.kind for part in trust.review(settings_of(vault, trust)).missed]

    assert missed() == []
    assert not trust.allows_git()
    assert missed() == ["git"]


def test_plugins_that_are_turned_off_are_not_missed(vault, review):
    write(vault, {".vault.toml": ""})
    assert [part.pin.kind for part in review(vault).missed] == ["roles"]


def test_consent_that_another_process_gives_or_takes_counts_at_once(vault, record, grant, trust):
    elsewhere = VaultTrust(vault, TrustRecord(record.path))
    grant(vault)
    assert trust.allows_git()
    elsewhere.revoke()
    assert not trust.allows_git()
    assert trust.plugins() is None
