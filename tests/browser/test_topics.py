"""The page of all topics: from themes to what was said, and back, by pointer, keys and address."""

import json
import re

import pytest
from playwright.sync_api import expect

from smart_context.topics.atlas.merging import shortened
from tests.browser.checker import STILL, assert_accessible
from tests.browser.frames import AT_REST
from tests.browser.steps import open_page
from tests.vaults import about, write_chat

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=\"document.title='broken'\"> \u202e" + "long " * 30
SAID = {
    "Sourdough Loaf": ("2023-02", "How long does a sourdough loaf rise?", "Nine hours, if warm."),
    "Guitar Chords": ("2023-03", "Which chords has a blues in E?", "E7, A7 and B7 on the guitar."),
    "Night Trains": ("2024-05", "Is there a night train to Vienna?", "Yes, it leaves at eight."),
    "Home Loan": ("2024-06", "Is the interest of a home loan fixed?", "For ten years, in a bank."),
    HOSTILE: ("2025-01", "Why does my knee hurt on stairs?", "The tendon may be tired; rest."),
}


def write_said(vault, name, label, month, *texts):
    """A chat of which everything belongs to one topic."""
    messages = [
        {
            "id": f"m{n}",
            "role": "user" if n % 2 == 0 else "assistant",
            "content": text,
            "created_at": f"{month}-0{1 + n}T10:00:00+00:00",
        }
        for n, text in enumerate(texts)
    ]
    ids = [message["id"] for message in messages]
    topics = [{"id": f"t-{name}", "label": label, "count": len(ids), "message_ids": ids}]
    path = write_chat(vault, name, messages, topics=topics, title=f"About {label}"[:60])
    members = json.dumps({"version": 1, "topics": topics})
    path.with_suffix(".topics.json").write_text(members, encoding="utf-8")
    return path


@pytest.fixture
def server(vault, serve):
    """A server with five topics, two of which are one theme."""
    (vault / ".vault.toml").write_text("[plugins.smart_context]\nenabled = true\n")
    for n, (label, (month, *texts)) in enumerate(SAID.items()):
        path = write_said(vault, f"chat{n}", label, month, *texts)
    away = {"Night Trains", "Guitar Chords"}
    topics = [
        {
            "id": f"a{n}",
            "label": shortened(label),
            "theme": "away" if label in away else f"w{n}",
            "members": [[f"chat{n}", f"t-chat{n}"]],
        }
        for n, label in enumerate(SAID)
    ]
    names = {topic["theme"]: topic["label"] for topic in topics} | {"away": "Away from home"}
    themes = [{"id": id_, "label": label} for id_, label in names.items()]
    atlas = {"version": 1, "topics": topics, "themes": themes, "merged": len(topics)}
    path.with_name("atlas.jsonl").write_text(json.dumps(atlas), encoding="utf-8")
    return serve(vault)


def open_topics(new_page, server, search="", **options):
    """The page once its topics are there."""
    page = open_page(new_page, server, f"/topics{search}", **options)
    expect(page.locator("main[aria-busy=false]")).to_be_attached()
    return page


def heading(page):
    return page.get_by_role("heading", level=1)


def on_map(page, name):
    """A link on the map as it is shown now; a theme's name ends with a colon."""
    shown = page.locator(".map-layer:not([data-away], [data-leaving])")
    return shown.get_by_role("link", name=re.compile(f"^{re.escape(name)}"))


def theme_of(server, label):
    """The theme and the id of a topic."""
    atlas = server.ask("smart_context.atlas", wait=True)
    chat = f"chat{list(SAID).index(label)}"
    topic = next(topic for topic in atlas["topics"] if topic["chats"][0]["chat_id"] == chat)
    theme = next(theme for theme in atlas["themes"] if theme["id"] == topic["theme"])
    return theme["label"], topic["id"]


def test_one_walks_from_a_theme_to_a_message_and_back(new_page, server):
    theme, topic = theme_of(server, "Night Trains")
    page = open_topics(new_page, server)
    expect(page.locator(".facts")).to_contain_text("5 topics")
    page.locator(".theme-name", has_text=theme).click()
    expect(heading(page)).to_have_text(theme)
    on_map(page, "Night Trains,").click()
    expect(heading(page)).to_have_text("Night Trains")
    expect(page).to_have_url(re.compile(f"topic={topic}"))
    sheet = page.get_by_role("complementary", name="Night Trains")
    expect(sheet.get_by_role("heading", name="About Night Trains")).to_be_visible()
    expect(sheet.locator(".said-text")).to_have_text(list(SAID["Night Trains"][1:]))
    page.reload()
    expect(sheet.locator(".said-message")).to_have_count(2)
    sheet.get_by_role("link", name="Yes, it leaves at eight.").click()
    expect(page).to_have_url(re.compile("/chats/chat2.*#m-m1$"))
    expect(page.locator("#m-m1")).to_be_in_viewport()
    page.go_back()
    expect(heading(page)).to_have_text("Night Trains")
    page.go_back()
    expect(heading(page)).to_have_text(theme)
    page.go_forward()
    expect(sheet.get_by_role("link", name="Open chat")).to_have_attribute(
        "href", "/chats/chat2?at=m1#m-m1"
    )
    page.get_by_role("navigation", name="Where you are").get_by_role("link", name="Topics").click()
    expect(heading(page)).to_have_text("Topics")
    expect(on_map(page, f"{theme}:")).to_be_visible()


@pytest.mark.engines
def test_the_map_is_as_high_as_its_room_also_after_the_window_became_lower(new_page, server):
    page = open_topics(new_page, server, **STILL)
    for width, height in ((1440, 900), (1440, 640), (1024, 577), (390, 844), (844, 390)):
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(AT_REST)
        hidden = "layer => layer.scrollHeight - layer.clientHeight"
        assert page.locator("[data-layer=themes]").evaluate(hidden) == 0, (width, height)


def test_the_map_is_walked_by_keys_and_the_focus_follows(new_page, server):
    theme, _ = theme_of(server, "Guitar Chords")
    page = open_topics(new_page, server, **STILL)
    first = page.locator(".theme-area").first
    page.get_by_role("button", name="Light or dark").focus()
    page.keyboard.press("Tab")
    expect(first).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("slider", name="From")).to_be_focused()
    first.focus()
    seen = set()
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp") * 3:
        page.keyboard.press(key)
        seen.add(page.evaluate("document.activeElement.ariaLabel"))
    assert len(seen) >= 3
    on_map(page, f"{theme}:").focus()
    page.keyboard.press("Enter")
    expect(heading(page)).to_have_text(theme)
    on_map(page, "Guitar Chords,").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Guitar Chords", level=2)).to_be_focused()
    page.keyboard.press("Escape")
    expect(on_map(page, "Guitar Chords,")).to_be_focused()
    page.keyboard.press("Escape")
    expect(on_map(page, f"{theme}:")).to_be_focused()


def test_digits_the_palette_and_the_sheet_of_keys_are_there(new_page, server):
    page = open_topics(new_page, server, **STILL)
    page.keyboard.press("1")
    expect(heading(page)).not_to_have_text("Topics")
    page.keyboard.press("Escape")
    expect(heading(page)).to_have_text("Topics")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.keyboard.type("night tr")
    page.keyboard.press("Enter")
    expect(heading(page)).to_have_text("Night Trains")


def test_a_period_with_one_message_of_many_has_a_bar_that_is_seen_above_the_line(
    new_page, vault, serve
):
    for name, at, many in (("old", "2026-01-05T09:00:00Z", 60), ("new", "2026-06-05T09:00:00Z", 1)):
        messages = [one | {"created_at": at} for one in about(*["Rye bread"] * many)]
        ids = [message["id"] for message in messages]
        topics = [{"label": name, "count": many, "id": name, "message_ids": ids}]
        write_chat(vault, name, messages, topics=topics)
    page = open_topics(new_page, serve(vault))
    expect(page.get_by_role("slider", name="To")).to_be_visible()
    bars = page.locator(".time-bars i:not([title$=': 0 messages'])")
    heights = "all => all.map((bar) => parseFloat(getComputedStyle(bar, '::before').height))"
    line = page.locator(".time-window").evaluate(
        "e => parseFloat(getComputedStyle(e).borderBottomWidth)"
    )
    assert len(found := bars.evaluate_all(heights)) == 2
    assert min(found) >= line + 2


def test_time_and_search_narrow_the_map_and_nothing_else_moves(new_page, server):
    page = open_topics(new_page, server, **STILL)
    places = "found => found.map(({ style }) => style.getPropertyValue('--x') + style.width)"
    before = page.locator(".theme, .theme .bubble").evaluate_all(places)
    handle = page.get_by_role("slider", name="From")
    expect(handle).to_have_attribute("aria-valuetext", "February 2023")
    handle.press("PageUp")
    handle.press("PageUp")
    handle.press("ArrowRight")
    expect(page.locator(".facts")).to_contain_text("3 topics of 5")
    expect(page).to_have_url(re.compile("since=2024-03-01"))
    assert page.locator(".theme, .theme .bubble").evaluate_all(places) == before
    page.reload()
    expect(page.locator(".facts")).to_contain_text("3 topics of 5")
    expect(page.get_by_role("slider", name="From")).to_have_attribute(
        "aria-valuetext", "March 2024"
    )
    page.get_by_role("button", name="All time").click()
    expect(page.locator(".facts")).to_contain_text("5 topics")

    page.keyboard.press("/")
    page.keyboard.type("travelling by railway")
    rows = page.locator("[data-sheet=rows] .topic-name")
    expect(rows.first).to_have_text(re.compile("Night Trains"))
    page.keyboard.press("Escape")
    expect(rows.first).to_be_hidden()
    search = page.get_by_role("searchbox", name="Search topics by meaning")
    search.fill("qwxzv")
    expect(page.get_by_text("No topic is about “qwxzv”.")).to_be_visible()
    page.get_by_role("button", name="Clear search and time").click()
    expect(search).to_have_value("")
    expect(page.locator(".facts")).to_contain_text("5 topics")


@pytest.mark.parametrize("width", [1280, 360])
def test_every_view_is_accessible_and_labels_do_no_harm(new_page, server, width):
    viewport = {"width": width, "height": 740}
    _, topic = theme_of(server, HOSTILE)
    for search in ("", "?view=list", f"?topic={topic}", "?q=bread", "?q=qwxzv"):
        page = open_topics(new_page, server, search, viewport=viewport, **STILL)
        assert_accessible(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.title() != "broken"
        assert page.locator("img").count() == 0
    page.emulate_media(media="print")
    expect(page.get_by_role("searchbox")).to_be_hidden()


def test_a_topic_that_comes_is_shown_at_once_and_moves_no_other_far(new_page, server, vault):
    page = open_topics(new_page, server)
    looks = """() => Object.fromEntries([...document.querySelectorAll(".theme .bubble")].map(
        (bubble) => {
            const { x, y, width } = bubble.getBoundingClientRect();
            return [bubble.dataset.topic, [x + width / 2, y + width / 2, width]];
        }))"""
    page.evaluate(AT_REST)
    before = page.evaluate(looks)
    write_said(
        vault, "new", "Black Holes", "2025-02", "How do black holes form?", "Stars collapse."
    )
    server.ask("smart_context.atlas", wait=True)
    expect(page.locator(".facts")).to_contain_text("6 topics")
    page.evaluate(AT_REST)
    after = page.evaluate(looks)
    for topic, (x, y, width) in before.items():
        now_x, now_y, _ = after[topic]
        assert ((now_x - x) ** 2 + (now_y - y) ** 2) ** 0.5 <= 0.6 * width


def test_without_chats_the_page_says_what_to_do(new_page, vault, serve):
    (vault / ".vault.toml").write_text("[plugins.smart_context]\nenabled = true\n")
    page = open_topics(new_page, serve(vault), **STILL)
    expect(page.get_by_text("No topics yet")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("link", name="New chat").click()
    expect(page).to_have_url(re.compile("/chats/"))
    page.get_by_role("link", name="Topics of all chats").click()
    expect(heading(page)).to_have_text("Topics")


def test_where_the_only_topic_is_muted_the_page_says_that_chats_were_read(new_page, vault, serve):
    (vault / ".vault.toml").write_text("[plugins.smart_context]\nenabled = true\n")
    messages = about("When does the ferry leave?", "At eight.")
    ids = [message["id"] for message in messages]
    topics = [{"id": "t1", "label": "Ferries", "count": 2, "message_ids": ids}]
    path = write_chat(vault, "ferry", messages, topics=topics)
    path.with_suffix(".filter.json").write_text(json.dumps({"version": 1, "hidden": ids}))
    page = open_topics(new_page, serve(vault), **STILL)
    expect(page.get_by_text("No topics to show")).to_be_visible()
    expect(page.get_by_text("1 chat read. Muted topics")).to_be_visible()


def test_one_step_leads_into_a_topic_that_is_a_theme_of_its_own_and_out_again(new_page, server):
    atlas = server.ask("smart_context.atlas", wait=True)
    theme = next(theme for theme in atlas["themes"] if len(theme["topics"]) == 1)
    page = open_topics(new_page, server)
    on_map(page, f"{theme['label']},").click()
    expect(heading(page)).to_have_text(theme["label"])
    steps = page.get_by_role("navigation", name="Where you are").get_by_role("listitem")
    expect(steps).to_have_text(["Topics", theme["label"]])
    page.keyboard.press("Escape")
    expect(heading(page)).to_have_text("Topics")


def test_reading_chats_in_the_background_is_told_and_can_be_paused(new_page, vault, serve):
    (vault / ".vault.toml").write_text("[plugins.smart_context]\nenabled = true\n")
    server = serve(vault)
    server.ask("smart_context.pause_atlas", paused=True)
    path = write_said(vault, "imported", "Bread", "2024-01", *["How does bread rise?", "Slowly."])
    document = json.loads(path.read_text())
    path.write_text(json.dumps(document | {"topics": [], "source": {"client": "chatgpt"}}))
    page = open_topics(new_page, server)
    expect(page.get_by_text("1 chat not read yet")).to_be_visible()
    page.get_by_role("button", name="Go on reading").click()
    expect(page.locator(".facts")).to_contain_text("1 topic")
    expect(page.locator(".unread")).to_be_hidden()


def test_asking_about_a_topic_begins_a_chat_that_is_sent_what_was_said(new_page, server):
    _, topic = theme_of(server, "Night Trains")
    page = open_topics(new_page, server, f"?topic={topic}")
    page.get_by_role("button", name="Ask about this").click()
    expect(page).to_have_url(re.compile("/chats/"))
    chat = page.url.rsplit("/", 1)[1]
    [recall] = server.ask("smart_context.recalls", chat_id=chat)["recalls"]
    assert recall["label"] == "Night Trains"
    page.reload()
    expect(page.get_by_role("textbox", name="Message")).to_be_visible()
