"""What is granted is what was reviewed: a part is trusted as it is, or not at all."""

from dataclasses import replace

import pytest

from smart_context.vault.trust.parts import (
    FileSet,
    Grant,
    Pin,
    Review,
    VaultPart,
    files_by_folder,
    granted_after,
    parts_of,
)

CHAT = VaultPart(pin=Pin("endpoint", "http://a", "KEY"), used_for=("chat",))
ROLES = VaultPart(pin=Pin("roles", "r1"), files=FileSet(digest="r1", files={"cook.toml": "x"}))
PLUGINS = VaultPart(pin=Pin("plugins", "p1"), files=FileSet(digest="p1", files={"a/main.py": "x"}))
GIT = VaultPart(pin=Pin("git"), is_in_use=False)
ALL = Review(parts=(CHAT, ROLES, PLUGINS, GIT))


def granting(*parts):
    return Grant(pins=frozenset(pin for part in parts for pin in part.pins))


def changed(part, content):
    return replace(part, pin=part.pin._replace(content=content))


def test_a_grant_covers_a_part_with_just_that_content():
    grant = granting(CHAT, ROLES)
    assert [part for part in ALL.parts if grant.covers(part)] == [CHAT, ROLES]
    for other in (
        changed(CHAT, "http://b"),
        replace(CHAT, pin=CHAT.pin._replace(api_key_env="OTHER_KEY")),
        replace(CHAT, used_for=("embedding",)),
        replace(CHAT, used_for=("chat", "embedding")),
        changed(ROLES, "r2"),
        replace(ROLES, pin=ROLES.pin._replace(kind="plugins")),
    ):
        assert not grant.covers(other)


def test_a_part_with_a_file_that_was_refused_is_never_covered():
    linked = replace(ROLES, files=replace(ROLES.files, refused=("link.toml",)))
    assert linked.refused == ("link.toml",)
    assert not granting(linked).covers(linked)


@pytest.mark.parametrize(
    ("part", "was_for"),
    [
        pytest.param(ROLES, False, id="trusted as it is"),
        pytest.param(changed(ROLES, "r2"), True, id="changed since"),
        pytest.param(PLUGINS, False, id="never trusted"),
    ],
)
def test_a_part_that_changed_is_told_from_one_that_is_new(part, was_for):
    assert granting(CHAT, ROLES).was_for(part) is was_for


def test_what_is_not_granted_is_off_and_missed_when_it_is_in_use():
    review = replace(ALL, grant=granting(ROLES))
    assert review.restricted == (CHAT, PLUGINS, GIT)
    assert review.missed == (CHAT, PLUGINS)
    assert ALL.restricted == ALL.parts


def test_what_was_reviewed_has_another_digest_after_any_change():
    digests = {
        Review(parts=parts).digest
        for parts in (
            (),
            (CHAT,),
            (CHAT, ROLES),
            (ROLES, CHAT),
            (CHAT, changed(ROLES, "r2")),
            (replace(CHAT, pin=CHAT.pin._replace(api_key_env="OTHER_KEY")), ROLES),
            (replace(CHAT, used_for=("embedding",)), ROLES),
            (CHAT, replace(ROLES, files=replace(ROLES.files, refused=("link.toml",)))),
        )
    }
    assert len(digests) == 8
    assert replace(ALL, grant=granting(CHAT)).digest == ALL.digest


def test_a_choice_adds_to_what_is_still_covered_and_drops_the_rest():
    gone = {Pin("roles", "r0"), Pin("endpoint", "http://gone", "", "chat")}
    previous = Grant(pins=CHAT.pins | gone)
    grant = granted_after(replace(ALL, grant=previous), [PLUGINS], granted_at="now")
    assert grant == Grant(pins=CHAT.pins | PLUGINS.pins, granted_at="now")
    assert granted_after(Review(grant=previous), [], granted_at="now").pins == frozenset()


def test_a_part_is_found_by_its_kind_and_named_by_its_content():
    assert ALL.part("roles") is ROLES
    assert Review().part("roles") is None
    assert [part.id for part in ALL.parts] == [
        "endpoint http://a KEY",
        "roles r1",
        "plugins p1",
        "git",
    ]


def test_an_endpoint_that_is_asked_for_more_keeps_what_it_was_trusted_for():
    wider = replace(CHAT, used_for=("chat", "embedding"))
    review = Review(parts=(wider, GIT), grant=granting(CHAT))
    assert granted_after(review, [GIT], granted_at="now").pins == CHAT.pins | GIT.pins
    assert granted_after(review, [wider], granted_at="now").pins == wider.pins


def test_a_part_with_a_file_that_was_refused_loses_its_grant_at_the_next_choice():
    linked = replace(ROLES, files=replace(ROLES.files, refused=("link.toml",)))
    review = Review(parts=(linked, GIT), grant=granting(ROLES))
    assert granted_after(review, [GIT], granted_at="now").pins == GIT.pins


def test_categories_of_one_endpoint_are_one_part_with_a_pin_for_each():
    one, other = Pin("endpoint", "http://a", "KEY"), Pin("endpoint", "http://b", "KEY")
    pins = [
        one._replace(category="chat"),
        other._replace(category="fast"),
        one._replace(category="embedding"),
    ]
    parts = parts_of(pins)
    assert [(part.pin, part.used_for) for part in parts] == [
        (one, ("chat", "embedding")),
        (other, ("fast",)),
    ]
    assert {pin for part in parts for pin in part.pins} == {*pins}
    apart = parts_of([pins[0], Pin("endpoint", "http://a", "OTHER", "fast")])
    assert len(apart) == 2
    assert parts_of([GIT.pin]) == [VaultPart(pin=GIT.pin)]


def test_an_empty_set_of_files_holds_nothing_to_trust_or_to_refuse():
    assert FileSet(digest="d").is_empty
    assert not FileSet(digest="d", files={"a": "x"}).is_empty
    assert not FileSet(digest="d", refused=("link",)).is_empty


def test_files_are_grouped_by_their_first_folder():
    assert files_by_folder(["a.toml", "x/b.py", "x/y/c.py", "z/d.py", "e"]) == {
        "": ["a.toml", "e"],
        "x": ["x/b.py", "x/y/c.py"],
        "z": ["z/d.py"],
    }
