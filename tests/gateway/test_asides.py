"""What is told from a request alone, or beside the turns of its chat."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from smart_context.gateway.asides import RequestFrame, frame_of, is_beside, says_aside
from smart_context.gateway.requests.body import read_body
from smart_context.gateway.requests.units import chat_units, response_units
from tests.gateway.saying import assistant, system, user


def body_of(**fields):
    return read_body(json.dumps({"messages": [], **fields}).encode(), "messages")


TITLE = system("You are a title generator. You output ONLY a thread title.")


@pytest.mark.parametrize(
    ("messages", "is_named", "fields", "expected"),
    [
        ([user("### Task:\nSuggest tags")], False, {}, True),
        ([user("Hello"), user("### Task: x")], False, {}, False),
        ([TITLE, user("Hello")], True, {}, True),
        ([TITLE, user("Hello")], False, {}, False),
        ([TITLE, user("Hello")], True, {"tools": [{}]}, False),
        ([TITLE, user("Hello"), assistant("Hi"), user("So?")], True, {}, False),
        ([system("You are a helpful assistant."), user("Write a title")], True, {}, False),
    ],
)
def test_a_clients_own_tasks_are_told_from_turns(messages, is_named, fields, expected):
    body = body_of(**fields)
    assert says_aside(list(chat_units(messages)), body, is_named=is_named) is expected


@pytest.mark.parametrize(
    "prompt",
    [
        "You are a title generator. You output ONLY a thread title. Nothing else.",
        "You output ONLY a thread title.",
        "Generate a short title for the following conversation",
        "Create a concise title based on the user's first message",
        "You will generate a short title based on the first message a user begins with.",
        "Your task: create a concise, 3-5 word title for the chat.",
        "Write a short and descriptive title for this session.",
        "You are an expert. Please make a title of at most five words.",
        "Suggest one clear title.\nDon't use quotes.",
        "You are a helper that writes titles for conversations.",
        "Output only the words. Then output just a title, without quotes.",
        "GENERATE A BRIEF TITLE that helps the user to find this conversation",
    ],
)
def test_a_prompt_that_asks_for_a_title_is_told(prompt):
    units = list(chat_units([system(prompt), user("Hello")]))
    assert says_aside(units, body_of(), is_named=True)


@pytest.mark.parametrize(
    "prompt",
    [
        "You make web pages. The title of the site is Foo.",
        "Write short answers. Address the user by title and name.",
        "You write for the magazine, whose title is Foo.",
        "Write an essay with a title and three parts.",
        "Create posts; the title comes first.",
        "Do not write a title above the answer.",
        "Answer at once and never output a title.",
        "You don't make titles up.",
        "The title of the book is Foo. Generate questions about it.",
        "Write the title of each section in bold.",
        "You create tables of contents for a book of that title.",
        "Output Markdown\nTitles are level two",
        "Generate code in the language that the title names.",
        "You are a helpful assistant.",
    ],
)
def test_a_prompt_that_only_mentions_titles_is_that_of_a_turn(prompt):
    units = list(chat_units([system(prompt), user("Hello")]))
    assert not says_aside(units, body_of(), is_named=True)


TOOLS = [{"type": "function", "function": {"name": n}} for n in ("read_file", "edit", "shell")]
MAIN = (
    "You are an interactive agent for software engineering. Use the tools that you have.\n"
    "Be concise. Follow the conventions of the project. Never commit unless you are asked to.\n"
    "The working directory is /home/me/project."
)
AGENT = {"tools": TOOLS, "stream": True}
PLAIN = {"stream": True}
HISTORY = [user("Why does the build fail?"), assistant("A test expects the old name.")]

MEMORY = (
    "You are now acting as the managed memory extraction subagent for a coding assistant.\n\n"
    "The recent conversation history is already in your context. Analyze only that recent "
    "conversation and use it to update persistent managed memory."
)
MEMORY_TASK = (
    "Managed memory has two directories. Scan the recent conversation history in your context and "
    "update durable managed memory in whichever directory each memory belongs. Prefer updating."
)
COMPRESS = (
    "You are the component that summarizes internal chat history into a given structure.\n"
    "When the history grows too large, you distill it into a snapshot."
)
SNAPSHOT = "First, reason in your scratchpad. Then, generate the <state_snapshot>."
SUMMARIZER = "You are a helpful AI assistant tasked with summarizing conversations."
CONDENSE = "Your task is to create a detailed summary of what was said in the conversation so far."
AS_DESCRIBED = "Summarize the conversation so far, as described in the prompt instructions."
DIAGNOSTIC = (
    "You are an agent that identifies when an assistant is stuck. Your task is to analyze the "
    "provided conversation history and determine if it still makes progress."
)
SPEAKER = (
    "Look only at the content and structure of your last response in the conversation history, "
    "and based strictly on that predict who should logically speak next: user or model."
)
TITLE_TASK = (
    "Summarize the above conversation as a session title of three to five words in its own "
    "language, without quotes or punctuation. Reply with the title only."
)
CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "read_file"}}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "# Memory"}


def of_chat(turn_fields, messages, **fields):
    """Judge a request of a chat whose turns have the main prompt and these fields."""
    turn = frame_of(list(chat_units([system(MAIN), *HISTORY])), body_of(**turn_fields))
    return beside(list(chat_units(messages)), body_of(**fields), turn)


def beside(units, body, turn):
    return is_beside(units, body, frame_of(units, body), turn)


@pytest.mark.parametrize(
    ("turn", "messages", "fields"),
    [
        pytest.param(
            AGENT, [system(MEMORY), *HISTORY, user(MEMORY_TASK)], AGENT, id="memory, with tools"
        ),
        pytest.param(
            AGENT,
            [system(MEMORY), *HISTORY, user(MEMORY_TASK), CALL, RESULT],
            AGENT,
            id="a later step of it",
        ),
        pytest.param(AGENT, [system(COMPRESS), *HISTORY, user(SNAPSHOT)], {}, id="compression"),
        pytest.param(
            AGENT,
            [system(SUMMARIZER), *HISTORY, user("Write down how another agent is to go on.")],
            PLAIN,
            id="compaction without tools",
        ),
        pytest.param(
            PLAIN, [system(CONDENSE), *HISTORY, user(AS_DESCRIBED)], PLAIN, id="no tools at all"
        ),
        pytest.param(
            AGENT,
            [system(DIAGNOSTIC), *HISTORY, user("Is the assistant stuck?")],
            {"response_format": {"type": "json_schema"}},
            id="a loop check",
        ),
        pytest.param(
            AGENT,
            [system(MAIN), *HISTORY, user(SPEAKER)],
            {"tools": [{"function": {"name": "respond_in_schema"}}]},
            id="the next speaker, with the same prompt",
        ),
        pytest.param(AGENT, [*HISTORY, user(TITLE_TASK)], PLAIN, id="a title without a prompt"),
        pytest.param(
            PLAIN,
            [system(MAIN), *HISTORY, system("Pause the roleplay. Summarize the story so far.")],
            PLAIN,
            id="a summary that a system message asks for",
        ),
    ],
)
def test_work_on_the_conversation_in_another_frame_is_beside_the_chat(turn, messages, fields):
    assert of_chat(turn, messages, **fields)


PIRATE = system("You are a pirate of the Caribbean. Speak like one in every answer.")
ANALYST = system("You are an expert who analyzes conversations between customers and staff.")
ASKED = "Summarize our conversation so far"
PASTED = user(f"Analyze this conversation between a customer and our staff: {'blah, ' * 99}")


@pytest.mark.parametrize(
    ("turn", "messages", "fields"),
    [
        pytest.param(AGENT, [system(MAIN), *HISTORY, user(ASKED)], AGENT, id="asked by a person"),
        pytest.param(PLAIN, [system(MAIN), *HISTORY, PASTED], PLAIN, id="pasted"),
        pytest.param(PLAIN, [PIRATE, *HISTORY, user("Where is it?")], PLAIN, id="another persona"),
        pytest.param(PLAIN, [PIRATE, *HISTORY, user(ASKED)], PLAIN, id="persona, then a summary"),
        pytest.param(PLAIN, [PIRATE, *HISTORY, PASTED], PLAIN, id="persona, then pasted"),
        pytest.param(AGENT, [PIRATE, *HISTORY, user(ASKED)], PLAIN, id="an agent without tools"),
        pytest.param(PLAIN, [ANALYST, *HISTORY, user("And why?")], PLAIN, id="an analyst"),
        pytest.param(PLAIN, [*HISTORY, user("And why?")], PLAIN, id="the prompt is gone"),
        pytest.param(AGENT, [system(MAIN), *HISTORY, PASTED], PLAIN, id="the tools are gone"),
        pytest.param(
            AGENT,
            [system(f"{MAIN}\nPlan only. Summarize the conversation first."), *HISTORY, user("Go")],
            {"stream": False},
            id="another mode of the same prompt",
        ),
        pytest.param(
            PLAIN,
            [system(MAIN), *HISTORY, system("Continue your last message.")],
            PLAIN,
            id="a system message that goes on",
        ),
    ],
)
def test_what_a_person_may_have_written_is_a_turn(turn, messages, fields):
    assert not of_chat(turn, messages, **fields)


@pytest.mark.parametrize(
    "instruction",
    [
        "[SUGGESTION MODE: Suggest what the user might naturally type next.]\n\nFIRST: read.",
        "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary.",
        "Your task is to create a detailed summary of the conversation so far, paying attention",
        '<explicit_instructions type="condense">\nThe user has asked you to',
        (
            "<system-reminder>\nBe brief.\n</system-reminder>\nYour task is to create a detailed "
            "summary of the conversation so far, paying attention"
        ),
    ],
)
def test_what_only_a_program_says_is_an_aside_in_the_same_frame(instruction):
    messages = [system(MAIN), *HISTORY, user(instruction)]
    assert says_aside(list(chat_units(messages)), body_of(**AGENT), is_named=False)
    quoted = [system(MAIN), *HISTORY, user(f"What does this mean?\n{instruction}")]
    assert not says_aside(list(chat_units(quoted)), body_of(**AGENT), is_named=True)


def test_instructions_of_the_responses_api_count_as_a_system_prompt():
    def framed(prompt):
        body = read_body(json.dumps({"input": [], "instructions": prompt}).encode(), "input")
        return list(response_units([*HISTORY, user(MEMORY_TASK)])), body

    turn = frame_of(*framed(MAIN))
    assert beside(*framed(MEMORY), turn)
    assert not beside(*framed(MAIN), turn)


TEXTS = st.text(max_size=80) | st.sampled_from([MAIN, MEMORY, COMPRESS, ASKED, SPEAKER])


@given(TEXTS, TEXTS, st.booleans(), st.booleans())
def test_the_frame_of_the_last_turn_makes_every_question_a_turn(prompt, asked, streams, has_tools):
    units = list(chat_units([system(prompt), *HISTORY, user(asked)]))
    body = body_of(stream=streams, **({"tools": TOOLS} if has_tools else {}))
    frame = frame_of(units, body)
    assert not beside(units, body, frame)
    assert frame.is_like(frame)


@given(TEXTS, st.text(max_size=99), st.booleans())
def test_a_short_question_without_work_on_the_conversation_is_a_turn_in_any_frame(
    prompt, asked, streams
):
    turn = frame_of(list(chat_units([system(MAIN), *HISTORY])), body_of(stream=streams))
    units = list(chat_units([system(prompt), *HISTORY, user(asked)]))
    assert not beside(units, body_of(stream=streams), turn)


@given(TEXTS, st.booleans())
def test_a_frame_survives_its_row(prompt, streams):
    frame = frame_of(list(chat_units([system(prompt)])), body_of(stream=streams, tools=TOOLS))
    assert RequestFrame.from_row(json.loads(json.dumps(frame.as_row()))) == frame
