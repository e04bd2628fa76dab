"""Makes the same vault each time: notes with links, headings, blocks, code and properties."""

import random
from pathlib import Path

_WORDS = """
    the garden grows slowly after rain and every note about soil seeds light water time keeps what
    we learned last year model context topic filter budget prompt receipt vault chapter meeting
    decision reason cost measure plan draft review question answer list
"""


def make_vault(root: Path, notes: int, *, seed: int = 1) -> list[str]:
    """Write a vault and give its notes' paths, sorted.

    About 1.6 kB and 5 links a note; 100 notes a folder; one note in ten has properties, one in
    five a code block; a few hubs get many links, a few links lead nowhere.
    """
    chance = random.Random(seed)
    names = [f"Note {number}" for number in range(notes)]
    paths: list[str] = []
    for number, name in enumerate(names):
        folder = root / f"area {number // 1000}" / f"folder {number // 100}"
        if number % 100 == 0:
            folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}.md"
        path.write_text(_note(chance, number, names), encoding="utf-8")
        paths.append(path.relative_to(root).as_posix())
    return sorted(paths)


def _note(chance: random.Random, number: int, names: list[str]) -> str:
    parts: list[str] = []
    if number % 10 == 0:
        parts.append(f'---\ntags: [area/{number % 7}, draft]\nup: "[[{names[0]}]]"\n---\n')
    parts.append(f"# {names[number]}\n\n")
    for section in range(chance.randint(2, 4)):
        parts.append(f"## {_sentence(chance, 3)} {section}\n\n")
        parts += (_paragraph(chance, names) for _ in range(2))
        if number % 5 == 0 and section == 1:
            parts.append("```python\nlink = '[[not a link]]'  # nor a heading\n```\n\n")
    parts.append(f"{_sentence(chance, 6)} #tag{number % 20} ^end{number}\n")
    return "".join(parts)


def _paragraph(chance: random.Random, names: list[str]) -> str:
    target = chance.randrange(len(names)) if chance.random() > 0.1 else chance.randrange(5)
    name = names[target] if chance.random() > 0.02 else "Nowhere"
    return f"{_sentence(chance, 20)} [[{name}|{_sentence(chance, 2)}]] {_sentence(chance, 20)}\n\n"


def _sentence(chance: random.Random, words: int) -> str:
    return " ".join(chance.choices(_WORDS.split(), k=words))
