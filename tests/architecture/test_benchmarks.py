"""Benchmarks run seldom, so what they import could be gone without anybody's notice."""

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
PROGRAMS = sorted(
    path.stem for path in FOLDER.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_benchmark_still_imports_and_says_what_it_takes(program, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [program, "--help"])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(FOLDER / f"{program}.py"), run_name="__main__")
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {program}")
