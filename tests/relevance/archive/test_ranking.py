import numpy as np
import pytest

from smart_context.chat.messages import Message, MessageId
from smart_context.relevance.archive.card import card_of
from smart_context.relevance.archive.ranking import SearchedChats, ranked

NOWHERE = np.zeros(4, dtype=np.float32)
NORTH, EAST = np.eye(4, dtype=np.float32)[:2]


def archive(**chats):
    """Chats of texts; a text may come with its vector."""
    cards = []
    for name, rows in chats.items():
        messages = [
            Message(
                id=MessageId(f"m{place}"),
                role="assistant" if place % 2 else "user",
                content=row if isinstance(row, str) else row[0],
            )
            for place, row in enumerate(rows)
        ]
        card = card_of(messages, is_private=name.startswith("private"))
        given = [(k, row[1]) for k, row in zip(card.keys, rows, strict=True) if len(row) == 2]
        if given:
            card = card.with_vectors([k for k, _ in given], np.stack([v for _, v in given]))
        cards.append(card)
    return SearchedChats(list(chats), cards)


def found(chats, text, query=NOWHERE, **more):
    return [tuple(each) for each in ranked(archive(**chats), text, query, **more).messages]


SMALL_TALK = ["Good morning to you.", "And to you, too.", "What a lovely day.", "Indeed it is."]
ROME = ["Where did we stay in Rome?", "At the hotel by the river.", "Was it dear?", "Not at all."]


def test_words_find_the_message_and_what_was_said_around_it():
    names = found({"talk": SMALL_TALK * 3, "rome": [*SMALL_TALK * 3, *ROME]}, "our stay in Rome")
    assert names[0] == ("rome", "m12")
    assert ("rome", "m13") in names
    assert not [name for name in names if name[0] == "talk"]


def test_meaning_finds_what_no_word_does():
    chats = {
        "a": [(text, EAST) for text in SMALL_TALK],
        "b": [("Guten Morgen", EAST), ("Wir wohnten am Fluss", NORTH)],
    }
    assert found(chats, "accommodation", NORTH)[0] == ("b", "m1")


@pytest.mark.parametrize("text", ["quantum chromodynamics", "", "the of and"])
def test_what_nobody_spoke_of_finds_nothing(text):
    chats = {"a": [(line, EAST) for line in SMALL_TALK], "b": ROME}
    assert found(chats, text, NORTH) == []


def test_private_chats_and_the_asking_one_are_left_out():
    chats = {"private": ROME, "own": ROME, "other": ROME}
    names = {name for name, _ in found(chats, "Rome", without=("own",))}
    assert names == {"other"}
    assert found({"private": ROME}, "Rome") == []


def test_messages_without_a_vector_are_named_to_be_embedded():
    one = archive(a=ROME, b=[(line, EAST) for line in ROME])
    assert ranked(one, "Rome", NORTH).lacking == ("a",)


def test_no_chat_finds_nothing():
    assert ranked(SearchedChats((), ()), "Rome", NORTH).messages == ()
    assert ranked(archive(empty=[]), "Rome", NORTH).messages == ()


def test_the_first_message_of_a_chat_has_no_neighbours_in_another():
    alone = found({"a": SMALL_TALK, "b": ["The Danube by bicycle"]}, "Danube by bicycle")
    assert alone == [("b", "m0")]
