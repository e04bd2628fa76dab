import gc
import stat
import sys
import weakref

import pytest
from click.testing import CliRunner

from smart_context.cli.server import serve as server
from smart_context.cli.server.serve import demo_vault


@pytest.fixture
def tuned():
    interval, threshold, callbacks = sys.getswitchinterval(), gc.get_threshold(), [*gc.callbacks]
    yield
    sys.setswitchinterval(interval)
    gc.set_threshold(*threshold)
    gc.callbacks[:] = callbacks
    gc.unfreeze()


@pytest.mark.usefixtures("tuned")
def test_beside_a_server_no_thread_computes_for_more_than_a_millisecond_at_a_time(
    tmp_path, monkeypatch
):
    found = []

    def run(served):
        served.close()
        found.append(sys.getswitchinterval())

    monkeypatch.setattr(server, "run", run)
    assert CliRunner().invoke(server.serve, [str(tmp_path)]).exit_code == 0
    assert found == [pytest.approx(0.001)]


@pytest.mark.usefixtures("tuned")
def test_a_search_for_unused_objects_goes_through_new_ones_and_seldom_through_all(
    tmp_path, monkeypatch
):
    class Thing: ...

    monkeypatch.setattr(server, "run", lambda served: served.close())
    assert CliRunner().invoke(server.serve, [str(tmp_path)]).exit_code == 0
    thing = Thing()
    gc.collect()
    thing.itself, seen = thing, weakref.ref(thing)
    del thing
    gc.collect()
    assert seen() is not None  # it was there at an earlier search
    monkeypatch.setattr(server, "THAW_S", -1)
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("kept", [None, "new", "empty"])
def test_the_demonstration_is_for_its_owner_alone(tmp_path, kept):
    if kept == "empty":
        (tmp_path / kept).mkdir(mode=0o755)
    with demo_vault(kept and tmp_path / kept) as root:
        modes = {
            (path.is_dir(), stat.S_IMODE(path.stat().st_mode)) for path in (root, *root.rglob("*"))
        }
    assert modes == {(True, 0o700), (False, 0o600)}


def test_a_folder_to_keep_that_has_something_in_it_stays_as_it_is(tmp_path):
    (tmp_path / "mine.md").write_text("mine")
    tmp_path.chmod(0o755)
    with demo_vault(tmp_path) as root:
        assert [path.name for path in root.iterdir()] == ["mine.md"]
        assert stat.S_IMODE(root.stat().st_mode) == 0o755
