import pytest

from tests.importing.brought import only, words

pytestmark = pytest.mark.anyio

BEGUN = "\n# aider chat started at 2026-03-01 09:00:00\n\n> Aider v0.86.2  \n\n#### Explain  \n\n"
TAG = "thinking-content-7bbeb8e1441453ad999a0bbba8a46d4b"


async def read(tmp_path, history):
    return await only(tmp_path / ".aider.chat.history.md", history.encode())


async def test_headings_of_an_answer_are_no_questions(tmp_path):
    history = f"{BEGUN}Two steps.\n\n#### Step 1\n\nRun it.\n\n#### Thanks  \n\nGladly.\n"
    document = await read(tmp_path, history)
    assert words(document) == [
        *("Explain", "Two steps.\n\n#### Step 1\n\nRun it.", "Thanks", "Gladly."),
    ]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param("The manual:\n\n> Pin them.", id="a quotation"),
        pytest.param("> One  \n> Two\n\nSo.", id="a quotation with a hard break"),
        pytest.param("```\n> npm install  \nadded 3\n```", id="a prompt in code"),
        pytest.param("~~~\n> npm  \n> ls  \n~~~", id="prompts in code"),
    ],
)
async def test_quotations_and_code_stay_in_an_answer(tmp_path, answer):
    history = f"{BEGUN}{answer}\n\n> Tokens: 607 sent, 69 received.  \n"
    assert words(await read(tmp_path, history)) == ["Explain", answer]


async def test_code_that_is_not_closed_hides_no_notice_and_no_question(tmp_path):
    history = f"{BEGUN}```\nx = 1\n\n> Tokens: 607 sent.  \n\n#### Go on  \n\nDone.\n"
    assert words(await read(tmp_path, history)) == ["Explain", "```\nx = 1", "Go on", "Done."]


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        pytest.param(f"<{TAG}>", f"</{TAG}>", id="as tags"),
        pytest.param("--------------\n► **THINKING**", "------------\n► **ANSWER**", id="as shown"),
        pytest.param("► **THINKING**", "► **ANSWER**", id="without lines"),
        pytest.param("<think>", "</think>", id="as the model writes it"),
    ],
)
async def test_the_thinking_block_is_a_thought(tmp_path, opening, closing):
    answer = f"{opening}\n\nTwo steps?\n\n{closing}\n\nHere."
    (_, said) = (await read(tmp_path, f"{BEGUN}{answer}\n"))["messages"]
    assert said["content"] == [
        {"type": "reasoning", "text": "Two steps?"},
        {"type": "text", "text": "Here."},
    ]


async def test_each_answer_between_notices_has_its_own_thought(tmp_path):
    answers = "\n\n> Applied edit to a.py  \n\n".join(
        f"<{TAG}>\nthought {n}\n</{TAG}>\n\nAnswer {n}" for n in (1, 2)
    )
    (_, said) = (await read(tmp_path, f"{BEGUN}{answers}\n"))["messages"]
    assert [part["text"] for part in said["content"]] == [
        *("thought 1", "Answer 1", "thought 2", "Answer 2"),
    ]


async def test_a_history_from_windows_and_one_whose_line_ends_were_cut_are_read(tmp_path):
    history = f"{BEGUN}It is so.\n\n> Tokens: 2  \n"
    for written in (history.replace("\n", "\r\n"), history.replace("  \n", "\n")):
        assert words(await read(tmp_path, written)) == ["Explain", "It is so."]


async def test_nothing_asked_is_no_message(tmp_path):
    history = f"{BEGUN}Yes.\n\n#### <blank>  \n\n#### And?  \n"
    assert words(await read(tmp_path, history)) == ["Explain", "Yes.", "And?"]
