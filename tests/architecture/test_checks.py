"""The checks of the trade, as tests, so that one command runs everything."""

import ast
import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = Path(sys.executable).parent
VAGUE_NAMES = {"utils", "helpers", "manager", "base", "common", "misc"}


def run(*command):
    done = subprocess.run(
        [str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["ruff", "check", "."], id="ruff finds nothing"),
        pytest.param(["ruff", "format", "--check", "."], id="the formatter would change nothing"),
        pytest.param(["mypy"], id="mypy strict finds nothing"),
        pytest.param(["lint-imports"], id="imports point down"),
        pytest.param(["codespell", "smart_context", "README.md"], id="words are spelled right"),
        pytest.param(["vulture"], id="nothing is there that nobody uses"),
    ],
)
def test_the_linters_are_content(command):
    code, output = run(SCRIPTS / command[0], *command[1:])
    assert code == 0, output


@pytest.mark.parametrize(
    "line",
    [
        "click.echo(name)",
        "click.secho(name)",
        "click.confirm(name)",
        "sys.stdout.write(name)",
        "sys.stdout.buffer.write(name)",
        "sys.stderr.write(name)",
        "print(name)",
    ],
)
def test_nothing_is_printed_but_by_the_output_module(line):
    code = f"import sys\nimport click\nname = sys.argv[0]\n{line}\n"
    rules = ["--select", "TID251,T201", "--stdin-filename", "smart_context/cli/other.py", "-"]
    done = subprocess.run(
        [SCRIPTS / "ruff", "check", *rules],
        input=code,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "TID251" in done.stdout or "T201" in done.stdout


def test_the_scripts_of_the_page_pass_their_own_tests():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    files = sorted((ROOT / "tests" / "js").glob("*.test.mjs"))
    assert files
    code, output = run(node, "--test", *files)
    assert code == 0, output


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["tsc", "-p", "tests/js"], id="the types of the scripts agree"),
        pytest.param(
            ["eslint", "--config", "tests/js/eslint.config.js", "static"], id="eslint finds nothing"
        ),
    ],
)
def test_the_scripts_of_the_page_are_checked(command):
    program = ROOT / "tests" / "js" / "node_modules" / ".bin" / command[0]
    if not program.exists():
        pytest.skip("not installed; to install it: npm ci --prefix tests/js")
    code, output = run(program, *command[1:])
    assert code == 0, output


def test_no_module_has_a_name_that_says_nothing():
    stems = {path.stem for path in (ROOT / "smart_context").rglob("*.py")}
    assert not stems & VAGUE_NAMES


def test_no_script_of_the_page_writes_html_by_string():
    for path in (ROOT / "static").rglob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert "innerHTML" not in text, path
        assert "eval(" not in text, path


def test_pages_load_nothing_from_elsewhere():
    scripts = [path for path in (ROOT / "static").rglob("*.*") if path.parent.name != "fonts"]
    for path in [*scripts, *(ROOT / "templates").rglob("*.html")]:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/", "")
        # What a user may write into the settings, such as a server on this machine, loads nothing.
        text = re.sub(r'placeholder="http://127\.0\.0\.1:\d+/v1"', "", text)
        assert "http://" not in text, path
        assert "https://" not in text, path


def test_all_that_the_wheel_needs_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert set(included) == {"plugin.toml", "static", "templates"}
    assert all((ROOT / name).exists() for name in included)


@pytest.mark.parametrize(
    "line",
    ["import subprocess", "from subprocess import run", "import pty", "import multiprocessing"],
)
def test_programs_are_started_in_one_place(line):
    command = [SCRIPTS / "ruff", "check", "--select", "TID251", "--stdin-filename"]
    done = subprocess.run(
        [*command, "smart_context/cli/made_up.py", "-"],
        input=f"{line}\n",
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Run " in done.stdout
    assert "processes/" in done.stdout


def imported_packages():
    for path in (ROOT / "smart_context").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module.partition(".")[0]


def test_every_library_that_is_imported_is_declared_and_the_other_way_round():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[>=<\[]", line)[0] for line in project["dependencies"]}
    known = packages_distributions()
    ours = sys.stdlib_module_names | {"smart_context"}
    used = {
        known[name][0].lower().replace("_", "-").replace("ruamel-yaml", "ruamel.yaml")
        for name in set(imported_packages()) - ours
        if name in known
    }
    extras = project["optional-dependencies"]
    optional = {re.split(r"[>=<\[]", line)[0] for name in ("mcp", "team") for line in extras[name]}
    read_by_zoneinfo = {"tzdata"}  # where the system has no time zones
    assert used | read_by_zoneinfo == declared | optional


PRIVATE = {
    "uvicorn": (
        "uvicorn.protocols.http.h11_impl:H11Protocol",
        "uvicorn.protocols.http.h11_impl:RequestResponseCycle",
        "uvicorn.protocols.websockets.websockets_sansio_impl:WebSocketsSansIOProtocol",
    ),
    "psycopg": ("psycopg.errors:_WaitTimeout",),
}
"""What is used of a library although it promises nothing of it, by the distribution."""


def test_a_library_whose_private_names_are_used_has_an_upper_bound_and_these_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    required = [line for lines in (project["dependencies"], *extras) for line in lines]
    for library, names in PRIVATE.items():
        lines = [line for line in required if re.split(r"[>=<\[]", line)[0] == library]
        assert lines
        assert all(",<" in line for line in lines)
        for module, name in (each.split(":") for each in names):
            assert hasattr(importlib.import_module(module), name), f"{module}.{name} is gone"


def test_the_private_names_of_libraries_are_known():
    found = set()
    for path in (ROOT / "smart_context").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("_impl"):
                found |= {f"{node.module}:{alias.name}" for alias in node.names}
    assert found == set(PRIVATE["uvicorn"])
    database = (ROOT / "smart_context/storage/postgres/database.py").read_text(encoding="utf-8")
    assert set(re.findall(r"\berrors\.(_\w+)", database)) == {"_WaitTimeout"}


def test_what_builds_the_package_has_a_bound_on_both_sides():
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
    assert all(re.fullmatch(r"[\w-]+>=[\d.]+,<[\d.]+", line) for line in built["requires"])


def test_the_licences_of_all_that_goes_with_the_wheel_are_named():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [path for glob in project["license-files"] for path in ROOT.glob(glob)]
    fonts = {path.name for path in named if path.parent.name == "fonts"}
    assert {path.name for path in (ROOT / "static/fonts").glob("*OFL*")} == fonts != set()
    assert "OFL-1.1" in project["license"].split(" AND ")
