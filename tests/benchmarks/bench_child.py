"""What it costs to do usual work in the child process, beside doing it here.

    python -m tests.benchmarks.bench_child [--rounds 200]

Milliseconds: the median of a call that does nothing, of a small Word document, a template of a
role and a message with code, each here and in a child that is warm; then what starting a child
costs, with what it imports. The goal is at most 5 ms more. Nothing is asserted.
"""

import argparse
import operator
import statistics
import time
from functools import partial
from pathlib import Path

from smart_context.app.composition import FILE_READERS, FORMATTERS
from smart_context.base.processes.child import Child
from smart_context.base.resources import asset
from smart_context.chat.files.file_text import text_of
from smart_context.packing import RoleConfig
from smart_context.packing.templates.costly import render_in
from smart_context.packing.templates.templates import OwnTemplates, render
from smart_context.web.pages.markup.message_html import unsafe_html
from tests.hostile_files import WORD, docx

DEADLINE_S = 60
DOCUMENT = docx(
    f'<w:document xmlns:w="{WORD}">'
    + "<w:p><w:t>A usual paragraph of a usual document.</w:t></w:p>" * 200
    + "</w:document>"
)
MESSAGE = (
    "Some *words*.\n\n```python\n" + "def f(x: int) -> int:\n    return x + 1\n\n" * 30 + "```\n"
)
ROLE = RoleConfig("r", system_prompt="Be brief.")
VALUES = {
    "role": ROLE,
    "system_prompt": ROLE.system_prompt,
    "task_description": "Do it.",
    "context": "A line of context.\n" * 1000,
    "target_files": ("a.py",),
}


def median_ms(work, rounds):
    work()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def started_ms(modules):
    began = time.perf_counter()
    with Child(modules) as child:
        child.run(operator.neg, 1, deadline_s=DEADLINE_S)
        return (time.perf_counter() - began) * 1000


def own_templates():
    folder = Path(asset("templates")) / "prompts"
    return OwnTemplates(sources={path.name: path.read_text() for path in folder.glob("*.j2")})


def compared(child):
    """What is done, here and in the child."""
    own = own_templates()
    run = partial(child.run, deadline_s=DEADLINE_S)
    return {
        "nothing": (partial(operator.neg, 1), partial(run, operator.neg, 1)),
        "Word document": (
            partial(text_of, "a.docx", DOCUMENT),
            partial(run, text_of, "a.docx", DOCUMENT),
        ),
        "template": (
            partial(render, own, "implement.j2", VALUES),
            partial(render_in, child, own, "implement.j2", VALUES),
        ),
        "message with code": (
            partial(unsafe_html, MESSAGE, is_coloured=True),
            partial(run, unsafe_html, MESSAGE, True),
        ),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    print(f"{'ms':20}{'here':>8}{'child':>8}{'more':>8}")
    with Child((*FILE_READERS, *FORMATTERS)) as child:
        for name, (here, there) in compared(child).items():
            alone, away = median_ms(here, rounds), median_ms(there, rounds)
            print(f"{name:20}{alone:8.2f}{away:8.2f}{away - alone:8.2f}")
    for name, modules in {"no": (), "file": FILE_READERS, "text": FORMATTERS}.items():
        start = statistics.median(started_ms(modules) for _ in range(7))
        print(f"a start with {name} modules: {start:.0f} ms")


if __name__ == "__main__":
    main()
