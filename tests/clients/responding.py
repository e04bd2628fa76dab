"""A fake provider that speaks the Responses API, too, as real clients need it."""

from smart_context.gateway.answers.shapes import OwnAnswer
from tests.fake_openai import Reply


def response(text, body):
    """An answer to a request for a response, streamed if it asks for that."""
    own = OwnAnswer(kind="responses", model=str(body.get("model")), created=1)
    if not body.get("stream"):
        return Reply(body=own.whole(text, (5, 3)))
    events = [own.begin(), own.piece(text), *own.end(text, (5, 3), with_usage=True)]
    return Reply(body=b"".join(events), content_type="text/event-stream")


def answering(text):
    """An answer for the script of `/responses`."""
    return lambda body: response(text, body)
