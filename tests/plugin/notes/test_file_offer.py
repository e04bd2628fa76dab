"""When file tools go with a request."""

from types import SimpleNamespace

import pytest

from smart_context.plugin.choices.state import FilterState
from smart_context.plugin.notes.file_offer import FileOffer


class Files:
    def for_turn(self):
        return ["a tool"]


@pytest.mark.parametrize(
    ("mode", "is_embedded", "offered", "is_fenced"),
    [
        pytest.param("auto", False, True, False, id="by tool calls"),
        pytest.param("fenced", False, True, True, id="as plain text"),
        pytest.param("off", False, False, False, id="switched off"),
        pytest.param("auto", True, False, False, id="the embedded model takes no tools"),
        pytest.param("fenced", True, False, False, id="not even as plain text"),
    ],
)
def test_files_are_offered_as_settings_and_model_allow(mode, is_embedded, offered, is_fenced):
    models = SimpleNamespace(chat_is_embedded=is_embedded)
    offer = FileOffer(files=Files(), mode=mode, models=lambda: models)
    assert bool(offer.tools(FilterState())) == offered
    assert offer.is_fenced == is_fenced


def test_the_model_is_asked_for_each_time():
    models = SimpleNamespace(chat_is_embedded=True)
    offer = FileOffer(files=Files(), mode="auto", models=lambda: models)
    assert not offer.tools(FilterState())
    models.chat_is_embedded = False
    assert offer.tools(FilterState())


def test_a_chat_can_be_without_them():
    models = SimpleNamespace(chat_is_embedded=False)
    offer = FileOffer(files=Files(), mode="auto", models=lambda: models)
    assert offer.tools(FilterState(file_tools=False)) == ()
