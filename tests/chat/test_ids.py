import pytest

from smart_context.base.errors import ChatIdInvalid
from smart_context.chat.ids import (
    belongs_to,
    chat_id_of,
    check_chat_id,
    new_chat_id,
    same_but_for_case,
    sidecar_name,
)


@pytest.mark.parametrize("text", ["a", "A-b_9", "0", "-", "_", "x" * 128, "trash", "console"])
def test_ascii_letters_digits_hyphen_and_underscore_make_an_id(text):
    assert check_chat_id(text) == text


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("x" * 129, id="129 characters"),
        pytest.param("../x", id="a way out"),
        pytest.param("a/b", id="a slash"),
        pytest.param("a\\b", id="a backslash"),
        pytest.param("a.b", id="a dot, which would look like a side-car"),
        pytest.param(".", id="the folder"),
        pytest.param("a\n", id="a line break at the end"),
        pytest.param("a\0", id="NUL"),
        pytest.param("é", id="a letter that is not ASCII"),
        pytest.param("１", id="a digit that is not ASCII"),
        pytest.param("a b", id="a space"),
        pytest.param("CON", id="a device"),
        pytest.param("nul", id="a device in lower case"),
        pytest.param("Com1", id="a numbered device"),
        pytest.param(7, id="a number"),
        pytest.param(None, id="none"),
    ],
)
def test_anything_else_is_refused_and_not_altered(text):
    with pytest.raises(ChatIdInvalid):
        check_chat_id(text)


def test_an_error_about_an_id_does_not_repeat_a_flood():
    with pytest.raises(ChatIdInvalid) as refused:
        check_chat_id("x" * 1_000_000)
    assert len(str(refused.value)) < 300


def test_new_ids_are_ids_and_differ():
    made = {new_chat_id() for _ in range(100)}
    assert len(made) == 100
    assert all(check_chat_id(chat_id) for chat_id in made)


@pytest.mark.parametrize(
    ("name", "chat"),
    [
        ("a.json", "a"),
        ("A-b_9.json", "A-b_9"),
        ("a.embeddings.json", None),
        ("a.damaged-20260301T120000Z.json", None),
        (".a.json.1234.tmp", None),
        (".index.json", None),
        ("a.JSON", None),
        ("a.json~", None),
        ("con.json", None),
        ("é.json", None),
    ],
)
def test_only_documents_are_chats(name, chat):
    assert chat_id_of(name) == chat


@pytest.mark.parametrize("suffix", ["embeddings.json", "smart_context.json", "answer.jsonl", "x-1"])
def test_a_sidecar_is_named_after_its_chat(suffix):
    assert sidecar_name("a", suffix) == f"a.{suffix}"
    assert belongs_to("a", sidecar_name("a", suffix))
    assert not belongs_to("ab", sidecar_name("a", suffix))


@pytest.mark.parametrize("suffix", ["json", "", "..", "../x", "a/b", ".x", "a..b", "X", "a\n"])
def test_a_suffix_can_not_leave_the_folder_or_be_the_document(suffix):
    with pytest.raises(ValueError, match="suffix"):
        sidecar_name("a", suffix)


@pytest.mark.parametrize(
    ("present", "other"),
    [
        pytest.param(["a.json", "b.json"], "a.json", id="only another case is there"),
        pytest.param(["a.json", "A.json"], None, id="both are there: the system tells them apart"),
        pytest.param(["A.json"], None, id="it is there itself"),
        pytest.param([], None, id="nothing is there"),
    ],
)
def test_ids_that_differ_in_case_only_are_told_by_the_names_in_the_folder(present, other):
    assert same_but_for_case("A.json", present) == other
