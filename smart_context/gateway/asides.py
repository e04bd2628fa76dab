"""Tells requests that serve the client itself from turns of its chat. Pure.

A client asks for titles, summaries, suggestions and the like over the history of a chat. Such
an aside is passed on unfiltered and stays out of the chat.

Both mistakes correct themselves. A turn that was taken for an aside enters the chat with the next
request, which holds its question and answer, and its system prompt counts as the chat's from
then on. An aside that was taken for a turn leaves the chat again as a branch. The first mistake is
worse, since its request was sent unfiltered. So a request that a person may have written counts as
a turn unless there are two signs against it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from smart_context.base.text.typed import question_in
from smart_context.base.values import JsonObject
from smart_context.gateway.requests.body import Body
from smart_context.gateway.requests.units import ListUnit

_READ_CHARACTERS = 400
"""The number of characters at the beginning of a prompt in which its purpose is searched."""

_LEAST_INSTRUCTION = 100
"""Minimum length of a program's instruction about a conversation; people type shorter ones."""

_MOST_SYSTEM = 64 << 10
"""Longest part of a system prompt that is compared."""

_SENTENCE_END = re.compile(r"[.!?;:\n]+")
_TASK = "### Task:"
_MARKS = (
    "[SUGGESTION MODE:",  # Claude Code, Qwen Code: what the user may type next
    "Analyze *only* the content and structure of your immediately preceding response",  # Gemini CLI
    "You are performing a CONTEXT CHECKPOINT COMPACTION",  # Codex
    "Your task is to create a detailed summary of the conversation so far",  # Claude Code
    "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.",  # Claude Code, newer versions
    "Generate a concise 3-7 word title for this conversation, omitting punctuation",  # Zed
    "Please generate a four to five word title summarizing our conversation",  # NextChat
    '<explicit_instructions type="condense"',  # Cline
    '<explicit_instructions type="summarize_task"',  # Cline, without being asked
)
"""The beginnings of instructions that only programs send."""

_TITLE_GENERATOR = re.compile(r"\btitle generator\b", re.IGNORECASE)
_OTHER_THING = (
    r"(?!(?:an?|the|this|its|their|your|each|every|of|for|with|without|by|to|in|on|from|about)\b)"
)
_ASKS_FOR_TITLE = re.compile(
    r"\b(?:generate|create|write|output|make|suggest|produce|provide)s?"
    r"(?:\s+(?:only|just|exactly|me))*"
    rf"(?:\s+(?:an?|one)(?:\s+{_OTHER_THING}[\w'-]+,?){{0,6}}|(?:\s+{_OTHER_THING}[\w-]+){{0,2}})"
    r"\s+titles?\b",
    re.IGNORECASE,
)
"""A verb with `title` as its object: `create a short title`, not `write an essay with a title`."""

_REFUSAL = re.compile(r"\b(?:not|never|no|avoid)\b|n['\u2019]t\b", re.IGNORECASE)

_WORK = re.compile(
    r"\b(?:summari|summary|compress|compact|condens|distil|extract|analy[sz]|titles?\b|recap"
    r"|hand-?off|checkpoint|memory|memories|predict|continuing\b|who should .{0,20}speak)",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"\b(?:conversations?|dialogs?|dialogues?|discussions?|transcripts?|sessions?|chat|thread|story"
    r"|history|(?:preceding|previous|last)\s+(?:response|message|turn)s?)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFrame:
    """The parts of a request around the chat's messages that tell turns from asides."""

    system: frozenset[str]  # digests of the sentences of its system prompt
    tools: frozenset[str]  # digests of the names of its tools
    is_stream: bool
    has_schema: bool  # True if the answer must be JSON, or a call of one tool

    def is_other_program(self, turn: "RequestFrame") -> bool:
        """True if the system prompt shares little with that of the chat's turns."""
        if not self.system or not turn.system:
            return self.system != turn.system
        fewer = min(len(self.system), len(turn.system))
        return len(self.system & turn.system) * _SHARED < fewer

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "RequestFrame":
        """A stored frame.

        Raises:
            KeyError, TypeError: If it is damaged.
        """
        return cls(
            system=frozenset(map(str, row["system"])),
            tools=frozenset(map(str, row["tools"])),
            is_stream=bool(row["stream"]),
            has_schema=bool(row["schema"]),
        )

    def as_row(self) -> JsonObject:
        """The row to store."""
        system, tools = sorted(self.system), sorted(self.tools)
        return {
            "system": system,
            "tools": tools,
            "stream": self.is_stream,
            "schema": self.has_schema,
        }

    def is_like(self, turn: "RequestFrame") -> bool:
        """True if it adds nothing to the known frame of the chat's turns."""
        kinds = [(bool(f.tools), f.is_stream, f.has_schema) for f in (self, turn)]
        return kinds[0] == kinds[1] and not self.differences(turn)

    def differences(self, turn: "RequestFrame") -> int:
        """The number of ways in which it differs from the frame of the chat's turns."""
        return sum(
            (
                self.is_other_program(turn),
                bool(turn.tools) and not self.tools & turn.tools,
                turn.is_stream and not self.is_stream,
                self.has_schema and not turn.has_schema,
            )
        )


_SHARED = 5
"""Prompts of one program share at least one sentence in five; the mode or date changes."""

_MOST_SENTENCES = 128
_LEAST_SENTENCE = 12


def frame_of(units: Sequence[ListUnit], body: Body) -> RequestFrame:
    """The frame of a request."""
    said = _SENTENCE_END.split("\n".join(_systems(units, body))[:_MOST_SYSTEM])
    sentences = {text for each in said if len(text := " ".join(each.split())) >= _LEAST_SENTENCE}
    wanted = body.get("response_format") or _text_format(body)
    kind = wanted.get("type") if isinstance(wanted, Mapping) else None
    return RequestFrame(
        system=frozenset(sorted(map(_digest, sentences))[:_MOST_SENTENCES]),
        tools=frozenset(map(_digest, _tool_names(body.get("tools")))),
        is_stream=body.get("stream") is True,
        has_schema=kind in {"json_object", "json_schema"}
        or isinstance(body.get("tool_choice"), Mapping),
    )


def _text_format(body: Body) -> Any:
    text = body.get("text")
    return text.get("format") if isinstance(text, Mapping) else None


def _tool_names(tools: Any) -> list[str]:
    given = [tool for tool in tools if isinstance(tool, Mapping)] if isinstance(tools, list) else []
    named = [each if isinstance(each := tool.get("function"), Mapping) else tool for tool in given]
    return [str(tool.get("name") or tool.get("type")) for tool in named[:_MOST_SENTENCES]]


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()


def says_aside(units: Sequence[ListUnit], body: Body, *, is_named: bool) -> bool:
    """True if a request is clearly an aside, even without knowing its chat.

    Args:
        is_named: True if the client gives its own name for the chat. Only then is a system prompt
            that asks for a title enough, since a chat may be about titles.
    """
    spoken = [unit for unit in units if unit.role != "system"]
    if len(spoken) == 1 and spoken[0].role == "user" and spoken[0].text.startswith(_TASK):
        return True  # Open WebUI: titles, tags, follow-ups
    instruction = _instruction(units)
    if instruction.startswith(_MARKS) or question_in(instruction).startswith(_MARKS):
        return True  # possibly after a reminder
    if not is_named or body.get("tools") or any(unit.role == "assistant" for unit in units):
        return False
    return any(_asks_for_title(text) for text in _systems(units, body))


def is_beside(
    units: Sequence[ListUnit], body: Body, frame: RequestFrame, turn: RequestFrame
) -> bool:
    """True if a request over a chat's history is an aside, compared with the chat's turns.

    Args:
        frame: The frame of the request.
        turn: The frame of the chat's turns.
    """
    differences = frame.differences(turn)
    instruction = _instruction(units)
    is_about_talk = _works_on_talk(instruction)
    if _ends_with_system(units):
        return is_about_talk
    is_program = frame.is_other_program(turn) and any(
        _works_on_talk(text) for text in _systems(units, body)
    )
    is_clear = differences > 1
    return (is_program and (is_clear or is_about_talk)) or (
        is_clear and is_about_talk and len(instruction) >= _LEAST_INSTRUCTION
    )


def _systems(units: Sequence[ListUnit], body: Body) -> list[str]:
    """The system prompts, except an instruction at the end of the list."""
    instructions = body.get("instructions")
    head = units[:-1] if _ends_with_system(units) else units
    systems = [_written(unit) for unit in head if unit.role == "system"]
    return [*systems, *([instructions] if isinstance(instructions, str) else [])]


def _ends_with_system(units: Sequence[ListUnit]) -> bool:
    """True if a system message follows the last answer, like SillyTavern's own instructions."""
    return len(units) > 1 and units[-1].role == "system" and units[-2].role == "assistant"


def _instruction(units: Sequence[ListUnit]) -> str:
    """The last instruction of the client, or else the last message of the person."""
    if _ends_with_system(units):
        return _written(units[-1])
    return next((_written(unit).lstrip() for unit in reversed(units) if unit.role == "user"), "")


def _written(unit: ListUnit) -> str:
    """The text of a message, with its line breaks if they are known."""
    return unit.content if isinstance(unit.content, str) else unit.text


def _works_on_talk(text: str) -> bool:
    """True if a sentence at the beginning asks for work on a conversation, such as a summary."""
    return any(
        _WORK.search(sentence) and _TALK.search(sentence)
        for sentence in _SENTENCE_END.split(text[:_READ_CHARACTERS])
    )


def _asks_for_title(text: str) -> bool:
    beginning = text[:_READ_CHARACTERS]
    if _TITLE_GENERATOR.search(beginning):
        return True
    for sentence in _SENTENCE_END.split(beginning):
        asked = _ASKS_FOR_TITLE.search(sentence)
        if asked and not _REFUSAL.search(sentence[: asked.start()]):
            return True
    return False
