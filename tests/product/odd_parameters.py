"""Parameters that nobody would write: of the right kind but odd, of a wrong kind, missing, huge."""

NESTED = []
for _ in range(60):
    NESTED = [NESTED]

TEXTS = (
    *("", "\0", " \n", "x" * 70_000, "\ud800", "\u202eü\u0301", "🎉" * 300, "{{ 1/0 }}", "%s{0}"),
    *("../../etc/passwd", "/etc/passwd", "a/b", "con", "*", "[", "(", "<script>", "NaN", "-1"),
    *("full", "odd", "m1", "Bread", "note.md", "notes/a.md", "note.md\0", "default"),
)
NUMBERS = (
    *(0, -1, 1, 7, 10**6, 2**31, 2**63, 2**64, -(2**63), 10**400),
    *(0.5, -0.0, 1e308, float("nan"), float("inf")),
)
DOCUMENTS = (
    {},
    {"a": None},
    {"messages": "x"},
    {"messages": [None, 1, {"role": "x"}, {"role": "user", "content": {"a": 1}}]},
    {"messages": [{"id": [1], "role": "user", "content": 3, "attachments": "x"}]},
)
OTHERS = (None, True, False, [], [None], NESTED, *DOCUMENTS)
_PLAIN = {
    "string": TEXTS,
    "integer": [number for number in NUMBERS if isinstance(number, int)],
    "number": NUMBERS,
    "boolean": (True, False),
    "null": (None,),
}
CHATS = ("full", "full", "odd", "new", "fresh")


def odd_parameters(random, schema):
    """Some parameters for a command.

    Args:
        random: What chooses.
        schema: The JSON Schema that `system.commands` gives of its parameters.
    """
    made = {}
    for name, wanted in schema.get("properties", {}).items():
        if random.random() < (0.97 if name in schema.get("required", ()) else 0.6):
            made[name] = _value(random, wanted, schema)
    if "chat_id" in made and random.random() < 0.8:
        made["chat_id"] = random.choice(CHATS)
    return made


def _value(random, wanted, schema, depth=0):
    if random.random() < 0.06:
        return _any(random)
    if "$ref" in wanted:
        wanted = schema["$defs"][wanted["$ref"].rpartition("/")[2]]
    if kinds := wanted.get("anyOf") or wanted.get("oneOf"):
        return _value(random, random.choice(kinds), schema, depth)
    if kind := _PLAIN.get(wanted.get("type")):
        return random.choice(wanted.get("enum") or kind)
    if wanted.get("type") == "array":
        count = random.choice((0, 1, 3, 300) if depth < 2 else (0, 1))
        some = [_value(random, wanted.get("items", {}), schema, depth + 1) for _ in range(3)]
        return (some * count)[:count]
    inner = wanted.get("properties", {}).items()
    made = {name: _value(random, each, schema, depth + 1) for name, each in inner}
    return made or _any(random)


def _any(random):
    return random.choice(random.choice((TEXTS, NUMBERS, OTHERS)))
