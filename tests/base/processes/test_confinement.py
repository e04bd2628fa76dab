"""What a file that has taken over its reader can reach: it tries."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from smart_context.base.processes.child import Child, ChildFailed
from smart_context.base.processes.confinement import MECHANISMS, confinement_words, reachable
from tests.patience import PATIENCE_S

if sys.platform != "linux":
    pytest.skip("only Linux can take files and calls from a process", allow_module_level=True)
if os.uname().machine not in {"x86_64", "aarch64"}:
    pytest.skip("the calls of this machine are not listed", allow_module_level=True)

from tests.base.processes import attacks

REFUSED = {errno.EPERM, errno.EACCES, errno.ENOSYS}


@pytest.fixture(scope="module")
def child():
    with Child(["tests.base.processes.attacks"]) as shared:
        shared.run(attacks.own_pid, deadline_s=PATIENCE_S)
        if "seccomp" not in shared.holds:
            pytest.skip("this kernel has no seccomp filters")
        yield shared


@pytest.fixture
def places(tmp_path):
    (tmp_path / "file").write_text("secret")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "empty").mkdir()
    tmp_path.chmod(0o777)
    for folder in list(tmp_path.parents)[:2]:  # so that it is not another user's right that holds
        folder.chmod(0o755)
    names = {name: str(tmp_path / name) for name in ("file", "link", "empty", "new")}
    memory = f"/proc/{os.getpid()}/mem"
    return {**names, "folder": str(tmp_path), "memory": memory, "server": os.getpid()}


@pytest.mark.parametrize("name", attacks.ATTACKS)
def test_what_has_taken_over_a_reader_can_not(child, places, tmp_path, name):
    pid = child.pid
    result, error = child.run(
        attacks.attempt, name, {**places, "attacker": pid}, deadline_s=PATIENCE_S
    )
    assert (result, error in REFUSED) == (-1, True), os.strerror(error)
    assert {path.name for path in tmp_path.iterdir()} == {"file", "link", "empty"}
    assert (tmp_path / "file").read_text() == "secret"
    assert (tmp_path / "file").stat().st_mode & 0o777 != 0o777
    assert child.pid == pid, "the reader goes on"


@pytest.mark.parametrize(
    "name",
    [
        *("open a file", "open a folder", "look at a file", "create a file", "rename a file"),
        *("delete a file", "make a hard link", "change permissions", "make a socket"),
        *("make a file in memory", "signal the server", "send signals of a pipe to the server"),
        *("start a process", "make code that it can write", "be dumpable again", "make a pipe"),
    ],
)
def test_the_same_attack_succeeds_where_nothing_holds(places, name):
    """Otherwise the tests above would pass whatever holds."""
    script = (
        "import json, sys; from tests.base.processes.attacks import attempt; import os;"
        "places = json.loads(sys.argv[2]) | {'attacker': os.getpid()};"
        "print(attempt(sys.argv[1], places)[0], flush=True); os._exit(0)"
    )
    done = _python(script, name, json.dumps(places), stdin=subprocess.PIPE)
    assert int(done.splitlines()[0]) >= 0


LAYERS = """
import errno, os, sys
from smart_context.base.processes import confinement
from tests.base.processes.attacks import attempt

def absent():
    raise OSError(errno.ENOSYS, "this kernel has none")

for name in sys.argv[2].split():
    setattr(confinement, name, absent)
print(", ".join(confinement.confine()))
places = {"file": sys.argv[1], "new": sys.argv[1] + ".new", "server": os.getppid()}
for name in ("open a file", "create a file", "delete a file", "trace the server"):
    print(attempt(name, places)[0])
"""


@pytest.mark.parametrize(
    ("absent", "rest"),
    [
        ("_filter_calls", "Landlock"),
        ("_restrict_files _become_nobody hide_memory", "seccomp"),
        ("_become_nobody", "seccomp"),
    ],
)
def test_what_the_kernel_lacks_does_not_take_the_rest_away(places, absent, rest):
    holds, *results = _python(LAYERS, places["file"], absent).splitlines()
    if rest not in holds:
        pytest.skip(f"this kernel has no {rest}")
    assert results == ["-1"] * 4
    assert Path(places["file"]).read_text() == "secret"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="x32 is a second ABI of x86-64 alone")
def test_a_call_of_another_abi_ends_the_reader_and_is_told(child):
    """The numbers of the list mean other calls there."""
    with pytest.raises(ChildFailed, match="forbidden system call"):
        child.run(attacks.call_by_x32, deadline_s=PATIENCE_S)
    assert child.run(attacks.own_pid, deadline_s=PATIENCE_S) == child.pid


MEMORY = """
import ctypes, os, sys
from smart_context.base.processes.confinement import hide_memory

ready, go = os.pipe(), os.pipe()
victim = os.fork()
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
if not victim:
    os.close(go[1])
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
    if sys.argv[1] == "hidden":
        assert hide_memory()
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    os._exit(0)
os.close(ready[1])
os.read(ready[0], 1)
try:
    os.close(os.open(f"/proc/{victim}/mem", os.O_RDONLY))
    print("opened")
except PermissionError:
    print("refused")
os.write(go[1], b"x")
os.waitpid(victim, 0)
"""


def test_no_program_of_the_same_user_opens_the_memory_of_one_that_hides_it():
    if _python(MEMORY, "shown") == "refused\n":
        pytest.skip("this kernel lets no program open another's memory (Yama)")
    assert _python(MEMORY, "hidden") == "refused\n"


def test_a_program_hides_its_memory_before_it_starts_a_reader():
    script = (
        "import ctypes, operator; from smart_context.base.processes.child import Child;"
        "child = Child(); child.run(operator.neg, 1, deadline_s=60);"
        "print(ctypes.CDLL(None).prctl(3)); child.close()"
    )
    assert _python(script) == "0\n"


def test_the_log_says_once_what_holds(child):
    script = (
        "import logging, operator; logging.basicConfig(level='INFO', format='%(message)s');"
        "from smart_context.base.processes.child import Child;"
        "children = [Child(), Child()];"
        "[child.run(operator.neg, 1, deadline_s=60) for child in children];"
        "[child.close() for child in children]"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stderr == confinement_words(child.holds) + "\n"


@pytest.mark.parametrize(
    ("holds", "left"),
    [
        (MECHANISMS, []),
        (["seccomp"], []),
        (["Landlock", "user nobody"], ["names and permissions of files", "the network"]),
        (["hidden memory"], ["files", "the network", "programs", "signals to processes"]),
        ([], ["files", "the network", "programs", "signals to processes", "the server's memory"]),
    ],
)
def test_what_is_left_open_is_told(holds, left):
    assert reachable(holds) == left
    assert all(word in confinement_words(holds) for word in left)


def _python(script, *arguments, stdin=None):
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        input="" if stdin else None,
        text=True,
        check=True,
    )
    return done.stdout
