"""Tools for models that do not support them: described in the prompt, called in fenced blocks."""

import json
import re
from collections.abc import Iterable, Sequence
from itertools import chain

from smart_context.host.request.tools import Tool
from smart_context.llm.models import PromptMessage

# For endpoints that take no tools: the model writes a fenced block named like the tool, with one
# request per line (```read_file, notes/plan.md, ```), or the arguments as a JSON object.
_INTRODUCTION = """\
# Requests

When you need more to answer, write one or more of the fenced blocks below and nothing after them; \
the results come with the next message. One request a line, or a JSON object with the parameters. \
Write such a block for nothing else."""

_OPENING = re.compile(r" {0,3}(`{3,}+|~{3,}+)[ \t]*+(\S*+)[ \t]*+")
_BACKTICKS = re.compile("`+")
_SHORTEST_FENCE = 3


def with_instructions(system_prompt: str, tools: Sequence[Tool]) -> str:
    """The system prompt, with instructions for calling the tools."""
    if not tools:
        return system_prompt
    forms = [f"{tool.description}\n\n```{tool.name}\n<{_primary(tool)}>\n```" for tool in tools]
    text = "\n\n".join([_INTRODUCTION, *forms])
    return f"{system_prompt.rstrip()}\n\n{text}" if system_prompt.strip() else text


def requests_in(text: str, tools: Sequence[Tool]) -> tuple[str, list[tuple[str, str]]]:
    """Split a text from its requests, each a tool's name and its JSON arguments.

    An unclosed block ends with the text. Blocks of other names stay in the text, with their
    content.
    """
    named = {tool.name: tool for tool in tools}
    kept: list[str] = []
    requests: list[tuple[str, str]] = []
    lines = iter(text.split("\n"))
    for line in lines:
        opening = _opening(line)
        block = [] if opening is None else _block(lines, opening[1])
        tool = named.get(opening[2]) if opening else None
        if tool is None:
            kept += [line, *block]
        else:
            body = block[:-1] if block and _closes(block[-1], opening[1]) else block  # type: ignore[index] # a tool is only found by an opening
            requests += [(tool.name, arguments) for arguments in _arguments(body, tool)]
    return "\n".join(kept).strip("\n"), requests


def in_plain_text(prompt: Sequence[PromptMessage]) -> tuple[PromptMessage, ...]:
    """The request with calls as fenced blocks, and results as a user message."""
    plain: list[PromptMessage] = []
    results: list[str] = []
    names: dict[str, str] = {}
    for message in chain(prompt, (None,)):
        if message is not None and message["role"] == "tool":
            name = names.get(message["tool_call_id"], "a request")
            results.append(f"Result of {name}:\n{message['content']}")
            continue
        if results:
            plain.append({"role": "user", "content": "\n\n".join(results)})
            results = []
        if message is None:
            break
        calls = message.get("tool_calls", ())
        names.update((call["id"], call["function"]["name"]) for call in calls)
        plain.append(_with_blocks(message, calls) if calls else message)
    return tuple(plain)


def _with_blocks(message: PromptMessage, calls: Iterable[PromptMessage]) -> PromptMessage:
    texts = [message["content"]] if message["content"] else []
    for call in calls:
        arguments = call["function"]["arguments"]
        longest = max(map(len, _BACKTICKS.findall(arguments)), default=0)
        fence = "`" * max(3, longest + 1)
        texts.append(f"{fence}{call['function']['name']}\n{arguments}\n{fence}")
    return {"role": message["role"], "content": "\n\n".join(texts)}


def _opening(line: str) -> re.Match[str] | None:
    """Match the start of a block that has a name, or can hold other blocks."""
    found = _OPENING.fullmatch(line.rstrip("\r"))
    return found if found and (found[2] or len(found[1]) > _SHORTEST_FENCE) else None


def _block(lines: Iterable[str], fence: str) -> list[str]:
    """The lines of a block, including the closing one."""
    block: list[str] = []
    for line in lines:
        block.append(line)
        if _closes(line, fence):
            break
    return block


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and not mark.strip(fence[0])


def _arguments(body: Sequence[str], tool: Tool) -> list[str]:
    whole = "\n".join(body).strip()
    if whole.startswith("{") or not whole:
        return [whole or "{}"]
    primary = _primary(tool)
    lines = (line.strip() for line in body)
    return [json.dumps({primary: line}, ensure_ascii=False) for line in lines if line]


def _primary(tool: Tool) -> str:
    return next(iter(tool.parameters.get("properties", {})), "nothing")
