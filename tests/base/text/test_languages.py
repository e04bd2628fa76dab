"""The language of a text, by its script and its frequent words."""

import json
import tracemalloc
from pathlib import Path

import pytest

from smart_context.base.text.languages import (
    language_of,
    main_language,
    with_language,
    without_language,
)

CHATS = json.loads(
    (Path(__file__).parents[2] / "topics" / "languages" / "first.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("chat", CHATS, ids=lambda chat: chat["language"])
def test_a_chat_is_in_the_language_of_its_messages(chat):
    assert main_language(chat["utterances"]) == chat["language"]


def test_code_and_names_do_not_decide():
    assert language_of("Wie lese ich das in `for the of and in` ein?") == "de"
    assert language_of("```\nfor the in of\n```\nпочему это не работает") == "ru"
    assert language_of("在 Docker 里运行 Postgres 的问题") == "zh"


def test_nothing_to_go_by_gives_nothing():
    assert language_of("") == language_of("Postgres 16") == main_language([]) == ""


def test_a_language_is_put_in_front_and_taken_off():
    assert without_language(with_language("Gitarre", "de")) == ("de", "Gitarre")
    assert without_language("Gitarre") == ("", "Gitarre")


def test_long_texts_that_were_read_do_not_fill_the_memory():
    tracemalloc.start()
    try:
        for number in range(50):
            language_of(f"{number}" + "x" * 1_000_000)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < 5_000_000
