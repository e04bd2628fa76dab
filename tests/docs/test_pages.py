"""What the README and the pages of docs/ say is so."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from smart_context.base.config import read_config, read_user_config
from smart_context.cli.root import VERBS
from smart_context.cli.server.serve import DEMO_VAULT
from smart_context.contexts import ContextOptions
from smart_context.host.events import events
from smart_context.host.plugins.loader import declared_settings
from tests.docs.pages import FILES, PAGES, ROOT, block, command_rows, rows, with_commands
from tests.preloaded import run_to_end
from tests.serving import serving

CODE = ROOT / "smart_context"
LAYERS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "importlinter"
]["contracts"][0]["layers"]
MANIFEST = tomllib.loads((ROOT / "plugin.toml").read_text(encoding="utf-8"))


def test_the_config_example_is_right(tmp_path):
    (tmp_path / ".vault.toml").write_text(block("the config example"), encoding="utf-8")
    config = read_config(tmp_path, plugin_settings=declared_settings(tmp_path))
    assert config.named["chat"].model == "llama3.1"
    assert config.named["embedding"].model == "nomic-embed-text"


def test_the_connections_example_is_right(tmp_path):
    text = block("the connections example")
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    config = read_user_config(tmp_path)
    assert [*config.connections] == ["openai", "ollama"]
    assert config.endpoints["fast"].base_url == config.connections["ollama"].endpoint.base_url


def test_the_users_config_example_is_right(tmp_path):
    (tmp_path / "roles").mkdir()
    text = block("the user config example").replace("~/roles", str(tmp_path / "roles"))
    (tmp_path / "config.toml").write_text(text, encoding="utf-8")
    config = read_user_config(tmp_path)
    assert config.endpoints["chat"].model == "llama3.1"
    assert config.roles == tmp_path / "roles"


def test_the_table_of_settings_is_that_of_the_manifest():
    told = {
        name.strip("`"): (default, text)
        for name, default, text in rows("setting of `[plugins.smart_context]`")
    }
    declared = {
        name: (f"`{_as_toml(setting['default'])}`", setting["description"])
        for name, setting in MANIFEST["settings"].items()
        if not setting.get("retired")
    }
    assert told == declared


def test_the_table_of_events_is_that_of_the_host():
    source = Path(events.__file__).read_text(encoding="utf-8")
    declared = dict(re.findall(r'= Event\("(pipeline\.\w+)"\)\n"""(.*?)"""', source, re.DOTALL))
    assert {name.strip("`"): text for name, text in rows("event")} == declared


def test_each_verb_that_is_shown_exists():
    shown = set(re.findall(r"smart-context (\w+)", PAGES)) - {"demo_vault"}
    assert shown <= set(VERBS)


@pytest.mark.parametrize("page", FILES, ids=lambda page: page.name)
def test_pictures_and_pages_that_are_linked_exist(page):
    for path in re.findall(r"\]\(([^)\s:#%]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / path).is_file(), path


@pytest.mark.parametrize("page", ["architecture.md", "extending.md"])
def test_files_that_the_pages_about_the_code_name_exist(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:[a-z_]+/)+[\w.-]*)`", text)
    assert len(named) > 20
    for path in named:
        places = (ROOT / "smart_context", ROOT / "tests", ROOT)
        assert any((place / path).exists() for place in places), path


def test_modules_that_are_mutated_exist():
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]
    *table, _all = [cells[0].strip("`") for cells in rows("module | mutants | killed")]
    paths = [*tool["only_mutate"], *(f"smart_context/{module}.py" for module in table)]
    assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_each_recipe_fits_a_screen_and_names_what_exists():
    _, *recipes = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8").split("\n## …")
    assert max(recipe.count("\n") for recipe in recipes) <= 40
    left = {name for recipe in recipes for name in re.findall(r"`#?([A-Za-z_]\w+)`", recipe)}
    assert len(left) > 40
    folders = (CODE, "*.py"), (ROOT / "static", "*.js"), (ROOT / "tests", "*.py")
    for path in (path for folder, files in folders for path in folder.rglob(files)):
        left -= {*re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    assert left == set()


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md"])
def test_the_layers_that_are_drawn_are_those_that_are_checked(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    drawn = re.search(r"^    __main__, (?:.+\n)+", text, re.MULTILINE).group().splitlines()
    names = [re.split(r" {2,}", line.strip())[0].replace(", ", "\n").split("\n") for line in drawn]
    assert [name for line in names for name in line] == LAYERS


def test_the_rooms_that_are_told_are_those_that_are_there():
    told = {package.strip("`"): cell for package, cell in rows("package | rooms")}
    for package, cell in told.items():
        there = {init.parent.name for init in (CODE / package).glob("*/__init__.py")}
        named = {*re.findall(r"`(\w+)`", cell)}
        assert there <= named, package
        assert named <= {path.stem for path in (CODE / package).rglob("*")}, package
    assert {package for package in LAYERS if [*(CODE / package).glob("*/__init__.py")]} <= {*told}


def test_the_readme_is_what_a_newcomer_needs():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 220


def test_the_lists_of_commands_are_those_of_the_program():
    """To write them again: python -m tests.docs.pages."""
    listed = command_rows()
    assert rows("command") == listed
    paths = ROOT / "docs" / "wire.md", ROOT / "plugin.toml"
    before = tuple(path.read_text(encoding="utf-8") for path in paths)
    assert with_commands(*before, listed) == before
    assert with_commands(*before, listed[:-1]) != before


def test_ci_runs_the_readmes_test_command():
    assert block("the test command").strip() == "pip install -e '.[test]' && pytest"
    assert "README.md" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_contexts_example_works(tmp_path):
    shutil.copytree(DEMO_VAULT, tmp_path / "demo")
    done = subprocess.run(
        [sys.executable, "-c", block("the contexts example")],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "0 ['Kitchen/Sourdough log.md', 'Start here.md']"
    assert lines[-1].endswith(" characters")


def test_the_table_of_context_options_is_that_of_the_code():
    declared = re.findall(r"^        (\w+): (.*)$", ContextOptions.__doc__, re.MULTILINE)
    defaults = ContextOptions()
    told = {name.strip("`"): (default.strip("`"), text) for name, default, text in rows("option")}
    assert {name: text for name, (_, text) in told.items()} == {
        name: text.removesuffix("; see `embeds`.") + "." * ("; see" in text)
        for name, text in declared
    }
    for name, (default, _) in told.items():
        value = getattr(defaults, name)
        assert json.loads(default) == json.loads(json.dumps(value, default=dict)), name


def test_the_plugin_example_works(tmp_path):
    folder = tmp_path / "plugins" / "word_count"
    folder.mkdir(parents=True)
    (folder / "main.py").write_text(block("the plugin example"), encoding="utf-8")
    (folder / "plugin.toml").write_text(
        'id = "word_count"\nname = "Word count"\nversion = "0.1.0"\nentry = "main:Plugin"\n'
        'subscribes = ["pipeline.context"]\ncommands = ["word_count.count"]\n'
        '[panel]\ntitle = "Word count"\nicon = "hash"\nposition = "right"\n'
    )
    (tmp_path / ".vault.toml").write_text("[plugins.word_count]\nenabled = true\n")
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    code, _, err = run_to_end(["trust", tmp_path, "--yes"], env={**os.environ, **env})
    assert code == 0, err
    with serving(tmp_path, env=env) as server:
        assert server.ask("word_count.count", text="one two three") == {"words": 3}
        assert server.ask("system.plugins")["plugins"][1]["state"] == "running"
        status, page = server.request("GET", "/panels/word_count")
    assert status == 200
    assert "Word count" in page


def test_the_example_of_what_a_plugin_keeps_works(tmp_path):
    folder = tmp_path / "plugins" / "word_count"
    folder.mkdir(parents=True)
    (folder / "main.py").write_text(block("the documents example"), encoding="utf-8")
    (folder / "plugin.toml").write_text(
        'id = "word_count"\nname = "Word count"\nversion = "0.1.0"\nentry = "main:Plugin"\n'
        'commands = ["word_count.add"]\n'
    )
    (tmp_path / ".vault.toml").write_text("[plugins.word_count]\nenabled = true\n")
    (tmp_path / ".memory").mkdir()
    (tmp_path / ".memory" / "old.word_count.json").write_text('{"words": 5}')
    env = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    code, _, err = run_to_end(["trust", tmp_path, "--yes"], env={**os.environ, **env})
    assert code == 0, err
    with serving(tmp_path, env=env) as server:
        assert server.ask("word_count.add", chat_id="c", words=2) == {"words": 2}
        assert server.ask("word_count.add", chat_id="c", words=3) == {"words": 5}
        assert server.ask("word_count.add", chat_id="old", words=1) == {"words": 6}


PACKED = {
    "src/__init__.py": "",
    "src/auth.py": "from .db import connect\n",
    "src/db.py": "def connect(): ...\n",
    "tests/test_auth.py": "def test(): ...\n" * 8000,
}


def test_the_packing_example_works_and_gives_that_account(tmp_path):
    for name, text in PACKED.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    subprocess.run("git init -q && git add src/auth.py", shell=True, cwd=tmp_path, check=True)
    program = f"{sys.executable} -m smart_context"
    packed, checked, listed = (
        subprocess.run(
            line.replace("smart-context", program),
            shell=True,
            cwd=tmp_path,
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
        for line in block("the packing example").splitlines()
    )
    assert packed.stderr == block("the packing account")
    assert "### src/auth.py" in (tmp_path / "prompt.md").read_text(encoding="utf-8")
    assert "up to date" in checked.stdout
    assert listed.stdout.count("\n### ") == 1


def _as_toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_has_help(verb):
    code, out, _ = run_to_end([verb, "--help"])
    assert code == 0
    assert "Usage: smart-context" in out
