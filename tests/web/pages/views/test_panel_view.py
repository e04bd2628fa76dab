from smart_context.web.pages.views.panel_view import MOST_IDS, early_panel, panel_view

TOPICS = [
    {"label": "LangGraph", "count": 4, "id": "t1"},
    {"label": "Async", "count": 2, "id": "t2"},
    {"label": "Instructions & Preferences", "sticky": True, "message_ids": ["a", "b"], "count": 2},
]
KNOWN = {
    "topics": TOPICS,
    "active_topics": [],
    "embedding_search": True,
    "message_ids": [],
    "status": "All messages in context",
    "short_status": "All",
}


def test_the_status_is_the_plugins_and_empty_while_it_is_not_known():
    said = "5 of 14 messages in context · 2 summed up"

    view, early = panel_view({**KNOWN, "status": said}), early_panel(TOPICS)
    assert (view.status, view.short_status) == (said, "All")
    assert (early.status, early.short_status) == ("", "")


def test_a_panel_without_an_answer_has_the_stored_topics():
    view = early_panel(TOPICS, problem="The chat can't be read.")

    assert [topic.label for topic in view.topics] == ["LangGraph", "Async"]
    assert (view.sticky_count, view.is_on, view.message_ids) == (2, True, None)
    assert view.state["problem"] == "The chat can't be read."


def test_a_picked_topic_that_vanished_is_gone_not_dropped():
    view = panel_view({**KNOWN, "active_topics": ["Async", "Old Topic"]})

    assert [(t.label, t.is_active) for t in view.topics] == [("LangGraph", False), ("Async", True)]
    assert [t.label for t in view.gone] == ["Old Topic"]


def test_the_sticky_topic_is_counted_and_is_no_bubble():
    assert panel_view(KNOWN).sticky_count == 2


def test_a_topic_keeps_its_hue_when_it_is_renamed_and_when_others_come():
    topics = [{"label": "Cats", "count": 2, "id": "t1"}]
    renamed = [
        {"label": "Felines", "count": 3, "id": "t1"},
        {"label": "Boats", "count": 1, "id": "t2"},
    ]

    hues = [early_panel(shown).topics[0].hue for shown in (topics, renamed)]

    assert hues[0] == hues[1]


def test_the_ids_of_very_many_messages_are_not_sent_with_the_page():
    few, many = ([f"m{n}" for n in range(count)] for count in (MOST_IDS, MOST_IDS + 1))
    assert panel_view({**KNOWN, "message_ids": few}).state["message_ids"] == few
    view = panel_view({**KNOWN, "message_ids": many, "kept_by": {"Async": many}})
    assert view.state.keys() & {"message_ids", "kept_by"} == set()
    assert view.message_ids == {*many}
