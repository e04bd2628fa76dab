"""What reads chats, requests, settings and replies takes time in proportion to their length."""

import json
import sqlite3
from contextlib import closing, suppress

import pytest

from smart_context.base.config.document import TomlUnreadable, lines_of_keys, parse_toml
from smart_context.base.text.names import fence_for
from smart_context.base.text.typed import question_in, without_blocks
from smart_context.base.text.words import content_words, words
from smart_context.chat.documents.document import NotAChat, read_version
from smart_context.chat.listed.search import snippet
from smart_context.chat.messages import Message, MessageId
from smart_context.contexts.render import path_of
from smart_context.gateway.following.matching import keys_of, matched
from smart_context.gateway.requests.outgoing import kept_units
from smart_context.gateway.requests.units import call_part, chat_units, unit_of
from smart_context.host.request.fenced_tools import requests_in
from smart_context.host.request.tools import Tool
from smart_context.importing.readers.chatgpt import chatgpt
from smart_context.importing.readers.llm_log import LLM
from smart_context.importing.tables import tables_of
from smart_context.llm.failures import AnswerNotUnderstood
from smart_context.llm.offline.responder import paragraphs
from smart_context.llm.openai.replies import (
    StreamReader,
    VendorError,
    read_completion,
)
from smart_context.llm.thoughts import split_thoughts
from smart_context.llm.tokens import count_tokens
from smart_context.packing.fences import Markup
from smart_context.packing.sections.imports import local_imports
from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.forecast.hidden_text import find_hidden_text, hidden_places_in
from smart_context.relevance.evidence.lexical import ChatWords
from smart_context.topics.naming.labels import clean_label
from smart_context.topics.naming.unspaced import unspaced_phrases
from smart_context.topics.naming.words import grammar_of, plain_text, tokens_of
from smart_context.topics.prompting.reply import ReplyUnusable, parsed_reply
from smart_context.topics.standing.personal import is_personal
from smart_context.topics.standing.standing import is_standing
from smart_context.topics.stored import MOST_COUNTING, from_assignments, stored_topics
from smart_context.topics.summaries.digest import _rendered, quoted
from smart_context.vault.assigns import build_here_doc_token
from smart_context.vault.index.passages import passages_of
from smart_context.vault.markdown.notes import outline_of
from smart_context.vault.markdown.sections import kept_of, section_of
from smart_context.vault.match import build_matcher
from smart_context.vault.search import hit_in, query_of
from smart_context.web.pages.markup.markdown import visible
from smart_context.web.wire import parse_frame
from tests.growth.clock import MOST_GROWTH, growth
from tests.growth.test_parsers import cases, repeated

TOOL = Tool(name="read_file", description="", parameters={"properties": {"path": {}}}, run=None)


def said(text, number=0):
    return Message(id=MessageId(f"m{number}"), role="user", content=text)


def chat(text):
    with suppress(NotAChat):
        read_version(text.encode())


def settings(text):
    with suppress(TomlUnreadable):
        parse_toml(text)


def keys_in_deep_tables(text):
    keys = "\n".join(f"b{number} = 1" for number in range(len(text) // 8))
    return parse_toml(f"[{'a.' * 400}a]\n{keys}")


def reply(text):
    with suppress(ReplyUnusable):
        parsed_reply(text, [said("a")])


def completion(text):
    with suppress(AnswerNotUnderstood, VendorError):
        read_completion(text.encode())


def stream(text):
    reader = StreamReader()
    with suppress(AnswerNotUnderstood, VendorError):
        for start in range(0, len(text), 4096):
            list(reader.feed(text[start : start + 4096].encode()))


def filter_state(text):
    ids = range(len(text) // 12)
    FilterState.from_dict({"pinned": [f"p{i}" for i in ids], "hidden": [f"h{i}" for i in ids]})


def members(text):
    ids = [f"m{i}" for i in range(len(text) // 8)]
    from_assignments({"version": 1, "topics": [{"label": "a", "count": 1, "message_ids": ids}]})


def topics_of_a_file(text):
    """Topics without ids, as many as count, with long labels."""
    step = max(1, len(text) // MOST_COUNTING)
    labels = [f"{text[at : at + step]}{at % 7}" for at in range(0, len(text), step)]
    return stored_topics([{"label": label, "count": 1} for label in labels])


def cited(text):
    """An answer of ChatGPT that has as many sources as marks."""
    marks = [f"\ue200{number}\ue201" for number in range(len(text) // 8)]
    sources = [{"matched_text": mark, "alt": "a"} for mark in marks]
    content = {"content_type": "text", "parts": ["".join(marks)]}
    said = {"author": {"role": "assistant"}, "content": content}
    said["metadata"] = {"content_references": sources}
    chat = chatgpt({"conversation_id": "a", "mapping": {"m": {"message": said}}})
    assert chat.messages[0].parts == [{"type": "text", "text": "a" * len(marks)}]


def rows_of_a_log(text):
    """`llm`'s log with a tool result for each question, and no index."""
    opened = sqlite3.connect(":memory:")
    opened.execute("CREATE TABLE conversations (id, name)")
    opened.execute(
        "CREATE TABLE responses (id, conversation_id, datetime_utc, prompt, response, system)"
    )
    opened.execute("CREATE TABLE tool_results (id, response_id, tool_call_id, output)")
    for number in range(count := len(text) // 32):
        opened.execute("INSERT INTO responses VALUES (?, ?, '', 'a', 'b', '')", (number, number))
        opened.execute("INSERT INTO tool_results VALUES (1, ?, 'a', 'b')", (number,))
    with closing(opened), tables_of(opened) as tables:
        assert len([*LLM.database.read(tables)]) == count


def uses_of_a_label(text):
    chat_words = ChatWords()
    chat_words.place([said(text)])
    chat_words.shares(["migration plan", "a", "数据"])
    chat_words.place([said(text)], "de")
    chat_words.shares(["Aaaaaaa", "ab"])
    chat_words.place([said(text)], "he")
    chat_words.shares(["\u05d5\u05d5\u05d5\u05d5\u05d5", "aaaaa"])


def english(text):
    return tokens_of(plain_text(text, len(text)), grammar_of(["the", "and"]))


def french(text):
    return tokens_of(plain_text(text, len(text)), grammar_of(["le", "la", "et", "les"]))


def phrases_without_spaces(text):
    return unspaced_phrases({0: text, 1: text[::2]}, {0})


def excluded(text):
    outline = outline_of(text)
    kept = kept_of(outline, (0, len(text)), [("*a*b", build_matcher("*a*b*c*d"))])
    return kept, section_of(outline, "not#there")


def hit(text):
    return hit_in("a.md", text, query_of('"a b" z -q'))


def hits_by_a_long_query(text):
    return hit_in("a.md", "a b c", query_of(text))


def reminded(text):
    return without_blocks(text, ["system-reminder", "b"])


def requested(text):
    return requests_in(text, [TOOL])


def as_sections(text):
    return fence_for(text), [
        Markup(style).file("a", text) for style in ("markdown", "xml", "plain")
    ]


def scripts(text):
    return local_imports("a.ts", text, {"b.ts"})


def python(text):
    return local_imports("a.py", text, {"b.py"})


def summed_up(text):
    return quoted([said(text)])


def paragraphs_of(text):
    return list(paragraphs(text, 500))


def found_in(text):
    return snippet(text, ("zz",))


def passages(text):
    return passages_of("a.md", text)


def answers(text):
    """Many long answers, each with another beginning."""
    return [
        {"role": "assistant", "content": f"{number:08} {text[:32]}"}
        for number in range(len(text) // 8)
    ]


def replaced_history(text):
    """A client whose list has nothing in common with its chat."""
    units = [*chat_units(answers(f"a{text}"))]
    messages = [said(f"{number:08} b{text[:32]}", number) for number in range(len(units))]
    return matched(units, messages, keys_of(messages))


def chain_of_calls(text):
    """Units of which each shares a call with the next."""
    content = [
        tuple(call_part(f"c{number + step}", "a", "") for step in (0, 1))
        for number in range(len(text) // 8)
    ]
    units = [unit_of("assistant", calls, first=at) for at, calls in enumerate(content)]
    question = unit_of("user", "a", first=len(units))
    ids = [f"m{at}" for at in range(len(units) + 1)]
    assert len(kept_units([*units, question], ids, {ids[0]})) == len(ids)


def glob(text):
    return build_matcher("*a*b?c*")(text)


def tokens_of_model(text):
    return count_tokens(text, "gpt-4o"), count_tokens(text, "other")


SPEECH = (
    *(
        "a",
        " ",
        "\n",
        "a ",
        "a. ",
        "A",
        "'",
        "a'",
        "l'",
        "-t",
        "_",
        "a_",
        "+",
        "#",
        "a#",
        "aB",
        "é",
    ),
    *(
        "你",
        "你好。",
        "``",
        "`a",
        "```\n",
        "http://",
        "> a\n",
        "? ",
        "! ",
        "1",
        "\u0301",
        "a\u0301",
        "\u0315\u0300",
    ),
    *(
        "\u202e",
        "\u200b",
        "<!--",
        "always ",
        "please ",
        "i am ",
        ".\n",
        "\n \n",
        "\r\n",
        "*",
        "\ud83d",
    ),
)
JSON = (
    "[",
    "{",
    '{"a":',
    '"',
    "\\",
    "1",
    "[1,",
    '{"a":1},',
    "]",
    "}",
    '["\\u',
    "-",
    "9" * 50,
    "[]",
)


@pytest.mark.parametrize(
    ("function", "make", "longest"),
    [
        *(
            row
            for f in (words, content_words, english, french)
            for row in cases(f, *SPEECH, longest=1 << 17)
        ),
        *cases(phrases_without_spaces, "你", "数据库", "的", "你 ", "最", longest=1 << 15),
        *cases(
            uses_of_a_label, "migratio", "migrations ", "a", "plana", "数据", "a'", longest=1 << 16
        ),
        *(row for f in (is_standing, is_personal) for row in cases(f, *SPEECH, longest=1 << 16)),
        *cases(summed_up, *SPEECH, longest=1 << 16),
        *cases(clean_label, *SPEECH, longest=1 << 16),
        *cases(visible, *SPEECH),
        *cases(find_hidden_text, *SPEECH, "\U0001f3f4\U000e0067", "é<!--"),
        *cases(
            hidden_places_in,
            "File: ",
            "é\nFile: a\n--begin-",
            "\nFile: a\n--begin-b--\né",
            "é--end-b--",
        ),
        *cases(split_thoughts, "<think>", "</think", "<", repeated("</", before="<think>")),
        *cases(split_thoughts, "a</think>", "```\n</think>", ":::thinking\n", "[THINK", "\n:::"),
        *cases(question_in, "<a_b></a_b>", "<a_b>", "<a_b ", "# ", "## My request for Codex:", " "),
        *cases(reminded, "\n<system-reminder>", "\n<system-reminder>\n</system-reminder>", "\n"),
        *cases(tokens_of_model, "a", "é", " ", "a ", "你", longest=1 << 15),
        *cases(paragraphs_of, "a", " ", "\n", "\n \n", "a\n\n", longest=1 << 16),
        *cases(found_in, "é", "e\u0301", "\u0315\u0300", "a", "\u1160", repeated("é", after="zz")),
        *cases(
            chat,
            *JSON,
            '{"messages":[',
            repeated('{"role":"user"},', before='{"messages":[', after="{}]}"),
        ),
        *cases(reply, *JSON, '{"topics":[', '{"topics":[]}', '[{"label":"a"},', longest=1 << 14),
        *cases(_rendered, *JSON, '{"overview":', longest=1 << 16),
        *cases(completion, *JSON, '{"choices":[', longest=1 << 16),
        *cases(stream, *JSON, "data: ", "data: {}\n", "\n", "data: [DONE]\n", longest=1 << 17),
        *cases(parse_frame, *JSON, longest=1 << 16),
        *cases(filter_state, "x"),
        *cases(members, "x"),
        *cases(topics_of_a_file, "x", longest=1 << 15),
        *cases(cited, "x", longest=1 << 17),
        *cases(rows_of_a_log, "x", longest=1 << 16),
        *cases(
            settings,
            *("a.", "[", "[a.", "[[a]]\n", "a={", "a=[", '"', "'", '"""', "#", "\n", "a=1\n", "\\"),
            *(repeated("1,", before="a=[", after="]"), repeated("\\n", before='a="', after='"')),
            *(repeated('""\\"', before='a="""', after='"""'), repeated("9", before="a=")),
            longest=1 << 16,
        ),
        *cases(keys_in_deep_tables, "x", longest=1 << 13),
        *cases(lines_of_keys, '"', '\\"', '"""', '""', "'", "#", "[", longest=1 << 16),
        *cases(
            requested, "```", "~~~", "```read_file\n", "```\n", "~~~~\n", "`", "~ ", "``` ", "a\n"
        ),
        *cases(as_sections, "`", "``` ", "=", "===== ", "<", "< /", "</ file", "</file>"),
        *cases(
            scripts,
            "from ",
            "import(",
            "require (",
            "from './a'",
            "from './a/",
            "from\n",
            'import "',
        ),
        *cases(
            python, "import ", "(", "a.", "from . import a\n", "if a:\n ", "[", "-", longest=1 << 13
        ),
        *cases(
            excluded,
            "\n# a",
            "\n###### abcd",
            "# ",
            repeated("abc", before="# "),
            "a\n=\n",
            longest=1 << 16,
        ),
        *cases(hit, "a", "a b ", "\n", "z\n", "é", "\u0315\u0300", "ab\n"),
        *cases(hits_by_a_long_query, "a ", '"', '"a" ', "-", '-"', longest=1 << 15),
        *cases(passages, "a", "\n\n", "# a\n", "\n# ", "a\n\n", longest=1 << 16),
        *cases(replaced_history, "x", longest=1 << 14),
        *cases(chain_of_calls, "x", longest=1 << 14),
        *cases(glob, "a", "ab", "abc", "x", longest=1 << 16),
        *cases(path_of, "a", ".md", ".md ", "#", ".MD\n", longest=1 << 16),
        *cases(
            build_here_doc_token, "--begin-context", "--end-context-1--", "--begin-context-1", "--"
        ),
    ],
)
def test_the_time_grows_with_the_length(function, make, longest):
    assert growth(function, make, longest=longest) < MOST_GROWTH


def test_the_table_of_json_is_json_at_all():
    assert json.loads(repeated("[]", before="[", after="]")(4)) == [[]]
