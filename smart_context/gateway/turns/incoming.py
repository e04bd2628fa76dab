"""A client's request as it came: its body, its list, and its own name for the chat."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from smart_context.base.values import id_in, text_in
from smart_context.gateway.asides import RequestFrame, frame_of, says_aside
from smart_context.gateway.identity.given_ids import RETRY_HEADER, GivenId
from smart_context.gateway.requests.body import Body
from smart_context.gateway.requests.outgoing import ApiKind, last_question
from smart_context.gateway.requests.units import ListUnit

OFF_HEADER = "x-smart-context"


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """A request of a client."""

    kind: ApiKind  # the API that the client uses
    key: str  # the name of its key
    client: str  # the program, according to its headers
    headers: Mapping[str, str]  # the headers by lower-case name
    body: Body
    units: tuple[ListUnit, ...]  # the units of its list
    given: GivenId | None  # its own name for the chat

    @property
    def model(self) -> str:
        """The requested model; empty if there is none."""
        return text_in(self.body.get("model"))

    @property
    def is_stream(self) -> bool:
        """True if the client wants the answer streamed."""
        return self.body.get("stream") is True

    @cached_property
    def says_aside(self) -> bool:
        """True if the request itself shows that it is an aside, such as one for a title."""
        return says_aside(self.units, self.body, is_named=self.given is not None)

    @cached_property
    def frame(self) -> RequestFrame:
        """The frame of the request: its system prompt, tools and format."""
        return frame_of(self.units, self.body)

    @property
    def is_off(self) -> bool:
        """True if the client wants the request sent unchanged."""
        return self.headers.get(OFF_HEADER, "").strip().lower() == "off"

    @property
    def previous_response(self) -> str:
        """The response that the request continues, so that the provider holds the history."""
        return previous_response(self.body)

    @property
    def is_held(self) -> bool:
        """True if the provider holds the history, so that the list has only new items."""
        is_named = self.previous_response or self.body.get("conversation")
        return self.kind == "responses" and bool(is_named)

    @property
    def is_retry(self) -> bool:
        """True if the client's library repeats an earlier request."""
        return self.headers.get(RETRY_HEADER, "0").strip() not in {"", "0"}

    @property
    def question(self) -> int:
        """The place of the question's unit."""
        return last_question(self.units)

    @property
    def item_count(self) -> int:
        """The number of messages or items in the request."""
        return sum(unit.size for unit in self.units)


def held_things(body: Body) -> tuple[str, ...]:
    """The ids of the response and conversation that a request of the Responses API continues."""
    conversation = body.get("conversation")
    named = id_in(conversation) or (str(conversation) if conversation else "")
    return tuple(filter(None, (previous_response(body), named)))


def previous_response(body: Body) -> str:
    """The response that a request continues; empty for none."""
    return text_in(body.get("previous_response_id"))
