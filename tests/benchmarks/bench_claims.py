"""How many planted faults of summaries are found, and how many honest claims are marked.

`python -m tests.benchmarks.bench_claims FOLDER [--half fit] [--show]`, where FOLDER has the public
dialogues that docs/history.md names. Honest summaries are sentences of the dialogue, reworded
(numbers in words or with separators, dates in other forms, in indirect speech), a quotation, two
paths, and what people wrote of it: iKAT's resolved questions, LoCoMo's answers. A fault is one
number, date, name, path or quotation in place of another, that the dialogue doesn't have. The
baseline marks each word with a capital, or number, that is not literally there.
"""

import argparse
import json
import random
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from smart_context.chat.messages import Message, MessageId
from smart_context.topics.summaries.claims import unsupported

SETS = {
    "dialseg_dev": "en",
    "mtb_dev": "en",
    "locomo_dev": "en",
    "ikat2023_dev": "en",
    "risawoz_en_dev": "en",
    "risawoz_fr_dev": "fr",
    "risawoz_zh_dev": "zh",
    "crosswoz_dev": "zh",
    "ja_code_dev": "ja",
    "risawoz_ko_dev": "ko",
    "risawoz_hi_dev": "hi",
}
SAID = {
    "en": "The user said “{}”.",
    "fr": "Il a dit «{}».",
    "zh": "用户说“{}”。",
    "ja": "「{}」と言いました。",
    "ko": "사용자는 “{}” 라고 했습니다.",
    "hi": "उसने कहा “{}”।",
}
TOLD = {
    "en": "The user asked about this: {}",
    "fr": "Voici ce qui est dit : {}",
    "zh": "用户提到：{}",
    "ja": "次の通りです。{}",
    "ko": "내용: {}",
    "hi": "बात यह है: {}",
}
SMALL = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？।])\s*|\n+")
MARKS = "\"'“”«»`≤<>="
NUMBER = re.compile(r"(?<![\w.,:/-])\d{1,4}(?![\w:/-]|[.,]\d)")
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "hi": "जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर",
}
MONTH = "|".join(" ".join(MONTHS.values()).split())
EASTERN_DATE = re.compile(r"(?:\d{4}[年년] ?)?\d{1,2}[月월] ?\d{1,2}[日일]")
DATE = re.compile(
    rf"{EASTERN_DATE.pattern}|\d{{1,2}} (?:{MONTH})(?:,? \d{{4}})?|"
    rf"(?:{MONTH}) \d{{1,2}}(?:, \d{{4}})?"
)
NAME = {
    "en": re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]+)*"),
    "fr": re.compile(r"(?<=[a-z,] )[A-Z][a-zéèêëàâîïôûç]{2,}(?: [A-Z][a-zéèêàâîïôû]+)*"),
    "zh": re.compile(
        r"(?<=导演是)[\u4e00-\u9fff·]{2,6}(?=[。，])|"
        r"(?<=推荐)(?![一您都的在])[\u4e00-\u9fff]{2,7}[店园寺馆院宫山湖场楼巷桥](?=[。，和])"
    ),
    "ja": re.compile(r"[ァ-ヶー]{4,}|[A-Z][A-Za-z]{3,}"),
    "ko": re.compile(r"[가-힣]{1,4} [가-힣]{2,5}(?=(?:가|이) 감독)"),
    "hi": re.compile(r"(?<=निर्देशन )[\u0900-\u097f]+ [\u0900-\u097f]+(?= ने)"),
}
PATHS = "Look at src/app/main.py and docs/notes.md, then run /usr/bin/make."


@dataclass(frozen=True, kw_only=True)
class Dialogue:
    """A dialogue, what people wrote of it, its day, and its place in its file."""

    name: str
    language: str
    texts: list[str]
    number: int
    written: tuple[str, ...] = ()
    day: str = ""

    @property
    def source(self):
        return "\n".join(self.texts)

    @property
    def messages(self):
        return [
            Message(id=MessageId(str(n)), role="user", content=text, created_at=self.day)
            for n, text in enumerate((*self.texts, PATHS))
        ]

    @property
    def sentences(self):
        return [s for text in self.texts for s in END.split(text) if 8 < len(s) < 300]


def dialogues(folder):
    for name, language in SETS.items():
        for n, found in enumerate(json.loads((folder / f"{name}.json").read_text())):
            if name == "locomo_dev":
                yield from sessions(found, n)
            elif name == "ikat2023_dev":
                turns = found["turns"]
                said = [t[key] for t in turns for key in ("utterance", "response") if t.get(key)]
                written = tuple(t["resolved_utterance"] for t in turns)
                yield Dialogue(name=name, language="en", texts=said, number=n, written=written)
            else:
                texts = found["utterances"]
                yield Dialogue(name=name, language=language, texts=texts, number=n)


def sessions(found, n):
    talk = found["conversation"]
    for key in filter(re.compile(r"session_\d+").fullmatch, talk):
        ids = {turn["dia_id"] for turn in talk[key]}
        written = tuple(
            f"{qa['question']} {qa['answer']}"
            for qa in found["qa"]
            if qa["category"] in {1, 4} and qa.get("answer") and ids.issuperset(qa["evidence"])
        )
        when = talk[f"{key}_date_time"].partition(" on ")[2]
        yield Dialogue(
            name="locomo_dev",
            language="en",
            texts=[f"{turn['speaker']}: {turn['text']}" for turn in talk[key]],
            number=n + int(key[8:]),
            written=written,
            day=datetime.strptime(when, "%d %B, %Y").replace(tzinfo=UTC).isoformat(),
        )


def reworded(text, language):
    """The same, with numbers and dates in another form; quotations stay."""
    if any(mark in text for mark in MARKS):
        return text

    def date(found):
        parts = re.findall(r"\d+", found[0])
        return f"{parts[0]}-{int(parts[1]):02}-{int(parts[2]):02}" if len(parts) == 3 else found[0]

    def number(found):
        value = int(found[0])
        if language == "en" and 2 <= value <= 12:
            return SMALL[value - 2]
        return f"{value:,}" if value > 2100 and language == "en" else found[0]

    return NUMBER.sub(number, EASTERN_DATE.sub(date, text))


def honest(dialogue, quoted, rng):
    """An honest summary."""
    language = dialogue.language
    lines = []
    for sentence in rng.sample(dialogue.sentences, min(5, len(dialogue.sentences))):
        line = reworded(sentence, language)
        lines.append(TOLD[language].format(line) if rng.random() < 0.4 else line)
    lines += [SAID[language].format(quoted), "See `docs/notes.md` and src/app/main.py."]
    lines += rng.sample(dialogue.written, min(6, len(dialogue.written)))
    return "\n".join(f"- {line}" for line in lines)


def faults(dialogue, quoted, names, rng):
    """Of each kind that the dialogue has, a sentence with a fault, and the fault."""
    source, language = dialogue.source, dialogue.language
    strange = [n for n in names if not any(w.casefold() in source.casefold() for w in n.split())]
    makers = (
        ("number", NUMBER, lambda old: other_number(old, source, rng)),
        ("date", DATE, lambda old: other_date(old, source, rng)),
        ("name", NAME[language], lambda _: rng.choice(strange) if strange else ""),
    )
    for kind, pattern, other in makers:
        for sentence in dialogue.sentences:
            found = pattern.search(sentence)
            if found and (new := other(found[0])):
                yield kind, sentence[: found.start()] + new + sentence[found.end() :], new
                break
    yield "path", "See src/app/mian.py.", "src/app/mian.py"
    words = quoted.split()
    if len(words) > 3 and strange:
        words[len(words) // 2] = new = strange[0].split()[0].casefold()
        yield "quotation", SAID[language].format(" ".join(words)), new
    elif language in {"zh", "ja"} and len(quoted) > 6:
        yield "quotation", SAID[language].format(f"{quoted[:3]}鱼缸{quoted[3:]}"), "鱼缸"


def other_number(old, source, rng):
    known = set(re.findall(r"\d+", source))
    made = (str(rng.randrange(10 ** (len(old) - 1), 10 ** len(old))) for _ in range(99))
    new = next((each for each in made if each not in known and int(each) > 1), "")
    if new and 2 <= int(new) <= 12:
        word = SMALL[int(new) - 2]
        return "" if re.search(word, source, re.IGNORECASE) else rng.choice([new, word])
    return new


def other_date(old, source, rng):
    numbers = re.findall(r"\d+", old)
    day = numbers[-1] if re.search("[月월]", old) else numbers[0]
    place = old.rindex(day) if re.search("[月월]", old) else old.index(day)
    new = str((int(day) + rng.randrange(2, 9)) % 27 + 1)
    whole = old[:place] + new + old[place + len(day) :]
    return "" if whole in source else whole


def baseline(summary, source):
    tokens = set(re.findall(r"[^\W\d_a-z]\w+|\d[\d.,]*\d|\d", summary))
    return [token for token in tokens if token not in source], len(tokens)


def is_in(fault, marked):
    found = (each.strip("'’s“”\"«»").casefold() for each in marked)
    return any(each in fault.casefold() or fault.casefold() in each for each in found if each)


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("folder", type=Path)
    asked.add_argument("--half", choices=["fit", "held"], default="held")
    asked.add_argument("--show", action="store_true")
    given = asked.parse_args()
    every = list(dialogues(given.folder))
    names = defaultdict(list)
    for each in every:
        found = (m[0] for text in each.texts for m in NAME[each.language].finditer(text))
        names[each.language] += found
    claims, planted = defaultdict(Counter), defaultdict(Counter)
    for dialogue in every:
        if (dialogue.number % 2 == 0) == (given.half == "fit") and dialogue.sentences:
            measure(dialogue, names[dialogue.language], claims, planted, shows=given.show)
    print(f"half: {given.half}; each: ours, baseline")
    table("honest claims marked", claims)
    table("planted faults found", planted)


def measure(dialogue, names, claims, planted, *, shows):
    rng = random.Random(f"{dialogue.name}{dialogue.number}")
    quoted = rng.choice(dialogue.sentences).strip(" .?!。？！'\"")
    summary = honest(dialogue, quoted, rng)
    marked, literal = unsupported(summary, dialogue.messages), f"{dialogue.source}\n{PATHS}"
    missing, tokens = baseline(summary, literal)
    row = claims[f"{dialogue.name} ({dialogue.language})"]
    row += Counter(all=len(unsupported(summary, [])), ours=len(marked))
    row += Counter(all_baseline=tokens, baseline=len(missing))
    if shows and marked:
        print("MARKED", dialogue.name, marked)
    for kind, text, fault in faults(dialogue, quoted, names, rng):
        whole = f"{summary}\n- {text}"
        ours = is_in(fault, unsupported(whole, dialogue.messages))
        theirs = is_in(fault, baseline(whole, literal)[0])
        row = planted[f"{kind} ({dialogue.language})"]
        row += Counter(all=1, ours=ours, all_baseline=1, baseline=theirs)
        if shows and not ours:
            print("MISSED", kind, fault, "|", text)


def table(title, rows):
    print(title)
    total = sum(rows.values(), Counter())
    for name, row in [*sorted(rows.items()), ("all", total)]:
        ours, theirs = row["ours"] / row["all"], row["baseline"] / row["all_baseline"]
        print(f"  {name:22} {row['ours']:5}/{row['all']:<5} {ours:7.1%} {theirs:7.1%}")


if __name__ == "__main__":
    main()
