"""The adapters that every promise is tested on; a further one is one more row here."""

import pytest

from smart_context.storage.files.storage import file_storage
from smart_context.storage.memory.held import Held
from smart_context.storage.memory.storage import memory_storage


def files(tmp_path_factory):
    """Storages in a new folder, each as another process has it."""
    folder = tmp_path_factory.mktemp("memory")
    return lambda: file_storage(folder)


def memory(_tmp_path_factory):
    """Storages that hold the same in memory."""
    held = Held()
    return lambda: memory_storage(held)


ADAPTERS = {"files": files, "memory": memory}


@pytest.fixture(params=ADAPTERS)
def new(request, tmp_path_factory):
    """Makes a place to store in, and gives what opens a storage there."""
    return lambda: ADAPTERS[request.param](tmp_path_factory)


@pytest.fixture
def opened(new):
    """Opens the storage of one place, each time as another process does."""
    return new()


@pytest.fixture
def one(opened):
    return opened()


@pytest.fixture
def other(opened, one):
    """The same place as another process has it."""
    return opened()
