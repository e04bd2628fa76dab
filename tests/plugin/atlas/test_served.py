"""A real server keeps the atlas in step with the chats, and finds the topics of imported ones."""

import json
import re
import sqlite3

import numpy as np
import pytest

from smart_context.topics.stored import to_assignments
from smart_context.topics.values import Topic
from tests.serving import serving
from tests.vaults import about, write_chat

DATABASE = [
    "How do I speed up a slow query in Postgres?",
    "Look at EXPLAIN ANALYZE and add an index on the filtered column.",
    "Should I vacuum the table?",
    "Autovacuum usually handles it; check bloat first.",
]
DATABASES = [
    "Our PostgreSQL database is slow, which indexes help?",
    "Use pg_stat_statements to find the worst queries, then index them.",
    "What about connection pooling?",
    "PgBouncer keeps the number of connections low.",
]
BREAD = [
    "My sourdough starter does not rise, why?",
    "Feed it twice a day with rye flour and keep it warm.",
    "How long should the loaf proof?",
    "Four hours at room temperature, then overnight in the fridge.",
]


def write_known(vault, chat_id, label, texts, *, day=1, hidden=()):
    """A chat whose messages are all in one topic."""
    at = f"2026-03-{day:02d}T10:00:00"
    messages = [message | {"created_at": at} for message in about(*texts)]
    ids = tuple(message["id"] for message in messages)
    topic = Topic(label=label, count=len(ids), message_ids=ids, id="t1")
    shown = [{"label": label, "count": len(ids), "id": "t1"}]
    path = write_chat(vault, chat_id, messages, title=f"About {label}", topics=shown)
    path.with_suffix(".topics.json").write_text(json.dumps(to_assignments([topic], ids[-1])))
    if hidden:
        path.with_suffix(".filter.json").write_text(
            json.dumps({"version": 1, "hidden": list(hidden)})
        )
    return path


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    vault = tmp_path_factory.mktemp("atlas")
    write_known(vault, "tuning", "Postgres Tuning", DATABASE, day=1)
    write_known(vault, "slow", "Slow Queries", DATABASES, day=5, hidden=["m3"])
    write_known(vault, "bread", "Sourdough", BREAD, day=9)
    return vault


@pytest.fixture(scope="module")
def server(vault):
    with serving(vault, trusted=False) as running:
        yield running


def labels(found):
    return {
        topic["label"]: {chat["chat_id"] for chat in topic["chats"]} for topic in found["topics"]
    }


def test_one_subject_of_two_chats_is_one_topic_with_distinct_messages(server):
    found = server.ask("smart_context.atlas", wait=True)
    assert sorted(map(sorted, labels(found).values())) == [["bread"], ["slow", "tuning"]]
    first = found["topics"][0]
    assert (first["messages"], first["first_at"], first["last_at"]) == (
        7,
        "2026-03-01T10:00:00Z",
        "2026-03-05T10:00:00Z",
    )
    assert (found["chats"], found["messages"], found["pending"]) == (3, 11, 0)
    assert {id_ for theme in found["themes"] for id_ in theme["topics"]} == {
        topic["id"] for topic in found["topics"]
    }


def test_each_part_says_which_colour_it_has_in_its_chat(server):
    found = server.ask("smart_context.atlas", wait=True)
    for chat in (chat for topic in found["topics"] for chat in topic["chats"]):
        page = server.request("GET", f"/chats/{chat['chat_id']}")[1]
        bubble = re.search(rf'data-topic="{chat["topic_id"]}" data-hue="([^"]+)"', page)
        assert chat["colour"] == bubble[1]


def test_a_span_of_time_counts_the_messages_in_it_both_ends_included(server):
    found = server.ask("smart_context.atlas", wait=True, since="2026-03-05", until="2026-03-09")
    assert sorted(map(sorted, labels(found).values())) == [["bread"], ["slow"]]
    assert (
        server.ask("smart_context.atlas", wait=True, until="2026-03-01T09:59:59Z")["topics"] == []
    )


def test_times_count_by_the_second_so_a_messages_own_time_includes_it(tmp_path):
    at = "2026-03-01T10:00:00.700+02:00"
    topics = [{"label": "Bread", "count": 4, "id": "t1", "message_ids": ["m0", "m1", "m2", "m3"]}]
    messages = [message | {"created_at": at} for message in about(*BREAD)]
    write_chat(tmp_path, "bread", messages, topics=topics)
    with serving(tmp_path, trusted=False) as server:
        assert server.ask("smart_context.atlas", since=at, until=at)["messages"] == 4
        assert server.ask("smart_context.atlas", since="2026-03-01T08:00:01Z")["messages"] == 0


@pytest.mark.parametrize(
    ("time_zone", "day", "before"),
    [
        ("Asia/Shanghai", "2026-07-02", "2026-07-01"),
        ("America/Los_Angeles", "2026-07-01", "2026-06-30"),
        ("", "2026-07-01", "2026-06-30"),
        ("Mars/Olympus_Mons", "2026-07-01", "2026-06-30"),
        ("../../etc/passwd", "2026-07-01", "2026-06-30"),
    ],
)
def test_days_are_those_of_the_reader(served_at_night, time_zone, day, before):
    def asked(command="atlas", **span):
        return served_at_night.ask(f"smart_context.{command}", time_zone=time_zone, **span)

    found = asked(wait=True)
    (topic,) = found["topics"]
    assert topic["chats"][0]["days"] == [[int(np.datetime64(day).astype(int)), 4]]
    is_known = time_zone.startswith(("Asia", "America"))
    assert found["time_zone"] == (time_zone if is_known else "UTC")
    for since, until, count in ((day, day, 4), ("", before, 0), (day, "", 4)):
        assert asked(since=since, until=until)["messages"] == count
        shown = asked("atlas_messages", topic_id=topic["id"], since=since, until=until)
        assert shown["total"] == count


@pytest.fixture(scope="module")
def served_at_night(tmp_path_factory):
    """A chat whose messages were all written half an hour before midnight in UTC."""
    vault = tmp_path_factory.mktemp("night")
    topics = [{"label": "Bread", "count": 4, "id": "t1", "message_ids": ["m0", "m1", "m2", "m3"]}]
    messages = [message | {"created_at": "2026-07-01T23:30:00Z"} for message in about(*BREAD)]
    write_chat(vault, "bread", messages, topics=topics)
    with serving(vault, trusted=False) as running:
        yield running


def test_a_query_keeps_what_fits_by_words_or_meaning(server):
    for query in ("sourdough", "baking a loaf of bread"):
        (topic,) = server.ask("smart_context.atlas", wait=True, query=query)["topics"]
        assert {chat["chat_id"] for chat in topic["chats"]} == {"bread"}
    assert len(server.ask("smart_context.atlas", wait=True, limit=1)["topics"]) == 1


def test_the_messages_of_a_topic_come_newest_first_and_with_a_query_best_first(server):
    topic = server.ask("smart_context.atlas", wait=True)["topics"][0]["id"]
    found = server.ask("smart_context.atlas_messages", topic_id=topic)
    assert found["total"] == 7
    assert [row["chat_id"] for row in found["messages"]] == ["slow"] * 3 + ["tuning"] * 4
    assert [row["message_id"] for row in found["messages"]][:3] == ["m2", "m1", "m0"]
    assert all(row["tokens"] > 0 for row in found["messages"])
    page = server.ask("smart_context.atlas_messages", topic_id=topic, offset=3, limit=2)
    assert page["messages"] == found["messages"][3:5]
    best = server.ask("smart_context.atlas_messages", topic_id=topic, query="vacuum the table")
    assert (best["messages"][0]["message_id"], best["messages"][0]["chat_id"]) == ("m2", "tuning")


def test_the_messages_of_a_topic_are_found_by_what_they_mean(tmp_path):
    write_known(tmp_path, "bread", "Sourdough", BREAD)
    with serving(tmp_path, trusted=False) as server:
        server.ask("smart_context.set_filter", chat_id="bread", topics=["Sourdough"])
        topic = server.ask("smart_context.atlas", wait=True)["topics"][0]["id"]
        found = server.ask("smart_context.atlas_messages", topic_id=topic, query="temperatures")
        assert "room temperature" in found["messages"][0]["text"]
        found = server.ask("smart_context.atlas_messages", topic_id=topic, query="refrigerator")
        assert "fridge" in found["messages"][0]["text"]


def test_what_is_no_topic_and_no_date_is_refused_in_words(server):
    assert (
        "no topic"
        in server.command("smart_context.atlas_messages", topic_id="x")[1]["error"]["message"]
    )
    assert (
        "2026-01-31" in server.command("smart_context.atlas", since="soon")[1]["error"]["message"]
    )


def test_chats_without_topics_get_them_in_the_background(vault, server):
    with server.connect() as page:
        server.ask("smart_context.atlas", wait=True)
        write_chat(vault, "imported", about(*DATABASE, *BREAD))
        page.wait_for("smart_context.atlas_changed", pending=0)
    found = server.ask("smart_context.atlas", wait=True)
    assert found["pending"] == 0
    assert "imported" in {chat for chats in labels(found).values() for chat in chats}
    (vault / ".memory/imported.json").unlink()
    assert "imported" not in {
        c for chats in labels(server.ask("smart_context.atlas", wait=True)).values() for c in chats
    }


@pytest.mark.parametrize("named", [True, False])
def test_topics_that_a_file_brings_stay_as_they_are(tmp_path, named):
    ids = [f"m{n}" for n in range(8)]
    shown = [
        {"label": label, "count": 4} | ({"message_ids": mine} if named else {})
        for label, mine in (("Slow Postgres Queries", ids[:4]), ("My Sourdough Bread", ids[4:]))
    ]
    path = write_chat(tmp_path, "brought", about(*DATABASE, *BREAD), topics=shown)
    with serving(tmp_path, trusted=False) as server, server.connect() as page:
        if server.ask("smart_context.atlas")["pending"]:
            page.wait_for("smart_context.atlas_changed", pending=0)
        found = server.ask("smart_context.atlas")
    assert set(labels(found)) == {"Slow Postgres Queries", "My Sourdough Bread"}
    assert json.loads(path.read_text())["topics"] == shown


def test_topics_that_a_file_brings_stay_even_if_no_message_is_about_them(tmp_path):
    shown = [{"label": "Quantum Xylophones", "count": 4}, {"label": "Zebras", "count": 2}]
    path = write_chat(tmp_path, "brought", about(*DATABASE, *BREAD), topics=shown)
    with serving(tmp_path, trusted=False) as server, server.connect() as page:
        if server.ask("smart_context.atlas")["pending"]:
            page.wait_for("smart_context.atlas_changed", pending=0)
        write_chat(tmp_path, "found", about(*DATABASE, *BREAD))
        page.wait_for("smart_context.atlas_changed", pending=0, after=len(page.events))
        assert json.loads(path.read_text())["topics"] == shown
        server.ask("smart_context.refresh_topics", chat_id="brought", wait=True)
        assert json.loads(path.read_text())["topics"] != shown


@pytest.mark.parametrize("file", ["atlas.jsonl", "index/atlas.sqlite"])
@pytest.mark.parametrize("content", [None, b"", b"{broken", b"[1]" * 50])
def test_what_is_kept_is_made_again_with_the_same_ids(tmp_path, file, content):
    write_known(tmp_path, "tuning", "Postgres Tuning", DATABASE)
    write_known(tmp_path, "bread", "Sourdough", BREAD)
    with serving(tmp_path, trusted=False) as server:
        before = server.ask("smart_context.atlas", wait=True)
    place = tmp_path / ".memory" / file
    assert place.exists()
    if content is None:
        place.unlink()
    else:
        place.write_bytes(content)
    with serving(tmp_path, trusted=False) as server:
        after = server.ask("smart_context.atlas", wait=True)
    assert {**after, "built_at": ""} == {**before, "built_at": ""}


def test_only_the_changed_chat_is_read_again(tmp_path):
    for n in range(3):
        write_known(tmp_path, f"c{n}", "Sourdough", BREAD)
    with serving(tmp_path, trusted=False) as server:
        server.ask("smart_context.atlas", wait=True)
    kept = tmp_path / ".memory/index/atlas.sqlite"
    with sqlite3.connect(kept) as database:
        before = dict(database.execute("SELECT chat, value FROM chats"))
        marked = [(v.replace(b"Sourdough", b"Sour Bread"), chat) for chat, v in before.items()]
        database.executemany("UPDATE chats SET value = ? WHERE chat = ?", marked)
    database.close()
    write_known(tmp_path, "c1", "Sourdough Loaf", BREAD)
    with serving(tmp_path, trusted=False) as server:
        (topic,) = server.ask("smart_context.atlas", wait=True)["topics"]
    assert before.keys() == {"c0", "c1", "c2"}
    assert {chat["label"] for chat in topic["chats"]} == {"Sour Bread", "Sourdough Loaf"}


def test_each_message_counts_on_the_day_on_which_it_was_written(tmp_path):
    path = write_known(tmp_path, "bread", "Sourdough", BREAD, day=9)
    chat = json.loads(path.read_text())
    chat["messages"][0]["created_at"] = "2026-01-05T23:00:00"
    path.write_text(json.dumps(chat))
    with serving(tmp_path, trusted=False) as running:
        (topic,) = running.ask("smart_context.atlas", wait=True)["topics"]
    days = [[np.datetime64(day, "D").item().isoformat(), n] for day, n in topic["chats"][0]["days"]]
    assert days == [["2026-01-05", 1], ["2026-03-09", 3]]


def test_no_mark_of_markdown_is_shown_where_a_text_is_one_plain_line(tmp_path):
    marked = ["## **Bread**: does `rye` rise?", "**Yes**, with a *warm* [starter](https://x.y)."]
    path = write_known(tmp_path, "bread", "Sourdough", marked)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"title": ""}))
    with serving(tmp_path, trusted=False) as running:
        (topic,) = running.ask("smart_context.atlas", wait=True)["topics"]
        said = running.ask("smart_context.atlas_messages", topic_id=topic["id"])["messages"]
        card = running.ask("smart_context.describe_topic", chat_id="bread", label="Sourdough")
        asked = {"chat_id": "bread", "message_ids": [each["message_id"] for each in said]}
        reasons = running.ask("smart_context.reasons", **asked)["reasons"].values()
    plain = {"Bread: does rye rise?", "Yes, with a warm starter."}
    assert {each["beginning"] for each in said} == plain
    assert {each["text"] for each in card["samples"]} == plain
    assert {each["text"] for each in reasons} == plain
    assert {each["title"] for each in said} == {"Bread: does rye rise?"}
