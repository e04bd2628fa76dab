"""Documents and folders for the tests of the store."""

import contextlib
import json
import os
import resource
from pathlib import Path

from hypothesis import strategies as st

from smart_context.chat.documents.document import read_version


def said(*texts):
    """A document whose messages have their texts for ids."""
    return {"messages": [message(text) for text in texts]}


def message(text, **more):
    return {"id": text, "role": "user", "content": text, **more}


def ids(document):
    return [entry["id"] for entry in document["messages"]]


def version(document):
    return read_version(json.dumps(document).encode())


def appending(text, **more):
    """A change for `update`: one more message."""
    return lambda document: document["messages"].append(message(text, **more))


def put(path: Path, content: bytes | str | dict, *, age_s: float = 60):
    """Write a file as another program would, some time ago, and all at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.parent / f".{path.name}.unfinished"
    if isinstance(content, dict):
        content = json.dumps(content)
    unfinished.write_bytes(content if isinstance(content, bytes) else content.encode())
    then = unfinished.stat().st_mtime_ns - int(age_s * 1e9)
    os.utime(unfinished, ns=(then, then))
    return unfinished.replace(path)


def on_disk(path: Path):
    return json.loads(path.read_bytes())


def names_in(folder: Path):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@contextlib.contextmanager
def full_disk(max_bytes=1000):
    """No file may grow beyond `max_bytes`: the system refuses as it does when a disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text()
json_values = st.recursive(
    scalars.filter(lambda value: value not in (float("inf"), float("-inf"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
json_documents = st.builds(
    lambda messages, other: {"messages": messages, **other},
    st.lists(st.dictionaries(st.text(), json_values, max_size=4) | json_values, max_size=6),
    st.dictionaries(st.text().filter(lambda key: key != "messages"), json_values, max_size=4),
)
