"""The page of settings: from an empty folder to an answering model, and a setting that is kept."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.checker import assert_accessible
from tests.browser.steps import open_page, send
from tests.fake_openai import FakeOpenAI
from tests.importing.samples import SAMPLES

KEY = "sk-proj-Ab3dEf6hIj9kLmNoPqRsTuVwXyZ012345"


@pytest.fixture
def empty(serve, tmp_path):
    vault = tmp_path / "vault"
    vault.mkdir()
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    return serve(vault, env=env, trusted=False)


def test_a_model_is_connected_and_a_setting_changed_without_leaving_the_page(new_page, empty):
    with FakeOpenAI() as endpoint:
        page = open_page(new_page, empty, "/settings")
        expect(page.get_by_text("No model is connected yet")).to_be_visible()
        page.get_by_label("Or choose a provider").select_option("other")
        page.get_by_label("Address").fill(endpoint.base_url)
        page.get_by_label("Key", exact=True).fill(KEY)
        page.get_by_role("button", name="Show models").click()
        page.get_by_label("Model", exact=True).fill("gpt-4o")
        page.get_by_role("button", name="Test").click()
        expect(page.get_by_text("You said: Say hello")).to_be_visible()
        page.get_by_role("button", name="Use this model").click()
        expect(page.get_by_text("gpt-4o answers your messages.")).to_be_visible()
        expect(page.get_by_label("Key", exact=True)).to_have_value("")
        assert KEY not in page.content()
        assert_accessible(page)

        page.get_by_role("heading", name="What is sent").click()
        page.get_by_label("Recent messages").fill("5")
        page.get_by_label("Recent messages").press("Tab")
        expect(page.get_by_text("Set for all your vaults.").last).to_be_visible()
        page.reload()
        page.get_by_role("heading", name="What is sent").click()
        expect(page.get_by_label("Recent messages")).to_have_value("5")
        page.get_by_role("button", name="Use the default for recent messages").click()
        expect(page.get_by_label("Recent messages")).to_have_value("2")
        page.get_by_label("Recent messages").fill("-1")
        page.get_by_label("Recent messages").press("Tab")
        expect(page.get_by_role("alert").filter(has_text="recent_messages")).to_be_visible()


def test_a_question_for_which_a_model_is_connected_is_answered_in_its_chat(new_page, empty):
    page = open_page(new_page, empty, "/new")
    send(page, "When do cats sleep?")
    notice = page.get_by_role("article", name="Notice")
    expect(notice).to_contain_text("No model was connected")
    notice.get_by_role("link", name="Connect a model").click()
    with FakeOpenAI() as endpoint:
        connect(page, endpoint)
        page.get_by_role("button", name="Use this model").click()
        alert = page.get_by_role("alert").filter(has_text="Choose a model from the list")
        expect(alert).to_be_visible()
        assert empty.ask("system.status")["chat_is_embedded"], "nothing was changed"
        page.get_by_label("Model", exact=True).fill("gpt-4o")
        page.get_by_role("button", name="Use this model").click()
        expect(page).to_have_url(re.compile("/chats/"))
        answer = page.get_by_role("article", name="Assistant")
        expect(answer).to_contain_text("You said: When do cats sleep?")


def test_a_notice_of_former_days_offers_an_answer_once_a_model_is_connected(new_page, empty):
    page = open_page(new_page, empty, "/new")
    send(page, "When do cats sleep?")
    notice = page.get_by_role("article", name="Notice")
    expect(notice.get_by_role("link", name="Connect a model")).to_be_visible()
    with FakeOpenAI() as endpoint:
        values = {"llm.base_url": endpoint.base_url, "llm.categories.chat": "gpt-4o"}
        empty.ask("system.change_settings", values=values)
        expect(notice.get_by_role("link", name="Connect a model")).to_be_hidden()
        notice.get_by_role("button", name="Answer it now").click()
        answer = page.get_by_role("article", name="Assistant")
        expect(answer).to_contain_text("You said: When do cats sleep?")


def connect(page, endpoint):
    """Fill the form up to the list of models, of which none is chosen."""
    page.get_by_label("Or choose a provider").select_option("other")
    page.get_by_label("Address").fill(endpoint.base_url)
    page.get_by_label("Key", exact=True).fill(KEY)
    page.get_by_role("button", name="Show models").click()
    expect(page.get_by_role("button", name="Use this model")).to_be_visible()
    page.get_by_label("Model", exact=True).fill("")


def test_five_rows_are_shown_and_the_others_once_their_part_is_opened(new_page, empty):
    page = open_page(new_page, empty, "/settings")
    rows = page.locator(".setting")
    names = page.locator(".setting > :is(.setting-name, label)")
    expect(names.filter(visible=True)).to_have_text(
        [
            "Model",
            *("Instructions for all chats", "Match strictness", "The model may read notes"),
            "Light or dark",
        ]
    )
    part = page.locator("summary", has_text="What is sent")
    part.focus()
    part.press("Enter")
    page.get_by_label("Recent messages").fill("5")
    page.get_by_label("Recent messages").press("Tab")
    expect(page.get_by_text("Set for all your vaults.")).to_be_visible()
    for summary in page.locator(".settings-part > summary").all():
        if "What is sent" not in summary.inner_text():
            summary.click()
    assert rows.count() == rows.filter(visible=True).count(), "each has a place"
    assert_accessible(page)


def test_the_palette_leads_to_each_setting_wherever_it_lies(new_page, empty):
    page = open_page(new_page, empty, "/new")
    for row in empty.ask("system.settings")["schema"]:
        field = "#s-" + row["name"].replace(".", "-")
        if page.locator(f".palette-settings a[href='/settings{field}']").count() == 0:
            assert row["name"].startswith("llm.") or row["name"].endswith("relevance"), row
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("keep question")
    page.get_by_role("option", name="Keep question and answer together").click()
    expect(page).to_have_url(re.compile("/settings#"))
    expect(page.get_by_label("Keep question and answer together")).to_be_focused()


def test_words_of_a_choice_and_the_look_are_kept(new_page, empty):
    page = open_page(new_page, empty, "/settings")
    strictness = page.get_by_label("Match strictness")
    expect(strictness.locator("option:checked")).to_have_text("Normal")
    strictness.select_option("Narrow")
    expect(page.get_by_text("Set for all your vaults.")).to_be_visible()
    page.get_by_label("Dark", exact=True).check()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(strictness).to_have_value("0.55")
    name = "plugins.smart_context.similarity_threshold"
    assert empty.ask("system.settings")["values"][name] == 0.55
    empty.ask("system.change_settings", values={name: 0.5})  # as one writes it into the file
    expect(strictness.locator("option:checked")).to_have_text("As in the file")


def test_what_no_setting_reads_is_named_on_the_pages_and_taken_out_there(new_page, empty):
    file = empty.vault / ".vault.toml"
    page = open_page(new_page, empty, "/new")
    file.write_text('[vault]\nname = "Notes"  # mine\n[future]\nshiny = true\n')
    page.get_by_role("link", name="Mend it").click()
    expect(page.get_by_text("There is no setting “future”. Line 3")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("button", name="Take future out").click()
    expect(page.get_by_text("There is no setting")).to_be_hidden()
    assert file.read_text() == '[vault]\nname = "Notes"  # mine\n'


@pytest.fixture
def two_servers(empty):
    """Two connections, the first of which answers."""
    with FakeOpenAI(models=("gpt-4o", "gpt-4o-mini")) as one, FakeOpenAI(models=("llama3",)) as two:
        for endpoint, model, name in ((two, "llama3", "Home"), (one, "gpt-4o", "Cloud")):
            given = {"base_url": endpoint.base_url, "model": model}
            empty.ask("system.connect", endpoint=given, name=name)
        yield one, two


def test_another_model_answers_once_with_one_click(new_page, empty, two_servers):
    page = open_page(new_page, empty, "/new")
    send(page, "Are you there?")
    answer = page.get_by_role("article", name="Assistant")
    expect(answer).to_contain_text("You said")
    answer.hover()
    page.get_by_role("button", name="Ask another model").last.click()
    dialog = page.get_by_role("dialog", name="Ask another model")
    expect(dialog.get_by_role("option")).to_have_text(["gpt-4o-mini", "llama3"])
    dialog.get_by_role("option", name="llama3").click()
    expect(page.get_by_role("button", name="Previous version")).to_be_enabled()
    two_servers[1].wait_for_requests(1)
    assert two_servers[1].chat_requests[-1].body["model"] == "llama3"
    expect(page.get_by_role("button", name="Model in use")).to_have_text("Model in use: gpt-4o")


@pytest.mark.usefixtures("two_servers")
def test_one_click_chooses_a_model_of_any_connection(new_page, empty):
    page = open_page(new_page, empty, "/new")
    in_use = page.get_by_role("button", name="Model in use")
    in_use.click()
    dialog = page.get_by_role("dialog", name="Model of this chat")
    expect(dialog.get_by_role("option")).to_have_text(
        ["Default (gpt-4o)In use", "gpt-4o", "gpt-4o-mini", "llama3"]
    )
    assert_accessible(page)
    dialog.get_by_role("option", name="gpt-4o-mini").click()
    expect(in_use).to_have_text("Model in use: gpt-4o-mini")
    in_use.press("Enter")
    box = dialog.get_by_role("combobox", name="Find a model")
    expect(dialog.get_by_role("option", selected=True)).to_have_text("gpt-4o-miniIn use")
    box.fill("home")
    expect(dialog.get_by_role("option")).to_have_text(["llama3"])
    box.press("Enter")
    expect(in_use).to_have_text("Model in use: llama3")
    expect(dialog).to_be_hidden()
    send(page, "Are you there?")
    expect(page.get_by_role("article", name="Assistant")).to_contain_text("You said")
    page.reload()
    expect(in_use).to_have_text("Model in use: llama3")


@pytest.mark.usefixtures("two_servers")
def test_favourite_models_come_first_until_they_are_none_any_more(new_page, empty):
    page = open_page(new_page, empty, "/new")
    page.get_by_role("button", name="Model in use").click()
    dialog = page.get_by_role("dialog", name="Model of this chat")
    options = dialog.get_by_role("option")
    options.filter(has_text="llama3").hover()
    options.filter(has_text="llama3").locator(".palette-star").click()
    starred = ["Default (gpt-4o)In use", "llama3Home", "gpt-4o", "gpt-4o-mini", "llama3"]
    expect(options).to_have_text(starred)
    expect(dialog.get_by_text("Favourites")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="Model in use").click()
    expect(options).to_have_text(starred)
    page.keyboard.press("ArrowDown")
    dialog.get_by_role("button", name="No favourite").click()
    expect(options).to_have_count(4)


def test_connections_are_listed_and_disconnected_one_by_one(new_page, empty, two_servers):
    page = open_page(new_page, empty, "/settings", viewport={"width": 360, "height": 800})
    page.get_by_text("Connections", exact=True).click()
    rows = page.get_by_role("list", name="Connections").locator(":scope > li")
    expect(rows).to_have_count(2)
    expect(rows.first).to_contain_text(two_servers[0].base_url)
    expect(rows.first).to_contain_text("Answers")
    expect(rows.first).to_contain_text("2 models")
    assert_accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360

    page.get_by_role("button", name="Choose another model").click()
    page.get_by_role("option", name="llama3").click()
    expect(page.get_by_text("llama3 answers your messages.")).to_be_visible()
    expect(rows.first).to_contain_text("Home")
    rows.first.get_by_role("button", name="Disconnect Home").click()
    rows.first.get_by_role("button", name="Disconnect, and forget its key").click()
    expect(page.get_by_text("gpt-4o answers your messages.")).to_be_visible()
    expect(rows).to_have_count(1)


def test_a_second_server_is_added_without_answering(new_page, empty, two_servers):
    page = open_page(new_page, empty, "/settings")
    with FakeOpenAI(models=("third",)) as third:
        page.get_by_text("Connect another").click()
        connect(page, third)
        page.get_by_label("Model", exact=True).fill("third")
        page.get_by_role("button", name="Only add it to the list").click()
        expect(page.get_by_text("Added. Each chat can choose it.")).to_be_visible()
        page.get_by_text("Connections", exact=True).click()
        listed = page.get_by_role("list", name="Connections")
        expect(listed).to_contain_text(third.base_url)
        expect(page.get_by_text("gpt-4o answers your messages.")).to_be_visible()


def test_what_is_changed_elsewhere_while_one_types_is_asked_about(new_page, empty):
    page = open_page(new_page, empty, "/settings")
    field = page.get_by_label("Instructions for all chats", exact=True)

    def settle(mine, theirs, choice):
        field.fill(mine)
        empty.ask("system.change_settings", values={"chat.instructions": theirs})
        expect(page.locator("[data-elsewhere]")).to_have_count(1)
        field.press("Tab")
        conflict = page.get_by_role("alert").filter(has_text="Changed elsewhere meanwhile")
        expect(conflict).to_contain_text(f"“{theirs}”")
        assert empty.ask("system.settings")["values"]["chat.instructions"] == theirs
        conflict.get_by_role("button", name=choice).press("Enter")
        expect(conflict).to_be_hidden()

    settle("In haiku", "In prose", "Take the other")
    expect(field).to_have_value("In prose")
    settle("In haiku", "In verse", "Save mine")
    expect(page.get_by_text("Saved.", exact=True)).to_be_visible()
    assert empty.ask("system.settings")["values"]["chat.instructions"] == "In haiku"


def test_the_address_of_the_trash_leads_to_it(new_page, empty):
    empty.ask("chat.send", chat_id="c1", message="hello")
    page = open_page(new_page, empty, "/trash")
    expect(page.get_by_role("dialog", name="Trash")).to_be_visible()


def test_another_page_shows_the_model_as_soon_as_one_is_connected(new_page, empty):
    page = open_page(new_page, empty, "/new")
    connect = page.get_by_text("One on this computer, or of a provider.")
    model = page.get_by_role("button", name="Model in use")
    sends = page.get_by_role("heading", name="Next message sends")
    expect(connect).to_be_visible()
    expect(model).to_be_hidden()
    expect(sends).to_be_hidden()
    with FakeOpenAI() as endpoint:
        values = {"llm.base_url": endpoint.base_url, "llm.categories.chat": "gpt-4o"}
        empty.ask("system.change_settings", values=values)
        expect(model).to_have_text("Model in use: gpt-4o")
        expect(connect).to_be_hidden()
        expect(sends).to_be_visible()


def test_a_chat_is_given_instructions_that_its_next_message_shows(new_page, empty):
    page = open_page(new_page, empty, "/new")
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("button", name="Instructions of this chat…").click()
    box = page.get_by_role("textbox", name="Instructions of this chat")
    box.fill("Answer in rhymes.")
    page.keyboard.press("Escape")
    expect(page.get_by_text("The instructions are not saved yet.")).to_be_visible()
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("button", name="Instructions of this chat…").click()
    expect(box).to_have_value("Answer in rhymes.")
    box.press("Control+Enter")
    expect(page.get_by_text("The next message follows these instructions.")).to_be_visible()
    page.get_by_role("textbox", name="Message").fill("And now?")
    expect(page.locator("[data-part='instructions']").first).to_be_attached()
    page.reload()
    page.get_by_role("button", name="This chat").click()
    page.get_by_role("button", name="Instructions of this chat…").click()
    expect(box).to_have_value("Answer in rhymes.")


def test_chats_of_another_program_are_brought_in_from_the_list(new_page, empty, tmp_path):
    file = tmp_path / "conversations.json"
    file.write_bytes(SAMPLES["chatgpt"][1])
    page = open_page(new_page, empty, "/new")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Import chats").click()
    chooser.value.set_files(file)
    expect(page.get_by_text("1 new chat.")).to_be_visible()
    page.get_by_role("link", name="Boats").click()
    expect(page.get_by_role("region", name="Messages").get_by_text("Second")).to_be_visible()
    expect(page.get_by_role("button", name="Previous version")).to_be_enabled()


def test_what_chats_cost_is_found_from_the_settings(new_page, configured, serve):
    vault = configured()
    with (vault / ".vault.toml").open("a", encoding="utf-8") as settings:
        settings.write('\n[llm.prices]\n"*" = { input = 1000, output = 0 }\n')
    priced = serve(vault)
    for chat_id, message in (("first", "What is a way to Lisbon?"), ("second", "去里斯本怎么走")):
        priced.ask("chat.send", chat_id=chat_id, message=message)
    page = open_page(new_page, priced, "/settings")
    page.get_by_role("link", name="What your chats cost").click()
    by_chat = page.get_by_role("region", name="By chat")
    expect(by_chat.get_by_role("row")).to_have_count(3)
    expect(by_chat.get_by_role("row").nth(1)).to_contain_text("$")
    expect(page.get_by_role("region", name="By client")).to_contain_text("This page")
    assert_accessible(page)
    by_chat.get_by_role("link", name="Lisbon").click()  # its title, once its topics are found, too
    expect(page).to_have_url(f"{priced.origin}/chats/first")
