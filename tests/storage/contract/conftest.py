"""The adapters that every promise is tested on; a further one is one more row here."""

import pytest

from smart_context.storage.files.storage import file_storage
from smart_context.storage.postgres.storage import postgres_storage
from tests.postgres_server import emptied_database
from tests.storage.memory import Held, MemoryCaches, memory_storage


def files(tmp_path_factory):
    """Storages in a new folder, each as another process has it."""
    folder = tmp_path_factory.mktemp("memory")
    return lambda: file_storage(folder, has_people=True)


def memory(_tmp_path_factory):
    """Storages that hold the same in memory."""
    held = Held()
    return lambda: memory_storage(held)


def postgres(tmp_path_factory):
    """Storages in a database of this worker's, which is emptied."""
    url = emptied_database(tmp_path_factory)
    return lambda: postgres_storage(url, MemoryCaches())


ADAPTERS = {"files": files, "memory": memory, "postgres": postgres}


@pytest.fixture(params=ADAPTERS)
def new(request, tmp_path_factory):
    """Makes a place to store in, and gives what opens a storage there."""
    all_opened = []

    def make():
        while all_opened:  # those of the example before
            all_opened.pop().close()
        opening = ADAPTERS[request.param](tmp_path_factory)

        def opened():
            all_opened.append(opening())
            return all_opened[-1]

        return opened

    yield make
    for storage in all_opened:
        storage.close()


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
