import pytest

from smart_context.chat.documents.lineage import ANYBODY, Lineage
from tests.chat.made_documents import said, version


class History:
    """What readers loaded and sent, in order; `descends` tells from which of it."""

    def __init__(self):
        self.lineage = Lineage()

    def loaded(self, document, reader=ANYBODY):
        self.lineage.loaded("c", reader, version(document))
        return self

    def sent(self, document, reader=ANYBODY):
        self.lineage.sent("c", reader, version(document))
        return self

    def returned(self, document, reader=ANYBODY):
        self.lineage.returned("c", reader, version(document))
        return self

    def descends(self, document, reader=ANYBODY):
        ancestor = self.lineage.of("c", reader).ancestor_of(version(document))
        return ancestor and ancestor.copy()


A, AB, ABC = said("a"), said("a", "b"), said("a", "b", "c")
TOPICS = {"topics": [{"label": "x"}]}


@pytest.mark.parametrize(
    ("history", "document", "ancestor"),
    [
        pytest.param(History(), A, None, id="nothing is known"),
        pytest.param(History().loaded(AB), A, AB, id="a message is missing: deleted"),
        pytest.param(
            History().loaded(A).loaded(AB), A | TOPICS, A, id="topics for an old copy: not deleted"
        ),
        pytest.param(
            History().loaded(A).loaded(AB), said("a", "x"), A, id="an old copy with a message more"
        ),
        pytest.param(
            History().loaded(AB).loaded(ABC), said("a", "c"), ABC, id="one from the middle"
        ),
        pytest.param(
            History().loaded(A).loaded(AB | TOPICS),
            A | TOPICS,
            AB | TOPICS,
            id="it has what only the newest has, so it knows the newest",
        ),
        pytest.param(
            History().loaded(A).loaded(AB), A, A, id="a repetition, perhaps of another client"
        ),
        pytest.param(
            History().loaded(A).sent(AB), A, A, id="a repetition before the newest was seen"
        ),
        pytest.param(
            History().loaded(A).sent(AB).loaded(AB), A, AB, id="a repetition once it was read back"
        ),
        pytest.param(
            History().loaded(A).sent(AB).loaded(AB),
            A | TOPICS,
            A,
            id="an old copy with topics, though the newest was read back",
        ),
        pytest.param(
            History().loaded(A).sent(A | TOPICS).returned(AB | TOPICS),
            A | TOPICS,
            A | TOPICS,
            id="a repetition of what was sent, though more was returned",
        ),
        pytest.param(
            History().sent(said()).loaded(said()).sent(A).loaded(A),
            said("b"),
            A,
            id="it shares nothing with any, and the newest was read back",
        ),
        pytest.param(
            History().loaded(said()).loaded(A),
            said() | TOPICS,
            said(),
            id="an empty copy with topics, though a message was loaded since",
        ),
    ],
)
def test_a_document_descends_from_the_version_it_shares_most_with(history, document, ancestor):
    assert history.descends(document) == ancestor


def test_a_client_that_goes_back_to_what_it_had_deletes_what_it_has_loaded_since():
    history = History().loaded(A, "tab").loaded(AB, "tab")
    assert history.descends(A, "tab") == AB


def test_a_client_is_not_held_to_what_another_one_has_loaded():
    history = History().loaded(A, "slow").loaded(AB, "quick")
    assert history.descends(A, "slow") == A


def test_a_client_that_was_never_seen_is_judged_by_what_anybody_knows():
    history = History().loaded(AB, "tab")
    assert history.descends(A, "the same tab, reconnected") == AB


def test_writing_what_was_loaded_before_is_no_reading_back():
    history = History().loaded(A).loaded(AB).sent(AB)
    assert history.descends(A) == A


def test_only_the_last_eight_versions_are_remembered():
    history = History()
    for number in range(20):
        history.loaded(said("a", str(number)))
    assert len(history.lineage.of("c", ANYBODY).known) == 8
    assert history.descends(said("a", "19", "x")) == said("a", "19")


def test_loading_the_same_again_and_again_forgets_nothing():
    history = History().loaded(A)
    for _ in range(20):
        history.loaded(AB)
    assert history.descends(A | TOPICS) == A


def test_what_is_remembered_does_not_grow_with_the_number_of_chats():
    lineage = Lineage()
    large = version(said(*map(str, range(50_000))))
    for chat in range(20):
        lineage.loaded(f"c{chat}", "tab", large)
    assert not lineage.of("c0", ANYBODY).known
    assert lineage.of("c19", "tab").known
    assert len(lineage._known) <= 4
