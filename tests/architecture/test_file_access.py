"""Only `base/disk/` opens files and only `base/processes/` runs programs, but for those named."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2] / "smart_context"
OPENERS = ("base/disk/", "base/processes/")

METHODS = {
    *("open", "read_bytes", "read_text", "write_bytes", "write_text"),
    *("iterdir", "glob", "rglob", "mkdir", "rmdir", "unlink", "touch", "chmod"),
    *("symlink_to", "hardlink_to"),
}
"""What a `Path` does that opens, lists or changes something."""

FUNCTIONS = {
    "os": {
        *("open", "scandir", "listdir", "walk", "fwalk", "mkdir", "makedirs", "rmdir", "unlink"),
        *("remove", "rename", "replace", "truncate", "utime", "chmod", "link", "symlink"),
        *("system", "popen", "execv", "execve", "fork", "posix_spawn"),
    },
    "shutil": {"copytree", "copy", "copy2", "copyfile", "move", "rmtree", "unpack_archive"},
    "sqlite3": {"connect"},
    "subprocess": {"run", "Popen", "call", "check_call", "check_output"},
    "tempfile": {"TemporaryDirectory", "NamedTemporaryFile", "mkdtemp", "mkstemp"},
}

ALLOWED = {
    "web/routes.py": "what the system says of this process",
    "app/import_commands.py": "a temporary folder for files that a page sends",
    "app/examination.py": "compares all files of a vault, links as links; the user asked for it",
    "storage/files/claims.py": "of an open folder",
    "web/listening.py": "keeps a spare descriptor, of the null device",
    "storage/files/blobs.py": "of an open folder",
    "chat/files/file_text.py": "a part of an archive that is in memory",
    "cli/chats/chats.py": "files that the user names on the command line",
    "cli/notes/contexts.py": "a file that the user names on the command line",
    "cli/chats/evaluate.py": "a temporary folder",
    "cli/notes/pack.py": "files that the user names on the command line",
    "cli/terminal/output.py": "a device or a pipe that the user names on the command line",
    "cli/server/plugins.py": "makes a plugin's folder where the user says",
    "cli/server/serve.py": "copies the demonstration's vault; opens the browser",
    "cli/server/setup.py": "makes a vault where the user says",
    "cli/evaluation/dialogues.py": "files that the user names on the command line",
    "cli/evaluation/runs.py": "the user's cache folder",
    "host/plugins/loader.py": "names of the plugins' folders; they run only once trusted",
    "importing/inside.py": "a database that the user names, read only; entries of a ZIP in memory",
    "importing/reading.py": "files, folders and archives that the user names",
    "llm/offline/one_thread.py": "libraries of the system",
    "llm/minilm/files.py": "files of the package",
    "mcp_server/protocol.py": "files of the package",
    "packing/request.py": "a record beside a prompt that the user names on the command line",
    "packing/sections/repomix.py": "a temporary folder of its own",
    "packing/roles.py": "the names of roles; each is read as a place",
    "packing/templates/templates.py": "files of the package",
    "storage/files/contents.py": "of an open folder",
    "storage/postgres/schema.py": "files of the package",
    "relevance/judge/judging.py": "files of the package",
    "base/installed.py": "the record of the package's own installation",
    "base/resources.py": "files of the package",
    "base/text/word_lists.py": "files of the package",
    "packing/files/secret_kinds.py": "files of the package",
    "topics/naming/words.py": "a file of the package",
    "web/pages/templates.py": "files of the package",
    "vault/trust/files.py": "lists what is to be trusted, links as links",
    "vault/trust/vault.py": "the user's config folder",
    "web/assets.py": "files of ours",
    "vault/guarded/files.py": "reads nothing of what it opened unless it is where it was asked for",
    "vault/index/store.py": "a database in memory",
}


def openings(source):
    """The lines and names of the calls that open, list or change files, or run programs."""
    tree = ast.parse(source)
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in FUNCTIONS:
            names = {alias.name for alias in node.names} & FUNCTIONS[node.module]
            yield from ((node.lineno, f"{node.module}.{name}") for name in names)
        if isinstance(node, ast.Call) and id(node) not in awaited and (name := _name(node.func)):
            yield node.lineno, name


def _name(function):
    match function:
        case ast.Name(id="open"):
            return "open"
        case ast.Attribute(value=ast.Name(id=module), attr=name) if module in FUNCTIONS:
            return f"{module}.{name}" if name in FUNCTIONS[module] else None
        case ast.Attribute(attr=name) if name in METHODS:
            return name
    return None


def modules():
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(OPENERS):
            yield name, path.read_text(encoding="utf-8")


def test_files_are_opened_and_programs_run_in_one_place():
    found = {
        name: [f"line {line}: {call}" for line, call in calls]
        for name, source in modules()
        if name not in ALLOWED and (calls := list(openings(source)))
    }
    assert not found, "use smart_context.base.disk or smart_context.base.processes, or say why not"


def test_whoever_is_allowed_more_makes_use_of_it():
    sources = dict(modules())
    assert [name for name in ALLOWED if not list(openings(sources.get(name, "")))] == []


@pytest.mark.parametrize(
    "fault",
    [
        "open('x')",
        "path.read_bytes()",
        "path.read_text(encoding='utf-8')",
        "(root / 'x').write_text('')",
        "Path('x').open('rb')",
        "os.open(path, os.O_RDONLY)",
        "list(folder.iterdir())",
        "folder.mkdir()",
        "path.unlink(missing_ok=True)",
        "os.replace(a, b)",
        "sqlite3.connect(path)",
        "subprocess.run(['git'])",
        "from subprocess import run",
        "shutil.rmtree(path)",
        "async def f():\n    return await run(path.read_bytes())",
    ],
)
def test_a_planted_fault_is_found(fault):
    assert list(openings(fault))


@pytest.mark.parametrize(
    "other", ["await_ = store.exists()", "text.replace('a', 'b')", "read_inside(a, 'b')"]
)
def test_other_calls_are_not(other):
    assert not list(openings(other))
