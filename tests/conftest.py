"""What every test may ask for."""

import gc
import os
import sys

import hypothesis
import pytest

# Else each worker compiles all modules, and writes the assertions of all tests again, in every run.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # workers, and programs that tests start, have none

pytest_plugins = ["tests.vaults"]
pytest.register_assert_rewrite("tests.product.whole_bodies")

# A machine that is busy with other tests is slow at times; that is no fault of the code.
hypothesis.settings.register_profile("unhurried", deadline=None, max_examples=40)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=1000)
hypothesis.settings.load_profile("unhurried")


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden", action="store_true", help="record what tests/golden holds again"
    )
    parser.addoption(
        "--safari", action="store_true", help="a press gives buttons of pages no focus"
    )


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers():
    """Two workers more than there are cores: a third of the time, tests wait for something."""
    return (yield) + 2


def pytest_collection_finish():
    """Keep the garbage collector from looking through eight thousand tests again and again."""
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def own_settings_folder(tmp_path_factory):
    """Keeps what tests record of trust and of browsers out of the user's own folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        yield


@pytest.fixture
def anyio_backend():
    return "asyncio"
