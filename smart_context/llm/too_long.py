"""Recognises errors of endpoints about too long requests, with the excess. Pure."""

import re

from smart_context.base.errors import TooLong

_NUMBER = r"\d[\d,]{0,12}"
_ASKED = rf"(?P<asked>{_NUMBER})"
_WINDOW = rf"(?P<window>{_NUMBER})"

# The text between two numbers is limited, so that each wording is searched in linear time.
_WORDINGS: tuple[tuple[str, str], ...] = (
    ("Anthropic", rf"prompt is too long: {_ASKED} tokens > {_WINDOW}"),
    ("Anthropic, with the answer", rf"exceed context limit: {_ASKED} \+ \d+ > {_WINDOW}"),
    ("llama.cpp", rf"\({_ASKED} tokens\) exceeds the available context size \({_WINDOW} tokens"),
    ("llama.cpp, in fields", rf"n_prompt_tokens: {_ASKED}, n_ctx: {_WINDOW}"),
    ("llama-cpp-python", rf"requested tokens \({_ASKED}\) exceed context window of {_WINDOW}"),
    (
        "LM Studio",
        rf"keep the first {_ASKED} tokens.{{0,120}}context length of only {_WINDOW} tokens",
    ),
    (
        "vLLM, with the answer",
        rf"maximum context length is {_WINDOW} tokens.{{0,200}}total of at least {_ASKED} tokens",
    ),
    (
        "vLLM",
        (
            rf"maximum context length (?:is|of) {_WINDOW} tokens"
            rf".{{0,60}}(?:has|contains)(?: at least)? {_ASKED}(?: input)? tokens"
        ),
    ),
    ("vLLM, offline", rf"\(length {_ASKED}\) is longer than the maximum model length of {_WINDOW}"),
    (
        "OpenAI, OpenRouter, DeepSeek",
        (
            rf"maximum context length is {_WINDOW} tokens.{{0,40}}"
            rf"(?:requested(?: about)?|resulted in) {_ASKED} tokens"
        ),
    ),
    (
        "OpenAI, where it is configured",
        rf"configured limit of {_WINDOW} tokens\W{{0,3}}your messages resulted in {_ASKED} tokens",
    ),
    (
        "Mistral",
        rf"contains {_ASKED} tokens.{{0,40}}too large for model with {_WINDOW} maximum context",
    ),
    ("Groq", rf"request too large.{{0,200}}limit {_WINDOW}, requested {_ASKED}"),
    (
        "Google",
        rf"token count \({_ASKED}\) exceeds the maximum number of tokens allowed \({_WINDOW}\)",
    ),
    ("xAI", rf"maximum prompt length is {_WINDOW} but the request contains {_ASKED} tokens"),
    ("Together", rf"\({_ASKED} tokens\) is longer than the model's context length \({_WINDOW}"),
    ("Moonshot", rf"exceeded model token limit: {_WINDOW} \(requested: {_ASKED}\)"),
    ("GitHub", rf"token count of {_ASKED} exceeds the limit of {_WINDOW}"),
    ("SiliconFlow", rf"\({_ASKED}\) has exceeded max_prompt_tokens \({_WINDOW}\)"),
    ("TGI", rf"must be <= {_WINDOW}. given: {_ASKED} `inputs` tokens"),
    ("oMLX", rf"{_ASKED} tokens exceeds max context window of {_WINDOW}"),
    ("DashScope", rf"range of input length should be \[1, {_WINDOW}\]"),
    ("any other", rf"(?:maximum|max) (?:context|model|prompt) length (?:is|of) {_WINDOW}"),
    ("Ollama", rf"exceeded max context length by (?P<over>{_NUMBER}) tokens?"),
    (
        "any other, without numbers",
        (
            r"context.{0,3}(?:length|window|size)|too (?:long|large|many tokens)"
            r"|maximum.{0,20}(?:token|length)|reduce the length of the messages"
            r"|exceeds? (?:the )?(?:context|maximum|model).{0,20}(?:limit|length|window)"
        ),
    ),
)
"""Vendors and their wordings; the numbers in a wording are the request's and the window's.

Ollama names only their difference. Groq's limit is a number of tokens in a minute, which longer
requests can never meet.
"""

_PATTERNS = tuple(re.compile(wording, re.IGNORECASE | re.DOTALL) for _, wording in _WORDINGS)


def too_long(words: str) -> TooLong | None:
    """The excess of a request by an endpoint's words; `None` if they are about something else."""
    for pattern in _PATTERNS:
        if found := pattern.search(words):
            numbers = found.groupdict()
            return TooLong(**{name: _read(number) for name, number in numbers.items()})
    return None


def _read(number: str | None) -> int | None:
    value = int(number.replace(",", "")) if number else 0
    return value or None
