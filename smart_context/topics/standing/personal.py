"""Finds the facts that users state about themselves, and those that matter to the chat.

"I'm vegetarian." or "My uncle likes old books." asks nothing, yet later answers need it. Such a
message becomes sticky if the rest of the chat is close to it: an instruction always holds, a fact
only where it matters.
"""

import re
from collections.abc import Sequence
from itertools import islice, pairwise

import numpy as np

from smart_context.chat.messages import Message
from smart_context.llm.models import Matrix
from smart_context.topics.standing.standing import phrases_in

_LONGEST = 200
_SHORT_REPLY = 120
_NOTED = re.compile(
    r"\W*(?:ok(?:ay)?|got it|noted|thanks?|thank you|sure|understood|alright|all right|will do"
    r"|i(?:'ll| will) (?:keep|remember|bear)|good to know|verstanden|notiert|danke|gut|alles klar"
    r"|compris|noté|merci|entendido|gracias|vale|好的|明白|记住了|知道了|了解)",
    re.IGNORECASE,
)
_TOLD_SHARE = 0.05
_NEAREST = 3
_NEAR = 0.237
_AT_ONCE = 256
_TINY = np.float32(1e-9)
_ASKS = re.compile("[?\uff1f\u061f`]|```|https?://")

_PHRASES = phrases_in("personal_phrases.txt")
_LASTING = re.compile("|".join(f"(?:{phrase})" for phrase in _PHRASES["lasting"]))
_FIRST_PERSON = re.compile(
    r"\b(?:i|i'm|i've|i'd|my|me|mine|we|we're|we've|our|us|ich|mein\w*|mir|mich|wir|unser\w*|je"
    r"|mon|ma|mes|nous|notre|nos|yo|mi|mis|soy|tengo|vivo|nosotros|nuestr\w*)\b|\bj'|^bought\b|我"
)
_DIAGNOSED = re.compile(
    r"\b(?:i|my \w+)(?: am|'m| was|'ve been| have been| has been| is)? (?:recently |just |also )?"
    r"diagnosed (?:with|as)\b|\b(?:i|my \w+) (?:suffer|suffers|am suffering) from\b"
    r"|\bbei mir wurde [^.]{1,80} diagnostiziert|\bon m'a diagnostiqué|\bme han diagnosticado"
    r"|我(?:被)?(?:确诊|患有)"
)
_TOLD = re.compile("|".join(f"(?:{phrase})" for phrase in _PHRASES["told"]))
_OWN_LIFE = re.compile(_PHRASES["own_life"][0])
_PASSING = re.compile("|".join(f"(?:{phrase})" for phrase in _PHRASES["passing"]))


def personal_statements(messages: Sequence[Message]) -> list[int]:
    """Positions of the user's messages that state a fact about them and ask nothing.

    Tastes, traits, health, home and family always count. What users own, did or bought counts only
    in a note without a long answer, because most people who mention it want help with it. In
    several messages in a row, everything that users say about themselves counts. Where both sides
    talk about themselves, answered statements are small talk, except diagnoses.
    """
    is_small_talk = _is_small_talk(messages)
    found: list[int] = []
    for place, message in enumerate(messages):
        if message.role != "user":
            continue
        plain = _plain(message.text) if len(message.text) <= _LONGEST else ""
        if not plain:
            continue
        rest = messages[place + 1 : place + 2]
        is_one_of_several = bool(rest) and rest[0].role == "user"
        is_note = is_one_of_several or _is_note(messages, place)
        if is_small_talk and not (is_note or _DIAGNOSED.search(plain)):
            continue
        if is_personal(plain, is_note=is_note) or (is_one_of_several and _is_about_oneself(plain)):
            found.append(place)
    return found


def _is_small_talk(messages: Sequence[Message]) -> bool:
    """True if two people talk: an assistant has neither pets nor a favourite food."""
    answers = [
        message.text
        for before, message in pairwise(messages)
        if message.role == "assistant" and before.role == "user"
    ]
    tolerated = int(_TOLD_SHARE * len(answers))
    personal = (text for text in answers if _tells_of_own_life(_plain_if_short(text)))
    return next(islice(personal, tolerated, None), None) is not None


def _tells_of_own_life(plain: str) -> bool:
    return bool(plain) and (_is_personal(plain) or bool(_OWN_LIFE.search(plain)))


def is_personal(text: str, *, is_note: bool = False) -> bool:
    """True if a text states a lasting fact about its author; in a note, also their actions."""
    return _is_personal(_plain(text), is_note=is_note)


def _is_personal(plain: str, *, is_note: bool = False) -> bool:
    if _ASKS.search(plain) or _PASSING.search(plain):
        return False
    is_about_author = _LASTING.match(plain) or _DIAGNOSED.search(plain)
    return bool(is_about_author or (is_note and _TOLD.match(plain)))


def _is_about_oneself(plain: str) -> bool:
    """True if a message says something about its author; for several in a row."""
    return bool(_FIRST_PERSON.search(plain)) and not (_ASKS.search(plain) or _PASSING.search(plain))


def _plain(text: str) -> str:
    return " ".join(text.lower().replace("\u2019", "'").split())


def _plain_if_short(text: str) -> str:
    """The plain text; empty if too long for a statement, which its beginning mostly shows."""
    if len(_plain(text[: 2 * _LONGEST])) > _LONGEST:
        return ""
    plain = _plain(text)
    return plain if len(plain) <= _LONGEST else ""


def standing_facts(spoken: Sequence[Message], vectors: Matrix) -> frozenset[int]:
    """Positions of the statements that matter to the rest of the chat.

    Such a statement is close, on average, to its three nearest messages that are neither
    statements nor answers to them. In a chat of statements only, none matters yet.

    Args:
        vectors: Shape (n, d), their embeddings.
    """
    statements = personal_statements(spoken)
    if not statements:
        return frozenset()
    rows = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), _TINY)
    following = (place + 1 for place in statements if place + 1 < len(spoken))
    answers = [place for place in following if spoken[place].role == "assistant"]
    standing: set[int] = set()
    for begin in range(0, len(statements), _AT_ONCE):
        block = np.array(statements[begin : begin + _AT_ONCE])
        close = rows[block] @ rows.T
        close[:, [*statements, *answers]] = 0.0
        near = np.sort(close)[:, -_NEAREST:].mean(axis=1) >= _NEAR
        standing.update(block[near].tolist())
    return frozenset(standing)


def _is_note(messages: Sequence[Message], place: int) -> bool:
    """True if another user message follows, directly or after a short acknowledgement."""
    rest = messages[place + 1 : place + 3]
    if rest and rest[0].role == "assistant" and _is_acknowledgement(rest[0].text):
        rest = rest[1:]
    return bool(rest) and rest[0].role == "user"


def _is_acknowledgement(text: str) -> bool:
    return len(text) <= _SHORT_REPLY and bool(_NOTED.match(text))
