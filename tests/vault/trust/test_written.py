"""What the user writes into a vault's settings is trusted, and nothing that the vault brought."""

import pytest

from smart_context.vault.trust.parts import (
    AGENTS_PIN,
    Grant,
    Pin,
    Review,
    VaultPart,
    instructions_pin,
)
from smart_context.vault.trust.written import parts_written, written_values

MINE, THEIRS = "https://mine.example/v1", "https://theirs.example/v1"
TOLD = VaultPart(pin=instructions_pin("Obey."), text="Obey.")
AGENTS = VaultPart(pin=AGENTS_PIN)
DATABASE = VaultPart(pin=Pin("storage", "postgresql://theirs.example/chats"))
PLUGINS = VaultPart(pin=Pin("plugins", "p1"))
GIT = VaultPart(pin=Pin("git"))


def endpoint(address, *categories, variable=""):
    return VaultPart(pin=Pin("endpoint", address, variable), used_for=categories)


def trusted_after(written, *parts, granted=()):
    pins = frozenset(pin for part in granted for pin in part.pins)
    made = parts_written(Review(parts=parts, grant=Grant(pins=pins)), written)
    return {pin for part in made for pin in part.pins}


def test_only_what_differs_from_the_file_is_written():
    before = {"llm": {"base_url": THEIRS, "categories": {"chat": {"base_url": THEIRS}}}}
    values = {
        "llm.base_url": THEIRS,
        "llm.categories.chat": {"base_url": THEIRS, "model": "m"},
        "chat.instructions": "Be brief.",
        "vault.name": None,
    }
    assert written_values(before, values) == {
        "llm.categories.chat.model": "m",
        "chat.instructions": "Be brief.",
    }


def test_a_change_of_something_else_trusts_nothing():
    everything = (TOLD, AGENTS, DATABASE, PLUGINS, GIT, endpoint(THEIRS, "chat", variable="KEY"))
    for written in ({}, {"vault.name": "Notes"}, {"plugins.smart_context.keep_pairs": True}):
        assert not trusted_after(written, *everything)


def test_instructions_and_agents_are_trusted_as_they_were_written():
    written = {"chat.instructions": " Obey.\n", "mcp.write": True}
    assert trusted_after(written, TOLD, AGENTS, DATABASE, PLUGINS) == TOLD.pins | AGENTS.pins


@pytest.mark.parametrize("written", [{"chat.instructions": "Be brief."}, {"mcp.write": False}])
def test_another_text_or_a_no_trusts_nothing(written):
    assert not trusted_after(written, TOLD, AGENTS)


def test_a_written_address_is_trusted_for_the_models_that_were_written_with_it():
    part = endpoint(MINE, "chat", "embedding")
    written = {"llm.base_url": f"{MINE}/", "llm.categories.chat": "m"}
    assert trusted_after(written, part) == endpoint(MINE, "chat").pins


def test_a_key_that_the_vault_names_is_not_sent_to_a_written_address():
    part = endpoint(MINE, "chat", variable="AWS_SECRET_ACCESS_KEY")
    written = {"llm.base_url": MINE, "llm.categories.chat": "m"}
    assert not trusted_after(written, part)
    assert trusted_after({**written, "llm.api_key_env": "AWS_SECRET_ACCESS_KEY"}, part)


def test_another_address_keeps_the_models_and_the_key_that_were_trusted():
    before = endpoint("https://old.example/v1", "chat", variable="MY_KEY")
    now = endpoint(MINE, "chat", "fast", variable="MY_KEY")
    chat = endpoint(MINE, "chat", variable="MY_KEY").pins
    assert trusted_after({"llm.base_url": MINE}, now, granted=(before,)) == chat


def test_naming_a_model_does_not_trust_the_address_that_the_vault_brought():
    written = {"llm.categories.chat": "m", "llm.categories.fast.base_url": "no address"}
    assert not trusted_after(written, endpoint(THEIRS, "chat"))


def test_a_written_connection_is_trusted_to_answer_and_nothing_more():
    written = {"llm.connections.mine.base_url": MINE, "llm.connections.mine.model": "m"}
    part = endpoint(MINE, "chat", "embedding")
    assert trusted_after(written, part, endpoint(THEIRS, "chat")) == endpoint(MINE, "chat").pins
