import re

from smart_context.chat.messages import Message
from smart_context.web.pages.markup.markdown import Markdown
from smart_context.web.pages.views.message_views import message_view


def test_the_footnotes_of_each_message_and_part_have_ids_of_their_own():
    text = "Rain[^1].\n\n[^1]: Wet."
    content = ({"type": "reasoning", "text": text}, {"type": "text", "text": text})
    messages = [Message(id=name, role="assistant", content=content) for name in ("a", "b")]
    views = [message_view(message, Markdown().render) for message in messages]
    ids = [found for view in views for part in view.parts for found in _ids(part.html)]
    assert len(ids) == len(set(ids)) == 8


def test_that_an_answer_was_stopped_is_said_once():
    def ending(kind):
        content = ({"type": kind, "text": "Stopped before an answer came."},)
        message = Message(id="a", role="assistant", content=content, extra={"stopped": True})
        return message_view(message, Markdown().render).ending

    assert (ending("info"), ending("text")) == ("", "Stopped")


def _ids(shown):
    return re.findall(r' id="([^"]*)"', shown)
