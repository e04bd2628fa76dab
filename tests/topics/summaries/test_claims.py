"""What a summary names that no message has, in many scripts and spellings."""

import pytest

from smart_context.chat.messages import Message, MessageId
from smart_context.topics.summaries.claims import unsupported

ENGLISH = (
    "We met Caroline Weber in Zürich on 7 May 2023 at 14:30. The budget is 1,200 dollars, up by "
    '3.5 %. See src/app/main.py and notes.md. She said "we need more time". Twenty-three people '
    "came. Booking 970JE5ZN."
)
CHINESE = (
    "这部电视剧的首播时间是2017年1月17日。导演是土井裕泰。推荐《四重奏》。"
    "地址在天坛东门地铁站附近，评分9.1，一共三个人，开SUV去。"
)
GERMAN = "Am 3. März kommt Frau Özdemir mit dreiundzwanzig Gästen, das Budget ist 1.200 €."
HINDI = "इसका प्रीमियर 17 जनवरी, 2017 को हुआ था। रेटिंग 9.1 है।"


DAY = "2026-03-05T10:00:00Z"


def found(summary, *said):
    messages = [Message(id=MessageId(f"m{n}"), role="user", content=t) for n, t in enumerate(said)]
    return unsupported(summary, messages)


@pytest.mark.parametrize(
    ("said", "summary"),
    [
        pytest.param(ENGLISH, "Caroline Weber met on 2023-05-07, at 2:30 pm.", id="date and time"),
        pytest.param(ENGLISH, "Weber's budget: $1200, up 3.5%.", id="separators"),
        pytest.param(ENGLISH, "- 23 people came to Zurich.", id="digits for words, no umlaut"),
        pytest.param(ENGLISH, "1. `src/app/main.py`\n2. notes.md", id="paths in a list"),
        pytest.param(ENGLISH, "She said “We need … time”.", id="a quotation that leaves out words"),
        pytest.param(ENGLISH, "### Decisions\n\nThe user booked (970JE5ZN).", id="ordinary words"),
        pytest.param("Siebenundzwanzig kamen.", "27 kamen.", id="a German number with en in it"),
        pytest.param("Vijfentwintig, eenentwintig", "25 en 21", id="Dutch numbers"),
        pytest.param(CHINESE, "《四重奏》首播于2017-01-17，导演是土井裕泰，3个人。", id="Chinese"),
        pytest.param(
            CHINESE, "靠近天坛东门地铁站，评分9.1，SUV。", id="a place, and Latin letters"
        ),
        pytest.param(GERMAN, "Frau Özdemir kommt am 3. März, mit 23 Gästen.", id="German"),
        pytest.param(GERMAN, "Das Budget der Feier beträgt 1200 Euro.", id="German nouns"),
        pytest.param(HINDI, "प्रीमियर 2017-01-17 को हुआ, रेटिंग 9.1।", id="Hindi"),
    ],
)
def test_what_the_messages_say_in_other_words_is_not_marked(said, summary):
    assert found(summary, said) == []


@pytest.mark.parametrize(
    ("said", "summary", "marked"),
    [
        pytest.param(
            ENGLISH, "Met on 8 May 2023 at 14:45.", ["8 May 2023", "14:45"], id="date, time"
        ),
        pytest.param(ENGLISH, "Budget of $1,300 for Priya.", ["1,300", "Priya"], id="number, name"),
        pytest.param(ENGLISH, "Marta was in Geneva.", ["Marta", "Geneva"], id="names"),
        pytest.param(ENGLISH, "Twenty-four came.", ["Twenty-four"], id="a number in words"),
        pytest.param(ENGLISH, "See src/app/maim.py.", ["src/app/maim.py"], id="a path"),
        pytest.param(
            ENGLISH, 'She said "we need less time".', ['"we need less time"'], id="a quote"
        ),
        pytest.param(ENGLISH, "Booking 970JE5ZM.", ["970JE5ZM"], id="a code"),
        pytest.param(
            CHINESE, "导演是张艺谋，推荐《五重奏》。", ["张艺谋", "《五重奏》"], id="Chinese names"
        ),
        pytest.param(
            CHINESE, "2018年1月17日，五个人。", ["2018年1月17日", "五"], id="Chinese numbers"
        ),
        pytest.param(GERMAN, "Frau Yilmaz kommt mit 24 Gästen.", ["Yilmaz", "24"], id="German"),
        pytest.param(HINDI, "रेटिंग 8.9 है।", ["8.9"], id="Hindi"),
    ],
)
def test_what_no_message_says_is_marked(said, summary, marked):
    assert found(summary, said) == marked


def test_the_day_on_which_something_was_said_is_known():
    said = Message(id=MessageId("m"), role="user", content="Today", created_at=DAY)
    assert unsupported("Said on March 5, 2026.", [said]) == []


def test_tool_results_and_names_of_files_count_as_said():
    call = {"type": "tool_call", "tool_name": "read", "args": {"path": "a/b.txt"}, "result": "42"}
    said = Message(
        id=MessageId("m"), role="assistant", content=(call,), files=({"name": "plan.pdf"},)
    )
    assert unsupported("a/b.txt says 42, like plan.pdf.", [said]) == []
