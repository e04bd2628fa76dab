import pytest

from smart_context.base.text.typed import question_in, request_in, without_blocks

IDE = "# Context from my IDE setup:\n\n## Open tabs:\n- a.rs: src/a.rs\n\n"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        pytest.param("Who lit the lamp?", "Who lit the lamp?", id="only the question"),
        pytest.param("<system-reminder>\nx\n</system-reminder>\nWho?", "Who?", id="a reminder"),
        pytest.param("<a_b>\n</a_b>\n <c-d e='f'>x</c-d> Who?", "Who?", id="several blocks"),
        pytest.param("<environment_context>\n</environment_context>", "", id="only a block"),
        pytest.param("<system-reminder>\nx", "", id="a block that is not closed"),
        pytest.param("<environment_details>x</environment_details>", "", id="an underline"),
        pytest.param("<task>\nFix it\n</task>\n<a_b>x</a_b>", "Fix it", id="a wrapped question"),
        pytest.param("<a_b></a_b><user_query>Fix</user_query>", "Fix", id="wrapped behind a block"),
        pytest.param("<div>a</div> is too wide", "<div>a</div> is too wide", id="HTML"),
        pytest.param("<b", "<b", id="no tag"),
        pytest.param("Who?\n<a-b>x</a-b>\n<c_d>y</c_d>\n", "Who?", id="blocks behind"),
        pytest.param("<a-b>x</a-b> Who? <a-b>y</a-b>", "Who?", id="blocks on both sides"),
        pytest.param("Who? </a-b>", "Who? </a-b>", id="a block that was not opened"),
        pytest.param("Is it <b>so</b>", "Is it <b>so</b>", id="HTML at the end"),
        pytest.param(f"{IDE}## My request for Codex:\nRename it\n", "Rename it", id="an editor"),
        pytest.param(
            "# AGENTS.md instructions for /p\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>\n"
            "<environment_context></environment_context>",
            "",
            id="rules and surroundings",
        ),
        pytest.param("# Notes\n\nSum up", "# Notes\n\nSum up", id="a heading"),
    ],
)
def test_the_question_stands_behind_what_programs_put_before_it(text, question):
    assert question_in(text) == question


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("See ## My request for Codex: x", id="quoted in a line"),
        pytest.param("## My request for Codex:\nx", id="without a context before it"),
    ],
)
def test_a_request_without_the_context_of_an_editor_stays_as_it_is(text):
    assert request_in(text) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param("Fix it\n\n<r>\nx\n</r>", "Fix it", id="behind"),
        pytest.param("<r>x</r>\nFix it", "Fix it", id="before"),
        pytest.param("a\n<r>x</r>\nb\n<r>y</r>\nc", "a\nb\nc", id="between"),
        pytest.param("What does <r>x</r> do?", "What does <r>x</r> do?", id="within a line"),
        pytest.param("a\n<r>x", "a\n<r>x", id="not closed"),
        pytest.param("a\n<s>x</s>", "a\n<s>x</s>", id="of another name"),
    ],
)
def test_blocks_on_lines_of_their_own_are_left_out(text, left):
    assert without_blocks(text, ["r"]) == left
