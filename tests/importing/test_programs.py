import re
from pathlib import Path

import pytest

from smart_context.cli.chats.chats import import_
from smart_context.importing.programs import FORMATS, PROGRAMS, WHERE

DOCUMENTED = (Path(__file__).parents[2] / "docs" / "chats.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("told", [DOCUMENTED, import_.help], ids=["documentation", "help"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_every_program_is_named_where_people_look(program, told):
    assert program.title in " ".join(told.split())


def test_every_program_has_a_name_of_its_own():
    assert len({*FORMATS}) == len(FORMATS)
    assert all(re.fullmatch(r"[a-z-]+", name) for name in FORMATS)


def test_of_every_program_it_is_told_which_file_has_its_chats():
    assert {*WHERE} == {program.title for program in PROGRAMS}
