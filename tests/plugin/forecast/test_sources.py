"""Where the texts of a request come from: each has the source that it came from."""

from itertools import zip_longest

from hypothesis import given
from hypothesis import strategies as st

from smart_context.host.request.speaking_order import SpeakingOrder, in_order
from smart_context.plugin.forecast.sources import SourcedPart, sources_in

SAID = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.text("ab 1", min_size=1)), max_size=6
)


def told(prompt, sources):
    """The texts of a request, each piece with its source."""
    return [
        (one["part"], one["topic"], message["content"][one["at"] : after and after["at"]])
        for message, found in zip(prompt, sources, strict=True)
        for one, after in zip_longest(found, found[1:])
    ]


@given(said=SAID, order=st.sampled_from(SpeakingOrder))
def test_each_message_has_its_topic_also_where_neighbours_are_joined(said, order):
    said = [(role, f"{place}: {text.strip()}.") for place, (role, text) in enumerate(said)]
    prompt = in_order([{"role": role, "content": text} for role, text in said], order)
    parts = [SourcedPart(text, "history", f"topic {text[0]}") for _, text in said]
    for _, topic, text in told(prompt, sources_in(prompt, parts)):
        assert text.startswith(f"{topic.removeprefix('topic ')}: ")


def test_the_system_prompt_is_told_apart_by_its_parts():
    prompt = [{"role": "system", "content": "Be kind.\n\nA note."}, {"role": "user", "content": ""}]
    parts = [SourcedPart(" Be kind. ", "instructions"), SourcedPart("", "role")]
    sources = sources_in(prompt, [*parts, SourcedPart("A note.", "contexts")])
    assert told(prompt, sources) == [
        ("instructions", "", "Be kind.\n\n"),
        ("contexts", "", "A note."),
    ]


def test_the_result_of_a_tool_belongs_to_the_message_that_called_it():
    prompt = [
        {"role": "assistant", "content": "I look."},
        {"role": "tool", "content": "Found."},
        {"role": "user", "content": "Thanks."},
    ]
    parts = [SourcedPart("I look.", "history", "Bread"), SourcedPart("Thanks.", "message")]
    assert told(prompt, sources_in(prompt, parts)) == [
        ("history", "Bread", "I look."),
        ("history", "Bread", "Found."),
        ("message", "", "Thanks."),
    ]


def test_a_text_that_was_changed_on_its_way_costs_no_other_its_source():
    prompt = [{"role": "user", "content": text} for text in ("one", "2", "three", "four")]
    parts = [SourcedPart(text, "history", text) for text in ("one", "two", "three", "four")]
    topics = [topic for _, topic, _ in told(prompt, sources_in(prompt, parts))]
    assert topics == ["one", "one", "three", "four"]
