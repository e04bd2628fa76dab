"""Every command gets parameters that nobody would write, and answers with words."""

import json
from random import Random

import pytest

from tests.product.odd_parameters import odd_parameters
from tests.serving import serving

EACH = 12
ODD_MESSAGES = [
    *(None, 3, "x", [], {"role": "user"}, {"role": 7, "content": {}}),
    {"id": 9, "role": "assistant", "content": None, "tool_calls": "x"},
    {"id": "m1", "role": "user", "content": "hi", "attachments": "x", "parts": {"a": 1}},
]
UNWORDED = ("nexpected", "Error", "Traceback", "NoneType", "object has no", "codec can't")
"""What no answer says: it would be Python's words, or none."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    vault = tmp_path_factory.mktemp("vault")
    (vault / "notes").mkdir()
    (vault / "note.md").write_text("# Bread\nFlour and [[a]]\n")
    (vault / "notes/a.md").write_text("Water.")
    (vault / ".memory").mkdir()
    full = [
        {"id": f"m{n}", "role": ("user", "assistant")[n % 2], "content": f"Bread and flour {n}"}
        for n in range(8)
    ]
    odd = {"messages": ODD_MESSAGES, "title": 7, "topics": "x", "branches": 3, "compactions": [1]}
    # "kept" is the chat that no odd parameter names, and so changes
    for name, document in {"full": {"messages": full}, "odd": odd, "kept": odd}.items():
        (vault / ".memory" / f"{name}.json").write_text(json.dumps(document))
    with serving(vault) as running:
        yield running


def test_every_command_answers_odd_parameters_with_words(server):
    said = {}
    for command in server.ask("system.commands")["commands"]:
        name = command["name"]
        for number in range(EACH):
            given = odd_parameters(Random(f"0 {name} {number}"), command["params"])
            status, answer = server.command(name, **given)
            words = "" if status == 200 else answer["error"]["message"]
            if (status != 200 and not words) or any(word in words for word in UNWORDED):
                said[name] = (words, given)
    assert said == {}
    assert server.request("GET", "/healthz")[0] == 200
    assert not [line for line in server.errors if "failed:" in line or "Warning" in line]


@pytest.mark.parametrize(
    ("name", "given", "status"),
    [
        pytest.param("memory.copy_chat", {"chat_id": "kept"}, 200, id="messages of other kinds"),
        pytest.param("smart_context.list_notes", {"offset": 2**63}, 200, id="a page far behind"),
        pytest.param(
            "smart_context.preview",
            {"chat_id": "kept", "threshold": 1e308},
            422,
            id="too large a threshold",
        ),
        pytest.param(
            "smart_context.reasons",
            {"chat_id": "kept", "message_ids": ["m1"], "threshold": -2},
            422,
            id="a threshold out of range",
        ),
    ],
)
def test_what_was_found_so_is_answered(server, name, given, status):
    found, answer = server.command(name, **given)
    assert found == status, answer
    assert (
        status == 200 or "threshold: expected a number from -1 to 1" in answer["error"]["message"]
    )
