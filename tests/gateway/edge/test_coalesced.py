import asyncio

import pytest

from smart_context.gateway.edge.coalesced import MOST_BYTES, coalesced


async def at_once(*pieces, error=None):
    for piece in pieces:
        yield piece
    if error is not None:
        raise error


async def collected(chunks):
    return [piece async for piece in coalesced(chunks)]


def test_pieces_that_are_there_at_once_are_joined():
    assert asyncio.run(collected(at_once(b"a", b"b", b"c"))) == [b"abc"]


def test_a_piece_that_comes_alone_is_passed_on_alone():
    async def scenario():
        gate = asyncio.Event()

        async def slowly():
            yield b"first"
            await gate.wait()
            yield b"second"

        pieces = coalesced(slowly())
        first = await anext(pieces)
        gate.set()
        return [first, *[piece async for piece in pieces]]

    assert asyncio.run(scenario()) == [b"first", b"second"]


def test_what_came_before_an_error_is_passed_on():
    async def scenario():
        pieces = coalesced(at_once(b"a", error=ValueError("broken")))
        first = await anext(pieces)
        with pytest.raises(ValueError, match="broken"):
            await anext(pieces)
        return first

    assert asyncio.run(scenario()) == b"a"


def test_a_slow_client_makes_the_provider_wait():
    async def scenario():
        given = []

        async def endless():
            while True:
                given.append(b"x" * 1024)
                yield given[-1]

        pieces = coalesced(endless())
        size = len(await anext(pieces))
        await pieces.aclose()
        return size, sum(map(len, given))

    size, given = asyncio.run(scenario())
    assert size == MOST_BYTES
    assert given <= 2 * MOST_BYTES + 1024
