"""`config.toml` in the user's own folder: endpoints and roles for all vaults."""

import re

import pytest

from smart_context.base.config import read_user_config
from smart_context.base.errors import ConfigInvalid


def read(folder, text):
    (folder / "config.toml").write_text(text, encoding="utf-8")
    return read_user_config(folder)


def test_without_a_file_there_are_no_endpoints_and_roles_may_lie_beside_it(tmp_path):
    config = read_user_config(tmp_path / "none")
    assert config.endpoints == {}
    assert config.roles == tmp_path / "none" / "roles"


def test_endpoints_are_named_as_in_a_vault_and_no_key_is_looked_up(tmp_path):
    config = read(
        tmp_path,
        '[llm]\nbase_url = "http://x/v1"\napi_key_env = "K"\ncategories.chat = "m"\n',
    )
    assert {*config.endpoints} == {"chat"}
    assert config.endpoints["chat"].base_url == "http://x/v1"
    assert config.endpoints["chat"].api_key is None


def test_the_first_pattern_that_matches_gives_a_models_price_of_which_the_beginning_is_cheaper(
    tmp_path,
):
    text = """[llm.prices]
currency = "EUR"
"gpt-5-mini" = { input = 1, output = 2 }
"gpt-5*" = { input = 1.25, cached = 0.125, output = 10 }
"""
    prices = read(tmp_path, text).prices
    assert prices.currency == "EUR"
    assert prices.of("llama3.1") is None
    of_large, of_small = prices.of("GPT-5.1"), prices.of("gpt-5-mini")
    assert of_large.of(sent=1_000_000, cached=600_000, answered=100_000) == pytest.approx(1.575)
    assert of_small.of(sent=1_000_000, cached=600_000, answered=0) == 1


def test_a_price_that_was_looked_up_is_found_at_once_and_few_patterns_may_have_wildcards(tmp_path):
    text = "[llm.prices]\n" + "".join(
        f"m{n} = {{ input = {n}, output = 1 }}\n" for n in range(2_000)
    )
    prices = read(tmp_path, text).prices
    assert prices.of("M1999").input == 1_999
    assert prices.of("M1999") is prices.of("m1999")
    with pytest.raises(ConfigInvalid, match="at most 1,000 names with"):
        read(tmp_path, re.sub(r"(?m)^(m\d+)", r"'\1*'", text))


def test_of_many_faults_the_first_are_told_and_how_many_more_there_are(tmp_path):
    with pytest.raises(ConfigInvalid) as error:
        read(tmp_path, "".join(f"a{n}.b.c = 1\n" for n in range(1_000)))
    assert len(error.value.faults) == 1_000
    first, *_, last = str(error.value).splitlines()
    assert (first[-12:], last) == ("1,000 faults", "  and 980 more")
    assert len(str(error.value)) < 2_500


@pytest.mark.parametrize("name", ["mine", "{home}/mine"])
def test_roles_may_lie_elsewhere(tmp_path, name):
    (tmp_path / "mine").mkdir()
    config = read(tmp_path, f'[roles]\nfolder = "{name.format(home=tmp_path)}"\n')
    assert config.roles == tmp_path / "mine"


def test_the_file_may_be_a_link_since_it_is_the_users_own(tmp_path):
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles/config.toml").write_text('[llm]\nbase_url = "http://x/v1"\n')
    (tmp_path / "config.toml").symlink_to("dotfiles/config.toml")
    assert read_user_config(tmp_path).endpoints == {}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("[vault]\nname = 'x'\n", "line 1: vault: unknown key"),
        ("[llm]\nbase_url = 3\n", "line 2: llm.base_url"),
        ("[roles]\nfolder = 'nowhere'\n", "line 2: roles.folder: expected a folder that exists"),
        ("[roles]\nfolder = 3\n", "line 2: roles.folder"),
        ("[llm]\napi_key = 'x'\n", "a key in the file is refused"),
        ("[llm.prices]\n'gpt-5*' = 3\n", "line 2: llm.prices.gpt-5*: expected a table"),
        ("[llm.prices]\nm = { input = -1, output = 1 }\n", "line 2: llm.prices.m.input: expected"),
        ("[llm.prices]\nm = { input = 1 }\n", "line 2: llm.prices.m.output: missing"),
        ("[llm.prices]\ncurrency = 3\n", "line 2: llm.prices.currency: expected a string"),
        ("= =", "not TOML"),
    ],
)
def test_faults_are_reported_with_the_file_and_the_line(tmp_path, text, part):
    with pytest.raises(ConfigInvalid) as raised:
        read(tmp_path, text)
    assert part in str(raised.value)
    assert str(tmp_path / "config.toml") in str(raised.value)
