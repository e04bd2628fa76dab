"""The history of aider."""

import re
from collections.abc import Iterator

from smart_context.importing.found import (
    FoundChat,
    moment,
    title_of,
)
from smart_context.importing.program import Form, Program

_AIDER_CHAT = re.compile(r"^# aider chat started at (.+)$", re.MULTILINE)


def aider(text: str) -> Iterator[FoundChat]:
    """The chats of aider's history: one for each start of the program.

    A chat is known by when it began and what was asked first, wherever its file lies.
    """
    starts = list(_AIDER_CHAT.finditer(text))
    for place, start in enumerate(starts):
        end = starts[place + 1].start() if place + 1 < len(starts) else len(text)
        began = start[1].strip()
        chat = FoundChat(client="aider", id=began, created_at=moment(began))
        _aider_messages(text[start.end() : end], chat)
        if chat.messages:
            chat.id = f"{began} {title_of(chat.messages[0].parts[0]['text'])}"
        yield chat


def _aider_messages(text: str, chat: FoundChat) -> None:
    role: str = ""
    lines: list[str] = []
    is_apart = False  # a line of another kind came since the last one of the user

    def flush() -> None:
        if said := "\n".join(lines).strip():
            chat.add("", role, said)
        lines.clear()

    for line in text.split("\n"):
        is_asked = line.startswith("#### ")
        if line.startswith("> "):  # a notice of aider
            is_apart = True
            continue
        speaker = "user" if is_asked else "assistant"
        if (speaker != role or (is_asked and is_apart)) and (is_asked or line.strip()):
            flush()
            role = speaker
        is_apart = not is_asked
        lines.append(line.removeprefix("#### ") if is_asked else line)
    flush()


AIDER = Program(
    name="aider",
    title="aider",
    text=Form(fits=lambda text: _AIDER_CHAT.search(text) is not None, read=aider),
)
