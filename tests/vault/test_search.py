import pytest

from smart_context.vault.search import (
    Query,
    by_closeness,
    hit_in,
    may_be_searched,
    query_of,
    search_notes,
)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", Query(())),
        ("One one", Query(("one",))),
        ('"Two words" -three', Query(("two words",), ("three",))),
        ('-"two words"', Query((), ("two words",))),
        ('half "open', Query(("half", '"open'))),
        ("- x-y", Query(("-", "x-y"))),
        ("caf\u0065\u0301", Query(("café",))),
    ],
)
def test_what_people_type_is_a_query(words, expected):
    assert query_of(words) == expected


@pytest.mark.parametrize(
    ("words", "line", "count"),
    [
        pytest.param("rain", 2, 2, id="any case"),
        pytest.param("rain sun", 3, 3, id="the line with most of them"),
        pytest.param("notes weather", 0, 0, id="by its path alone"),
        pytest.param("weather sun", 3, 1, id="by both"),
        pytest.param("straße", 4, 1, id="folded"),
        pytest.param("cafe\u0301", 5, 1, id="however accents are composed"),
        pytest.param("天气", 6, 1, id="another script"),
        pytest.param("snow", None, 0, id="not there"),
        pytest.param("rain -sun", None, 0, id="what must not be there"),
        pytest.param("rain -weather", None, 0, id="nor in its path"),
        pytest.param('"sun rain"', None, 0, id="not as a phrase"),
    ],
)
def test_a_note_is_a_hit(words, line, count):
    text = "# Title\nRain.\nrain and sun\nSTRASSE\ncafé\n今天天气很好"
    hit = hit_in("notes/weather.md", text, query_of(words))
    assert (hit and (hit.line, hit.count)) == (None if line is None else (line, count))


def test_case_may_count():
    assert hit_in("a.md", "Rain", query_of("rain", is_exact=True)) is None
    assert hit_in("a.md", "Rain", query_of("Rain", is_exact=True))


def test_the_closest_come_first():
    query = query_of("rain")
    hits = [
        hit_in("b.md", "rain", query),
        hit_in("a.md", "rain", query),
        hit_in("c.md", "rain rain", query),
        hit_in("rain.md", "", query),
    ]
    found = [hit.path for hit in sorted(hits, key=by_closeness)]
    assert found == ["rain.md", "c.md", "a.md", "b.md"]


def test_what_can_not_be_read_is_no_hit(tmp_path):
    (tmp_path / "a.md").write_text("rain")
    (tmp_path / "b.md").write_bytes(b"rain\0")
    hits = search_notes(tmp_path, ["a.md", "b.md", "gone.md"], query_of("rain"))
    assert [hit.path for hit in hits] == ["a.md"]
    assert list(search_notes(tmp_path, ["a.md"], query_of(""))) == []
    assert [may_be_searched(name) for name in ("a.MD", "b.canvas", "c.txt", "d.png")] == [
        True,
        True,
        True,
        False,
    ]
