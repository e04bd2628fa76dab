"""What a vault wants, in words that nothing in the vault can forge."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from smart_context.vault.trust.parts import AGENTS_PIN, FileSet, Grant, Pin, Review, VaultPart
from smart_context.vault.trust.views import in_words, review_view, summary
from tests.vault.trust.conftest import SETTINGS, write


def plugins(*names):
    files = {f"{name}/main.py": "x" for name in names}
    return VaultPart(
        pin=Pin("plugins", "d"), files=FileSet(digest="d", files=files), used_for=names
    )


def roles(*names):
    return VaultPart(
        pin=Pin("roles", "r"), files=FileSet(digest="r", files=dict.fromkeys(names, "x"))
    )


ONE = VaultPart(pin=Pin("endpoint", "http://a"), used_for=("chat",))
TWO = VaultPart(pin=Pin("endpoint", "http://b"), used_for=("fast",))
GIT = VaultPart(pin=Pin("git"))
AGENTS = VaultPart(pin=AGENTS_PIN)


def granting(*parts):
    return Grant(pins=frozenset(pin for part in parts for pin in part.pins))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((), ""),
        ((ONE,), "Restricted: this vault's endpoint is off until you trust it."),
        ((ONE, TWO), "Restricted: 2 endpoints are off until you trust it."),
        ((plugins("a"),), "Restricted: 1 plugin is off until you trust it."),
        ((AGENTS,), "Restricted: changes by agents are off until you trust it."),
        (
            (ONE, plugins("a", "b"), roles("cook.toml")),
            "Restricted: this vault's endpoint, 2 plugins and 1 role are off until you trust it.",
        ),
        (
            (roles("a.toml", "b.toml", "templates/planning.j2"), GIT),
            "Restricted: 2 roles, 1 template and git are off until you trust it.",
        ),
    ],
)
def test_what_is_off_is_said_in_one_sentence(parts, words):
    assert summary(Review(parts=parts)) == words
    assert summary(Review(parts=parts, grant=granting(*parts))) == ""


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((ONE, TWO), "this vault's endpoint for topics is"),
        (
            (replace(ONE, used_for=("chat", "embedding")),),
            "this vault's endpoint for embeddings is",
        ),
        (
            (replace(ONE, used_for=("chat", "embedding")), TWO),
            "2 endpoints for topics and embeddings are",
        ),
        ((replace(ONE, used_for=("embedding",)),), "this vault's endpoint is"),
    ],
)
def test_the_categories_that_are_off_are_named_when_others_go_on(parts, words):
    said = summary(Review(parts=parts, grant=granting(ONE)))
    assert said == f"Restricted: {words} off until you trust it."


@pytest.mark.parametrize(
    ("used_for", "state", "words"),
    [
        pytest.param(("chat",), "trusted", "there for answers, without a key.", id="as it was"),
        pytest.param(
            ("chat", "fast", "embedding"),
            "partly",
            "You trusted it for answers only; topics and embeddings are new and off.",
            id="asked for more",
        ),
        pytest.param(
            ("embedding",),
            "changed",
            "You trusted it for answers only; embeddings are new and off.",
            id="asked for something else",
        ),
    ],
)
def test_an_endpoint_that_is_asked_for_more_says_what_is_new(used_for, state, words):
    review = Review(parts=(replace(ONE, used_for=used_for),), grant=granting(ONE))
    (part,) = review_view(review, Path("notes"))["parts"]
    assert (part["state"], part["used_for"]) == (state, [*used_for])
    assert part["does"].endswith(words)


def test_each_part_is_shown_with_its_files_and_what_an_endpoint_is_given(vault, review):
    view = review_view(review(vault), vault)
    parts = {part["title"]: part for part in view["parts"]}
    endpoint = parts["Endpoint http://127.0.0.1:9/v1"]
    assert endpoint["used_for"] == ["chat", "fast"]
    assert "THEIR_KEY" in endpoint["does"]
    assert "without a key" in parts["Endpoint http://127.0.0.1:10/v1"]["does"]
    (group,) = parts["Plugins"]["groups"]
    assert (group["name"], group["is_on"]) == ("one", True)
    assert "plugins/one/inner/more.py" in group["files"]
    assert parts["Roles and templates"]["groups"][0]["files"] == [
        "roles/cook.toml",
        "roles/templates/planning.j2",
    ]
    assert "git" in parts


def test_the_state_of_a_part_says_whether_it_changed(vault, review, grant):
    def states():
        view = review_view(review(vault), vault)
        return {part["kind"]: part["state"] for part in view["parts"]}

    assert {*states().values()} == {"off"}
    grant(vault)
    assert {*states().values()} == {"trusted"}
    write(vault, {"roles/cook.toml": "", "plugins/one/main.py": ""})
    (vault / "plugins/one/out").symlink_to("/etc/hostname")
    assert states() | {"endpoint": "trusted", "git": "trusted"} == {
        "endpoint": "trusted",
        "git": "trusted",
        "plugins": "refused",
        "roles": "changed",
    }


def test_no_name_of_the_vault_reaches_a_terminal_or_a_page_raw(vault, review):
    evil = "x\x1b[2K\rharmless\u202egnp.py\n"
    write(vault, {f"plugins/{evil}/{evil}": "", f"roles/{evil}.toml": ""})
    shown = json.dumps(review_view(review(vault), vault), ensure_ascii=False)
    assert "harmless" in shown
    assert not {"\x1b", "\r", "\u202e", "\n"} & {*shown}
    assert "\\u001b" not in shown
    assert "\\n" not in shown.replace("\\\\n", "")


def test_what_was_reviewed_has_another_digest_once_it_changes(vault, review):
    first = review(vault).digest
    assert review(vault).digest == first
    write(vault, {"roles/cook.toml": "tree = true"})
    second = review(vault).digest
    (vault / "roles/out.toml").symlink_to("/etc/hostname")
    assert len({first, second, review(vault).digest}) == 3


def test_the_model_that_an_endpoint_is_asked_for_is_named_and_part_of_the_review(vault, review):
    first = review(vault)
    parts = {part["title"]: part for part in review_view(first, vault)["parts"]}
    assert parts["Endpoint http://127.0.0.1:9/v1"]["does"].startswith("Model: m. Your chats")
    assert parts["Endpoint http://127.0.0.1:10/v1"]["models"] == {"embedding": "e"}
    write(vault, {".vault.toml": SETTINGS.replace('fast = "m"', 'fast = "small\\u202e"')})
    second = review(vault)
    assert second.digest != first.digest
    said = next(part["does"] for part in review_view(second, vault)["parts"])
    assert said.startswith("Models: m for answers and small\\u202e for topics. ")


def test_an_address_from_a_record_is_shown_in_ascii_too():
    part = VaultPart(pin=Pin("endpoint", "https://api.open\u0430i.com"), used_for=("chat",))
    (view,) = review_view(Review(parts=(part,)), Path("notes"))["parts"]
    assert view["title"] == "Endpoint https://api.xn--openi-7ve.com"
    assert view["base_url"] == "https://api.xn--openi-7ve.com"
    (warning,) = view["warnings"]
    assert warning.startswith("Warning: its host has letters that can pass for others: CYR")
    assert in_words(view) == f"{warning} {view['does']}"
