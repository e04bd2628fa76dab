"""`smart-context models`: from nothing to a model that answers, on the command line."""

import json

import pytest

from tests.fake_openai import FakeOpenAI, failure

KEY = "sk-proj-Ab3dEf6hIj9kLmNoPqRsTuVwXyZ012345"


@pytest.fixture
def endpoint():
    with FakeOpenAI() as fake:
        yield fake


def test_a_model_is_added_listed_tested_used_and_removed(smart_context, tmp_path, endpoint):
    url = endpoint.base_url
    code, out, _ = smart_context(
        "models", "add", url, "--key", "--model", "gpt-4o", stdin=f"{KEY}\n"
    )
    assert code == 0
    assert "gpt-4o" in out
    assert KEY not in out

    code, out, _ = smart_context("models", "list", "--format", "json")
    rows = {row["category"]: row for row in json.loads(out)}
    assert rows["chat"] == {"category": "chat", "model": "gpt-4o", "base_url": url, "key": "stored"}
    assert rows["fast"]["model"] == "embedded"

    code, out, _ = smart_context("models", "test")
    assert code == 0
    assert "gpt-4o" in out
    assert "You said" in out
    assert {request.key for request in endpoint.requests} == {KEY}

    assert smart_context("models", "use", "gpt-4o-mini", "--for", "fast")[0] == 0
    assert "gpt-4o-mini" in smart_context("models", "list")[1]

    for category in ("fast", "chat"):
        assert smart_context("models", "remove", category)[0] == 0
    assert url not in smart_context("models", "list")[1]
    kept = (tmp_path / "config" / "smart-context" / "provider-keys.json").read_text()
    assert KEY not in kept


def test_a_model_that_fails_says_what_to_do(smart_context, endpoint):
    smart_context("models", "add", endpoint.base_url, "--model", "gpt-4o")
    endpoint.reply_with(failure(404, "no such model"))
    code, _, err = smart_context("models", "test")
    assert code == 1
    assert "404" in err
    code, _, err = smart_context("models", "test", "embedding")
    assert code == 1
    assert "smart-context models add" in err
    code, _, err = smart_context("models", "add", "ftp://nowhere")
    assert code == 2
    assert "can't be used" in err


def test_a_key_goes_with_its_last_model_also_where_the_package_does_the_rest(
    smart_context, tmp_path, endpoint
):
    add = ("models", "add", endpoint.base_url, "--model", "gpt-4o", "--key")
    smart_context(*add, stdin=f"{KEY}\n")
    smart_context("models", "use", "embedded", "--for", "fast")
    assert smart_context("models", "remove")[0] == 0
    folder = tmp_path / "config" / "smart-context"
    assert KEY not in (folder / "provider-keys.json").read_text()
    assert endpoint.base_url not in (folder / "config.toml").read_text()


def test_where_the_vault_names_a_model_the_user_is_told_that_it_wins(
    smart_context, tmp_path, endpoint
):
    vault = tmp_path / "named"
    vault.mkdir()
    settings = f'[llm]\nbase_url = "{endpoint.base_url}"\n[llm.categories]\nchat = "gpt-4o"\n'
    (vault / ".vault.toml").write_text(settings)
    smart_context("models", "add", endpoint.base_url, "--model", "gpt-4o")
    for verb in (("use", "gpt-4o-mini"), ("remove", "chat")):
        code, out, _ = smart_context("models", *verb, "--vault", str(vault))
        assert code == 0
        assert f"{vault / '.vault.toml'} sets llm.categories.chat" in out
        assert "any more" not in out
    assert (vault / ".vault.toml").read_text() == settings


def test_a_second_server_is_added_beside_the_first_and_removed_alone(smart_context, endpoint):
    with FakeOpenAI(models=("llama3",)) as second:
        smart_context("models", "add", endpoint.base_url, "--model", "gpt-4o", "--name", "Cloud")
        smart_context("models", "add", second.base_url, "--model", "llama3")
        rows = json.loads(smart_context("models", "--format", "json")[1])
        assert [row["base_url"] for row in rows] == [second.base_url, endpoint.base_url]
        two, one = (row["id"] for row in rows)
        assert one == "cloud"
        assert smart_context("models", "use", f"{one}/gpt-4o-mini", "--for", "fast")[0] == 0
        assert "Cloud" in smart_context("models")[1]

        code, out, _ = smart_context("models", "remove", two)
        assert (code, two in out) == (0, True)
        listed = smart_context("models", "list", "--format", "json")[1]
        models = {row["category"]: row["model"] for row in json.loads(listed)}
        assert (models["chat"], models["fast"]) == ("gpt-4o", "gpt-4o-mini")
        code, _, err = smart_context("models", "remove", two)
        assert (code, one in err) == (1, True)


def test_without_a_terminal_a_model_has_to_be_named(smart_context, endpoint):
    code, _, err = smart_context("models", "add", endpoint.base_url, stdin="")
    assert code == 1
    assert "--model NAME" in err
