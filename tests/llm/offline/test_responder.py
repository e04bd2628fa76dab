"""The answer when no chat model is configured."""

import pytest

from smart_context.base.errors import ModelFailed
from smart_context.llm.offline.responder import (
    ChatPassage,
    PassageResponder,
    question_of,
    said_before,
)
from tests.scripted import ScriptedEmbedder

pytestmark = pytest.mark.anyio

BREAD = ChatPassage("Kitchen/Bread.md › Starter", "Feed the starter flour and water twice a day.")
GRAPH = ChatPassage("Agents.md", "A checkpoint stores the state of the graph after each node.")


class Notes:
    """A vault that finds what it is told to find."""

    def __init__(self, *passages):
        self.passages = passages
        self.asked = []

    async def find(self, query, limit):
        self.asked.append((query, limit))
        return self.passages[:limit]


def user(text):
    return {"role": "user", "content": text}


def assistant(text):
    return {"role": "assistant", "content": text}


async def answer(messages, *passages, embedder=None):
    responder = PassageResponder(embedder or ScriptedEmbedder(dimension=256), Notes(*passages))
    return (await responder.complete(messages)).text


async def test_the_answer_begins_with_what_is_missing_and_where_the_passages_are_from():
    text = await answer([user("Feed starter flour?")], BREAD)
    opening, _, quotes = text.partition("\n\n")
    assert opening == (
        "No chat model is configured in the `[llm]` table of `.vault.toml`."
        " Closest passages from your notes:"
    )
    assert quotes
    said = [user("Feed the starter flour."), assistant("Yes."), user("Feed starter flour?")]
    assert "Closest passages from your notes and this chat:\n\n" in await answer(said, BREAD)


async def test_close_passages_are_quoted_with_their_sources_and_others_are_not():
    text = await answer([user("Feed starter flour?")], GRAPH, BREAD)
    assert "**1.** `Kitchen/Bread.md › Starter`\n\n> Feed the starter flour" in text
    assert "checkpoint" not in text


async def test_a_quote_does_not_shout_its_heading():
    said = [assistant("## Feed the starter ##\nWith flour."), user("Feed starter flour?")]
    text = await answer(said)
    assert "> **Feed the starter**\n> With flour." in text


async def test_passages_stand_in_the_order_of_their_closeness():
    near = ChatPassage("near.md", "feed the starter flour and water")
    far = ChatPassage("far.md", "the starter got flour once, long ago, in spring")
    text = await answer([user("feed starter flour water")], far, near)
    assert text.index("near.md") < text.index("far.md")


async def test_the_chat_is_quoted_too_but_not_the_question_nor_our_own_answers():
    first = await answer([user("unrelated")])
    text = await answer(
        [
            {"role": "system", "content": "feed the starter, says the system prompt"},
            user("My starter wants flour"),
            assistant(f"{first} feed the starter flour"),
            assistant("Feed the starter flour every day."),
            user("How do I feed the starter flour?"),
        ]
    )
    assert "`earlier in this chat: an answer`\n\n> Feed the starter flour every day." in text
    assert "`earlier in this chat: your message`\n\n> My starter wants flour" in text
    assert text.count("> ") == 2


async def test_nothing_close_is_said_plainly():
    text = await answer([user("What is the capital of Mongolia?")], BREAD, GRAPH)
    assert "Nothing in your notes or in this chat comes close to your message." in text
    assert "> " not in text


async def test_an_empty_vault_and_chat_ask_no_embedder():
    embedder = ScriptedEmbedder()
    assert "Nothing in your notes" in await answer([user("hello")], embedder=embedder)
    assert embedder.asked == []


async def test_questions_in_other_scripts_find_passages_by_their_words():
    text = await answer(
        [user("机器学习模型需要什么?")],
        BREAD,
        ChatPassage("笔记/学习.md", "机器学习模型需要大量的数据。"),
    )
    assert "**1.** `笔记/学习.md`\n\n> 机器学习模型需要大量的数据。" in text
    assert "**2.**" not in text


async def test_the_path_of_a_note_counts_as_its_words():
    text = await answer([user("bread")], ChatPassage("Kitchen/Bread.md", "Feed it twice a day."))
    assert "> Feed it twice a day." in text


async def test_a_failing_embedder_leaves_the_words_and_is_mentioned():
    embedder = ScriptedEmbedder()
    embedder.error = ModelFailed("gone")
    text = await answer([user("feed the starter")], BREAD, embedder=embedder)
    assert "found by shared words alone" in text
    assert "> Feed the starter" in text


async def test_at_most_five_different_passages_are_quoted():
    passages = [ChatPassage(f"{number}.md", f"feed the starter {number}") for number in range(9)]
    text = await answer([user("feed the starter")], *passages, *passages)
    assert text.count("> feed") == 5


async def test_the_best_passage_is_found_among_thousands():
    messages = [user(f"we spoke about matter {number}") for number in range(3_000)]
    messages.insert(2_900, assistant("The starter is fed with flour and water."))
    text = await answer([*messages, user("what is the starter fed with: flour or water?")])
    assert "> The starter is fed with flour and water." in text


async def test_a_long_note_is_quoted_in_part_and_every_line_stays_in_the_quote():
    long = ChatPassage("long.md", "feed the starter\n\n# Heading\n" + "flour " * 500)
    text = await answer([user("feed the starter")], long)
    quote = text[text.index("**1.**") :].split("\n\n", 1)[1]
    assert all(line.startswith(">") for line in quote.splitlines())
    assert quote.endswith(" …")
    assert len(quote) < 600


async def test_a_source_cannot_leave_its_code_span():
    text = await answer([user("feed the starter")], ChatPassage("a`b\n# c.md", "feed the starter"))
    assert "**1.** `` a`b # c.md ``" in text


async def test_the_stream_comes_in_pieces_that_are_the_whole_answer_and_speaks_first():
    class Stuck:
        async def find(self, query, limit):
            raise AssertionError("asked before the first words were out")

    stream = PassageResponder(ScriptedEmbedder(), Stuck()).stream([user("feed the starter")])
    assert (await anext(stream)).text.startswith("No chat model")
    await stream.aclose()

    responder = PassageResponder(ScriptedEmbedder(dimension=256), Notes(BREAD))
    pieces = [piece.text async for piece in responder.stream([user("feed the starter")])]
    assert len(pieces) > 5
    assert "".join(pieces) == await answer([user("feed the starter")], BREAD)


async def test_the_vault_is_asked_for_the_question():
    notes = Notes(BREAD)
    responder = PassageResponder(ScriptedEmbedder(), notes)
    await responder.complete([user("first"), assistant("x"), user("feed the starter")])
    assert notes.asked == [("feed the starter", 40)]


@pytest.mark.parametrize(
    ("messages", "question"),
    [
        pytest.param([user("bread"), user("rye bread")], "rye bread", id="the last one"),
        pytest.param([user("bread"), user("And then?")], "bread\nAnd then?", id="naming nothing"),
        pytest.param([user("And then?")], "And then?", id="nothing before it"),
        pytest.param([assistant("x")], "", id="none at all"),
        pytest.param(
            [user([{"type": "text", "text": "rye"}, {"type": "text", "text": "bread"}])],
            "rye\nbread",
            id="in parts",
        ),
    ],
)
def test_the_question_is(messages, question):
    assert question_of(messages) == question


@pytest.mark.parametrize("count", [10_000, 20_000, 40_000])
def test_of_a_question_with_a_large_file_both_ends_are_looked_for(count):
    table = "a,b,c\n" * count
    question = question_of([user(f"Which bread rises?\n{table}The table of the bakery.")])
    assert question.startswith("Which bread rises?")
    assert question.endswith("The table of the bakery.")
    assert len(question) < 20_000


def test_long_messages_are_cut_at_paragraphs():
    text = "\n\n".join(["one " * 100, "two " * 100])
    assert [passage.text for passage in said_before([user(text), user("?")])] == [
        ("one " * 100).strip(),
        ("two " * 100).strip(),
    ]


def test_the_newest_messages_come_first_and_the_oldest_of_thousands_not_at_all():
    said = said_before([user(str(number)) for number in range(5_000)])
    assert len(said) == 1_000
    assert said[0].text == "4998"
