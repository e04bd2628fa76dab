"""Files as no program writes them: bytes flipped, cut or repeated, values of other types."""

import copy
import json

ODD = (
    *(None, 0, -1, 1e308, 10**30, True, "", "x", "\ud800", "\u2028", "2024", [], {}, [[]], [None]),
    *({"a": []}, {"text": 1}),
)


def mutations(content, dice):
    """Endless variants of a file."""
    values = _values(content)
    while True:
        how = dice.randrange(5 if values is not None else 3)
        if how == 0:
            changed = bytearray(content)
            for _ in range(dice.randint(1, 12)):
                changed[dice.randrange(len(changed))] = dice.randrange(256)
            yield bytes(changed)
        elif how == 1:
            yield content[: dice.randrange(len(content))]
        elif how == 2:
            first, last = sorted(dice.randrange(len(content)) for _ in range(2))
            yield content[:last] + content[first:]
        else:
            rows = _reshaped(values, dice)
            as_lines = isinstance(rows, list) and content[:1] != b"["
            texts = map(json.dumps, rows) if as_lines else [json.dumps(rows)]
            yield "\n".join(texts).encode()


def _values(content):
    """The JSON of a file, or of its lines; `None` if it has none."""
    try:
        return json.loads(content)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in content.split(b"\n") if line.strip()]
    except ValueError:
        return None


def _places(value, place=()):
    yield place
    inner = value.items() if isinstance(value, dict) else ()
    for key, part in enumerate(value) if isinstance(value, list) else inner:
        yield from _places(part, (*place, key))


def _reshaped(value, dice):
    """The value with up to four places removed, repeated, nested or of another type."""
    value = copy.deepcopy(value)
    for _ in range(dice.randint(1, 4)):
        places = [place for place in _places(value) if place]
        if not places:
            return value
        *way, last = dice.choice(places)
        holder = value
        for key in way:
            holder = holder[key]
        how = dice.randrange(5)
        if how == 0:
            del holder[last]
        elif how == 1:
            holder[last] = [holder[last]]
        elif how == 2:
            holder[last] = {"x": holder[last]}
        elif how == 3 and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[last]))
        else:
            holder[last] = copy.deepcopy(dice.choice(ODD))
    return value
