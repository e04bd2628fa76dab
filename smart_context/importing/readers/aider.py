"""The history of aider."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from smart_context.base.values import JsonObject
from smart_context.importing.found import (
    FoundChat,
    joined_texts,
    moment,
    text_part,
    thought,
    title_of,
)
from smart_context.importing.program import Form, Program

_AIDER_CHAT = re.compile(r"^# aider chat started at (.+)$", re.MULTILINE)
_ASKED, _NOTICE, _FENCE = "#### ", "> ", ("```", "~~~")
_NOTHING_ASKED = {"", "<blank>"}
_OWN_END = "  "
"""The end of the lines that aider writes itself: questions and notices."""
_OPENS = re.compile(r"(?:<thinking-content-\w+>|(?:-{1,40}\n)?► \*\*THINKING\*\*)")
_CLOSES = re.compile(r"(?:</thinking-content-\w+>|(?:-{1,40}\n)?► \*\*ANSWER\*\*)")


def aider(text: str) -> Iterator[FoundChat]:
    """The chats in aider's history, one for each start of the program.

    A chat is identified by its start time and first question, wherever its file is.
    """
    starts = list(_AIDER_CHAT.finditer(text))
    for place, start in enumerate(starts):
        end = starts[place + 1].start() if place + 1 < len(starts) else len(text)
        began = start[1].strip()
        chat = FoundChat(client="aider", id=began, created_at=moment(began))
        _add_messages(text[start.end() : end].replace("\r\n", "\n").split("\n"), chat)
        if chat.messages:
            chat.id = f"{began} {title_of(chat.messages[0].parts[0]['text'])}"
        yield chat


def _add_messages(lines: Sequence[str], chat: FoundChat) -> None:
    """Add the questions and answers, which follow each other in the file."""
    is_ended = any(line.startswith(_ASKED) and line.endswith(_OWN_END) for line in lines)
    end = _OWN_END if is_ended else ""  # an editor may have stripped the ends of all lines

    def is_asked(line: str) -> bool:
        return line.startswith(_ASKED) and line.endswith(end)

    for asked, group in groupby(lines, is_asked):
        if not asked:
            _add_answer([*group], chat, end)
            continue
        question = "\n".join(line.removeprefix(_ASKED).rstrip() for line in group).strip()
        if question not in _NOTHING_ASKED:
            chat.add("", "user", question)


def _add_answer(lines: Sequence[str], chat: FoundChat, end: str) -> None:
    """Add the text between two questions as one answer; notices may divide it."""
    parts: list[JsonObject] = []
    for answer in _between_notices(lines, end):
        thinking, text = _told(answer)
        parts += [thought(thinking)] if thinking else []
        parts += [text_part(text)] if text else []
    if parts:
        chat.add("", "assistant").parts = joined_texts(parts, "\n\n")


def _between_notices(lines: Sequence[str], end: str) -> Iterator[str]:
    """The texts between aider's notices.

    A quotation in an answer has another line ending, and nothing in a code block is a notice.
    """
    is_fence = [line.startswith(_FENCE) for line in lines]
    has_code = sum(is_fence) % 2 == 0  # if not, a block is not closed: ignore blocks
    answer: list[str] = []
    place, is_in_code = 0, False
    while place < len(lines):
        is_in_code ^= is_fence[place]
        after = place
        while after < len(lines) and lines[after].startswith(_NOTICE):
            after += 1
        run = lines[place:after]
        if run and all(line.endswith(end) for line in run) and not (is_in_code and has_code):
            yield "\n".join(answer).strip()
            answer = []
        else:
            answer.extend(run or lines[place : place + 1])
        place = max(after, place + 1)
    yield "\n".join(answer).strip()


def _told(answer: str) -> tuple[str, str]:
    """The thoughts and the answer in a text; aider marks thoughts in two ways of its own."""
    if not (opening := _OPENS.match(answer)):
        return "", answer
    closing = _CLOSES.search(answer, opening.end())
    if closing is None:
        return answer[opening.end() :].strip(), ""
    return answer[opening.end() : closing.start()].strip(), answer[closing.end() :].strip()


AIDER = Program(
    name="aider",
    title="aider",
    text=Form(fits=lambda text: _AIDER_CHAT.search(text) is not None, read=aider),
)
