import operator
import os
import signal
import subprocess
import sys
import threading
from functools import partial
from time import monotonic

import pytest

from smart_context.base.errors import CommandFailed
from smart_context.base.processes import child as child_module
from smart_context.base.processes.child import Child, ChildFailed
from tests.base.processes import work
from tests.patience import PATIENCE_S
from tests.system_processes import has_ended

SOON_S = 0.3

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="limits memory, names by descriptor")


@pytest.fixture(scope="module")
def child():
    with Child() as shared:
        yield shared


@pytest.mark.parametrize(
    "value",
    [None, 1.5, "ä\udc80\U0001f600\n", ["a", {"b": [True]}], "x" * 5_000_000],
    ids=["nothing", "a number", "odd characters", "nested", "much"],
)
def test_a_result_comes_back_as_it_was(child, value):
    assert child.run(work.echo, value, deadline_s=PATIENCE_S) == value


def test_one_process_does_one_job_after_another(child):
    child.run(work.echo, 1, deadline_s=PATIENCE_S)
    first = child.pid
    child.run(work.echo, 2, deadline_s=PATIENCE_S)
    assert child.pid == first


def test_a_refusal_of_the_work_comes_in_its_words(child):
    with pytest.raises(CommandFailed, match="'x' is not wanted"):
        child.run(work.refuse, "x", deadline_s=PATIENCE_S)


@pytest.mark.parametrize(
    ("job", "reason", "words"),
    [
        pytest.param((work.hold_the_interpreter,), "slow", "longer than 0.3 s", id="a pattern"),
        pytest.param((work.wait,), "slow", "longer than 0.3 s", id="waiting"),
        pytest.param((work.fail, 0), "crashed", "ZeroDivisionError", id="an exception"),
        pytest.param((work.crash,), "crashed", "crashed", id="a crash"),
        pytest.param((work.answer_at_length, 70), "crashed", "longer than", id="a long answer"),
        pytest.param((work.answer_with_bytes,), "crashed", "not JSON", id="no plain data"),
        pytest.param((work.run_a_program,), "crashed", "os.system is not", id="a program"),
        pytest.param((work.open_a_socket,), "crashed", "socket", id="a socket"),
        pytest.param((work.leave_a_process_behind,), "crashed", "os.fork is not", id="a fork"),
    ],
)
def test_what_does_not_end_well_says_why_and_the_next_job_works(
    child, job, reason, words, monkeypatch
):
    monkeypatch.setattr(child_module, "_PATIENCE", 1)  # or the test that waits takes long
    function, *arguments = job
    deadline_s = SOON_S if reason == "slow" else PATIENCE_S
    with pytest.raises(ChildFailed, match=words) as failure:
        child.run(function, *arguments, deadline_s=deadline_s)
    assert failure.value.reason == reason
    assert child.run(work.echo, "next", deadline_s=PATIENCE_S) == "next"


def test_only_processor_time_is_spent_not_what_passes_meanwhile(child):
    def serve(question):
        return None if question == "begun" else str(sum(range(5_000_000))).encode()

    before, began = child.spent_s, monotonic()
    child.run(work.ask_for, "a", "b", deadline_s=PATIENCE_S, serve=serve)
    assert 0 < (child.spent_s - before) * 3 < monotonic() - began


def test_a_job_that_is_ended_spent_what_it_may(child):
    before = child.spent_s
    with pytest.raises(ChildFailed):
        child.run(work.hold_the_interpreter, deadline_s=SOON_S)
    assert child.spent_s - before == pytest.approx(SOON_S, rel=0.5)


def test_on_a_busy_machine_a_job_may_take_many_times_its_processor_time(child, monkeypatch):
    child.start()
    given = []
    timer = threading.Timer

    def noted(seconds, expire):
        given.append(seconds)
        return timer(seconds, expire)

    monkeypatch.setattr(child_module.threading, "Timer", noted)
    child.run(work.echo, 1, deadline_s=PATIENCE_S)
    assert given[-1] >= 15 * PATIENCE_S


@on_linux
def test_memory_is_limited_and_what_is_within_the_limit_works():
    with Child(memory_bytes=64 << 20) as child:
        assert child.run(work.allocate, 40, deadline_s=PATIENCE_S) == 40 << 20
        with pytest.raises(ChildFailed, match="more than 64 MiB") as failure:
            child.run(work.allocate, 80, deadline_s=PATIENCE_S)
        assert failure.value.reason == "memory"
        assert child.run(work.allocate, 40, deadline_s=PATIENCE_S) == 40 << 20


def test_a_job_asks_its_parent_and_tells_it_what_it_does(child):
    told = []

    def serve(asked):
        return told.append(asked) if isinstance(asked, str) else f"{asked[0]}!".encode()

    answers = child.run(work.ask_for, *"abc" * 50, deadline_s=PATIENCE_S, serve=serve)
    assert (answers, told) == ([f"{letter}!" for letter in "abc" * 50], ["begun"])


def test_a_question_that_the_parent_can_not_answer_ends_the_child(child):
    def serve(asked):
        raise ValueError(asked)

    with pytest.raises(ChildFailed, match="crashed"):
        child.run(work.ask_for, 1, deadline_s=PATIENCE_S, serve=serve)


def test_what_is_done_before_the_limits_is_there_for_each_job():
    with Child(before=partial(work.remember, "opened")) as child:
        assert child.run(work.remembered, deadline_s=PATIENCE_S) == "opened"
        child.allow_memory(1 << 30)
        assert child.run(work.remembered, deadline_s=PATIENCE_S) == "opened"


def test_where_the_system_refuses_limits_and_has_no_filter_the_rest_holds():
    with Child(before=work.become_one_of_macos) as child:
        assert child.run(work.echo, "bread", deadline_s=PATIENCE_S) == "bread"
        first = child.pid
        assert child.holds == ()
        with pytest.raises(ChildFailed, match="is not allowed in the child process"):
            child.run(work.open_a_socket, deadline_s=PATIENCE_S)
        with pytest.raises(ChildFailed, match=r"longer than 0\.3 s"):
            child.run(work.hold_the_interpreter, deadline_s=SOON_S)
        assert child.run(work.allocate, 600, deadline_s=PATIENCE_S) == 600 << 20
        assert child.pid != first


def test_nothing_is_written_to_a_file(child, tmp_path):
    path = tmp_path / "new.txt"
    with pytest.raises(ChildFailed):
        child.run(work.write_a_file, str(path), deadline_s=PATIENCE_S)
    assert not path.exists() or path.read_bytes() == b""


def test_a_job_that_needs_other_modules_gets_a_process_that_has_them():
    with Child() as child:
        child.run(work.echo, 1, deadline_s=PATIENCE_S)
        first = child.pid
        assert child.run(work.use_modules, deadline_s=PATIENCE_S) == ["wave", "xml.dom.minidom"]
        assert child.pid != first
        second = child.pid
        child.run(work.echo, 1, deadline_s=PATIENCE_S)
        assert child.run(work.use_modules, deadline_s=PATIENCE_S) == ["wave", "xml.dom.minidom"]
        assert child.pid == second


def test_what_is_printed_does_not_disturb(child):
    assert child.run(work.print_something, deadline_s=PATIENCE_S) == "said"


def test_no_secret_and_no_working_directory_is_passed_on(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "json.py").write_text("raise SystemExit")
    with Child(environ={"A_KEY": "secret", "LD_LIBRARY_PATH": "/nowhere"}) as child:
        environment = child.run(work.environment, deadline_s=PATIENCE_S)
        assert "A_KEY" not in environment
        assert environment["LD_LIBRARY_PATH"] == "/nowhere"
        assert str(tmp_path) not in child.run(work.import_path, deadline_s=PATIENCE_S)


def test_the_process_loads_only_what_it_needs():
    with Child(["zipfile"]) as child:
        loaded = set(child.run(work.modules, deadline_s=PATIENCE_S))
    assert "zipfile" in loaded
    assert not loaded & {"numpy", "openai", "starlette", "jinja2", "pydantic", "asyncio"}


def test_what_can_not_be_sent_is_a_value_error(child):
    with pytest.raises(ValueError, match="can't be sent"):
        child.run(operator.not_, lambda: None, deadline_s=PATIENCE_S)


def test_who_waits_too_long_for_a_turn_is_told_so():
    with Child() as child:
        child.start()
        running = threading.Thread(target=lambda: _ignored(child, work.wait, PATIENCE_S))
        running.start()
        while child._turn.acquire(blocking=False):
            child._turn.release()
        with pytest.raises(ChildFailed, match="try again") as failure:
            child.run(work.echo, 1, deadline_s=PATIENCE_S, wait_s=0.01)
        assert failure.value.reason == "busy"
        child.close()
        running.join(PATIENCE_S)


def _ignored(child, function, deadline_s):
    with pytest.raises(ChildFailed) as failure:
        child.run(function, deadline_s=deadline_s)
    return failure.value.reason


@pytest.mark.parametrize("is_busy", [False, True], ids=["idle", "in a job"])
def test_closing_kills_at_once_and_leaves_nothing(is_busy):
    child = Child()
    child.run(work.echo, 1, deadline_s=PATIENCE_S)
    pid = child.pid
    told = []
    job = threading.Thread(
        target=lambda: told.append(_ignored(child, work.hold_the_interpreter, PATIENCE_S))
    )
    if is_busy:
        job.start()
        while child._turn.acquire(blocking=False):
            child._turn.release()
    child.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)  # not even a zombie
    if is_busy:
        job.join(PATIENCE_S)
        assert told == ["stopped"]
    with pytest.raises(ChildFailed, match="stopping"):
        child.run(work.echo, 1, deadline_s=PATIENCE_S)


def test_a_process_that_somebody_else_killed_is_replaced(child):
    child.run(work.echo, 1, deadline_s=PATIENCE_S)
    pid = child.pid
    os.kill(pid, signal.SIGKILL)
    has_ended(pid)
    assert child.run(work.echo, "again", deadline_s=PATIENCE_S) == "again"
    assert child.pid != pid


def test_one_that_can_not_start_says_so_once_with_its_last_words_and_is_not_tried_each_time(
    tmp_path, caplog, monkeypatch
):
    noted = tmp_path / "noted"
    with Child(before=partial(work.fail_to_start, str(noted))) as child:
        for _ in range(3):
            with pytest.raises(ChildFailed, match="LookupError: no bread here") as failure:
                child.run(work.echo, 1, deadline_s=PATIENCE_S)
            assert failure.value.reason == "start"
        assert noted.read_text() == "tried\n"
        monkeypatch.setattr(child, "_next_start", 0.0)
        with pytest.raises(ChildFailed, match="no bread here"):
            child.run(work.echo, 1, deadline_s=PATIENCE_S)
        assert noted.read_text() == "tried\ntried\n"
    (said,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert "in fail_to_start" in said
    assert "no bread here" in said


PARENT = """
import sys, threading
from smart_context.base.processes.child import Child
from tests.base.processes import work
from tests.system_processes import worked_ticks

child = Child()
child.run(work.echo, 1, deadline_s=60)
if sys.argv[1] == "busy":
    began = worked_ticks(child.pid)
    threading.Thread(target=lambda: child.run(work.hold_the_interpreter, deadline_s=60)).start()
    while worked_ticks(child.pid) < began + 5:
        pass
print(child.pid, flush=True)
threading.Event().wait()
"""


@on_linux
@pytest.mark.parametrize("state", ["idle", "busy"])
def test_nothing_is_left_when_the_parent_is_killed(state):
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, state], stdout=subprocess.PIPE, text=True
    )
    with parent:
        pid = int(parent.stdout.readline())
        parent.kill()
    assert has_ended(pid)
