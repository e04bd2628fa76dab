import json
import logging

import pytest

from smart_context.cli.terminal.failures import FORMAT, TRACEBACK_HINT, Escaping, JsonLines, OneLine

FORGED = "x\n12:00:00 all is well\r\x1b[2K\x9b2J\u2028\u202e\x00"
FORMATTERS = pytest.mark.parametrize("formatter", [Escaping(FORMAT), OneLine(FORMAT)])


def record(message, *args, error=None):
    raised = None
    if error is not None:
        try:
            raise error
        except type(error) as caught:
            raised = (type(caught), caught, caught.__traceback__)
    return logging.LogRecord("smart_context.web", logging.ERROR, "", 1, message, args, raised)


@FORMATTERS
def test_what_a_request_holds_can_neither_begin_a_line_nor_steer_the_terminal(formatter):
    line = formatter.format(record("Refused GET %s", FORGED))
    assert line.isprintable()
    assert r"x\n12:00:00 all is well\r\x1b" in line


@FORMATTERS
def test_nor_can_the_words_of_an_error(formatter):
    text = formatter.format(record("failed", error=ValueError(FORGED)))
    first, *rest = text.split("\n")
    assert first.isprintable()
    assert all(line.startswith("    ") and line.isprintable() for line in rest)


def test_a_traceback_is_shown_only_when_it_is_asked_for():
    failed = record("%s failed", "x.y", error=ValueError("bad"))
    line = OneLine(FORMAT).format(failed)
    assert line.endswith(f" x.y failed: ValueError: bad{TRACEBACK_HINT}")
    assert "Traceback" in Escaping(FORMAT).format(failed)


def test_letters_of_all_languages_are_left_as_they_are():
    assert OneLine(FORMAT).format(record("é 日本 🙂")).endswith("é 日本 🙂")


def test_programs_get_one_object_a_line_whatever_it_says():
    line = JsonLines().format(record("Refused %s", FORGED, error=ValueError("é\n日本")))
    assert line.isascii()
    assert "\n" not in line
    told = json.loads(line)
    assert told.pop("traceback").endswith("ValueError: é\n日本")
    assert told.pop("time").endswith("+00:00")
    assert told == {
        "level": "ERROR",
        "logger": "smart_context.web",
        "message": f"Refused {FORGED}",
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["topics", "--all", "--since", "nope"], "since: expected a date"),
        (["filter", "short-story", "--topics", ""], "a label has 1 to 200"),
        (["filter", "short-story", "--threshold", "nan"], "from -1 to 1"),
        (["recall", "short-story", "--query", " "], "expected a value"),
        (["recall", "short-story", "--query", "x", "--max-tokens", "9000000"], "max_tokens"),
        (["recall", "short-story", "--from", "short-story"], "can't recall itself"),
        (["split", "short-story", "--topic", "nope"], "no topic 'nope'"),
        (["compare", "short-story", "--message", "x", "--role", "nope"], "no role 'nope'"),
        (["compare", "short-story", "--message", "x", "--model", "nope"], "has this model"),
        (["compare", "short-story", "--message", ""], "expected some text"),
        (["chats", "import", "pyproject.toml", "--chat-id", "a b"], "is not a chat id"),
        (["chats", "export", "../x"], "is not a chat id"),
        (["recall", "short-story", "--from", "a b"], "is not a chat id"),
        (["filter", "short-story", "--role", "nope"], "no role 'nope'"),
        (["contexts", "edit", "trip", "--unset", "nope"], "no option 'nope'; choose one of depth"),
        (["contexts", "build", "--template-file", "pyproject.toml", "."], "expected {"),
        (["keys", "new", "bad name"], "can't be a key's name"),
        (["models", "add", "nope"], "expected an http or https address"),
        (["serve", "--host", "bad host", "--token", "a" * 20], "found 'bad host'"),
        (["serve", "--host", "192.0.2.1", "--token", "a" * 20], "address of this machine"),
    ],
)
def test_a_bad_value_of_an_option_ends_with_2(smart_context, vault, arguments, told):
    (vault / "pyproject.toml").touch()
    code, _, err = smart_context(*arguments, cwd=vault)
    assert code == 2
    assert told in err
