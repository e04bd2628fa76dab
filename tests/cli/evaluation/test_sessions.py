"""What sessions cost: the rules of prompt caches, and a bound for waiting."""

import random

import pytest

from smart_context.cli.evaluation.sessions import Asked, Session, cost_of_session

A, B = (0, 0), (0, 1)


def session(picks, *, messages=40, tokens=100, after_s=30):
    history = tuple((tokens, A if n % 4 < 2 else B) for n in range(messages))
    turns = tuple(
        Asked(after_s=after_s, picked=frozenset(p), about=next(iter(p), A), tokens=(20, 80))
        for p in picks
    )
    return Session(messages=history, turns=turns)


def test_nothing_is_picked_and_each_way_costs_the_same():
    cost = cost_of_session(session([()] * 5))
    assert cost.now == cost.everything == cost.when_it_pays
    full = 5 * 4_000 + 100 * (1 + 2 + 3 + 4)
    assert cost.now < 0.4 * full, "the beginning is cached"


@pytest.mark.parametrize("changed", [{"after_s": 301}, {"messages": 8}])
def test_nothing_is_cached_that_is_too_old_or_too_short(changed):
    cost = cost_of_session(session([(A,)] * 3, **changed))
    assert cost.now < cost.everything
    assert cost.when_it_pays <= 1.6 * cost.now


def test_a_short_choice_waits_and_a_long_one_is_applied():
    short = cost_of_session(session([()] + [(B,)] * 2))
    assert short.when_it_pays == short.everything < short.now
    long = cost_of_session(session([()] + [(B,)] * 60))
    assert long.now < long.when_it_pays < long.everything


def test_no_sequence_of_changes_costs_twice_the_better_way():
    chance = random.Random(1)
    for _ in range(150):
        picks, ways = [], [(), (A,), (B,)]
        while len(picks) < 40:
            stays = chance.random() < 0.5
            run = chance.randint(1, 15)
            picks += [chance.choice(ways)] * run if stays else chance.choices(ways, k=run)
        found = cost_of_session(session(picks, tokens=chance.choice([40, 100, 400])))
        assert found.ratio <= 2, picks
