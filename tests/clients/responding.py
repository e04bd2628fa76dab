"""A fake provider that speaks the Responses API, too, as real clients need it."""

import json

from smart_context.gateway.edge.own_answers import OwnAnswer
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


def calling(namespace, tool, **arguments):
    """A call of an agent's tool for the script of `/responses`."""
    made = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "status": "completed"}
    made |= {"namespace": namespace, "name": tool, "arguments": json.dumps(arguments)}
    usage = {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8}
    done = {"id": "resp_1", "object": "response", "status": "completed", "output": [made]}
    events = [
        {"type": "response.created", "response": {**done, "status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": made},
        {"type": "response.completed", "response": {**done, "usage": usage}},
    ]
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    return Reply(body="".join(lines).encode(), content_type="text/event-stream")
