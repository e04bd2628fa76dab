"""The endpoints of models, `[llm]`, and their prices, `[llm.prices]`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from smart_context.base.config.addresses import AddressRefused, plain_address
from smart_context.base.config.document import Table, found, looks_secret

CATEGORIES = ("chat", "fast", "embedding")
EMBEDDED = "embedded"

_ENDPOINT_KEYS = (
    *("base_url", "api_key_env", "timeout_s", "max_retries"),
    *("context_window", "images"),
)
_RESERVED = (*CATEGORIES, EMBEDDED)
"""Beginnings of a chat's choice of a model that can't be the id of a connection."""

_CONNECTION_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_LONGEST_NAME, _LONGEST_MODEL = 100, 500
_SECRET_NAMES = frozenset({"api_key", "apikey", "api-key", "key", "token", "secret", "password"})
_HAS_USER = re.compile("//[^/?#]*@")
_UNDERSCORES = re.compile("_+")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_LEAST_WINDOW, _MOST_WINDOW = 1_000, 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """One model at one endpoint that speaks the OpenAI API."""

    # with the version and without a slash at the end: `http://127.0.0.1:11434/v1`. Its host is in
    # ASCII, and does not imitate another (`plain_address`).
    base_url: str
    model: str  # the model's id there
    # from the environment or the key store, by `with_key`; `None` when there is none, or it was not
    # looked up
    api_key: str | None = field(default=None, repr=False)
    api_key_env: str = ""  # the variable's name; empty when none is named
    timeout_s: float = 60.0  # seconds to wait for the next piece of an answer
    patience: float = 10.0  # times `timeout_s` for the first piece: the request is read first
    max_retries: int = 2  # requests after the first, on 429, 5xx and lost connections
    # tokens that the model takes, answer included; `None` if not set
    context_window: int | None = None
    images: bool = False  # True to send attached images to the model
    # the id of the connection that it belongs to; empty where `[llm]` or a category names it
    connection: str = field(default="", compare=False)

    def with_key(
        self, environ: Mapping[str, str], stored: Callable[[str], str | None] = lambda _: None
    ) -> "EndpointSettings":
        """The endpoint with its key; the one place where a key is looked up.

        Args:
            environ: Holds the variable that the endpoint names.
            stored: Gives the key that the user entered for a base URL, if no variable is named.
        """
        if self.api_key_env:
            return replace(self, api_key=environ.get(self.api_key_env) or None)
        return replace(self, api_key=stored(self.base_url) or None)

    @property
    def patience_s(self) -> float:
        """Seconds to wait for the first piece of an answer."""
        return self.patience * self.timeout_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """An endpoint that offers models; chats choose among those of all connections."""

    id: str  # names it in settings and in a chat's choice: `ollama`
    name: str  # its name for people: `Ollama`
    endpoint: EndpointSettings  # with the model that was chosen last; its model is empty for none


Endpoints = Mapping[str, EndpointSettings | None]
"""By category; `None` is the embedded model. Categories that are not set are missing."""

Connections = Mapping[str, Connection]
"""By id, in the order of the file."""


def read_endpoints(llm: Table) -> tuple[Endpoints, Connections]:
    """The endpoints that a settings file names, without their keys, and its connections."""
    _refuse_keys(llm)
    llm.allow((*_ENDPOINT_KEYS, "categories", "connections", "prices", "cache_ttl_s"))
    shared = _read_endpoint(llm, EndpointSettings(base_url="", model=""))
    connections = _read_connections(llm.table("connections"), shared)
    categories = llm.table("categories")
    _refuse_keys(categories)
    categories.allow(CATEGORIES)
    endpoints = {
        name: _read_category(categories, name, shared, connections)
        for name in CATEGORIES
        if name in categories
    }
    return endpoints, connections


def _read_connections(tables: Table, shared: EndpointSettings) -> Connections:
    _refuse_keys(tables)
    connections = {}
    for key in [key for key in tables.values if key.lower() not in _SECRET_NAMES]:
        if not is_connection_id(key):
            tables.fault(
                key,
                "expected the id of a connection: small letters, digits, - and _, at most 64, and "
                f"not one of {', '.join(_RESERVED)}",
            )
            continue
        table = tables.table(key)
        _refuse_keys(table)
        table.allow(("name", "model", *_ENDPOINT_KEYS))
        endpoint = _read_endpoint(
            table, replace(shared, base_url="", api_key_env="", connection=key)
        )
        if "base_url" not in table:
            table.fault("base_url", "missing; expected the address of a server")
        connections[key] = Connection(
            id=key,
            name=table.text("name", key, max_chars=_LONGEST_NAME),
            endpoint=replace(endpoint, model=table.text("model", max_chars=_LONGEST_MODEL)),
        )
    return connections


def is_connection_id(text: str) -> bool:
    """True if a connection may have this id."""
    return bool(_CONNECTION_ID.fullmatch(text)) and text not in _RESERVED


def _read_category(
    categories: Table, name: str, shared: EndpointSettings, connections: Connections
) -> EndpointSettings | None:
    value = categories.values[name]
    if value == EMBEDDED:
        return None
    if isinstance(value, Mapping):
        table = categories.table(name)
        _refuse_keys(table)
        table.allow(("model", "connection", *_ENDPOINT_KEYS))
        if "connection" in table:
            shared = _connected(table, shared, connections)
        endpoint = _read_endpoint(table, shared)
        model = table.text("model", max_chars=_LONGEST_MODEL)
        if "model" not in table:
            table.fault("model", "missing; expected the id of a model")
    elif isinstance(value, str):
        endpoint, model = shared, categories.text(name, max_chars=_LONGEST_MODEL)
    else:
        wanted = f'expected a model id, a table or "{EMBEDDED}"'
        categories.fault(name, f"{wanted}, found {found(value)}")
        return None
    if not endpoint.base_url and endpoint is shared:
        categories.fault(name, "needs an endpoint; set base_url under [llm]")
    elif not endpoint.base_url and not {"base_url", "connection"} & value.keys():
        categories.fault(name, "needs an endpoint; set base_url here or under [llm]")
    return replace(endpoint, model=model)


def _connected(
    table: Table, shared: EndpointSettings, connections: Connections
) -> EndpointSettings:
    """The endpoint of the connection that a category names; `shared` if there is none."""
    named = table.text("connection")
    if "base_url" in table:
        table.fault("connection", "has an address already; take base_url out of here")
    elif known := connections.get(named):
        return known.endpoint
    else:
        ids = ", ".join(sorted(connections)) or "none yet"
        table.fault("connection", f"no such connection; [llm.connections] has: {ids}")
    return shared


def _read_endpoint(table: Table, shared: EndpointSettings) -> EndpointSettings:
    base_url = _read_base_url(table) if "base_url" in table else shared.base_url
    # A key goes only to the endpoint that it was named for.
    inherits_key = "api_key_env" not in table and base_url == shared.base_url
    return replace(
        shared,
        base_url=base_url,
        context_window=_read_window(table, shared.context_window),
        images=table.boolean("images", default=shared.images),
        api_key_env=shared.api_key_env if inherits_key else _read_key_name(table),
        timeout_s=table.number("timeout_s", shared.timeout_s, minimum=0.1, maximum=3_600),
        max_retries=int(
            table.number("max_retries", shared.max_retries, minimum=0, maximum=10, whole=True)
        ),
    )


def _read_window(table: Table, shared: int | None) -> int | None:
    if "context_window" not in table:
        return shared
    window = table.number(
        "context_window", 0, minimum=_LEAST_WINDOW, maximum=_MOST_WINDOW, whole=True
    )
    return int(window) or None


def _read_base_url(table: Table) -> str:
    value = table.text("base_url")
    if not value:
        return ""
    if looks_secret(value) or _HAS_USER.search(value):
        table.fault("base_url", "holds a name, password or key; use api_key_env instead")
        return ""
    try:
        return plain_address(value).rstrip("/")
    except AddressRefused as refusal:
        table.fault("base_url", str(refusal))
    return ""


def _read_key_name(table: Table) -> str:
    name = table.text("api_key_env")
    if not name or (_VARIABLE_NAME.fullmatch(name) and not _looks_random(name)):
        return name
    table.fault(
        "api_key_env",
        "expected the NAME of an environment variable, such as 'OPENAI_API_KEY'; found what "
        "looks like a key (not shown). Take it out of the file and put it in the environment",
    )
    return ""


def _looks_random(name: str) -> bool:
    """True if it looks like a key rather than the name of a variable."""
    mixed = name != name.upper() and name != name.lower() and any(map(str.isdigit, name))
    long_run = max(len(run) for run in _UNDERSCORES.split(name))
    return looks_secret(name) or (mixed and long_run >= 16) or long_run >= 32  # noqa: PLR2004 - a word of a variable's name is shorter


def _refuse_keys(table: Table) -> None:
    """Refuse keys written into the file, before they are reported as unknown."""
    for name in [name for name in table.values if name.lower() in _SECRET_NAMES]:
        table.fault(
            name,
            "a key in the file is refused; put it in an environment variable and name that "
            "variable with api_key_env",
        )


CURRENCY = "currency"
CACHE_TTL_S = 300.0
"""Seconds that providers keep the beginning of a request, by default."""

_MILLION = 1_000_000
_HIGHEST = 1_000_000
_MOST_CHARS = 20
_LONGEST_TTL_S = 7 * 86_400
_WILDCARD = re.compile(r"[*?\[]")
_MOST_WILDCARDS = 1_000
_MOST_KNOWN = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of a million tokens."""

    input: float  # of tokens that are sent
    cached: float  # of sent tokens at the beginning that equals the previous request's
    output: float  # of tokens of the answer

    def of(self, *, sent: int, cached: int, answered: int) -> float:
        """The price of a request.

        Args:
            sent: All tokens of the request.
            cached: The tokens at its beginning that the provider has read before.
            answered: Tokens of the answer.
        """
        fresh = sent - min(cached, sent)
        total = fresh * self.input + (sent - fresh) * self.cached + answered * self.output
        return total / _MILLION


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """The prices of models by the pattern of their names, the first match first."""

    # patterns have `*`, `?` and `[…]`; case does not matter
    by_pattern: tuple[tuple[str, Price], ...] = ()
    currency: str = "USD"  # such as `USD`
    # the prices that were asked for before, by the model's name
    _known: dict[str, Price | None] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def of(self, model: str) -> Price | None:
        """The price of a model; `None` if it is unknown."""
        name = model.casefold()
        if name not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            matches = (price for pattern, price in self.by_pattern if _matches(name, pattern))
            self._known[name] = next(matches, None)
        return self._known[name]


def _matches(name: str, pattern: str) -> bool:
    folded = pattern.casefold()
    return fnmatchcase(name, folded) if _WILDCARD.search(folded) else folded == name


NO_PRICES = Prices()


def read_cache_ttl(llm: Table) -> float | None:
    """`[llm] cache_ttl_s`: seconds, 0 for no cache; `None` if it is not set."""
    if "cache_ttl_s" not in llm:
        return None
    return llm.number("cache_ttl_s", CACHE_TTL_S, minimum=0, maximum=_LONGEST_TTL_S)


def read_prices(prices: Table) -> Prices:
    """The prices that a settings file names; wrong ones are noted and left out."""
    patterns = [name for name in prices.values if name != CURRENCY]
    many = sum(1 for pattern in patterns if _WILDCARD.search(pattern))
    if many > _MOST_WILDCARDS:
        expected = f"expected at most {_MOST_WILDCARDS:,} names with *, ? or [, found {many:,}"
        prices.faults.add(prices.path, expected)
        patterns = []
    read = [(pattern, _read_price(prices, pattern)) for pattern in patterns]
    return Prices(
        by_pattern=tuple((pattern, price) for pattern, price in read if price is not None),
        currency=prices.text(CURRENCY, NO_PRICES.currency, max_chars=_MOST_CHARS),
    )


def _read_price(prices: Table, pattern: str) -> Price | None:
    value = prices.values[pattern]
    if not isinstance(value, Mapping):
        expected = "expected a table such as { input = 1.25, cached = 0.125, output = 10 }"
        prices.fault(pattern, f"{expected}, found {found(value)}")
        return None
    table = prices.table(pattern)
    table.allow(("input", "cached", "output"))
    for name in ("input", "output"):
        if name not in table:
            table.fault(name, "missing; expected the price of a million tokens")
    fresh = table.number("input", 0, minimum=0, maximum=_HIGHEST)
    return Price(
        input=fresh,
        cached=table.number("cached", fresh, minimum=0, maximum=_HIGHEST),
        output=table.number("output", 0, minimum=0, maximum=_HIGHEST),
    )
