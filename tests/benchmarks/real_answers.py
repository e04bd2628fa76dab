"""Asks a real model, counts what it had to read, and keeps each answer for a run that goes on."""

import json
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LONGEST_WAIT_S = 3600
"""A slow machine may read for minutes before its first word."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a model answered, and what that took."""

    text: str
    calls: tuple[dict[str, str], ...]  # each with `id`, `name` and `arguments`
    read: int  # tokens of the request
    cached: int  # of these, those that the server had read before
    written: int
    first_s: float  # until the first word or call
    seconds: float


def asked(
    base_url: str,
    model: str,
    messages: Sequence[Mapping[str, Any]],
    *,
    most_tokens: int,
    tools: Sequence[Mapping[str, Any]] = (),
    caches: bool = True,
) -> Answer:
    """A model's likeliest answer; without `caches`, llama.cpp reads the whole request again."""
    body = {
        "model": model,
        "messages": list(messages),
        "max_tokens": most_tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        **({"tools": list(tools)} if tools else {}),
        **({} if caches else {"cache_prompt": False}),
    }
    request = urllib.request.Request(
        f"{base_url.rstrip('/')}/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    began, first_s = time.monotonic(), None
    text, calls, usage, event = "", {}, {}, {}
    with urllib.request.urlopen(request, timeout=LONGEST_WAIT_S) as response:
        for event in _events(response):
            usage = event.get("usage") or usage
            for choice in event.get("choices", ()):
                delta = choice.get("delta") or {}
                text += delta.get("content") or ""
                for piece in delta.get("tool_calls") or ():
                    _add(calls, piece)
                if first_s is None and (text or calls):
                    first_s = time.monotonic() - began
    seconds = time.monotonic() - began
    assert usage, f"the server counted no tokens; it ended with {event}"
    return Answer(
        text=text,
        calls=tuple(calls.values()),
        read=usage["prompt_tokens"],
        cached=(usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0,
        written=usage["completion_tokens"],
        first_s=seconds if first_s is None else first_s,
        seconds=seconds,
    )


def asked_of(base_url: str, path: str, **body: Any) -> dict[str, Any]:
    """What a server of llama.cpp answers at an address of its own."""
    request = urllib.request.Request(
        base_url.rstrip("/").removesuffix("/v1") + path,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=LONGEST_WAIT_S) as response:
        found: dict[str, Any] = json.load(response)
    return found


def tokens_of(base_url: str, text: str) -> int:
    """The tokens of a text, by the model's own tokenizer."""
    return len(asked_of(base_url, "/tokenize", content=text)["tokens"])


def size_of(base_url: str, messages: Sequence[Mapping[str, Any]]) -> int:
    """The tokens of a request, with those that the model's template puts around its messages."""
    whole = asked_of(base_url, "/apply-template", messages=list(messages))["prompt"]
    return tokens_of(base_url, whole)


def _events(lines) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith(b"data: {"):
            yield json.loads(line[6:])


def _add(calls: dict[int, dict[str, str]], piece: Mapping[str, Any]) -> None:
    call = calls.setdefault(piece.get("index", 0), {"id": "", "name": "", "arguments": ""})
    call["id"] = piece.get("id") or call["id"]
    told = piece.get("function") or {}
    call["name"] += told.get("name") or ""
    call["arguments"] += told.get("arguments") or ""


class Kept:
    """Rows of results in a file of JSON lines, each with a key; a run that stopped goes on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ()
        self.rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self._keys = {tuple(row["key"]) for row in self.rows}

    def has(self, *key: object) -> bool:
        """True if that was measured before."""
        return key in self._keys

    def add(self, *key: object, answer: Answer | None = None, **found: object) -> None:
        """Keep a row."""
        row = {"key": list(key), **found, **(asdict(answer) if answer else {})}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
        self.rows.append(row)
        self._keys.add(key)
