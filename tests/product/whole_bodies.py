"""Compares what is shown of a request with the bytes of the request that an endpoint recorded."""

import json
import re

from smart_context.host.request.tokens import PER_IMAGE
from smart_context.llm.tokens import count_tokens

_COUNTED_WHOLE = ("tools", "functions", "response_format")
_TEXTS = ("text", "content", "arguments", "output", "tool_calls", "function")
_FENCED_TOOLS = "# Requests"


def assert_shows(shown, raw):
    """The body that is shown is the one that was sent, to the letter, and its tokens are counted.

    Args:
        shown: A preview or a receipt.
        raw: The bytes of the request.
    """
    body = json.loads(raw)
    assert letters(shown["body"]) == letters(body)
    assert next(iter(shown["body"])) == "model"
    assert_counts(shown, body)


def assert_previews(shown, raw):
    """As `assert_shows`; the data of images is shown as its type and size."""
    assert_shows(shown, letters(without_image_data(json.loads(raw))).encode())
    assert shown["prompt"] == shown["body"]["messages"]


def assert_counts(shown, body):
    """The tokens are the sum of their parts, and those of the body."""
    assert shown["tokens"] == sum(shown["parts"].values())
    assert shown["tokens"] == tokens_of(body), shown["parts"]
    has_tools = "tools" in body or "functions" in body or _FENCED_TOOLS in str(body)
    assert bool(shown["parts"]["tools"]) is has_tools


def letters(body):
    """The body as text; only the order of its own fields is no matter."""
    return json.dumps({name: body[name] for name in sorted(body)}, ensure_ascii=False)


def tokens_of(body):
    """The tokens of a body, counted without the product's own parts."""
    whole = [json.dumps(body[name], ensure_ascii=False) for name in _COUNTED_WHOLE if name in body]
    system = [{"role": "system", "content": body.get("instructions")}]
    read = (system, body.get("messages"), body.get("input"))
    texts = [*whole, *(text for value in read for text in _paragraphs_and_texts_in(value))]
    images = letters(body).count('"type": "image_url"')
    return sum(count_tokens(text, "gpt-4o") for text in texts) + PER_IMAGE * images


def _paragraphs_and_texts_in(messages):
    """Other texts as a whole, system prompts by paragraphs, since only these sum up."""
    for message in messages if isinstance(messages, list) else [messages]:
        is_system = isinstance(message, dict) and message.get("role") == "system"
        for text in _texts_in(message):
            whole = f"{text.rstrip()}\n\n"
            yield from re.findall(r".+?\n\n+(?=\S|$)", whole, re.DOTALL) if is_system else [text]


def _texts_in(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _texts_in(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name in _TEXTS or name == "name":
                yield from _texts_in(each)


def without_image_data(body):
    """The body with each image as its type and size."""

    def shown(part):
        if part["type"] != "image_url":
            return part
        kind, _, encoded = part["image_url"]["url"].partition(",")
        return {**part, "image_url": {"url": f"{kind},({len(encoded):,} characters)"}}

    def without(message):
        if not isinstance(message["content"], list):
            return message
        return {**message, "content": [*map(shown, message["content"])]}

    return {**body, "messages": [*map(without, body["messages"])]}
