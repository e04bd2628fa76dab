"""Reads facts about models from servers' answers: the window, the tokens of a text. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from smart_context.llm.estimating import TokenParts

Program = Literal["", "llama.cpp", "vLLM", "LM Studio", "Ollama"]
"""A server for one's own machine; empty if it is none of them."""

LEAST_WINDOW, MOST_WINDOW = 256, 100_000_000
"""The limits of windows in tokens; a server's number beyond them is a mistake."""

_IN_USE = ("n_ctx", "max_model_len", "loaded_context_length")
_AT_MOST = ("context_length", "context_window", "max_context_length", "n_ctx_train")
_NESTED = ("meta", "top_provider")
_OWNERS: Mapping[str, Program] = {
    "llamacpp": "llama.cpp",
    "vllm": "vLLM",
    "organization_owner": "LM Studio",
    "library": "Ollama",
}
_PORTS: Mapping[int, Program] = {11434: "Ollama", 1234: "LM Studio"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldByServer:
    """The facts about a model from its server."""

    window: int | None = None  # the tokens of a request and its answer; `None` if it does not say
    # the window is the one in use, not the largest that the model was made for
    is_in_use: bool = False
    program: Program = ""
    factors: TokenParts | None = None  # by its tokenizer; `None` if it has none that can be asked

    @property
    def may_cut_silently(self) -> bool:
        """True for Ollama if its window in use is unknown: it may cut longer requests silently."""
        return self.program == "Ollama" and not self.is_in_use


def from_listing(listing: object, model: str, base_url: str) -> ToldByServer:
    """The facts from `/models` about a model, under any of the names that servers use.

    Args:
        listing: The parsed answer.
        model: The model's id.
        base_url: The endpoint, whose port may be one that only one program uses.
    """
    row = _row_of(listing, model)
    owner: Any = row.get("owned_by")
    program = _OWNERS.get(owner, "") if isinstance(owner, str) else ""
    found = _window_in(row)
    return ToldByServer(
        window=found.window,
        is_in_use=found.is_in_use,
        program=program or _PORTS.get(_port_of(base_url), ""),
    )


def from_props(props: object) -> ToldByServer:
    """The facts from llama.cpp's `/props`."""
    defaults = _mapping(props).get("default_generation_settings")
    return ToldByServer(window=_tokens(_mapping(defaults).get("n_ctx")), is_in_use=True)


def from_lm_studio(listing: object, model: str) -> ToldByServer:
    """The facts from LM Studio's `/api/v0/models` about a model."""
    return _window_in(_row_of(listing, model))


def from_ollama(running: object, shown: object, model: str) -> ToldByServer:
    """The facts from Ollama about a model.

    Args:
        running: The answer of `/api/ps`: the loaded models with their windows in use.
        shown: The answer of `/api/show`: the model's largest window, and its parameters.
        model: The model's id, with or without its tag.
    """
    rows = _mapping(running).get("models")
    named = {model, f"{model}:latest"}
    for row in _mappings(rows):
        loaded = _tokens(row.get("context_length"))
        if loaded and (row.get("name") in named or row.get("model") in named):
            return ToldByServer(window=loaded, is_in_use=True)
    if set_to := _parameter(_mapping(shown).get("parameters"), "num_ctx"):
        return ToldByServer(window=set_to, is_in_use=True)
    known = _mapping(_mapping(shown).get("model_info"))
    most = [_tokens(known[name]) for name in known if str(name).endswith(".context_length")]
    return ToldByServer(window=next(filter(None, most), None))


def from_tokenizer(answer: object) -> int | None:
    """The tokens of a text by `/tokenize`, of llama.cpp or vLLM; `None` if it does not say."""
    tokens = _mapping(answer).get("tokens")
    count = len(tokens) if isinstance(tokens, list) else _mapping(answer).get("count")
    return count if isinstance(count, int) and count > 0 else None


def _parameter(text: object, name: str) -> int | None:
    """A number among parameters, which are lines of a name and a value."""
    for line in text.splitlines() if isinstance(text, str) else ():
        key, _, value = line.strip().partition(" ")
        if key == name and value.strip().isdecimal():
            return _tokens(int(value))
    return None


def _row_of(listing: object, model: str) -> Mapping[str, Any]:
    """The row of a model: by its id or an alias, else the only one."""
    rows = _mapping(listing).get("data") if isinstance(listing, Mapping) else listing
    known = list(_mappings(rows))
    for row in known:
        aliases = row.get("aliases")
        others = aliases if isinstance(aliases, list) else ()
        if model in (row.get("id"), *others):
            return row
    # A server with a single model answers with it under any name.
    return known[0] if len(known) == 1 else {}


def _window_in(row: Mapping[str, Any]) -> ToldByServer:
    places = [row, *(_mapping(row.get(name)) for name in _NESTED)]
    for names, is_in_use in ((_IN_USE, True), (_AT_MOST, False)):
        stated = [_tokens(place.get(name)) for place in places for name in names]
        if found := [tokens for tokens in stated if tokens]:
            return ToldByServer(window=min(found), is_in_use=is_in_use)
    return ToldByServer()


def _tokens(value: object) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and LEAST_WINDOW <= value <= MOST_WINDOW else None  # type: ignore[operator,return-value] # a number, as checked


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(rows: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(rows, Sequence) and not isinstance(rows, str):
        yield from (row for row in rows if isinstance(row, Mapping))


def _port_of(base_url: str) -> int:
    try:
        return urlsplit(base_url).port or 0
    except ValueError:
        return 0
