"""What every test may ask for."""

import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"
