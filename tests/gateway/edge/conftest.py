"""A server with a fake provider behind it."""

import pytest

from tests.gateway.asking import provided_vault


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with provided_vault(tmp_path_factory.mktemp("gateway")) as found:
        yield found


@pytest.fixture
def server(served):
    return served[0]


@pytest.fixture
def provider(served):
    return served[1]
