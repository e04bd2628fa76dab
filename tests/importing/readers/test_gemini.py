import json
import zipfile

import pytest

from smart_context.importing.taking_in import Importer
from tests.importing.brought import PNG, brought, only, words
from tests.importing.samples import SAMPLES
from tests.storage.memory import memory_storage

pytestmark = pytest.mark.anyio

PAGE = (
    "<html><head><title>My Activity History</title><style>.mdl-cell{}</style></head><body>"
    '<div class="outer-cell mdl-cell">Gemini Apps<br>Prompted Hello</div></body></html>'
)


def activity(title, answer="", **fields):
    shown = {"safeHtmlItem": [{"html": answer}]} if answer else {}
    return {"header": "Gemini Apps", "title": title, "time": "2026-02-01T10:00:00Z",
            **shown, **fields}  # fmt: skip


def packed(tmp_path, name, content):
    path = tmp_path / "takeout.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"Takeout/My Activity/Gemini Apps/{name}", content)
        archive.writestr("Takeout/My Activity/Gemini Apps/heron.png", PNG)
        archive.writestr("Takeout/archive_browser.html", "<html><body>Gemini Apps</body></html>")
    return path


async def test_an_answer_keeps_code_headings_lists_and_links(tmp_path):
    answer = (
        "<p>Here:</p><pre><code>pass\n</code></pre><h2>Next</h2><ol><li>one</li><li>two</li></ol>"
        '<p>See <a href="https://docs.python.org/3/">the <strong>manual</strong></a>.</p>'
    )
    document = await only(tmp_path / "MyActivity.json", [activity("Prompted Loop", answer)])
    said = (
        "Here:\n\n```\npass\n```\n\n## Next\n\n1. one\n2. two\n\n"
        "See [the **manual**](https://docs.python.org/3/)."
    )
    assert words(document) == ["Loop", said]


@pytest.mark.parametrize("verb", ["Created", "Updated"])
async def test_a_canvas_is_a_chat_with_its_text(tmp_path, verb):
    written = [{"name": "# Bread\n\nMix at eight."}]
    row = activity(f"{verb} Gemini Canvas titled Bread", subtitles=written)
    document = await only(tmp_path / "MyActivity.json", [row])
    assert (document["title"], words(document)) == ("Bread", ["# Bread\n\nMix at eight."])
    assert document["messages"][0]["role"] == "assistant"


async def test_a_question_about_a_canvas_is_a_question(tmp_path):
    row = activity("Prompted What is a Gemini Canvas?", "<p>A document.</p>")
    document = await only(tmp_path / "MyActivity.json", [row])
    assert words(document) == ["What is a Gemini Canvas?", "A document."]


@pytest.mark.parametrize(
    ("title", "fields", "given", "drawn"),
    [
        pytest.param("Prompted Draw", {"answer": "<p>Here.</p><img src='heron.png'>"}, 0, 1,
                     id="shown in the answer"),
        pytest.param("Prompted Draw", {"subtitles": [{"name": "1 generated image."}]}, 0, 1,
                     id="named as drawn"),
        pytest.param("Prompted Look Attached 1 file.", {"answer": "<p>A heron.</p>"}, 1, 0,
                     id="given by the user"),
        pytest.param("Prompted Redraw Attached 1 file.", {
            "subtitles": [{"name": "Attached 1 file."}, {"name": "1 generated image."}],
            "answer": "<p>So.</p>", "attachedFiles": ["heron.png", "boat.png"]}, 1, 1,
            id="one given, one drawn"),
    ],
)  # fmt: skip
async def test_pictures_belong_to_who_gave_or_drew_them(tmp_path, title, fields, given, drawn):
    row = activity(title, **{"imageFile": "heron.png", "attachedFiles": ["heron.png"], **fields})
    document = await only(tmp_path / "MyActivity.json", [row])
    question, *answers = document["messages"]

    def named(message):
        content = message["content"]
        return sum("not in the import" in part["text"] for part in content
                   if not isinstance(part, str))  # fmt: skip

    assert named(question) == given
    assert sum(map(named, answers)) == drawn


async def test_a_picture_in_the_archive_comes_with_the_answer(tmp_path):
    row = activity("Prompted Draw", "<p>Here.</p><img src='heron.png'>", imageFile="heron.png")
    path = packed(tmp_path, "MyActivity.json", json.dumps([row]))
    documents, account = await brought(path)
    (document,) = documents.values()
    assert account["files"] == 1
    assert document["messages"][1]["files"][0]["name"] == "heron.png"


async def test_two_questions_of_one_moment_are_two_chats(tmp_path):
    path, storage = tmp_path / "MyActivity.json", memory_storage()
    rows = [activity(f"Prompted {asked}", f"<p>{asked}.</p>") for asked in ("Boats", "Birds")]
    documents, account = await brought(path, rows, storage)
    assert {name: words(chat)[1] for name, chat in documents.items()} == {
        "Boats": "Boats.",
        "Birds": "Birds.",
    }
    _, again = await brought(path, rows[::-1], storage)
    assert (account["new"], again["new"], again["unchanged"]) == (2, 0, 2)


@pytest.mark.parametrize("asked", ["Eingegebener Prompt: Boats?", "送信したメッセージ: Boats?"])
async def test_what_google_says_of_a_question_in_the_users_language_is_no_part_of_it(
    tmp_path, asked
):
    row = activity(asked, "<p>Yes.</p>", header="Gemini-Apps")
    assert words(await only(tmp_path / "MyActivity.json", [row])) == ["Boats?", "Yes."]


@pytest.mark.parametrize("apps", ["Gemini Apps", "Gemini-Apps", "Applications Gemini"])
@pytest.mark.parametrize("is_packed", [False, True])
async def test_a_takeout_as_a_web_page_is_told_to_be_asked_for_as_json(tmp_path, is_packed, apps):
    path, page = tmp_path / "MyActivity.html", PAGE.replace("Gemini Apps", apps)
    path.write_text(page)
    if is_packed:
        path = packed(tmp_path, "MyActivity.html", page)
    account = await Importer(memory_storage()).run([path])
    assert [entry["error"] for entry in account.failed] == [
        "is Gemini's activity as a web page; ask Google Takeout for JSON",
    ]


async def test_web_pages_of_others_in_an_archive_are_passed_over(tmp_path):
    _, account = await brought(packed(tmp_path, "MyActivity.json", SAMPLES["gemini"][1]))
    assert account["new"] == 1
