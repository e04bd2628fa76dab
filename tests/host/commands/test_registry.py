"""Commands are registered, checked and called."""

import asyncio
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from smart_context.base.errors import (
    ChatIdInvalid,
    CommandFailed,
    InvalidParams,
    NameTaken,
    UnknownCommand,
)
from smart_context.base.values import OWNER, PersonId
from smart_context.base.waiting import is_waited_for
from smart_context.chat.messages import ChatId
from smart_context.host.access import OwnChats, OwnerOnly
from smart_context.host.commands.registry import Caller, CommandRegistry

pytestmark = pytest.mark.anyio

ANN = PersonId("ann")


class Page:
    id = "page"

    def __init__(self, chat_id=None):
        self.chat_id = chat_id

    def send(self, event, payload):
        pass


async def show(  # noqa: PLR0917 - a command has as many as it needs
    chat_id: str,
    caller: Caller,
    limit: int = 10,
    ratio: float = 1.0,
    mode: Literal["a", "b"] = "a",
    topics: list[str] | None = None,
    is_on: bool = False,
    extra: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Show what came in.

    More than one line.
    """
    return {"chat_id": chat_id, "limit": limit, "ratio": ratio, "is_on": is_on, "topics": topics}


def registry(handler=show):
    commands = CommandRegistry(OwnerOnly())
    commands.register("test.show", handler, owner="test")
    return commands


async def call(handler=show, *, client=None, **params):
    return await registry(handler).call("test.show", params, Caller(OWNER, client))


async def test_a_command_gets_its_parameters_and_defaults():
    assert await call(chat_id="c", ratio=2, topics=["x"]) == {
        "chat_id": "c",
        "limit": 10,
        "ratio": 2.0,
        "is_on": False,
        "topics": ["x"],
    }


@pytest.mark.parametrize(
    ("params", "named"),
    [
        pytest.param({}, "chat_id: missing", id="missing"),
        pytest.param({"chat_id": "c", "colour": 1}, "colour: unknown parameter", id="unknown"),
        pytest.param({"chat_id": 5}, "chat_id: expected a valid string", id="not text"),
        pytest.param({"chat_id": None}, "chat_id: expected a valid string", id="null"),
        pytest.param({"chat_id": "c", "limit": "5"}, "limit: expected", id="a number in text"),
        pytest.param({"chat_id": "c", "limit": 5.0}, "limit: expected", id="a fraction"),
        pytest.param({"chat_id": "c", "limit": True}, "limit: expected", id="true for a number"),
        pytest.param({"chat_id": "c", "is_on": 1}, "is_on: expected", id="1 for true"),
        pytest.param({"chat_id": "c", "mode": "z"}, "mode: expected 'a' or 'b'", id="no choice"),
        pytest.param({"chat_id": "c", "topics": "x"}, "topics: expected", id="text for a list"),
        pytest.param({"chat_id": "c", "topics": [1]}, "topics.0: expected", id="in a list"),
        pytest.param({"chat_id": "c", "caller": {}}, "caller: unknown", id="the caller"),
    ],
)
async def test_a_wrong_parameter_is_named(params, named):
    with pytest.raises(InvalidParams, match=r"^test\.show: ") as raised:
        await call(**params)
    assert named in str(raised.value)


async def test_every_wrong_parameter_is_named_and_no_value_is_shown():
    with pytest.raises(InvalidParams) as raised:
        await call(limit="secret", colour="secret", topics=["ok", 3])
    text = str(raised.value)
    for name in ("chat_id: missing", "limit: ", "colour: unknown", "topics.1: "):
        assert name in text
    assert "secret" not in text


async def test_a_long_list_of_faults_is_cut():
    with pytest.raises(InvalidParams, match="and 81 more"):
        await call(chat_id="c", topics=[0] * 101)


async def test_a_chat_that_is_left_out_is_the_one_the_client_opened():
    assert (await call(client=Page("open")))["chat_id"] == "open"
    assert (await call(client=Page("open"), chat_id="named"))["chat_id"] == "named"
    for client in (Page(), None):
        with pytest.raises(InvalidParams, match="chat_id: missing"):
            await call(client=client)


@pytest.mark.parametrize("bad", ["", "../a", "con"])
async def test_an_id_that_no_chat_can_have_is_refused_where_chats_are_annotated(bad):
    async def of_one(chat_id: ChatId | None = None) -> dict[str, Any]:
        return {"chat_id": chat_id}

    async def of_several(chat_ids: OwnChats) -> dict[str, Any]:
        return {"chat_ids": chat_ids}

    assert await call(of_one) == {"chat_id": None}
    assert await call(of_several, chat_ids=["a"]) == {"chat_ids": ["a"]}
    with pytest.raises(ChatIdInvalid):
        await call(of_one, chat_id=bad)
    with pytest.raises(ChatIdInvalid):
        await call(of_several, chat_ids=["a", bad])


async def test_the_open_chat_is_not_given_to_a_command_that_wants_none():
    async def ping() -> dict[str, Any]:
        return {"pong": True}

    assert await call(ping, client=Page("open")) == {"pong": True}


async def test_the_caller_is_handed_in():
    async def who(caller: Caller) -> dict[str, Any]:
        return {"id": caller.client.id}

    assert await call(who, client=Page()) == {"id": "page"}


async def test_a_command_is_waited_for():
    async def look() -> dict[str, Any]:
        return {"is": is_waited_for()}

    assert not is_waited_for()
    assert await call(look) == {"is": True}


async def test_an_unknown_command_is_an_error():
    with pytest.raises(UnknownCommand, match=r"'test\.hide'"):
        await registry().call("test.hide", {}, Caller(OWNER))


async def test_the_first_owner_of_a_name_keeps_it():
    commands = registry()

    async def other() -> dict[str, Any]:
        return {"who": "other"}

    with pytest.raises(NameTaken, match=r"test\.show is registered already by test; late needs"):
        commands.register("test.show", other, owner="late")
    assert (await commands.call("test.show", {"chat_id": "c"}, Caller(OWNER)))["chat_id"] == "c"


async def test_a_removed_command_is_gone_and_its_name_is_free():
    commands = CommandRegistry(OwnerOnly())
    remove = commands.register("test.show", show)
    remove()
    with pytest.raises(UnknownCommand):
        await commands.call("test.show", {}, Caller(OWNER))
    commands.register("test.show", show)
    remove()
    assert len((await commands.list_commands())["commands"]) == 1


@pytest.mark.parametrize("name", ["show", "Test.show", "test.", "test.a.b", "test.show ", ""])
def test_a_name_has_a_plugin_and_a_verb(name):
    with pytest.raises(ValueError, match=r"plugin\.verb"):
        CommandRegistry(OwnerOnly()).register(name, show)


async def only_by_place(a, /):
    pass


async def any_number(*a):
    pass


async def odd(a: "NoSuchType"):  # noqa: F821 - that is the point
    pass


async def unchecked(a: Page):
    pass


async def unchecked_within(a: list[dict[str, Page | None]]):
    pass


async def told_apart(a: Annotated[int | str, Field(discriminator="kind")]):
    pass


@pytest.mark.parametrize(
    "handler",
    [only_by_place, any_number, odd, unchecked, unchecked_within, told_apart, lambda: None],
)
def test_a_handler_whose_parameters_cannot_be_checked_is_refused(handler):
    with pytest.raises(TypeError):
        registry(handler)


async def test_a_crash_is_logged_and_told_without_details(caplog):
    async def crash() -> dict[str, Any]:
        raise KeyError("inside")

    with pytest.raises(CommandFailed, match=r"^test\.show failed unexpectedly") as raised:
        await call(crash)
    assert "inside" not in str(raised.value)
    assert "KeyError: 'inside'" in caplog.text


async def test_an_error_for_the_user_passes_unchanged():
    async def refuse() -> dict[str, Any]:
        raise CommandFailed("no such thing; try another")

    with pytest.raises(CommandFailed, match=r"^no such thing; try another$"):
        await call(refuse)


async def test_nothing_is_an_empty_object_and_anything_else_is_a_failure():
    async def nothing() -> None:
        pass

    async def text() -> str:
        return "x"

    assert await call(nothing) == {}
    with pytest.raises(CommandFailed, match="did not return a JSON object"):
        await call(text)


async def test_extra_parameters_are_allowed_where_the_handler_takes_them():
    async def take(first: int, **more: Any) -> dict[str, Any]:
        return {"first": first, **more}

    assert await call(take, first=1, second="2") == {"first": 1, "second": "2"}
    with pytest.raises(InvalidParams, match="first: missing"):
        await call(take, second="2")


async def test_names_that_mean_something_to_the_checker_can_be_parameters():
    async def odd_names(schema: int, json: str, copy: bool, model_fields: int) -> dict[str, Any]:
        return {"schema": schema}

    assert await call(odd_names, schema=1, json="", copy=True, model_fields=0) == {"schema": 1}


async def test_a_command_whose_work_is_cancelled_under_it_fails_instead_of_saying_nothing():
    async def wait_for_work() -> None:
        work = asyncio.create_task(asyncio.sleep(60))
        work.cancel()
        await work

    with pytest.raises(CommandFailed, match="was interrupted; try again"):
        await call(wait_for_work)


async def test_partials_and_methods_are_checked_too():
    assert (await call(partial(show, limit=3), chat_id="c"))["limit"] == 3
    with pytest.raises(InvalidParams):
        await call(partial(show, limit=3), chat_id="c", limit="x")


async def test_commands_are_described_with_a_json_schema():
    (described,) = (await registry().list_commands())["commands"]
    assert described["name"] == "test.show"
    assert described["description"] == "Show what came in."
    assert described["owner"] == "test"
    schema = described["params"]
    assert "title" not in schema
    assert schema["type"] == "object"
    assert schema["required"] == ["chat_id"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["limit"]["default"] == 10
    assert schema["properties"]["mode"]["enum"] == ["a", "b"]
    assert "caller" not in schema["properties"]


async def test_a_command_runs_on_what_is_the_callers_where_each_person_has_their_own():
    class Count:
        def __init__(self):
            self.count = 0

        async def add(self, by: int) -> dict[str, Any]:
            self.count += by
            return {"count": self.count}

    counts = {OWNER: Count(), ANN: Count()}
    commands = CommandRegistry(OwnerOnly())
    commands.register("test.add", Count().add, for_person=lambda person: counts[person].add)
    told = [
        (await commands.call("test.add", {"by": by}, Caller(person)))["count"]
        for person, by in ((OWNER, 1), (ANN, 5), (OWNER, 1))
    ]
    assert told == [1, 5, 2]
    with pytest.raises(InvalidParams):
        await commands.call("test.add", {}, Caller(ANN))
