"""Commands that ask a question twice, under two sets of choices, and keep one of the answers."""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from cachetools import TTLCache

from smart_context.base.config.endpoints import Prices
from smart_context.base.errors import ChatBusy, CommandFailed, InvalidParams, SmartContextError
from smart_context.base.text.names import storable
from smart_context.base.times import utc_stamp
from smart_context.base.values import JsonObject, PersonId
from smart_context.chat.clients import is_of_client
from smart_context.chat.documents.branches import show_version
from smart_context.chat.ids import new_message_id, unknown_chat
from smart_context.chat.listed.rows import plain_line
from smart_context.chat.messages import ChatId, Message, MessageId
from smart_context.host.access import FilesNamed
from smart_context.host.commands.registry import Caller
from smart_context.host.events.events import Emit, Event
from smart_context.host.models import choose
from smart_context.host.plugins.requests import Requests
from smart_context.host.turn import Turn
from smart_context.host.turns import transcript
from smart_context.plugin.choices.state import check_threshold
from smart_context.plugin.forecast.commands import DraftOf
from smart_context.plugin.forecast.plan import RequestPlanner, TurnPlan
from smart_context.plugin.receipts.commands import (
    Replays,
    changes_of,
    named_receipt,
    under,
)
from smart_context.plugin.receipts.documents import ONE_LINE, one_line_texts, receipt_document
from smart_context.plugin.receipts.making import settings_document
from smart_context.plugin.receipts.receipt import Receipt
from smart_context.plugin.receipts.recording import ReceiptRecorder
from smart_context.plugin.receipts.spent import last_request_of
from smart_context.relevance.reasons import ReasonKind

COMPARISON: Event[JsonObject] = Event("smart_context.comparison")
"""Event: the next piece of one of two answers."""

MAX_COMPARISONS = 64
KEPT_S = 3600.0

Side = Literal["left", "right"]
Changes = Mapping[str, Any]
MakePlan = Callable[[], Awaitable[TurnPlan]]


@dataclass(slots=True, kw_only=True)
class ComparedAnswer:
    """One side of a comparison."""

    text: str = ""  # the part that has arrived
    receipt: Receipt | None = None  # the receipt of its request; `None` if nothing was sent
    turn: Turn | None = None  # a turn outside of the chat; `None` for an answer in the chat
    error: str = ""  # why it failed, for people; empty if it has not failed
    is_stopped: bool = False

    @property
    def can_be_kept(self) -> bool:
        """True if the chat has the answer already, or if some of it has arrived."""
        return self.turn is None or bool(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two answers to one question."""

    chat_id: ChatId
    person: PersonId
    question: Message  # as it is or would be stored
    is_new: bool  # True if the chat does not have the question
    answers: Mapping[Side, ComparedAnswer]


KnownComparisons = TTLCache[str, Comparison]
"""Comparisons by their ids."""


def no_comparisons() -> KnownComparisons:
    """Room for the comparisons of the last hour."""
    return TTLCache(MAX_COMPARISONS, KEPT_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparisons:
    """Asks the model a question twice, and keeps one of the answers."""

    replays: Replays
    recorder: ReceiptRecorder
    planner: RequestPlanner
    requests: Requests
    draft_of: DraftOf
    keep_file: Callable[[str], Awaitable[object]]  # keeps an attached file for good
    prices: Callable[[], Prices]
    emit: Emit
    find_topics: Callable[[ChatId], object]
    known: KnownComparisons  # the last comparisons of all people
    clock: Callable[[], float] = time.time  # seconds since 1970

    async def compare(  # noqa: PLR0913, PLR0917 - a parameter for each choice
        self,
        chat_id: ChatId,
        caller: Caller,
        turn: str | None = None,
        message: str | None = None,
        topics: list[str] | None = None,
        threshold: float | None = None,
        relevance: Literal["enriched", "plain"] | None = None,
        model: str | None = None,
        pinned: list[str] | None = None,
        hidden: list[str] | None = None,
        role: str | None = None,
        files: Annotated[list[dict[str, Any]] | None, FilesNamed] = None,
        links: list[dict[str, Any]] | None = None,
    ) -> JsonObject:
        """Ask the model twice: under the choices in force, and under others; by default, with all.

        The left answer is under those in force, or the stored one of a turn. Nothing enters the
        chat; see `keep_answer`.
        """
        await self._check_chat(chat_id)
        check_threshold(threshold)
        await self.replays.briefings.roles.check(role or "")
        if turn is not None and message is not None:
            raise InvalidParams("expected turn or message, found both")
        changes = changes_of(
            topics=topics,
            threshold=threshold,
            relevance=relevance,
            pinned=pinned,
            hidden=hidden,
            role=role,
        )
        if not changes and model is None:
            changes["topics"] = []
        choice = await self._choice(model)
        if message is not None:
            draft = await self._draft(message, files or [], links or [])
            return await self._of_message(chat_id, caller.person, draft, changes, choice)
        return await self._of_turn(chat_id, caller.person, turn, changes, choice)

    async def keep_answer(
        self, comparison_id: str, side: Literal["left", "right"], caller: Caller
    ) -> JsonObject:
        """Make one of two answers a version of the chat's answer; adds a question that is new."""
        found = self.known.get(comparison_id)
        if found is None or found.person != caller.person:
            raise CommandFailed("This comparison is over: answers are kept for an hour. Ask again.")
        answer = found.answers[side]
        receipt = answer.receipt
        if receipt is None or not answer.can_be_kept:
            raise CommandFailed(f"There is no {side} answer to keep. {answer.error}".strip())
        await self._check_chat(found.chat_id)
        for file in found.question.files if found.is_new else ():
            await self.keep_file(str(file.get("storage_key")))
        now = utc_stamp(self.clock())
        await self.replays.chats.update(
            found.chat_id,
            lambda document: _keep(document, found, answer, receipt.answer, now),
            creates=False,
        )
        if answer.turn is not None:
            await self.recorder.keep(found.chat_id, receipt, last_request_of(receipt))
            self.find_topics(found.chat_id)
        return {"chat_id": found.chat_id, "message_ids": [found.question.id, receipt.answer]}

    async def _check_chat(self, chat_id: ChatId) -> None:
        """Refuse a chat that does not exist, for example since it was deleted."""
        if not await self.replays.chats.exists(chat_id):
            raise unknown_chat(chat_id)

    async def _choice(self, model: str | None) -> str:
        if not model:
            return ""
        choice = await self.requests.choice_of(storable(model.strip()))
        if not choice:
            raise InvalidParams(
                "No connected endpoint has this model. Choose one of system.models, such as "
                "openai/gpt-4o."
            )
        return choice

    async def _draft(
        self, message: str, files: list[dict[str, Any]], links: list[dict[str, Any]]
    ) -> tuple[Message, Message]:
        """The new question as it would be stored, and as it would be sent."""
        if not message.strip():
            raise InvalidParams("message: expected some text, found none")
        sent = await self.draft_of(storable(message), files, links)
        sent = replace(sent, id=new_message_id())
        return replace(sent, content=storable(message)), sent

    async def _of_message(
        self,
        chat_id: ChatId,
        person: PersonId,
        draft: tuple[Message, Message],
        changes: Changes,
        choice: str,
    ) -> JsonObject:
        question, sent = draft
        left, right = ComparedAnswer(), ComparedAnswer()
        made = Comparison(
            chat_id=chat_id,
            person=person,
            question=question,
            is_new=True,
            answers={"left": left, "right": right},
        )

        async def asked(changes: Changes) -> TurnPlan:
            return await self._asked(chat_id, question, sent, changes)

        return await self._run(made, lambda: asked({}), lambda: asked(changes), choice)

    async def _of_turn(
        self,
        chat_id: ChatId,
        person: PersonId,
        turn: str | None,
        changes: Changes,
        choice: str,
    ) -> JsonObject:
        receipt = named_receipt(await self.recorder.stored.all(chat_id), turn)
        stored = {m.id: m for m in await self.replays.chats.messages(chat_id)}
        question = stored.get(MessageId(receipt.question))
        answer = stored.get(MessageId(receipt.answer))
        left = ComparedAnswer(text=answer.text if answer else "", receipt=receipt)
        if answer is None:
            left.error = "This answer is no longer shown in the chat."
        model = receipt.models.get("chat", "")
        choice = choice or await self.requests.choice_of(model)

        async def asked() -> TurnPlan:
            return await self.replays.asked(chat_id, receipt, changes, model)

        made = Comparison(
            chat_id=chat_id,
            person=person,
            question=question or Message(id=MessageId(receipt.question), role="user", content=""),
            is_new=False,
            answers={"left": left, "right": ComparedAnswer()},
        )
        return await self._run(made, None, asked, choice)

    async def _asked(
        self, chat_id: ChatId, question: Message, sent: Message, changes: Changes
    ) -> TurnPlan:
        """The plan of a new question under the chat's own choices, or with changes."""
        view = await self.replays.chat_filter.view(chat_id)
        state = view.sidecar.state
        own_or_other = state.with_role(changes.get("role"))
        briefing = await self.replays.briefings.of(chat_id, sent.text, own_or_other)
        settings = self.replays.selector.settings_of(state)
        if changes:
            view, settings = under(view, {**settings_document(state, settings), **changes})
        return await self.replays.asking(question, sent, view, settings, briefing)

    async def _run(
        self,
        made: Comparison,
        left: MakePlan | None,
        right: MakePlan,
        choice: str,
    ) -> JsonObject:
        """Ask both sides at once; `left` is `None` if its answer is stored.

        Args:
            made: The comparison whose answers are filled in.
            left: Makes the request of the left side, under the chat's own model.
            choice: The model of the right side, as `chat.set_model` takes it; empty for the chat's.
        """
        comparison_id = secrets.token_hex(8)
        self.known[comparison_id] = made
        sides: list[tuple[Side, MakePlan, str]] = [("right", right, choice)]
        if left is not None:
            sides.insert(0, ("left", left, ""))
        tasks = [
            asyncio.create_task(self._ask(comparison_id, made, side, asked, own))
            for side, asked, own in sides
        ]
        with self.requests.stopping(made.chat_id, tasks):
            await asyncio.wait(tasks)
        for (side, _, _), task in zip(sides, tasks, strict=True):
            made.answers[side].is_stopped = task.cancelled()
        return await self._result(comparison_id, made)

    async def _ask(
        self,
        comparison_id: str,
        made: Comparison,
        side: Side,
        asked: MakePlan,
        choice: str,
    ) -> None:
        """Ask one side; after a failure or a stop, the text so far is kept."""
        answer = made.answers[side]
        told = {"chat_id": made.chat_id, "comparison_id": comparison_id, "side": side}

        def arrived(text: str) -> None:
            self.emit(COMPARISON, {**told, "offset": len(answer.text), "text": text})
            answer.text += text

        if choice:
            choose(choice)
        arrived("")
        try:
            plan = await asked()
            answer.turn = await self._turn(made, plan)
            plan = replace(plan, asked_at=self.clock())
            try:
                await self._answer(answer.turn, arrived)
            finally:
                answer.text = answer.turn.response or answer.text  # without the model's thoughts
                answer.turn.response = answer.text or None
                if answer.turn.sent:
                    answer.receipt = (await self.recorder.made(answer.turn, plan)).receipt
        except SmartContextError as error:
            answer.error = str(error)

    async def _answer(self, turn: Turn, arrived: Callable[[str], None]) -> None:
        try:
            await self.requests.ask(turn, arrived)
        except asyncio.CancelledError:
            turn.stopped = True
            raise
        except SmartContextError as error:
            turn.error = str(error)
            raise

    async def _turn(self, made: Comparison, plan: TurnPlan) -> Turn:
        return Turn(
            id=new_message_id(),
            chat_id=made.chat_id,
            person=made.person,
            question=plan.question,
            answer_id=new_message_id(),
            request=await self.planner.request(plan),
        )

    async def _result(self, comparison_id: str, made: Comparison) -> JsonObject:
        texts = one_line_texts(await self.replays.chats.messages(made.chat_id))
        left, right = (_sent_ids(made.answers[side]) for side in ("left", "right"))
        for each in {*left} ^ {*right}:
            texts[each] = plain_line(texts.get(each, ""), ONE_LINE)
        return {
            "comparison_id": comparison_id,
            **{
                side: self._side(answer, {**texts, made.question.id: made.question.text})
                for side, answer in made.answers.items()
            },
            "only_left": [each for each in left if each not in set(right)],
            "only_right": [each for each in right if each not in set(left)],
        }

    def _side(self, answer: ComparedAnswer, texts: Mapping[str, str]) -> JsonObject:
        receipt = answer.receipt
        shown: JsonObject = {
            "text": answer.text,
            "sent": receipt.tokens if receipt else 0,
            "seconds": receipt.seconds if receipt else None,
            "receipt": receipt and receipt_document(receipt, texts, self.prices()),
        }
        if answer.error:
            shown["error"] = answer.error
        if answer.is_stopped:
            shown["stopped"] = True
        return shown


def _sent_ids(answer: ComparedAnswer) -> list[str]:
    rows = answer.receipt.rows if answer.receipt else ()
    return [row.id for row in rows if row.is_in and row.kind is not ReasonKind.CURRENT]


def _has(document: JsonObject, message_id: str) -> bool:
    return any(entry.get("id") == message_id for entry in document.get("messages", ()))


def _keep(
    document: JsonObject, found: Comparison, answer: ComparedAnswer, answer_id: str, now: str
) -> None:
    """Put an answer into its chat, as another version of the chat's answer."""
    if is_of_client(document):
        raise CommandFailed(
            "Another program keeps the history of this chat; continue in a copy to keep an answer."
        )
    if any(entry.get("generating") for entry in document.get("messages", ())):
        raise ChatBusy("this chat is still being answered; stop that first, or wait")
    if _has(document, answer_id):
        return  # it is in the chat already
    if answer.turn is None:
        show_version(document, answer_id, new_id=new_message_id, now=now)
        return
    if found.is_new and not _has(document, found.question.id):
        transcript.append(document, replace(found.question, created_at=now))
    transcript.ask_again(document, found.question.id, now=now)
    kept = transcript.answer_of(answer.turn, arrived=answer.text, created_at=now)
    transcript.append(document, kept)
