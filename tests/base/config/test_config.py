"""`.vault.toml`: the settings, and every fault with its line."""

import os
import re
from dataclasses import replace

import pytest
import tomli
from hypothesis import given
from hypothesis import strategies as st

from smart_context.base.config import (
    SettingSpec,
    environment,
    read_config,
    read_memory_dir,
    starter_config,
)
from smart_context.base.config.document import lines_of_keys
from smart_context.base.errors import ConfigInvalid

SETTINGS = {
    "smart_context": {
        "enabled": SettingSpec(type="boolean", default=True),
        "similarity_threshold": SettingSpec(type="number", default=0.4, minimum=-1, maximum=1),
        "embedding_search": SettingSpec(type="boolean", default=True),
        "relevance": SettingSpec(type="string", default="enriched", choices=("enriched", "plain")),
        "recent_messages": SettingSpec(type="integer", default=2, minimum=0),
        "keep_pairs": SettingSpec(type="boolean", default=True),
        "ignore": SettingSpec(type="list", default=[]),
    }
}
KEY = "sk-proj-Ab3dEf6hIj9kLmNoPqRsTuVwXyZ012345"


def read(root, text=None, environ=None):
    if text is not None:
        (root / ".vault.toml").write_text(text, encoding="utf-8")
    config = read_config(root, plugin_settings=SETTINGS)
    assert (config.chat, config.fast, config.embedding) == (None, None, None)  # not in use yet
    named = {name: of and of.with_key(environ or {}) for name, of in config.named.items()}
    return replace(config, **named)


PROXY = 'mode = "proxy"\nheader = "X-User"\ntrusted = ["10.0.0.1"]'


def faults_of(root, text):
    with pytest.raises(ConfigInvalid) as raised:
        read(root, text)
    return raised.value


def test_a_vault_without_a_file_has_the_defaults_and_nothing_is_written(tmp_path):
    config = read(tmp_path)
    assert config.name == tmp_path.name
    assert config.memory_dir == tmp_path / ".memory"
    assert (config.chat, config.fast, config.embedding, config.path) == (None, None, None, None)
    assert config.plugins["smart_context"]["similarity_threshold"] == 0.4
    assert config.plugins["smart_context"]["enabled"] is True
    assert list(tmp_path.iterdir()) == []


def test_the_example_of_the_contract_is_read(tmp_path):
    config = read(
        tmp_path,
        """
        [vault]
        name = "My vault"
        memory_dir = "private/chats"
        [llm]
        base_url = "http://127.0.0.1:11434/v1/"
        api_key_env = "OPENAI_API_KEY"
        timeout_s = 7
        max_retries = 0
        [llm.categories]
        chat = "gpt-4o"
        fast = { model = "small", timeout_s = 5 }
        embedding = { model = "nomic-embed-text", base_url = "https://other.example/v1" }
        [plugins.smart_context]
        similarity_threshold = 1
        recent_messages = 0
        [plugins.some_vault_plugin]
        enabled = true
        """,
        {"OPENAI_API_KEY": KEY},
    )
    assert config.name == "My vault"
    assert config.memory_dir == tmp_path / "private" / "chats"
    assert config.chat.base_url == "http://127.0.0.1:11434/v1"
    assert (config.chat.model, config.chat.api_key) == ("gpt-4o", KEY)
    assert (config.chat.timeout_s, config.chat.max_retries) == (7, 0)
    assert (config.fast.model, config.fast.timeout_s, config.fast.api_key) == ("small", 5, KEY)
    assert config.embedding.base_url == "https://other.example/v1"
    assert config.plugins["smart_context"]["similarity_threshold"] == 1.0
    assert config.plugins["some_vault_plugin"] == {"enabled": True}


def test_a_key_goes_only_to_the_endpoint_it_was_named_for(tmp_path):
    config = read(
        tmp_path,
        """
        [llm]
        base_url = "https://one.example/v1"
        api_key_env = "ONE"
        [llm.categories]
        chat = { model = "m", base_url = "https://two.example/v1" }
        fast = { model = "m", base_url = "https://two.example/v1", api_key_env = "TWO" }
        """,
        {"ONE": "first", "TWO": "second"},
    )
    assert config.chat.api_key is None
    assert config.fast.api_key == "second"


def test_a_key_is_never_in_the_text_of_an_endpoint(tmp_path):
    config = read(
        tmp_path,
        '[llm]\nbase_url = "http://x/v1"\napi_key_env = "K"\ncategories.chat = "m"\n',
        {"K": KEY},
    )
    assert config.chat.api_key == KEY
    assert KEY not in repr(config)


def test_every_fault_is_listed_with_its_line(tmp_path):
    error = faults_of(
        tmp_path,
        """colour = 1
[vault]
name = 3
memory_dir = "../elsewhere"
[llm]
base_url = "ftp://x"
timeout_s = true
max_retries = 1.5
[llm.categories]
chat = []
speech = 'x'
[plugins.smart_context]
similarity_treshold = 0.5
recent_messages = -1
relevance = "fuzzy"
embedding_search = 'yes'
ignore = [1]""",
    )
    assert [(fault.line, fault.key) for fault in error.faults] == [
        (1, "colour"),
        (3, "vault.name"),
        (4, "vault.memory_dir"),
        (6, "llm.base_url"),
        (7, "llm.timeout_s"),
        (8, "llm.max_retries"),
        (10, "llm.categories.chat"),
        (11, "llm.categories.speech"),
        (13, "plugins.smart_context.similarity_treshold"),
        (14, "plugins.smart_context.recent_messages"),
        (15, "plugins.smart_context.relevance"),
        (16, "plugins.smart_context.embedding_search"),
        (17, "plugins.smart_context.ignore"),
    ]
    text = str(error)
    assert ".vault.toml: 13 faults" in text
    assert "did you mean 'similarity_threshold'?" in text
    assert "expected 'enriched' or 'plain', found the string 'fuzzy'" in text
    assert "expected a whole number of at least 0, found the number -1" in text


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        pytest.param("[vault\n", 1, "not TOML", id="a table that is not closed"),
        pytest.param("[vault]\n\nname = x y\n", 3, "not TOML", id="a string without quotes"),
        pytest.param("a = 1\na = 2\n", None, "not TOML", id="a key that stands twice"),
        pytest.param("a = " + "[" * 2000, None, "nested too deeply", id="absurd nesting"),
        pytest.param("a = " + "9" * 5000, None, "too many digits", id="an absurd number"),
        pytest.param("#" * 1_100_000, None, "larger than", id="a huge file"),
    ],
)
def test_a_file_that_does_not_parse_is_one_clear_fault(tmp_path, text, line, part):
    error = faults_of(tmp_path, text)
    assert len(error.faults) == 1
    assert part in str(error)
    if line is not None:
        assert error.faults[0].line == line


def test_a_file_that_is_not_utf_8_is_a_fault_with_its_line(tmp_path):
    (tmp_path / ".vault.toml").write_bytes(b"[vault]\nname = '\xff'\n")
    error = faults_of(tmp_path, None)
    assert error.faults[0].line == 2
    assert "UTF-8" in str(error)


def link_out(path):
    elsewhere = path.with_name("elsewhere")
    elsewhere.write_text("[vault]\nname = 'theirs'\n")
    path.symlink_to(elsewhere)


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), link_out, os.mkfifo])
def test_what_is_no_plain_file_in_place_of_the_file_is_a_fault(tmp_path, make):
    make(tmp_path / ".vault.toml")
    assert "not a plain file" in str(faults_of(tmp_path, None))


@pytest.mark.parametrize("text", ["\ufeff[vault]\nname = 'n'\n", "[vault]\r\nname = 'n'\r\n"])
def test_files_of_windows_editors_are_read(tmp_path, text):
    (tmp_path / ".vault.toml").write_bytes(text.encode())
    assert read(tmp_path).name == "n"


@pytest.mark.parametrize(
    "memory_dir",
    [
        "..",
        "../x",
        "a/../../x",
        "/tmp/x",
        "C:\\\\x",
        "\\\\x",
        "a\\\\..\\\\x",
        "~/x",
        ".",
        "./",
        "a\\u0000b",
    ],
)
def test_a_memory_folder_outside_the_vault_is_a_fault(tmp_path, memory_dir):
    error = faults_of(tmp_path, f'[vault]\nmemory_dir = "{memory_dir}"\n')
    assert [fault.key for fault in error.faults] == ["vault.memory_dir"]
    assert error.faults[0].line == 2


def test_a_memory_folder_behind_a_link_out_of_the_vault_is_a_fault(tmp_path):
    vault = tmp_path / "vault"
    vault.mkdir()
    (tmp_path / "out").mkdir()
    (vault / "link").symlink_to(tmp_path / "out")
    assert "link that leaves it" in str(faults_of(vault, '[vault]\nmemory_dir = "link/chats"\n'))


def test_a_memory_folder_that_is_a_file_is_a_fault(tmp_path):
    (tmp_path / "notes.md").touch()
    assert "found a file" in str(faults_of(tmp_path, '[vault]\nmemory_dir = "notes.md"\n'))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'[llm]\napi_key = "{KEY}"\n', id="api_key in llm"),
        pytest.param(f'[llm]\napi_key_env = "{KEY}"\n', id="a key for a name"),
        pytest.param('[llm]\napi_key_env = "aB3dEf6hIj9kLmNoPqRsT"\n', id="a random name"),
        pytest.param('[llm]\napi_key_env = "not a name!"\n', id="no name at all"),
        pytest.param(
            f'[llm.categories]\nchat = {{model = "m", base_url = "http://x", api_key = "{KEY}"}}\n',
            id="api_key in a category",
        ),
        pytest.param(f'[llm]\nbase_url = "https://user:{KEY}@host/v1"\n', id="in the address"),
        pytest.param(f'[vault]\nname = "{KEY}"\n', id="in another string"),
        pytest.param(f'[plugins.smart_context]\nrelevance = "{KEY}"\n', id="in a setting"),
        pytest.param(f'[plugins.smart_context]\nignore = ["{KEY}"]\n', id="in a list"),
        pytest.param(f"[llm]\n{KEY} = 1\n", id="as a key"),
    ],
)
def test_a_key_in_the_file_is_refused_and_not_echoed(tmp_path, text):
    error = faults_of(tmp_path, text)
    assert error.faults[0].line == 2
    for secret in (KEY, "aB3dEf6hIj9kLmNoPqRsT", "not a name!"):
        assert secret not in str(error)
        assert secret not in repr(error.faults)


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "key", "MyKey", "azure_openai_key_2", "OPENROUTER_API_KEY"]
)
def test_a_name_of_a_variable_is_accepted(tmp_path, name):
    config = read(
        tmp_path,
        f'[llm]\nbase_url = "http://x"\napi_key_env = "{name}"\ncategories = {{chat = "m"}}\n',
    )
    assert config.chat.api_key_env == name
    assert config.chat.api_key is None


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:1",
        "http://",
        "http:///v1",
        "http://a b/",
        "file:///x",
        "http://x:99999",
        "x",
        "",
        "http://[::1",
    ],
)
def test_an_address_that_is_not_http_is_a_fault(tmp_path, url):
    error = faults_of(tmp_path, f'[llm]\nbase_url = "{url}"\n')
    assert [fault.key for fault in error.faults] == ["llm.base_url"]


@pytest.mark.parametrize(
    "text",
    [
        "timeout_s = 0",
        "timeout_s = nan",
        "timeout_s = inf",
        "max_retries = 11",
        "context_window = 0",
        "images = 1",
    ],
)
def test_a_number_out_of_range_is_a_fault(tmp_path, text):
    assert len(faults_of(tmp_path, f"[llm]\n{text}\n").faults) == 1


@pytest.mark.parametrize("kind", ["number", "integer"])
def test_an_integer_that_is_too_large_for_toml_is_a_fault(tmp_path, kind):
    (tmp_path / ".vault.toml").write_text(f"[plugins.near]\nweight = 1{'0' * 400}\n")
    weight = SettingSpec(type=kind, default=1)
    with pytest.raises(ConfigInvalid, match=r"near\.weight: expected a .*number, found a huge"):
        read_config(tmp_path, plugin_settings={"near": {"weight": weight}})


@pytest.mark.parametrize(
    ("text", "key"),
    [
        pytest.param('chat = "gpt-4o"', "llm.categories.chat", id="a model id without endpoint"),
        pytest.param('chat = {model = "m"}', "llm.categories.chat", id="a table without endpoint"),
        pytest.param('chat = {base_url = "http://x"}', "llm.categories.chat.model", id="no model"),
        pytest.param("chat = ''", "llm.categories.chat", id="an empty model"),
    ],
)
def test_a_category_needs_a_model_and_an_endpoint(tmp_path, text, key):
    faults = faults_of(tmp_path, f"[llm.categories]\n{text}\n").faults
    assert key in {fault.key for fault in faults}
    assert {fault.line for fault in faults} == {2}


def test_embedded_and_absent_categories_have_no_endpoint(tmp_path):
    config = read(
        tmp_path, '[llm]\nbase_url = "http://x"\ncategories = {chat = "embedded", fast = "m"}\n'
    )
    assert config.chat is None
    assert config.embedding is None
    assert config.fast.model == "m"


@pytest.mark.parametrize(
    ("text", "is_fault"),
    [
        pytest.param("[plugins.absent]\nenabled = true", False, id="not synced yet"),
        pytest.param("[plugins.absent]\ncolour = 1", False, id="keys that can't be checked"),
        pytest.param("[plugins.smart_contxt]\nenabled = true", True, id="a slip of the pen"),
        pytest.param("[plugins.there]\nenabled = true\ncolour = 1", False, id="unread manifest"),
        pytest.param("[plugins.there]\nenabled = 1", True, id="enabled is checked even so"),
        pytest.param("[plugins.'../x']\nenabled = true", True, id="a name that is no id"),
        pytest.param("plugins = 3", True, id="not a table"),
        pytest.param("[plugins]\nsmart_context = true", True, id="not a table inside"),
    ],
)
def test_a_table_of_an_unknown_plugin(tmp_path, text, is_fault):
    (tmp_path / "plugins" / "there").mkdir(parents=True)
    if is_fault:
        assert len(faults_of(tmp_path, text).faults) == 1
    else:
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[llm.connections.a]\nname = "A"', "llm.connections.a.base_url: missing"),
        ('[llm.connections.chat]\nbase_url = "http://x/v1"', "expected the id of a connection"),
        ('[llm.connections."A b"]\nbase_url = "http://x/v1"', "expected the id of a connection"),
        ('[llm.connections.a]\nbase_url = "ftp://x"', "llm.connections.a.base_url: expected"),
        ('[llm.connections.a]\nbase_url = "http://x/v1"\nmodle = "m"', "did you mean 'model'"),
        (f'[llm.connections]\napi_key = "{KEY}"', "a key in the file is refused"),
        (f'[llm.connections.a]\nbase_url = "http://x/v1"\nkey = "{KEY}"', "is refused"),
        ('[llm.categories]\nchat = { connection = "b", model = "m" }', "no such connection"),
        ("[llm]\nconnections = 1", "llm.connections: expected a table"),
    ],
)
def test_what_is_wrong_with_a_connection_is_named(tmp_path, text, words):
    said = str(faults_of(tmp_path, text))
    assert words in said
    assert KEY not in said


def test_a_connection_has_an_address_and_a_key_of_its_own_and_else_what_all_have(tmp_path):
    text = (
        '[llm]\nbase_url = "http://x/v1"\napi_key_env = "X_KEY"\ntimeout_s = 9\n'
        '[llm.connections.y]\nbase_url = "http://y/v1/"\n'
        '[llm.categories]\nchat = "m"\nfast = { connection = "y", model = "n" }\n'
    )
    config = read(tmp_path, text)
    made = config.named_connections["y"]
    assert (made.name, made.endpoint.base_url, made.endpoint.timeout_s) == ("y", "http://y/v1", 9)
    assert (made.endpoint.api_key_env, made.endpoint.model) == ("", "")
    assert (config.fast.base_url, config.fast.model) == ("http://y/v1", "n")
    assert (config.chat.base_url, config.chat.api_key_env) == ("http://x/v1", "X_KEY")


def test_the_starter_file_holds_the_defaults(tmp_path):
    defaults = read(tmp_path)
    started = read(tmp_path, starter_config())
    assert started.plugins == defaults.plugins
    assert (started.memory_dir, started.name) == (defaults.memory_dir, defaults.name)


def test_the_starter_file_with_its_examples_uncommented_is_valid(tmp_path):
    text = re.sub(r"^# (?=\[|\w+ = )", "", starter_config(), flags=re.MULTILINE)
    config = read(tmp_path, text)
    assert config.chat.model == "gpt-4o"


def test_the_environment_is_read_as_it_is(monkeypatch):
    monkeypatch.setenv("SMART_CONTEXT_TEST", "1")
    assert environment()["SMART_CONTEXT_TEST"] == "1"
    assert environment().keys() == os.environ.keys()


TRICKY = '''\
# [fake]
a = "x = 1 # no"
"quoted key" = 1
'l.i' = 2
b.c = """
[fake]
d = 1 \\""" still
""""
[t . "u"]
e = [
  1, # ] not the end
  [2, "]"],
  {f = 1},
]
g = {h = 1, i.j = {k = '}'}}
m = \'\'\'
n = 1\'\'\'
o = 2026-03-01T12:00:00Z
[[many]]
p = 1
[[many]]
p = 2
"\\u00e9" = 1
'''


def test_the_line_of_each_key_is_found_in_a_tricky_text():
    tomli.loads(TRICKY)
    assert lines_of_keys(TRICKY) == {
        ("a",): 2,
        ("quoted key",): 3,
        ("l.i",): 4,
        ("b",): 5,
        ("b", "c"): 5,
        ("t",): 9,
        ("t", "u"): 9,
        ("t", "u", "e"): 10,
        ("t", "u", "e", "f"): 13,
        ("t", "u", "g"): 15,
        ("t", "u", "g", "h"): 15,
        ("t", "u", "g", "i"): 15,
        ("t", "u", "g", "i", "j"): 15,
        ("t", "u", "g", "i", "j", "k"): 15,
        ("t", "u", "m"): 16,
        ("t", "u", "o"): 18,
        ("many",): 19,
        ("many", "p"): 20,
        ("many", "é"): 23,
    }


def toml_value(value):
    if isinstance(value, dict):
        pairs = (f"{toml_key(name)} = {toml_value(inner)}" for name, inner in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",\n".join(map(toml_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return toml_key(value) if isinstance(value, str) else str(value)


def toml_key(text):
    return '"' + "".join(f"\\U{ord(character):08x}" for character in text) + '"'


values = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=8), values, max_size=5))
def test_each_key_of_any_document_has_a_line(document):
    text = "\n".join(f"{toml_key(name)} = {toml_value(value)}" for name, value in document.items())
    assert tomli.loads(text) == document
    lines = lines_of_keys(text)
    for name in document:
        line = text.splitlines()[lines[(name,)] - 1]
        assert line.startswith(toml_key(name))


@given(st.text(alphabet="ab.=[]{}\"'#,\\ \n1", max_size=60))
def test_finding_lines_ends_on_any_text(text):
    lines_of_keys(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(None, ".memory", id="no settings"),
        pytest.param("", ".memory", id="the default"),
        pytest.param(
            '[vault]\nmemory_dir = "a/b"\n[plugins.x]\ny = 1\n[llm]\nz = 2', "a/b", id="set"
        ),
    ],
)
def test_the_memory_folder_alone_needs_nothing_else_to_be_right(tmp_path, text, expected):
    if text is not None:
        (tmp_path / ".vault.toml").write_text(text)
    assert read_memory_dir(tmp_path) == tmp_path / expected


@pytest.mark.parametrize("text", ['[vault]\nmemory_dir = "../x"', "[vault", "vault = 3"])
def test_a_memory_folder_that_is_none_is_a_fault(tmp_path, text):
    (tmp_path / ".vault.toml").write_text(text)
    with pytest.raises(ConfigInvalid):
        read_memory_dir(tmp_path)


def test_window_and_images_are_inherited_and_overridden(tmp_path):
    config = read(
        tmp_path,
        """
        [llm]
        base_url = "http://x/v1"
        context_window = 32000
        images = true
        [llm.categories]
        chat = "a"
        fast = { model = "b", context_window = 8000, images = false }
        """,
    )
    assert (config.chat.context_window, config.chat.images) == (32000, True)
    assert (config.fast.context_window, config.fast.images) == (8000, False)


@pytest.mark.parametrize("mode", ['mode = "token"', PROXY])
def test_an_empty_list_of_hosts_means_none(tmp_path, mode):
    assert read(tmp_path, f"[access]\n{mode}\nhosts = []\n").named_access.hosts == ()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("trusted = []", "expected the proxy's address, found an empty list"),
        (f"trusted = {['10.0.0.1'] * 101}", "expected at most 100, found 101"),
        ("hosts = 7", 'expected a list of "name:port", found the number 7'),
    ],
)
def test_a_list_of_access_that_can_not_be_one_is_named(tmp_path, line, words):
    text = PROXY.replace('trusted = ["10.0.0.1"]', "") if "trusted" in line else PROXY
    (fault,) = faults_of(tmp_path, f"[access]\n{text}\n{line}\n").faults
    assert words in fault.message


@pytest.mark.parametrize("name", ["url", "events"])
def test_an_address_of_a_database_whose_parts_nobody_can_tell_is_a_fault(tmp_path, name):
    scheme = {"url": "postgresql", "events": "redis"}[name]
    text = f'[storage]\nurl = "postgresql://host/a"\n{name} = "{scheme}://[me:secret@host"\n'
    text = text.replace('url = "postgresql://host/a"\n', "") if name == "url" else text
    (fault,) = faults_of(tmp_path, text).faults
    assert fault.key == f"storage.{name}"
    assert "secret" not in fault.message
