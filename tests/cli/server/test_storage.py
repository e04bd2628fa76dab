"""`smart-context storage`, by its exit codes and words."""

import json
import os
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.postgres_server import new_database, new_empty_database
from tests.preloaded import run_to_end
from tests.storage.test_copying import WRITTEN

NOWHERE = "postgresql://smart:secret@127.0.0.1:1/x"


@pytest.fixture
def empty(tmp_path_factory):
    return new_empty_database(tmp_path_factory)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["migrate", "mysql://u:secret@h/x"], "is no database"),
        (["check", "/tmp"], "is no database"),
        (["copy", "--from", "mysql://u:secret@h/x", "--to", "/tmp/x"], "can't keep chats"),
        (["copy", "--from", "/tmp/x"], "--to"),
        (["copy", "--from", "/nowhere/vault", "--to", "/tmp/x"], "/nowhere/vault is not a folder"),
        (["migrate", "--nothing"], "No such option"),
        (["migrate", "postgres:/u:secret@h/x"], "is no database"),
        (["copy", "--from", "postgres:/u:secret@h/x", "--to", "/tmp/x"], "is not a folder"),
    ],
)
def test_wrong_usage_ends_with_2(arguments, words):
    code, _, errors = run_to_end(["storage", *arguments])
    assert code == 2
    assert words in errors
    assert "secret" not in errors


@pytest.mark.parametrize("verb", ["serve", "chats list --vault", "storage check --vault"])
@pytest.mark.parametrize("variable", ["SMART_CONTEXT_STORAGE", "SMART_CONTEXT_EVENTS"])
def test_a_variable_that_names_no_storage_ends_with_2(tmp_path, verb, variable):
    env = {**os.environ, variable: "mysql://u:secret@h/x"}
    code, _, errors = run_to_end([*verb.split(), tmp_path], env=env)
    assert code == 2
    assert variable in errors
    assert "secret" not in errors


@pytest.mark.parametrize("verb", ["migrate", "check"])
def test_a_database_that_is_not_there_ends_with_1(verb):
    code, out, errors = run_to_end(["storage", verb, NOWHERE])
    assert code == 1
    assert "127.0.0.1" in errors
    assert "secret" not in out + errors


@pytest.mark.parametrize("typed", ["u:se@secret@h/x", "u:secret/se@h/x", "u:secret/h/x"])
def test_an_address_that_was_mistyped_is_not_printed_with_its_password(typed):
    code, out, errors = run_to_end(["storage", "migrate", f"postgresql://{typed}"])
    assert code == 1
    assert "write @ : / ? # and % as" in errors
    assert "se@" not in out + errors
    assert "secret" not in out + errors


def test_a_role_that_may_make_no_tables_is_told_who_may(empty):
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS plain_role")
        connection.execute("CREATE ROLE plain_role LOGIN")
    plain = re.sub(r"//[^@/]*@", "//plain_role@", empty)
    plain = plain if plain != empty else f"{empty}{'&' if '?' in empty else '?'}user=plain_role"
    code, _, errors = run_to_end(["storage", "migrate", plain])
    assert code == 1
    assert "permission denied for schema public" in errors
    assert "Let the owner of the database run smart-context storage migrate" in errors


def test_a_database_is_checked_migrated_and_checked(empty):
    code, out, errors = run_to_end(["storage", "check", empty])
    assert (code, "storage migrate" in errors) == (1, True)
    assert "PostgreSQL 1" in out
    code, out, _ = run_to_end(["storage", "migrate", empty])
    assert (code, "0001_storage" in out) == (0, True)
    assert run_to_end(["storage", "migrate", empty])[:2] == (0, "Nothing to apply.\n")
    assert run_to_end(["storage", "check", empty])[0] == 0


def test_a_database_is_migrated_by_one_of_four_who_begin_at_once(empty):
    with ThreadPoolExecutor(4) as at_once:
        outcomes = list(at_once.map(run_to_end, [["storage", "migrate", empty]] * 4))
    assert [code for code, *_ in outcomes] == [0] * 4, outcomes
    assert sum("0001_storage" in out for _, out, _ in outcomes) == 1
    assert run_to_end(["storage", "check", empty])[0] == 0


@pytest.mark.parametrize("verb", ["migrate", "check"])
def test_a_newer_schema_is_refused_by_its_name(tmp_path_factory, verb):
    url = new_database(tmp_path_factory)
    with psycopg.connect(url) as connection:
        connection.execute("INSERT INTO migration VALUES (9999, '9999_from_tomorrow')")
    code, _, errors = run_to_end(["storage", verb, url])
    assert code == 1
    assert "9999_from_tomorrow" in errors


def test_a_folder_needs_no_migration(tmp_path):
    for verb in ("migrate", "check"):
        assert run_to_end(["storage", verb, "--vault", tmp_path])[0] == 0


def test_a_copy_says_what_it_did_and_what_it_could_not(tmp_path, empty):
    memory = tmp_path / "one" / ".memory"
    memory.mkdir(parents=True)
    (memory / "c1.json").write_text('{"messages": []}')
    there = ["storage", "copy", "--from", tmp_path / "one", "--to", empty]
    code, out, _ = run_to_end([*there, "--format", "json"])
    assert (code, json.loads(out)) == (0, {"copied": {"chat": 1}, "unchanged": 0, "refused": {}})
    (memory / "c1.json").write_text('{"messages": [], "title": "changed"}')
    code, _, errors = run_to_end(there)
    assert code == 1
    assert "c1.json" in errors


def test_a_copy_names_what_is_kept_only_as_a_file_and_ends_with_1(tmp_path):
    memory = tmp_path / "one" / ".memory"
    memory.mkdir(parents=True)
    (memory / "c1.json").write_text("{")
    there = ["storage", "copy", "--from", tmp_path / "one", "--to", tmp_path / "two"]
    code, out, errors = run_to_end(there)
    assert (code, "Copied: 1 other file." in out) == (1, True)
    assert "c1.json: is damaged: no chat can be read from it" in errors
    code, out, _ = run_to_end([*there, "--format", "json"])
    assert (code, list(json.loads(out)["as_files"])) == (1, ["c1.json"])


def test_a_copy_onto_itself_is_wrong_usage(tmp_path):
    (tmp_path / ".memory").mkdir()
    code, _, errors = run_to_end(["storage", "copy", "--from", tmp_path, "--to", tmp_path])
    assert code == 2
    assert "the same storage" in errors


def test_a_copy_counts_in_plain_words(tmp_path, empty):
    shutil.copytree(WRITTEN, tmp_path / "one" / ".memory")
    _, out, _ = run_to_end(["storage", "copy", "--from", tmp_path / "one", "--to", empty])
    assert "4 chats, 1 added vector file, 2 vector files," in out


def test_the_database_that_a_vault_names_counts_once_the_vault_is_trusted(tmp_path, empty):
    (tmp_path / ".vault.toml").write_text(f'[storage]\nurl = "{empty}"\n')
    migrate = ["storage", "migrate", "--vault", tmp_path]
    assert "memory folder" in run_to_end(migrate)[1]
    assert run_to_end(["trust", tmp_path, "--yes"])[0] == 0
    assert "0001_storage" in run_to_end(migrate)[1]
    assert run_to_end(["trust", "--revoke", tmp_path])[0] == 0
    assert "memory folder" in run_to_end(migrate)[1]
