"""Names topics and themes: distinct labels, which stay as long as they fit."""

from collections import Counter
from collections.abc import Mapping, Sequence

from smart_context.chat.messages import ChatId
from smart_context.topics.atlas.values import ChatTopic
from smart_context.topics.naming.labels import label_key

LONGEST = 80
_NAMELESS = "Unnamed"


def distinct_labels(
    groups: Sequence[Sequence[ChatTopic]], before: Sequence[str], titles: Mapping[ChatId, str]
) -> list[str]:
    """A label for each group of chat topics: the one that most of their messages have.

    Where two groups would have the same, the smaller one takes its next one, or both of its two
    commonest, or names its largest chat, too, or takes a number.

    Args:
        before: The label that each had, empty for none. It stays while a member has it.
    """
    sizes = [sum(len(each.places) for each in group) for group in groups]
    chosen = [""] * len(groups)
    taken = _Taken()
    order = sorted(range(len(groups)), key=lambda n: (not before[n], -sizes[n], n))
    for place in order:
        chosen[place] = taken.free(_candidates(groups[place], before[place], titles))
        taken.add(chosen[place])
    return chosen


def _candidates(group: Sequence[ChatTopic], before: str, titles: Mapping[ChatId, str]) -> list[str]:
    spelled: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for each in group:
        label = shortened(each.label)
        if key := label_key(label):
            spelled.setdefault(key, label)
            counts[key] += len(each.places)
    common = [spelled[key] for key, _ in sorted(counts.items(), key=lambda e: (-e[1], e[0]))]
    kept = [before] if before and any(before.startswith(label) for label in common) else []
    pairs = [f"{common[0]}, {other}" for other in common[1:4]]
    title = titles.get(max(group, key=lambda each: (len(each.places), each.key)).key[0], "")
    says_more = common and title.strip() and label_key(title) not in counts
    placed = [shortened(f"{common[0]} ({title})")] if says_more else []
    return [*kept, *common[:8], *pairs, *placed] or [_NAMELESS]


class _Taken:
    """The labels that are taken."""

    def __init__(self) -> None:
        self._keys: set[str] = set()
        self._numbers: dict[str, int] = {}

    def add(self, label: str) -> None:
        """Take a label."""
        self._keys.add(label_key(label))

    def free(self, candidates: Sequence[str]) -> str:
        """The first that is free, or the first of all with the lowest number that is."""
        for label in candidates:
            if label_key(label) not in self._keys:
                return label
        first = candidates[0]
        number = self._numbers.get(first, 2)  # the lower ones are taken
        while label_key(label := f"{first} {number}") in self._keys:
            number += 1
        self._numbers[first] = number
        return label


def shortened(label: str) -> str:
    """A label on one line, cut to 80 characters."""
    plain = " ".join("".join(c if c.isprintable() else " " for c in label[: 4 * LONGEST]).split())
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1].rstrip()}…"


def theme_labels(groups: Sequence[Sequence[tuple[str, int]]]) -> list[str]:
    """A distinct label for each theme, from its topics' labels and sizes, the largest first."""
    taken = _Taken()
    chosen: list[str] = []
    for group in groups:
        labels = [label for label, _ in sorted(group, key=lambda entry: -entry[1])]
        pair = [", ".join(labels[:2])] if len(labels) > 1 else []
        chosen.append(shortened(taken.free([*pair, *labels])))
        taken.add(chosen[-1])
    return chosen
