import pytest

from smart_context.storage.postgres.storage import postgres_storage
from tests.postgres_server import new_database
from tests.storage.memory import MemoryCaches


@pytest.fixture
def url(tmp_path_factory):
    """The address of a database of its own."""
    return new_database(tmp_path_factory)


@pytest.fixture
def opened(url):
    """Opens the storage in the database, each time as another process does."""
    storages = []

    def opening(address=url):
        storages.append(postgres_storage(address, MemoryCaches()))
        return storages[-1]

    yield opening
    for storage in storages:
        storage.close()
