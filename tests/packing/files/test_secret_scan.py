"""Which texts and names count as secrets."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smart_context.packing.files import secret_scan
from smart_context.packing.files.secret_scan import find_secret, find_secrets, secret_in

DIGITS = "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("AKIA" + "ABCDEFGHIJKLMNOP", id="AWS"),
        pytest.param("ASIA" + "ABCDEFGHIJKLMNOP", id="AWS, for a while"),
        pytest.param("npm_" + DIGITS[:36], id="npm"),
        pytest.param("pypi-AgE" + DIGITS * 2, id="PyPI"),
        pytest.param("hooks.slack.com/services/T000AAA/B000AAA/" + DIGITS, id="a webhook"),
        pytest.param("x = ghp_" + DIGITS[:36], id="GitHub"),
        pytest.param("github_pat_" + DIGITS + "_" + DIGITS, id="GitHub, fine-grained"),
        pytest.param("glpat-" + DIGITS[:20], id="GitLab"),
        pytest.param("xoxb-" + "123456789012-abcdef", id="Slack"),
        pytest.param("sk-proj-" + DIGITS, id="OpenAI"),
        pytest.param("sk-" + DIGITS, id="OpenAI, older"),
        pytest.param("sk-" + "0a1b2c3d4e5f60718293a4b5c6d7e8f9", id="DeepSeek"),
        pytest.param("sk_live_" + DIGITS[:24], id="Stripe"),
        pytest.param("hf_" + DIGITS[:34], id="Hugging Face"),
        pytest.param("AIza" + DIGITS[:35], id="Google"),
        pytest.param("-----BEGIN RSA " + "PRIVATE KEY-----\nMII", id="a private key"),
        pytest.param(f'DB_PASSWORD = "{DIGITS}"', id="an assignment"),
        pytest.param(f"apiKey: '{DIGITS}'", id="a key in an object"),
    ],
)
def test_a_credential_is_found(text):
    assert secret_in(f"before\n{text}\nafter")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("api_key = os.environ['API_KEY']", id="a name"),
        pytest.param('api_key = "your-api-key-goes-here-please-1"', id="a placeholder"),
        pytest.param('token = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaa1"', id="not random"),
        pytest.param('token_url = "https/example/com/oauth/token/v2"', id="an address"),
        pytest.param(f'digest = "{DIGITS}"', id="a random text without a telling name"),
        pytest.param("-----BEGIN PUBLIC KEY-----\nMII", id="a public key"),
        pytest.param('if "PRIVATE KEY" in text: pass', id="about keys"),
        pytest.param("class sk-learn-something-quite-long", id="words after a prefix"),
        pytest.param("#sk-container-of-estimator-id-1", id="a name with a number"),
        pytest.param("xAKIA" + "ABCDEFGHIJKLMNOP", id="the middle of a word"),
        pytest.param("task-" + DIGITS, id="another word"),
        pytest.param("name_" + DIGITS, id="a long name"),
        pytest.param("AKIA is the prefix", id="a prefix alone"),
    ],
)
def test_what_only_looks_like_a_credential_is_not_found(text):
    assert secret_in(text) == ""


@pytest.mark.parametrize(
    ("path", "text", "is_secret"),
    [
        pytest.param(".env", "PASSWORD=x", True, id="an environment file"),
        pytest.param("app/.env.production", "export A=1", True, id="of a stage"),
        pytest.param(".env", "# nothing\nA=\n", False, id="without values"),
        pytest.param(".env.example", "PASSWORD=x", False, id="an example"),
        pytest.param("a/id_ed25519", "x", True, id="a key file"),
        pytest.param("id_rsa.pub", "x", False, id="a public key file"),
    ],
)
def test_some_files_are_secret_by_name(path, text, is_secret):
    assert bool(find_secret(path, text)) is is_secret


def test_of_many_files_exactly_those_with_a_secret_are_found():
    key = "AKIA" + "ABCDEFGHIJKLMNOP"
    files = [(f"f{number}", "word " * 10_000) for number in range(30)]
    files[3] = ("f3", key)
    files[4] = ("f4", "-----BEGIN " + "PRIVATE KEY-----\n")
    files[17] = ("a/.env", "A=1")
    assert find_secrets(files) == {"f3": "an AWS key", "a/.env": "an environment file"}
    assert find_secrets([]) == {}


PARTS = (
    *("-----BEGIN ", "PRIVATE KEY", "RSA ", " BLOCK", "-----", "\n", "AKIA", "ASIA", "AIza"),
    *("glpat-", "xoxb-", "xoxz-", "pypi-AgE", "sk-", "_sk-", "ghp_", "github_pat_", "sk_live_"),
    *("hf_", "npm_", "hooks.slack.com/services/", "T0AAAAAAA", "/B0BBBBBB", "/"),
    *("A" * 10, "a1B2" * 5, "Zz9_" * 6, "0" * 16, "abcdefgh", "x" * 20),
    *(" ", ".", "-", "_", 'token = "', '"', "é", "API_KEY: '", "'", "qW8rT2yU6iO1pA5sD9fG3hJ7"),
)
PATHS = ("a.py", ".env", "x/.env.local", "id_rsa", "y/id_rsa", "xid_rsa", ".netrc", "a.netrc", "é")


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(PATHS), st.lists(st.sampled_from(PARTS), max_size=8)), max_size=6
    )
)
def test_joined_texts_give_what_each_kind_gives_alone(files):
    named = [(f"{at}/{path}", "".join(parts)) for at, (path, parts) in enumerate(files)]
    alone = {path: what for path, text in named if (what := _looked_for_one_by_one(path, text))}
    assert find_secrets(named) == alone


def _looked_for_one_by_one(path, text):
    """Every kind by its own pattern, in their order, without a look at joined texts."""
    if re.search(r"(?i)(?:^|/)(?:id_(?:rsa|dsa|ecdsa|ed25519)|\.netrc|\.pgpass|\.htpasswd)$", path):
        return "a file of keys or passwords"
    is_env = re.search(r"(?i)(?:^|/)\.env(?:\.(?!example|sample|template|dist)[\w.-]+)?$", path)
    if is_env and secret_scan._ENV_VALUE.search(text):
        return "an environment file"
    return next(_kinds_in(text), "")


def _kinds_in(text):
    yield from (what for what, pattern in secret_scan._VENDORS if pattern.search(text))
    runs = secret_scan._MODEL_VENDORS_KEY.findall(text)
    if any(re.search(r"\d", r) and (re.search("[A-Z]", r) or r[3:].isalnum()) for r in runs):
        yield "a model vendor's key"
    if re.search("_[0-9A-Za-z]{16}", text):
        yield from (what for what, pattern in secret_scan._UNDERSCORED if pattern.search(text))
    assigned = (found for each in secret_scan._ASSIGNED for found in each.finditer(text))
    if any(secret_scan._is_named_secret(text, found) for found in assigned):
        yield "a key or password in an assignment"
