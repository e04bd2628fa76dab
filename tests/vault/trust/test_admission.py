"""Which endpoints may be asked, and which keys are looked up."""

from collections.abc import Mapping
from ipaddress import ip_network

import pytest

from smart_context.base.config import Connection, EndpointSettings, UserConfig, read_config
from smart_context.base.config.access import AccessSettings
from smart_context.vault.trust.parts import Grant, Pin, access_part, admitted

THEIRS = Pin("endpoint", "http://theirs/v1", "THEIR_KEY", "chat")
SETTINGS = """
[llm]
base_url = "http://theirs/v1"
api_key_env = "THEIR_KEY"
[llm.categories]
chat = "m"
embedding = "embedded"
"""


class Environment(Mapping):
    """Gives a value to every name, and notes which ones were asked for."""

    def __init__(self):
        self.asked = []

    def __getitem__(self, name):
        if name:
            self.asked.append(name)
        return f"value of {name}" if name else ""

    def __iter__(self):
        raise AssertionError("nobody needs all of them")

    __len__ = __iter__


@pytest.fixture
def admit(tmp_path):
    def run(*pins, settings=SETTINGS, **endpoints):
        (tmp_path / ".vault.toml").write_text(settings)
        config = read_config(tmp_path, plugin_settings={})
        user = UserConfig(endpoints=endpoints, roles=tmp_path)
        environ = Environment()
        return admitted(config, user, Grant(pins=frozenset(pins)), environ), environ.asked

    return run


MINE = EndpointSettings(base_url="http://mine/v1", model="mine", api_key_env="MY_KEY")


def test_a_restricted_endpoint_is_not_in_use_and_its_key_is_not_looked_up(admit):
    config, asked = admit()
    assert (config.chat, config.fast, config.embedding) == (None, None, None)
    assert config.restricted == {"chat"}
    assert asked == []


def test_a_trusted_endpoint_is_in_use_with_its_key(admit):
    config, asked = admit(THEIRS)
    assert (config.chat.base_url, config.chat.api_key) == ("http://theirs/v1", "value of THEIR_KEY")
    assert config.restricted == frozenset()
    assert asked == ["THEIR_KEY"]


@pytest.mark.parametrize(
    "pin",
    [
        THEIRS._replace(api_key_env="OTHER"),
        THEIRS._replace(api_key_env=""),
        THEIRS._replace(content="http://theirs/v2"),
        THEIRS._replace(category="embedding"),
        THEIRS._replace(category=""),
        THEIRS._replace(kind="plugins"),
    ],
)
def test_consent_is_to_the_address_the_variable_and_the_category(admit, pin):
    config, asked = admit(pin)
    assert config.restricted == {"chat"}
    assert asked == []


def test_an_endpoint_that_categories_inherit_is_in_use_for_those_it_is_trusted_for(admit):
    inheriting = SETTINGS + 'fast = "m"\n'
    config, _ = admit(THEIRS, settings=inheriting, chat=MINE, fast=MINE)
    assert config.restricted == {"fast"}
    assert (config.chat.base_url, config.fast.base_url) == ("http://theirs/v1", "http://mine/v1")
    config, _ = admit(THEIRS, THEIRS._replace(category="fast"), settings=inheriting)
    assert config.restricted == frozenset()
    assert config.chat.base_url == config.fast.base_url == "http://theirs/v1"


def test_the_users_own_endpoint_needs_no_trust_and_serves_until_the_vaults_is_trusted(admit):
    config, asked = admit(chat=MINE, fast=MINE)
    assert (config.chat.model, config.fast.model) == ("mine", "mine")
    assert {*asked} == {"MY_KEY"}
    config, _ = admit(THEIRS, chat=MINE, fast=MINE)
    assert (config.chat.model, config.fast.model) == ("m", "mine")


def test_a_vault_that_wants_an_embedded_model_gets_it(admit):
    assert admit(embedding=MINE)[0].embedding is None


CONNECTED = """
[llm.connections.shared]
base_url = "http://theirs/v1"
api_key_env = "THEIR_KEY"
model = "m"
"""


def test_a_connection_is_in_use_once_it_is_trusted_and_its_key_is_not_looked_up_before(tmp_path):
    (tmp_path / ".vault.toml").write_text(CONNECTED)
    config = read_config(tmp_path, plugin_settings={})
    own = Connection(id="shared", name="Mine", endpoint=MINE)
    user = UserConfig(connections={"shared": own}, roles=tmp_path)
    environ = Environment()
    before = admitted(config, user, Grant(), environ)
    assert (before.connections["shared"].name, before.chat.model) == ("Mine", "mine")
    assert before.restricted_connections == {"shared"}
    assert {*environ.asked} == {"MY_KEY"}
    after = admitted(config, user, Grant(pins=frozenset({THEIRS})), environ)
    assert after.connections["shared"].endpoint.api_key == "value of THEIR_KEY"
    assert after.chat.model == "m"
    assert after.restricted_connections == frozenset()


OWN = AccessSettings(mode="proxy", header="X-User", trusted=(ip_network("127.0.0.1/32"),))
NEAR = '[access]\nmode = "proxy"\nheader = "X-Stranger"\ntrusted = ["127.0.0.1"]\n'


def admitted_with(folder, settings, access, *pins):
    (folder / ".vault.toml").write_text(settings)
    config = read_config(folder, plugin_settings={})
    user = UserConfig(endpoints={}, roles=folder, access=access)
    return admitted(config, user, Grant(pins=frozenset(pins)), {})


@pytest.mark.parametrize("settings", [NEAR, '[access]\nmode = "token"\n'])
def test_what_the_user_says_of_access_holds_until_the_vaults_word_is_trusted(tmp_path, settings):
    config = admitted_with(tmp_path, settings, OWN)
    assert config.access == OWN
    part = access_part(config, Grant())
    grant = Grant(pins=part.pins)
    trusted = admitted_with(tmp_path, settings, OWN, *part.pins)
    assert trusted.access == trusted.named_access
    assert access_part(trusted, grant) == part  # still listed, so that it stays granted


def test_a_proxy_on_this_machine_needs_no_trust_where_the_user_says_nothing(tmp_path):
    config = admitted_with(tmp_path, NEAR, AccessSettings())
    assert config.access.header == "X-Stranger"
    assert access_part(config, Grant()) is None
