"""Makes a chat's document follow a client's list. Pure."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from smart_context.base.values import JsonObject
from smart_context.chat.documents.branches import branches_of, set_branches
from smart_context.chat.messages import CUT, Message, give_ids, messages_of
from smart_context.gateway.following.matching import ListMatch, keys_of, matched, order
from smart_context.gateway.requests.units import ListUnit

MAX_BRANCHES = 20

_NO_NAMES: Mapping[int, str] = MappingProxyType({})

NewId = Callable[[], str]


def follow(
    document: JsonObject,
    units: Sequence[ListUnit],
    plan: tuple[Sequence[Message], ListMatch],
    *,
    new_id: NewId,
    now: str,
    retry: str = "",
    names: Mapping[int, str] = _NO_NAMES,
) -> list[str]:
    """Make the document's messages those of the client's list; returns the units' ids.

    Args:
        document: The document, changed in place.
        units: The client's list.
        plan: The messages that the list was matched with, and the matching; it is matched again
            if the document has other messages.
        new_id: Gives ids for new messages and branches.
        now: The time at which they are made.
        retry: The id of the coming answer if the client retries by itself: the answer that it
            replaces is kept as a branch of that id until the new answer is there.
        names: The ids that new messages already have, by unit.
    """
    entries = _entries(document)
    messages, matching = plan
    if [entry.get("id") for entry in entries] != [message.id for message in messages]:
        give_ids(document)
        entries, messages = document["messages"], messages_of(document)
        matching = matched(units, messages, keys_of(messages))
    branches = branches_of(document)
    made: list[JsonObject] = []
    ids: list[str] = []
    for piece in order(matching, len(entries)):
        if isinstance(piece, int):
            if not entries[piece].get("is_summary"):
                entries[piece][CUT] = True
            made.append(entries[piece])
            continue
        index = piece[0]
        place = matching.places[index]
        if place is not None:
            entry = _known(entries[place], units[index], is_rewritten=index in matching.rewritten)
        elif index in names:
            entry = units[index].stored(names[index], now)
        else:
            entry = _from_branch(branches, units[index], new_id) or units[index].stored(
                new_id(), now
            )
        made.append(entry)
        ids.append(entry["id"])
    for run in reversed(matching.left):
        _leave(
            branches,
            [entries[index] for index in run],
            _before(entries, run[0]),
            retry,
            new_id,
            now,
        )
    document["messages"] = made
    set_branches(document, branches, MAX_BRANCHES)
    return ids


def _known(entry: JsonObject, unit: ListUnit, *, is_rewritten: bool) -> JsonObject:
    entry.pop(CUT, None)
    if is_rewritten:
        entry["content"] = _rewritten(entry.get("content"), unit)
    return entry


def _rewritten(content: Any, unit: ListUnit) -> Any:
    """The client's current content, with the stored thoughts, which clients never send back."""
    if not isinstance(unit.content, str) or not isinstance(content, list):
        return unit.stored("", "")["content"]
    thoughts = [p for p in content if isinstance(p, dict) and p.get("type") == "reasoning"]
    return [*thoughts, {"type": "text", "text": unit.content}] if thoughts else unit.content


def append_answer(document: JsonObject, answer: JsonObject) -> None:
    """Add an answer that is being generated."""
    _entries(document).append(answer)


def put_answer(
    document: JsonObject,
    answer: JsonObject,
    others: Sequence[JsonObject] = (),
    *,
    new_id: NewId,
    now: str,
) -> None:
    """Replace an answer by its final form, in the chat or on any of its branches.

    An answer that is gone was requested again, so the late one is not kept. If nothing arrived,
    the newest delivered answer to the question becomes current again.

    Args:
        document: The document, changed in place.
        answer: The answer, found by its id.
        others: The other choices, kept as versions.
        new_id: Gives ids for branches.
        now: The time at which they are made.
    """
    branches = branches_of(document)
    messages = _entries(document)
    is_last = bool(messages) and messages[-1].get("id") == answer["id"]
    if is_last and _is_empty(answer) and not others:
        delivered = _take_delivered(branches, _before(messages, len(messages) - 1))
        messages[-1:] = delivered or [answer]
        set_branches(document, branches, MAX_BRANCHES)
        return
    if _was_delivered(answer):
        branches = [branch for branch in branches if branch.get("id") != answer["id"]]
    lists = [messages, *(branch["messages"] for branch in branches)]
    for entries in lists:
        for index in reversed(range(len(entries))):
            if isinstance(entries[index], dict) and entries[index].get("id") == answer["id"]:
                entries[index] = answer
                for other in others:
                    _add(branches, [other], _before(entries, index), new_id, now)
    set_branches(document, branches, MAX_BRANCHES)


def _leave(
    branches: list[JsonObject],
    left: list[JsonObject],
    after: str | None,
    retry: str,
    new_id: NewId,
    now: str,
) -> None:
    is_answer = all(entry.get("role") == "assistant" for entry in left)
    if is_answer and not any(map(_was_delivered, left)):
        return
    is_replaced = is_answer and bool(retry)
    _add(branches, left, after, (lambda: retry) if is_replaced else new_id, now)


def _add(
    branches: list[JsonObject],
    messages: list[JsonObject],
    after: str | None,
    new_id: NewId,
    now: str,
) -> None:
    branch = {"id": new_id(), "after": after, "created_at": now, "messages": messages}
    branches.insert(0, branch)


def _was_delivered(entry: Mapping[str, Any]) -> bool:
    return not (entry.get("generating") or entry.get("error") or entry.get("stopped"))


def _is_empty(answer: Mapping[str, Any]) -> bool:
    """True if nothing of it arrived; it may have a notice of ours about that."""
    content = answer.get("content")
    parts = content if isinstance(content, list) else [content] if content else []
    return all(isinstance(p, dict) and p.get("type") == "info" and "digest" not in p for p in parts)


def _take_delivered(branches: list[JsonObject], question: str | None) -> list[JsonObject]:
    """Remove the branch with the newest delivered answer to a question; returns its messages."""
    for branch in branches:
        first = next(iter(branch["messages"]), None)
        if not isinstance(first, dict):
            continue
        is_answer = branch.get("after") == question and first.get("role") == "assistant"
        if is_answer and _was_delivered(first) and not _is_empty(first):
            branches.remove(branch)
            messages: list[JsonObject] = branch["messages"]
            return messages
    return []


def _from_branch(branches: list[JsonObject], unit: ListUnit, new_id: NewId) -> JsonObject | None:
    """The unit's message, taken from a branch; the messages around it stay as branches."""
    for number, branch in enumerate(branches):
        give_ids(branch)
        entries = branch["messages"]
        places = [place for place, entry in enumerate(entries) if isinstance(entry, dict)]
        for place, key in zip(places, keys_of(messages_of(branch)), strict=True):
            if key == unit.key:
                entry: JsonObject = entries[place]
                rest = {**branch, "after": entry["id"], "messages": entries[place + 1 :]}
                branches[number : number + 1] = (
                    [rest]
                    if place == 0
                    else [{**rest, "id": new_id()}, {**branch, "messages": entries[:place]}]
                )
                return entry
    return None


def _before(entries: Sequence[Mapping[str, Any]], index: int) -> str | None:
    return str(entries[index - 1].get("id")) if index > 0 else None


def _entries(document: JsonObject) -> list[JsonObject]:
    entries = document.get("messages")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        give_ids(document)
        entries = document["messages"] = [e for e in document["messages"] if isinstance(e, dict)]
    return entries
