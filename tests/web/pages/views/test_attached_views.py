import pytest

from smart_context.chat.messages import Message
from smart_context.web.pages.views.message_views import AttachedView, attached_views

KEY = "0123456789abcdef" * 4


def views(files=(), links=()):
    return attached_views(
        Message(id="m", role="user", content="", files=tuple(files), links=tuple(links))
    )


def test_files_come_before_links_and_lead_to_what_is_kept():
    file = {"name": "a.txt", "file_type": "text/plain", "storage_key": KEY}
    link = {"url": "https://example.org/x", "title": "X"}
    assert views([file], [link]) == (
        AttachedView(kind="file", name="a.txt", address=f"/api/files/{KEY}"),
        AttachedView(kind="link", name="X", address="https://example.org/x"),
    )


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        pytest.param({"file_type": "image/png", "storage_key": KEY}, "image", id="a picture"),
        pytest.param({"file_type": "image/svg+xml", "storage_key": KEY}, "file", id="may run"),
        pytest.param({"file_type": "image/png", "storage_key": "../x"}, "file", id="no key"),
        pytest.param({"file_type": ["image/png"], "storage_key": KEY}, "file", id="odd type"),
    ],
)
def test_only_a_kept_picture_is_shown_as_one(file, kind):
    (view,) = views([{"name": "a", **file}])
    assert view.kind == kind
    assert view.address in {"", f"/api/files/{KEY}"}


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        " javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "//evil.example",
        "https://ok.example\njavascript:alert(1)",
        "",
        None,
        ["https://ok.example"],
    ],
)
def test_an_address_that_could_run_something_leads_nowhere(url):
    (view,) = views(links=[{"url": url, "title": "Click me"}])
    assert view == AttachedView(kind="link", name="Click me", address="")


def test_names_show_what_turns_their_direction_and_nameless_things_are_left_out():
    named, unnamed = {"name": "a\u202egpj.exe"}, {"file_type": "text/plain"}
    (view,) = views([named, unnamed], [{}])
    assert view.name == "a⟦U+202E⟧gpj.exe"
