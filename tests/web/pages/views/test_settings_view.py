"""Settings in words."""

from smart_context.web.pages.views.settings_view import WORDS


def test_all_words_for_values_begin_alike():
    words = [*WORDS["choices"].values(), *WORDS["strictness"]]
    assert [each for each in words if each[0].islower()] == []
