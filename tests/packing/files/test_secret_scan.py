"""Which texts and names count as secrets."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smart_context.packing.files import secret_kinds
from smart_context.packing.files.secret_kinds import key_in
from smart_context.packing.files.secret_scan import find_secret, find_secrets, secret_in
from tests.packing.files.credentials import ALNUM, HEX, credentials

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
    *("hf_", "npm_", "hooks.slack.com/services/", "T0AAAAAAA", "/B0BBBBBB", "/", "SG.", ".eyJ"),
    *("A" * 10, "a1B2" * 5, "Zz9_" * 6, "0" * 16, "abcdefgh", "x" * 20, "://a:", "@", "dapi"),
    *(" ", ".", "-", "_", 'token = "', '"', "é", "API_KEY: '", "'", "qW8rT2yU6iO1pA5sD9fG3hJ7"),
    *("Authorization: Basic ", "password=", "example", ";"),
)
PATHS = ("a.py", ".env", "x/.env.local", "id_rsa", "y/id_rsa", "xid_rsa", ".netrc", "a.netrc", "é")


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(PATHS), st.lists(st.sampled_from(PARTS), max_size=8)), max_size=6
    )
)
def test_joined_texts_give_what_each_gives_alone(files):
    named = [(f"{at}/{path}", "".join(parts)) for at, (path, parts) in enumerate(files)]
    alone = {path: what for path, text in named if (what := find_secret(path, text))}
    assert find_secrets(named) == alone


@pytest.mark.parametrize("what", credentials(0))
def test_a_credential_of_each_kind_is_found(what):
    found = [bool(secret_in(f"before\n{credentials(seed)[what]}\nafter")) for seed in range(40)]
    assert sum(found) >= 38  # a random one may hold a word, or no digit


@pytest.mark.parametrize(
    "around", ["a\\n{}\\n", "`{}`", '{{"a": "{}"}}', "?key={}&b=1", "--token {} run", "| {} |"]
)
def test_a_key_with_a_form_of_its_own_is_found_wherever_it_is(around):
    kinds = [kind for kind in credentials(0) if key_in(f"\n{credentials(0)[kind]}\n")]
    missed = [kind for kind in kinds if not key_in(around.format(credentials(0)[kind]))]
    assert len(kinds) > 60
    assert missed == []


def test_each_kind_of_the_table_has_a_credential_here():
    found = {secret_in(text) for text in credentials(0).values()}
    assert {kind.what for kind in secret_kinds._kinds()} <= found


def r(length, letters=ALNUM):
    return "".join(random.Random(length).choices(letters, k=length))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("AKIAIOSFODNN7" + "EXAMPLE", id="the AWS key of documents"),
        pytest.param("secret_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY", id="its secret"),
        pytest.param("OPENAI_API_KEY=sk-...", id="dots"),
        pytest.param("OPENAI_API_KEY=sk-" + "x" * 48, id="the same letter"),
        pytest.param("API_KEY=sk-1234567890" + "abcdef1234567890abcdef", id="in the order of keys"),
        pytest.param("ANTHROPIC_API_KEY=sk-ant-your-key-here-1", id="your key"),
        pytest.param("api_key: 'your-api-key'", id="a placeholder in quotes"),
        pytest.param("token: <token-1-of-the-service>", id="a placeholder in brackets"),
        pytest.param("password: ${DB_PASSWORD_1}", id="a variable"),
        pytest.param("secret: {{ secrets.DEPLOY_TOKEN_1 }}", id="a template's variable"),
        pytest.param("apiKey: process.env.OPENAI_API_KEY1", id="an environment variable of Node"),
        pytest.param("password = os.environ['DB_PASSWORD1']", id="one of Python"),
        pytest.param("password: changeme123", id="a default"),
        pytest.param("password = 'P4ssw0rd!123'", id="a proverbial password"),
        pytest.param("postgres://user:password@localhost:5432/db", id="an address of documents"),
        pytest.param("postgresql://scott:tiger@localhost/test", id="an old one"),
        pytest.param("https://me:x7Kq2Lp9Zw@example.com", id="an example's machine"),
        pytest.param("sha256:" + r(64, HEX), id="a hash"),
        pytest.param("commit " + r(40, HEX), id="a commit"),
        pytest.param('"integrity": "sha512-' + r(86) + '=="', id="npm's integrity"),
        pytest.param(f'resolved "https://a.com/x/-/x-1.2.3.tgz#{r(40, HEX)}"', id="a lock file"),
        pytest.param(f'hash = "sha256:{r(64, HEX)}"', id="a lock file of Python"),
        pytest.param("id: 7a3f1c2e-94b8-4d17-a05e-c1f28d6b93e4", id="a UUID"),
        pytest.param("data:image/png;base64," + r(400), id="a picture"),
        pytest.param("//# sourceMappingURL=data:application/json;base64," + r(400), id="a map"),
        pytest.param("token = self.token2_of_Request3", id="an attribute"),
        pytest.param("private_key: ed25519.Ed25519PrivateKey", id="a type"),
        pytest.param("type Token = SemicolonToken$1;", id="a type of a bundler"),
        pytest.param('token = get_token("oauth2", 3)', id="a call"),
        pytest.param("tokenizer = 'cl100k_base_v2_2023'", id="another word"),
        pytest.param("spwd: 3.0-3.12", id="a version"),
        pytest.param("url?token=Root%20CA%20Certificates%202", id="words in an address"),
        pytest.param('publicKeyToken="1fc8b3b9a1e18e3b"', id="a public key's token"),
        pytest.param("-----BEGIN PRIVATE KEY-----\n...\n-----END", id="dots for a private key"),
        pytest.param("-----BEGIN RSA " + "PRIVATE KEY-----\n<your key>", id="words for one"),
        pytest.param("Authorization: Bearer $TOKEN", id="a shell's variable"),
        pytest.param("Authorization: Basic " + "QWxhZGRpbjpvcGVuIHNlc2FtZQ==", id="of an RFC"),
        pytest.param("oauth_token=kkk9d7dh3k39sjv7", id="of another RFC"),
        pytest.param(
            "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
            "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ."
            "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
            id="the JSON web token of documents",
        ),
        pytest.param("var a=1,token=b?c:d9,e=f.g2(h),i=j[3]", id="minified code"),
        pytest.param("The password is changed every 90 days; a token lasts 1h.", id="prose"),
    ],
)
def test_what_documents_and_code_show_is_no_credential(text):
    assert secret_in(f"before\n{text}\nafter") == ""


def test_the_packages_at_hand_hold_no_credential():
    files = {
        path: path.read_text("utf-8", "ignore")
        for path in Path(pytest.__file__).parent.glob("**/*.py")
    }
    files |= {path: path.read_text("utf-8") for path in Path("smart_context").glob("**/*.py")}
    assert find_secrets((str(path), text) for path, text in files.items()) == {}
    assert len(files) > 400
